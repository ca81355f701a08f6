"""What a publish says that it changes: the footers' word, held against what Spark counts of the table itself."""

from __future__ import annotations

import json
from typing import Any

import pytest
from stated_changes import assert_true, read_change

from planproof import Guard, Model
from planproof.publish.audit import changes
from planproof.settings import Settings
from planproof_engine.schema import by_name

WIDE = """
    select cast(id as int) as i, cast(id as bigint) * 10 as l, cast(id as decimal(12, 2)) as d,
           if(id % 3 = 0, null, concat('n', id)) as s, date '2026-11-01' + cast(id as int) as day,
           cast(id as double) as x, id % 2 = 0 as b, timestamp '2026-11-01 10:00:00' as at,
           named_struct('a', id) as n, array(id) as xs, cast(null as string) as nothing
    from range({low}, {high})
    """


def test_each_way_to_publish(spark: Any, database: str) -> None:
    guard, wide, parts, rows = Guard(spark), f"{database}.wide", f"{database}.parts", f"{database}.rows"
    first = read_change(guard.publish(Model(wide, WIDE.format(low=0, high=9))))
    assert first.before is None
    assert first.line() == "9 rows, a new table"
    assert_true(spark, wide, first.after)
    unknown = {c.name: c.unknown for c in first.after.columns if c.unknown}
    assert {"n", "xs"} <= set(unknown) <= {"n", "xs", "at"}, unknown
    report = guard.publish(Model(wide, WIDE.format(low=3, high=15)))
    second = read_change(report)
    assert report.strategy == "location"
    assert second.before == first.after
    assert_true(spark, wide, second.after)
    assert second.line(20).startswith("9 -> 12 rows; i: min 0 -> 3, max 8 -> 14; l: min 0 -> 30, max 80 -> 140; ")
    assert "s: nulls 3 -> 4, min n1 -> n10, max n8 -> n8" not in second.line(20)
    assert "s: nulls 3 -> 4, min n1 -> n10" in second.line(20)
    assert "nothing: nulls 9 -> 12" in second.line(20)
    # Another schema: a column goes, one comes, one has another type.
    third = read_change(guard.publish(Model(wide, "select cast(1 as bigint) as i, 'x' as fresh")))
    assert "i: type int -> bigint" in third.line(20)
    assert "fresh: new, string" in third.line(20)
    assert "day: gone, date" in third.line(20)

    # Added rows: the footers of what stays, and of what comes.
    guard.publish(Model(rows, "select 1 as id, 'a' as s"))
    delta = "select 2 as id, cast(null as string) as s, true as seen"
    report = guard.publish(
        Model(rows, delta, materialized="incremental", options={"on_schema_change": "append_new_columns"})
    )
    added = read_change(report)
    assert report.strategy == "append"
    assert added.line() == "1 -> 2 rows; id: max 1 -> 2; s: nulls 0 -> 1; seen: new, boolean"
    assert_true(spark, rows, added.after)
    assert by_name(added.after.columns)["seen"].nulls == 1

    # Partitions: a column that no file holds; those that are replaced do not count twice.
    old = "select * from values (1, 'x', 1), (2, 'y', null) as v(id, s, d)"
    made = read_change(guard.publish(Model(parts, old, partition_by=["d"])))
    assert_true(spark, parts, made.after)
    assert by_name(made.after.columns)["d"].distinct == 1
    new = "select * from values (3, 'z', 1), (4, 'z', 7) as v(id, s, d)"
    kind = {"materialized": "incremental", "incremental_strategy": "insert_overwrite", "partition_by": ["d"]}
    report = guard.publish(Model(parts, new, **kind))
    put = read_change(report)
    assert report.strategy == "partitions"
    assert_true(spark, parts, put.after)
    assert put.line() == (
        "2 -> 3 rows; id: min 1 -> 2, max 2 -> 4; s: min x -> y, max y -> z; d: distinct 1 -> 2, max 1 -> 7"
    )


def test_no_spark_job_runs_for_it(spark: Any, database: str, session: Any) -> None:
    name, jobs = f"{database}.t", spark.sparkContext.statusTracker()
    model = Model(name, "select id from range(10)")
    numbers = {}
    for changes_of in ("off", "values", "off", "values"):
        guard = Guard(spark, settings=Settings(changes=changes_of))
        group = f"{database}{len(numbers)}"
        spark.sparkContext.setJobGroup(group, group)
        told_of = guard.publish(model).details.change
        numbers[group] = (changes_of, len(jobs.getJobIdsForGroup(group)))
        assert (told_of is None) == (changes_of == "off")
    spark.sparkContext._jsc.clearJobGroup()
    *_, off, values = numbers.values()
    assert (off[0], values[0], off[1]) == ("off", "values", values[1]), numbers


def test_what_is_not_known_has_its_reason(spark: Any, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    guard, name = Guard(spark), f"{database}.t"
    query = f"""
        select cast(x as double) as x, s, cast(s as binary) as b, timestamp '2026-11-01 10:00:00' as at
        from values ('NaN', repeat('a', {100})), ('1', 'b') as v(x, s)
        """
    with guard.session.change_settings({"spark.sql.parquet.outputTimestampType": "INT96"}):
        made = by_name(read_change(guard.publish(Model(name, query))).after.columns)
    assert made["x"].unknown == "NaN stands in its bounds" or "no bounds" in str(made["x"].unknown)
    assert made["s"].unknown == "texts of 64 bytes or more may be cut"
    assert made["b"].unknown == "binary values have no text"
    assert made["at"].unknown == "INT96 has no bounds"
    assert [c.nulls for c in made.values()] == [0, 0, 0, 0]
    counted = Guard(spark, settings=Settings(changes="counts")).publish(Model(name, query))
    assert "left out" in str(read_change(counted).after.columns[0].unknown)
    assert "NaN" not in json.dumps(counted.details.to_dict()["change"])
    # Of a table with many files the footers stay unread, and the report says so.
    monkeypatch.setattr(changes, "LOCAL", 0)
    many = read_change(guard.publish(Model(name, query)))
    assert many.before is not None
    assert (many.before.rows, many.after.rows) == (None, 2)
    assert "at most 0 are looked at" in many.line()


def test_a_rejected_publish_says_what_it_would_have_changed(spark: Any, database: str) -> None:
    from planproof import Contract

    guard, name = Guard(spark), f"{database}.t"
    contract = Contract([("id", "int", False)])
    assert guard.publish(Model(name, "select 1 as id", contract=contract)).outcome == "published"
    report = guard.publish(Model(name, "select if(id = 1, null, 5) as id from range(3)", contract=contract))
    assert report.outcome == "rejected"
    assert report.details.change is not None
    said = "1 -> 3 rows; id: nulls 0 -> 1, min 1 -> 5, max 1 -> 5"
    assert report.details.change.line() == said
    assert "what this publish would have changed: 1 -&gt; 3 rows" in report.to_html()
    assert "1 -> 3 rows" not in report.to_text()
    again = guard.publish(Model(name, "select 2 as id", contract=contract))
    assert "1 -> 1 rows; id: min 1 -> 2, max 1 -> 2" in again.to_text()
    same = guard.publish(Model(name, "select 2 as id", contract=contract))
    assert "-> 1 rows" not in same.to_text()
