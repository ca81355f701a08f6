"""The run's Spark comes to each test as it was started, whatever the fixtures of a module set and whoever asked."""

from __future__ import annotations

from typing import Any

import pytest

SETTING = "spark.sql.shuffle.partitions"


@pytest.fixture(scope="module")
def changed(spark: Any) -> tuple[str, str]:
    """The setting as it was, and as the first test of this module finds it."""
    before = spark.conf.get(SETTING)
    spark.conf.set(SETTING, "7")
    spark.range(1).createOrReplaceTempView("of_the_module")
    return before, spark.conf.get(SETTING)


def test_a_test_that_asks_nothing_has_what_the_module_set(changed: tuple[str, str]) -> None:
    assert changed[1] == "7" != changed[0]


def test_the_next_one_has_the_settings_of_the_run_and_the_views_of_the_module(
    spark: Any, changed: tuple[str, str]
) -> None:
    assert spark.conf.get(SETTING) == changed[0]
    assert spark.catalog.tableExists("of_the_module")
    spark.range(1).createOrReplaceTempView("of_a_test")


def test_a_view_of_a_test_is_gone(spark: Any) -> None:
    assert spark.catalog.tableExists("of_the_module")
    assert not spark.catalog.tableExists("of_a_test")
