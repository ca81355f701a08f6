"""Arrow batches of Python functions against the schema that the function declares."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from planproof import Guard, Model, Verdict

NOON = datetime.datetime(2024, 3, 10, 12)
LONGS = {"a": pa.array([1], pa.int64()), "b": pa.array([2], pa.int64())}


def fed(spark: Any, declared: str, columns: dict[str, Any]) -> None:
    """The temporary view `fed` over what a function gives that declares `declared`."""

    def batches(given: Any) -> Any:
        import pyarrow

        for _ in given:
            yield pyarrow.RecordBatch.from_pydict(columns)

    spark.range(1).coalesce(1).mapInArrow(batches, declared).createOrReplaceTempView("fed")


@pytest.mark.parametrize(
    ("declared", "columns", "field", "held"),
    [
        ("a long, b long", {"b": LONGS["b"], "a": LONGS["a"]}, "a", "b long"),
        ("a long", {"a": pa.array([1], pa.int32())}, "a", "a integer"),
        ("t timestamp", {"t": pa.array([NOON], pa.timestamp("us"))}, "t", "t timestampntz"),
        ("d decimal(10,2)", {"d": pa.array([Decimal("1.234")], pa.decimal128(10, 3))}, "d", "d decimal(10,3)"),
        ("a long", LONGS, "b", "b long"),
        ("a long, b long, c long", LONGS, "c", None),
    ],
    ids=["swapped", "narrower", "without zone", "scale", "one more", "one less"],
)
def test_other_columns_are_refused(
    spark: Any, database: str, declared: str, columns: dict[str, Any], field: str, held: str | None
) -> None:
    fed(spark, declared, columns)
    items = ", ".join(column.split(" ")[0] for column in declared.split(", "))
    report = Guard(spark).publish(Model(f"{database}.t", f"select {items} from fed"))
    [finding] = report.of(Verdict.VIOLATED)
    assert (report.outcome, finding.code, finding.plane, finding.field) == ("rejected", "PP301", "batches", field), (
        finding
    )
    assert finding.found == held
    assert not spark.catalog.tableExists(f"{database}.t")


@pytest.mark.parametrize("names", [("x", "y"), ("A", "b")], ids=["others", "case"])
def test_other_names_go_by_their_places(spark: Any, database: str, names: tuple[str, str]) -> None:
    fed(spark, "a long, b long", dict(zip(names, LONGS.values())))
    report = Guard(spark).publish(Model(f"{database}.t", "select a, b from fed"))
    assert report.outcome == "published", report.findings
    [remark] = [f for f in report.of(Verdict.WARNING) if f.code == "PP301"]
    assert f"called {names[0].lower()}, {names[1].lower()}" in remark.message
    assert [tuple(r) for r in spark.table(f"{database}.t").collect()] == [(1, 2)]


def test_what_is_declared_is_published(spark: Any, database: str) -> None:
    fed(spark, "a long, b long", LONGS)
    report = Guard(spark).publish(Model(f"{database}.t", "select a, b from fed"))
    assert (report.outcome, report.verdict, report.of(Verdict.WARNING)) == ("published", "proved", [])
    assert spark.conf.get("spark.sql.execution.arrow.pyspark.validateSchema.enabled") == "false"
