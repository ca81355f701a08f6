"""From what a task was given to what planproof's core wants."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_planproof.errors import PlanproofCannotRun

if TYPE_CHECKING:
    from planproof.project.place import Place


def place_of(task: Any) -> Place:
    """The dbt project of a task that has `project_dir`, `profiles_dir`, `target` and perhaps `manifest`."""
    from planproof.project.place import Place

    return Place(_path(task.project_dir), _path(getattr(task, "manifest", None)), _path(task.profiles_dir), task.target)


def words(given: str | Sequence[str] | None) -> tuple[str, ...]:
    """A selection as the core takes it: a text is one selector, or several with blanks between them."""
    return tuple(given.split()) if isinstance(given, str) else tuple(given or ())


def truth(given: bool | str, name: str) -> bool:
    """A flag, also one that a template such as `{{ params.full_refresh }}` made a text of.

    Raises `PlanproofCannotRun` for a text that is neither true nor false: every text would count as true.
    """
    found = {"true": True, "false": False}.get(str(given).strip().lower())
    if found is None:
        raise PlanproofCannotRun(f"{name} is {given!r}; it takes true or false")
    return found


def _path(given: str | Path | None) -> Path | None:
    return Path(given).expanduser() if given else None
