"""A process that was killed after any of its changes, and what others then do with bare Spark."""

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


def dies_after(at: int, there: Place, patch: pytest.MonkeyPatch, act: Callable[[Guard], Any]) -> Any:
    """What `act` gives, with a guard that dies after number `at` of its calls that change more than locks; None where
    it has died: nothing of it is at work any more then."""
    guard, told = Guard(there.spark.newSession()), list[str]()

    def dies(plain: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*given: Any, **more: Any) -> Any:
            found = plain(*given, **more) if len(told) <= at else None
            if not any("/locks/" in str(one) for one in given):
                told.append(plain.__name__)
            if len(told) > at:
                raise Killed
            return found

        return counted

    watch_changes(guard, there.format, patch, dies)
    try:
        return act(guard)
    except Killed:
        owner._running.clear()
        return None
    finally:
        patch.undo()
