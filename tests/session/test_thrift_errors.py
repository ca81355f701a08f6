"""An error of the Thrift server is a text: by it Spark has rejected a statement, or the run of one has failed."""

from __future__ import annotations

from typing import Any

import pytest

from planproof.session.protocol import SparkFailure
from planproof.session.thrift import ThriftSession
from planproof_engine.origin import AnalysisError

REJECTED = {
    "UNRESOLVED_COLUMN.WITH_SUGGESTION": "A column cannot be resolved. SQLSTATE: 42703",
    "TABLE_OR_VIEW_NOT_FOUND": "The table or view `t` cannot be found. SQLSTATE: 42P01",
    "INVALID_PARAMETER_VALUE.UNIT": "expects one of the units. SQLSTATE: 22023",
}
FAILED = {
    "NOT_NULL_ASSERT_VIOLATION": "NULL value appeared in non-nullable field: id. SQLSTATE: 42000",
    "SCALAR_SUBQUERY_TOO_MANY_ROWS": "More than one row returned by a subquery. SQLSTATE: 21000",
    "MERGE_CARDINALITY_VIOLATION": "The ON search condition matched a single row. SQLSTATE: 23K01",
    "DIVIDE_BY_ZERO": "Division by zero. SQLSTATE: 22012",
    "EXCEED_LIMIT_LENGTH": "Exceeds char/varchar type length limitation: 5. SQLSTATE: 54006",
}


class _Server:
    """A connection, and its cursor: it knows its version, and answers all else with an error."""

    description = (("version", "string"),)

    def __init__(self, said: str) -> None:
        self._said, self._rows = said, [("4.1.4 abc",)]

    def cursor(self) -> _Server:
        return self

    def execute(self, statement: str, *_: Any) -> None:
        if statement != "select version()":
            raise RuntimeError(self._said)

    def fetchall(self) -> list[tuple[str, ...]]:
        return self._rows

    def close(self) -> None:
        pass


@pytest.mark.parametrize("condition", [*REJECTED, *FAILED])
def test_a_run_that_fails_is_no_rejection(condition: str) -> None:
    text = {**REJECTED, **FAILED}[condition]
    session = ThriftSession(_Server(f"Error running query: [{condition}] org.apache.spark.SparkException: {text}"))
    kind = AnalysisError if condition in REJECTED else SparkFailure
    with pytest.raises(kind) as caught:
        session.rows("insert into t select 1")
    assert caught.value.condition == condition


class _OfTwoVersions(_Server):
    """One that takes no `AS JSON` of a table of V2, and has one such table, whose view Spark describes."""

    def __init__(self, refused: str) -> None:
        super().__init__("")
        self.refused, self.asked = refused, list[str]()

    def execute(self, statement: str, *_: Any) -> None:
        if statement == "select version()":
            return
        self.asked.append(statement)
        is_view = "planproof_" in statement
        if statement.endswith("AS JSON") and not is_view:
            raise RuntimeError(f"Error running query: [{self.refused}] org.apache.spark.sql.AnalysisException: no")
        if statement.endswith("AS JSON"):
            column = '{"name": "id", "type": {"name": "bigint"}, "nullable": false}'
            self._rows = [(f'{{"type": "VIEW", "columns": [{column}]}}',)]
        elif statement.startswith("DESCRIBE"):
            self._rows = [("id", "bigint"), ("# Detailed Table Information", ""), ("Provider", "delta"), ("Type", "X")]
        else:
            self._rows = []


def test_a_newer_spark_that_describes_no_table_of_v2_as_json_is_asked_for_lines() -> None:
    server = _OfTwoVersions("NOT_SUPPORTED_COMMAND_FOR_V2_TABLE")
    session = ThriftSession(server)
    for _ in range(2):  # The first answer is no reason to take Spark for an older one.
        server.asked.clear()
        found = session.table("shop.t")
        assert found is not None
        assert (found.format, [(f.name, f.nullable) for f in found.schema]) == ("delta", [("id", False)])
        assert len([sql for sql in server.asked if sql.endswith("AS JSON")]) == 2


def test_another_refusal_is_the_answer() -> None:
    with pytest.raises(AnalysisError, match="no"):
        ThriftSession(_OfTwoVersions("INSUFFICIENT_PERMISSIONS")).table("shop.t")
