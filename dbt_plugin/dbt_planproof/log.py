"""Lines in dbt's own log."""

from __future__ import annotations

_said: set[str] = set()


def warn_once(message: str) -> None:
    """A warning that this process gives only once."""
    if message not in _said:
        _said.add(message)
        warn(message)


def warn(message: str) -> None:
    """A warning on dbt's console and in its log file; never an error, also under `--warn-error`."""
    _note(message, "WARN")


def info(message: str) -> None:
    """A line on dbt's console and in its log file."""
    _note(message, "INFO")


def debug(message: str) -> None:
    """A line in dbt's log file."""
    _note(message, "DEBUG")


def _note(message: str, level: str) -> None:
    """Says it without what a terminal, or a runner that reads the log, would take for a command: names, and what a
    model's config holds, are text of others."""
    from dbt_common.events.base_types import EventLevel
    from dbt_common.events.functions import fire_event
    from dbt_common.events.types import Note

    from planproof.report import neutralize

    fire_event(Note(msg=neutralize(message)), level=EventLevel[level])
