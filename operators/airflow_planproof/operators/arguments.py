"""From what a task was given to what planproof's core wants."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_planproof.errors import PlanproofCannotRun


def split_words(given: str | Sequence[str] | None) -> tuple[str, ...]:
    """A selection as the core takes it: a text is one selector, or several with blanks between them."""
    return tuple(given.split()) if isinstance(given, str) else tuple(given or ())


def parse_full_refresh(given: bool | str) -> bool:
    """The flag, also where a template such as `{{ params.full_refresh }}` made a text of it.

    Raises `PlanproofCannotRun` for a text that is neither true nor false: every text would count as true.
    """
    found = {"true": True, "false": False}.get(str(given).strip().lower())
    if found is None:
        raise PlanproofCannotRun(f"full_refresh is {given!r}; it takes true or false")
    return found
