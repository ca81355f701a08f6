"""A guard on the run's Spark session, and what is left of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from planproof import Guard


@pytest.fixture
def guard(spark: Any) -> Guard:
    return Guard(spark)


@pytest.fixture
def read(spark: Any) -> Callable[[str], list[tuple[Any, ...]]]:
    def rows(name: str) -> list[tuple[Any, ...]]:
        return sorted((tuple(r) for r in spark.newSession().sql(f"select * from {name}").collect()), key=str)

    return rows


@pytest.fixture
def clean(spark: Any, database: str) -> Callable[[], None]:
    """Asserts that nothing staged is left: no table, no file, no journal entry, no lock."""

    def check() -> None:
        tables = [r[1] for r in spark.sql(f"show tables in {database}").collect()]
        assert not [t for t in tables if t.startswith("__planproof")]
        location = dict(tuple(r)[:2] for r in spark.sql(f"describe database {database}").collect())["Location"]
        folder = Path(location.removeprefix("file:"))
        assert not list((folder / ".planproof").glob("*/*"))
        assert not list(folder.glob("__planproof_*"))

    return check
