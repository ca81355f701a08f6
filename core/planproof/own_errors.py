"""Errors of planproof's own: where one happened, in a word that a person can report."""

from __future__ import annotations

import traceback

ON_MODEL = "planproof itself failed on it"
"""Why a model's schema is not known."""
_OURS = ("planproof", "planproof_engine", "dbt_planproof", "airflow_planproof")


def place_of(error: BaseException) -> str | None:
    """The module and line of planproof that raised an error; None where another program raised it.

    >>> place_of(ValueError("made by nobody")) is None
    True
    """
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return None
    parts = frames[-1].filename.replace("\\", "/").split("/")
    own = next((i for i, part in enumerate(parts[:-1]) if part in _OURS), None)
    return None if own is None else f"{'.'.join(parts[own:]).removesuffix('.py')}:{frames[-1].lineno}"


def describe(error: BaseException) -> str:
    """What an internal error is told as, in one line."""
    place = place_of(error)
    said = " ".join(str(error).split())
    return f"internal error in planproof: {type(error).__name__}: {said}{f' (at {place})' if place else ''}"
