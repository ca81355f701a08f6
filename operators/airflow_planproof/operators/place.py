"""From what a task was given to what planproof's core wants."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from planproof.project.place import Place


def place_of(task: Any) -> Place:
    """The dbt project of a task that has `project_dir`, `profiles_dir`, `target` and perhaps `manifest`."""
    from planproof.project.place import Place

    return Place(_path(task.project_dir), _path(getattr(task, "manifest", None)), _path(task.profiles_dir), task.target)


def words(given: str | Sequence[str] | None) -> tuple[str, ...]:
    """A selection as the core takes it: a text is one selector, or several with blanks between them."""
    return tuple(given.split()) if isinstance(given, str) else tuple(given or ())


def _path(given: str | Path | None) -> Path | None:
    return Path(given).expanduser() if given else None
