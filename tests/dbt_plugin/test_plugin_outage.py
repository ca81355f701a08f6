"""A catalog that does not answer, at each of its calls in a build: no table is created, replaced or emptied.

dbt-adapters #1289: where the listing fails in words that dbt reads as "no such schema", bare dbt builds an incremental
table anew from whatever its query gives, over the rows that stand there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from quick import keep_quick

pytest.importorskip("dbt.adapters.spark")

from dbt.adapters.spark.session import Cursor
from dbt_common.exceptions import DbtRuntimeError

from planproof.project.request import is_by_warehouse

FILES = {
    "models/kept.sql": """
        {{ config(materialized='incremental', file_format='parquet', incremental_strategy='append') }}
        select {{ var('day', 1) }} as day
        """,
    "models/copy.sql": "{{ config(materialized='table', file_format='parquet') }} select * from {{ ref('kept') }}",
    "models/seen.sql": "select * from {{ ref('copy') }}",
    "seeds/names.csv": "id\n1\n",
}
TABLES = ("kept", "copy", "names")
COMMENT = re.compile(r"/\*.*?\*/", re.S)
METADATA = re.compile(r"(/\*.*?\*/)?\s*(show|describe|desc|create (schema|database))\b", re.S | re.I)
SAID = {
    "schema": "[SCHEMA_NOT_FOUND] The schema `x` cannot be found.",
    "table": "[TABLE_OR_VIEW_NOT_FOUND] The table or view `x`.`y` cannot be found.",
    "hive": "Database not found: MetaException(message:Could not connect to meta store)",
    "thrift": "org.apache.thrift.transport.TTransportException: java.net.SocketException: Connection reset",
}


class Outage:
    """Fails dbt's statements about metadata, beginning with number `at`, for `length` of them."""

    def __init__(self, said: str, at: int, length: int, plain: Callable[..., Any]) -> None:
        self.said, self.at, self.length, self.plain, self.calls = said, at, length, plain, 0
        self.failed: list[str] = []

    def __call__(self, cursor: Any, sql: str, *more: Any) -> Any:
        if METADATA.match(sql):
            self.calls += 1
            if self.at < self.calls <= self.at + self.length:
                self.failed.append(" ".join(COMMENT.sub("", sql).split()))
                raise DbtRuntimeError(self.said)
        return self.plain(cursor, sql, *more)


@pytest.fixture(scope="module")
def project(dbt: Any) -> Any:
    dbt.write(FILES)
    assert dbt.run("build").success, dbt.results
    assert dbt.run("build", "--vars", "{day: 2}").success, dbt.results
    assert dbt.rows("kept") == [(1,), (2,)]
    return dbt


def built(project: Any, patch: pytest.MonkeyPatch, said: str, at: int, length: int) -> tuple[Outage, Any]:
    outage = Outage(said, at, length, Cursor.execute)
    with patch.context() as within:
        within.setattr(Cursor, "execute", lambda *given: outage(*given))
        return outage, project.run("build", "--vars", "{day: 3}")


def states(project: Any) -> dict[str, Any]:
    return {name: project.state(name) for name in TABLES}


def unharmed(project: Any, before: dict[str, Any], outage: Outage, result: Any) -> bool:
    """Whether the tables are what they were, or what a healthy build makes of them; which of the two is said."""
    after = states(project)
    schema, rows = before["kept"]
    grown = (schema, sorted([*rows, "Row(day=3)"]))
    assert after["kept"] in (before["kept"], grown), (outage.failed, after)
    assert after["copy"] in (before["copy"], grown), (outage.failed, after)
    assert after["names"] == before["names"]
    assert result.success or outage.failed
    return bool(after == before)


@pytest.mark.parametrize("said", keep_quick(SAID, "schema", "thrift"))
def test_the_listing_fails(project: Any, monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    before = states(project)
    outage, result = built(project, monkeypatch, SAID[said], 1, 100)
    assert outage.failed[0].startswith("show table extended"), outage.failed
    assert not result.success
    assert states(project) == before
    if said != "thrift":
        assert result.exception is not None  # By which dbt's exit code is 2.
        assert "Nothing is built as if there were" in str(result.exception)
        assert is_by_warehouse(str(result.exception)), "Airflow is to try again"


def test_one_failed_listing_is_asked_again(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """dbt-spark #1106: somebody drops a table of the schema while dbt lists it."""
    before = states(project)
    outage, result = built(project, monkeypatch, SAID["table"], 1, 1)
    assert outage.failed[0].startswith("show table extended"), outage.failed
    assert result.success
    assert not unharmed(project, before, outage, result)


def test_a_schema_that_is_not_there_is_empty(project: Any) -> None:
    """The control: the first build of a schema goes on, and creates it."""
    project.spark.sql(f"drop database if exists {project.schema}_new cascade")
    name = "{{ config(schema='new', materialized='table', file_format='parquet') }} select 1 as id"
    project.write({"models/elsewhere.sql": name})
    try:
        assert project.run("build", "--select", "elsewhere").success
        assert project.spark.table(f"{project.schema}_new.elsewhere").count() == 1
    finally:
        (project.root / "models/elsewhere.sql").unlink()
        project.spark.sql(f"drop database if exists {project.schema}_new cascade")


@pytest.mark.conformance
@pytest.mark.parametrize("length", [1, 100], ids=["once", "from there"])
@pytest.mark.parametrize("said", SAID)
def test_each_question_fails(project: Any, monkeypatch: pytest.MonkeyPatch, said: str, length: int) -> None:
    harmless = 0
    for at in range(60):
        before = states(project)
        outage, result = built(project, monkeypatch, SAID[said], at, length)
        if not outage.failed:
            break
        harmless += unharmed(project, before, outage, result)
    else:
        pytest.fail("the build never ended")
    assert harmless or length == 1
