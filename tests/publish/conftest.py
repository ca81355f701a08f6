"""A process that dies at a chosen moment, as far as one process can play it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from guarded_place import Place


class Killed(BaseException):
    """No `except Exception` catches it, and no clean-up that a killed process could not do may run on it."""


class Doom:
    """Counts what reaches Spark and the files; dies in the place of call number `at` (from 0)."""

    def __init__(self, at: int | None = None) -> None:
        self.at, self.calls = at, 0

    def __call__(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **named: Any) -> Any:
            if self.calls == self.at:
                raise Killed
            self.calls += 1
            return call(*args, **named)

        return counted


class Frail:
    """A session or store whose calls that change something are counted."""

    def __init__(self, inner: Any, doom: Doom, names: tuple[str, ...]) -> None:
        self._inner, self._doom, self._names = inner, doom, names

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        return self._doom(found) if name in self._names else found


class DyingSession(Frail):
    def __init__(self, inner: Any, doom: Doom, store: Any) -> None:
        super().__init__(inner, doom, ("rows", "write", "write_files"))
        self.store = Frail(store, doom, ("write", "create", "delete", "move"))


@pytest.fixture
def killed() -> type[BaseException]:
    return Killed


@pytest.fixture
def dying(session: Any) -> Callable[[int | None], tuple[Any, Doom]]:
    """`dying(n)`: the run's session, which dies in the place of its nth change; and its counter."""
    from planproof.session.store import store_of

    def make(at: int | None) -> tuple[Any, Doom]:
        doom = Doom(at)
        return DyingSession(session, doom, store_of(session)), doom

    return make


@pytest.fixture
def place(spark: Any, database: str) -> Callable[[str], Place]:
    return lambda name: Place(spark, database, name)
