"""The one Spark of the suite: with Iceberg, or Delta, where that is in the environment, for all formats then."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from under_test import BY_STATEMENTS, FORMATS, Format, Place


def _beside(folder: str) -> ModuleType:
    """The fixtures' module of another folder of tests."""
    file = Path(__file__).parents[1] / folder / "conftest.py"
    spec = importlib.util.spec_from_file_location(f"conftest_of_{folder}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


ICEBERG, DELTA = _beside("iceberg"), _beside("delta")

UNSEEN = ("test_changes.py", "test_what_others_add_beside_a_publish_is_not_remembered_as_proved")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where statements are all that reaches Delta's tables, nothing lists their files, or remembers versions."""
    for item in items if BY_STATEMENTS else []:
        if any(part in item.nodeid for part in UNSEEN) and ("delta" in item.name or "mapped" in item.name):
            item.add_marker(pytest.mark.skip(reason="this session lists no files of Delta's tables"))


@pytest.fixture(scope="session")
def spark_settings(spark_dir: Path) -> dict[str, str]:
    if DELTA.jars():
        return {**DELTA.delta_settings(), "spark.sql.catalogImplementation": "hive"}
    if ICEBERG._runtime() is None:
        return {}
    catalogs = {"spark_catalog": "org.apache.iceberg.spark.SparkSessionCatalog", "spark_catalog.type": "hive"}
    return {**ICEBERG._settings(catalogs, spark_dir), "spark.sql.catalogImplementation": "hive"}


@pytest.fixture
def place(spark: Any, request: pytest.FixtureRequest) -> Iterator[Callable[[str, str], Place]]:
    """Makes the table of a case of a format, in a database of its own."""
    with ExitStack() as stack:

        def make(name: str, case: str) -> Place:
            given: Format = FORMATS[name]
            if given.needs is not None and given.needs[1] not in (spark.conf.get(given.needs[0], "") or ""):
                pytest.skip(f"this environment has no {name}: make test-{name}")
            return Place(spark, given, case, stack.enter_context(given.database(spark)))

        yield make
