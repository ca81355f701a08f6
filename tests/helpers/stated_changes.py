"""What a publish says that it changes, held against what Spark counts of the table itself."""

from __future__ import annotations

from typing import Any

from planproof.report.details import TableChange


def read_change(report: Any) -> TableChange:
    assert report.outcome == "published", (report.error, report.findings)
    change = report.details.change
    assert change is not None
    return change


def assert_true(spark: Any, name: str, side: Any) -> None:
    """Every number and bound that is said is what Spark counts now."""
    assert side.unread is None, side.unread
    table = spark.table(name)
    assert side.rows == table.count()
    assert [c.name for c in side.columns] == table.columns
    # One query of all columns: what is asked of one is asked of each.
    asked = []
    for column in side.columns:
        q = f"`{column.name}`"
        asked += [f"count_if({q} is null)", f"count(distinct {q})"]
        if column.unknown is None:
            shown = "{}" if column.type != "timestamp" else "to_utc_timestamp({}, current_timezone())"
            ending = "" if column.type != "timestamp" else " || ' UTC'"
            asked += [f"cast({shown.format(f'{bound}({q})')} as string){ending}" for bound in ("min", "max")]
    answers = iter(spark.sql(f"select {', '.join(asked)} from {name}").first())
    for column in side.columns:
        assert column.nulls in (None, next(answers)), column
        assert column.distinct in (None, next(answers)), column
        if column.unknown is None:
            assert (column.low, column.high) == (next(answers), next(answers)), column
