"""Where dbt writes a project's artifacts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from planproof.project.contracts import decoded
from planproof.project.errors import ProjectError


def target_folder(
    project_dir: Path, given: str | Path | None = None, environment: Mapping[str, str] | None = None
) -> Path:
    """dbt's order: what was `given` (`--target-path`), $DBT_TARGET_PATH, the project file's `target-path`, `target`.

    A relative path is one below the project. A project file that cannot be read says nothing here. Raises
    `ProjectError` for Jinja in it that is more than `env_var(..)`.
    """
    said = given or (os.environ if environment is None else environment).get("DBT_TARGET_PATH")
    return project_dir / (said or _configured(project_dir / "dbt_project.yml") or "target")


def _configured(file: Path) -> str | None:
    try:
        form = decoded(file)
    except ProjectError:
        return None
    found = form.get("target-path") if isinstance(form, Mapping) else None
    if not isinstance(found, str) or "{" not in found:
        return found if isinstance(found, str) else None
    # It needs Jinja, which a project file without it need not load.
    from planproof.project.profile import rendered

    return rendered(found, f"{file}: target-path")
