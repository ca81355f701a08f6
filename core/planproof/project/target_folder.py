"""Where dbt writes a project's artifacts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from planproof.project.contracts import load_own
from planproof.project.reads import ProjectError


def target_folder(
    project_dir: Path, given: str | Path | None = None, environment: Mapping[str, str] | None = None
) -> Path:
    """dbt's order: what was `given` (`--target-path`), $DBT_TARGET_PATH, the project file's `target-path`, `target`.

    A relative path is one below the project. A project file that cannot be read says nothing here. Raises
    `ProjectError` for Jinja in it that is more than `env_var(..)`.
    """
    said = given or (os.environ if environment is None else environment).get("DBT_TARGET_PATH")
    if said:
        return project_dir / said
    written = _read_configured(project_dir / "dbt_project.yml")
    if "{" not in written:
        return project_dir / written
    # It needs Jinja, which a project file without it need not load.
    from planproof.project.profile import render_value

    return project_dir / render_value(written, f"{project_dir / 'dbt_project.yml'}: target-path")


def format_target(project_dir: Path, given: str | Path | None = None) -> Path:
    """The same for messages, as the project file writes it: what `env_var(..)` gives may be a secret."""
    return project_dir / (
        given or os.environ.get("DBT_TARGET_PATH") or _read_configured(project_dir / "dbt_project.yml")
    )


def _read_configured(file: Path) -> str:
    try:
        form = load_own(file)
    except ProjectError:
        return "target"
    found = form.get("target-path") if isinstance(form, Mapping) else None
    return found if found and isinstance(found, str) else "target"
