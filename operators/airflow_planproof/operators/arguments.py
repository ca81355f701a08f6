"""From what a task was given to what planproof's core wants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airflow_planproof.errors import PlanproofCannotRun


def split_words(given: str | Sequence[str] | None) -> tuple[str, ...]:
    """A selection as the core takes it: a text is one selector, or several with blanks between them."""
    return tuple(given.split()) if isinstance(given, str) else tuple(given or ())


def parse_flag(given: bool | str, name: str) -> bool:
    """A flag, also one that a template such as `{{ params.full_refresh }}` made a text of.

    Raises `PlanproofCannotRun` for a text that is neither true nor false: every text would count as true.
    """
    found = {"true": True, "false": False}.get(str(given).strip().lower())
    if found is None:
        raise PlanproofCannotRun(f"{name} is {given!r}; it takes true or false")
    return found


def list_project_fields(task: Any) -> dict[str, Any]:
    """The fields of a `Request` that say which models of which project a task is about, and under which settings."""
    from dbt_planproof.compiler import DBT

    return {
        "compiler": DBT,
        "project_dir": task.project_dir,
        "manifest": task.manifest,
        "profiles_dir": task.profiles_dir,
        "target": task.target,
        "select": split_words(task.select),
        "exclude": split_words(task.exclude),
        "selector": task.selector or None,
        "settings": task.settings,
    }
