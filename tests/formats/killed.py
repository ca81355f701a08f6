"""A process that was killed before or after any of its changes, and what others then do with bare Spark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from under_test import Place, watch_changes

from planproof import Guard
from planproof.publish.transaction import owner

FILL = "insert into {t} values (8, 'x'), (9, 'x')"
ANEW = "create table {t} {columns} using {using} {parts}"
ACTS = {
    "nothing": [],
    "inserted": [FILL],
    "overwritten": ["insert overwrite {t} values (8, 'x'), (9, 'x')"],
    "truncated": ["truncate table {t}"],
    "dropped": ["drop table {t}"],
    "made anew": ["drop table {t}", ANEW, FILL],
    "renamed": ["alter table {t} rename to {t}_moved"],
    "renamed and made anew": ["alter table {t} rename to {t}_moved", ANEW, FILL],
    "altered": ["alter table {t} add columns (more int)"],
}


class Killed(BaseException):
    """No `except Exception` catches it, and no clean-up that a killed process could not do runs on it."""


def dying(at: int, there: Place, patch: pytest.MonkeyPatch) -> Guard:
    """A guard that dies at number `at` of the calls that change something, each counted before it is carried out and
    once more after it. From then on it changes nothing any more."""
    guard, told = Guard(there.spark.newSession()), list[str]()

    def dies(plain: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*given: Any, **more: Any) -> Any:
            for moment in ("before", "after"):
                told.append(f"{moment} {plain.__name__}")
                if len(told) > at:
                    raise Killed
                if moment == "before":
                    found = plain(*given, **more)
            return found

        return counted

    watch_changes(guard, there.format, patch, dies)
    return guard


def kill(at: int, there: Place, act: Callable[[Guard], Any]) -> Any:
    """What `act` gives, with a guard that dies at number `at`; None where it has died: nothing of it is at work any
    more then."""
    with pytest.MonkeyPatch.context() as patch:
        try:
            return act(dying(at, there, patch))
        except Killed:
            owner._running.clear()
            return None
