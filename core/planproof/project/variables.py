"""What a project's dbt_project.yml sets for `var()`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from planproof.project.contracts import load_own
from planproof.project.reads import ProjectError


def read_variables(directory: Path | None) -> Mapping[str, object]:
    """The file's `vars`; none where there is no file, or it cannot be read. Those of a package stand below its name."""
    if directory is None:
        return {}
    try:
        form = load_own(directory / "dbt_project.yml")
    except ProjectError:
        return {}
    found = form.get("vars") if isinstance(form, Mapping) else None
    return found if isinstance(found, Mapping) else {}
