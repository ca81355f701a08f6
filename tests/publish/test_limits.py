"""Declared limits: kept ones are proved, broken ones stop the publish, what cannot be read is refused at its place."""

from __future__ import annotations

from typing import Any

import pytest

from planproof import Contract, Guard, Model
from planproof.limits import Fresh, Limits, Nulls
from planproof.report.run import run_report
from planproof.settings import Settings, SettingsError


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([], "limits: \\[\\] is not a mapping of rows, partition_rows, nulls, fresh"),
        ({"row": {}}, "limits: unknown key 'row'; known: rows, partition_rows, nulls, fresh"),
        ({"rows": 3}, "limits.rows: 3 is not a mapping of min, max, change"),
        ({"rows": {"min": "1"}}, "limits.rows.min: '1' is not a number of rows"),
        ({"rows": {"min": True}}, "limits.rows.min: True is not a number of rows"),
        ({"rows": {"min": 3, "max": 2}}, "limits.rows: min 3 is above max 2"),
        ({"rows": {"change": "20"}}, "limits.rows.change: '20' is not a range such as -20%..\\+50%"),
        ({"rows": {"change": ".."}}, "limits.rows.change: '..' is not a range"),
        ({"rows": {"change": "+5%..-5%"}}, "limits.rows.change: .* begins above its end"),
        ({"partition_rows": -20}, "limits.partition_rows: -20 is not a range"),
        ({"nulls": ["a"]}, "limits.nulls: \\['a'\\] is not a mapping"),
        ({"nulls": {"a": 0.5}}, "limits.nulls.a: 0.5 is neither a share such as 1% nor a number of rows"),
        ({"nulls": {"a": "101%"}}, "limits.nulls.a: '101%' is neither a share"),
        ({"fresh": {"within": "26h"}}, "limits.fresh.column: None is not the name of a column"),
        ({"fresh": {"column": "at", "within": 26}}, "limits.fresh.within: 26 is not an age such as 90m, 26h or 2d"),
    ],
)
def test_a_limit_that_cannot_be_read_is_refused(given: object, said: str) -> None:
    with pytest.raises(SettingsError, match=f"^x.{said}"):
        Settings.of({"limits": given}, "x")


def test_limits_are_what_they_say() -> None:
    given = {"rows": {"min": 1, "change": "-20%..+50%"}, "nulls": {"a": "1%", "b": 3}}
    found = Settings.of({"limits": {**given, "fresh": {"column": "at", "within": "26h"}}}).limits
    nulls = (Nulls("a", None, 1.0), Nulls("b", 3, None))
    assert found == Limits(1, None, (-20.0, 50.0), None, nulls, (Fresh("at", 26 * 3600, "26h"),))
    assert Settings.of({"limits": {"partition_rows": "-20%.."}}).limits == Limits(partition_rows=(-20.0, None))
    assert not Settings().limits
    assert Settings.of({"limits": {"rows": {"change": "..+50%"}}}).limits.change == (None, 50.0)


def publish(spark: Any, name: str, sql: str, limits: dict[str, Any], **more: Any) -> Any:
    return Guard(spark).publish(Model(name, sql, settings=Settings.of({"limits": limits}), **more))


def codes(report: Any) -> list[tuple[str, str]]:
    return [(f.code, f.verdict.value) for f in report.findings if f.code in ("PP510", "PP511", "PP512")]


def test_a_broken_limit_leaves_the_table(spark: Any, database: str) -> None:
    name = f"{database}.t"
    rows = "select cast(id as int) as id, if(id < {nulls}, null, id) as v from range({rows})"
    wide = {"rows": {"min": 1, "max": 200, "change": "-20%..+50%"}, "nulls": {"v": "2%", "id": 0}}
    first = publish(spark, name, rows.format(rows=100, nulls=2), wide)
    assert first.outcome == "published", first.error
    assert codes(first) == [("PP510", "proved"), ("PP511", "proved"), ("PP511", "proved")]
    for nulls, number, code, found in (
        (0, 79, "PP510", "100 -> 79 rows, -21.0%"),
        (0, 151, "PP510", "100 -> 151 rows, +51.0%"),
        (3, 100, "PP511", "3 of 100, 3 %"),
    ):
        report = publish(spark, name, rows.format(rows=number, nulls=nulls), wide)
        broken = [f for f in report.findings if f.verdict.value == "violated"]
        assert (report.outcome, [f.code for f in broken], broken[0].found) == ("rejected", [code], found)
        assert "(by the files' footers)" in broken[0].message
        assert spark.table(name).count() == 100
    empty = publish(spark, name, rows.format(rows=0, nulls=0), {"rows": {"min": 1}})
    assert (empty.outcome, codes(empty)) == ("rejected", [("PP510", "violated")])
    kept = publish(spark, name, rows.format(rows=80, nulls=0), wide)
    assert kept.outcome == "published", kept.findings
    # Rows that are added count with those that stay.
    grown = publish(spark, name, rows.format(rows=50, nulls=0), wide, materialized="incremental")
    assert (grown.outcome, codes(grown)[1]) == ("rejected", ("PP510", "violated"))
    added = publish(spark, name, rows.format(rows=30, nulls=0), wide, materialized="incremental")
    assert added.outcome == "published", added.findings
    assert spark.table(name).count() == 110


def test_a_partition_that_shrinks_leaves_the_table(spark: Any, database: str) -> None:
    name, rows = f"{database}.t", "select id, concat('d', id % {days}) as day from range({rows})"
    model = {"materialized": "incremental", "incremental_strategy": "insert_overwrite", "partition_by": ["day"]}
    wide = {"partition_rows": "-20%.."}
    first = publish(spark, name, rows.format(days=2, rows=20), wide, **model)
    assert (first.outcome, codes(first)) == ("published", [])
    # One of two partitions is overwritten by a part of its rows; a third is new.
    less = "select id, if(id < 7, 'd1', 'd2') as day from range(20)"
    report = publish(spark, name, less, wide, **model)
    broken = [f for f in report.findings if f.verdict.value == "violated"]
    assert (report.outcome, [f.code for f in broken]) == ("rejected", ["PP510"]), report.error
    assert broken[0].found == "1 of 1 partition overwritten; day = d1: 10 -> 7 rows, -30.0%"
    assert spark.table(name).count() == 20
    more = publish(spark, name, "select id, 'd1' as day from range(8)", wide, **model)
    assert (more.outcome, codes(more)) == ("published", [("PP510", "proved")]), more.findings
    whole = publish(spark, name, "select id, 'd1' as day from range(2)", wide, partition_by=["day"])
    assert (whole.outcome, codes(whole)) == ("rejected", [("PP510", "violated")])
    added = publish(spark, name, "select id, 'd1' as day from range(2)", wide, materialized="incremental")
    assert (added.outcome, codes(added)) == ("published", []), added.findings
    plain = publish(spark, f"{database}.plain", "select 1 as id", wide)
    assert plain.outcome == "failed"
    assert "has no partitions" in str(plain.error)


def test_what_footers_do_not_tell_is_counted(spark: Any, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from planproof.publish.audit import changes

    monkeypatch.setattr(changes, "LOCAL", 0)
    name, limits = f"{database}.t", {"rows": {"min": 2, "change": "-50%.."}, "nulls": {"v": 1}}
    sql = "select id, nullif(id, 0) as v from range({rows})"
    assert publish(spark, name, sql.format(rows=5), limits).outcome == "published"
    report = publish(spark, name, sql.format(rows=2), limits)
    assert report.outcome == "rejected"
    found = [f.message for f in report.findings if f.code.startswith("PP51")]
    assert [m.endswith("(counted)") for m in found] == [False, True, True], found
    view = publish(spark, f"{database}.v", sql.format(rows=1), limits, materialized="view")
    assert (view.outcome, codes(view)) == ("rejected", [("PP510", "violated"), ("PP511", "proved")])
    assert not spark.catalog.tableExists(f"{database}.v")


def test_older_files_hold_the_default_of_a_column_that_was_added_later(spark: Any, database: str) -> None:
    name, limits = f"{database}.t", {"nulls": {"v": 0}}
    spark.sql(f"create table {name} using parquet as select 1 as id")
    spark.sql(f"alter table {name} add column v int default 42")
    append = {"materialized": "incremental", "incremental_strategy": "append"}
    report = publish(spark, name, "select 2 as id, 3 as v", limits, **append)
    assert (report.outcome, codes(report)) == ("published", [("PP511", "proved")]), report.findings
    assert publish(spark, name, "select 2 as id, cast(null as int) as v", limits, **append).outcome == "rejected"
    assert sorted(tuple(row) for row in spark.newSession().table(name).collect()) == [(1, 42), (2, 3)]
    audited = Guard(spark).audit(name, Contract([("id", "int", True), ("v", "int", True)]))
    assert audited.outcome == "audited"
    assert "missing" not in {finding.found for finding in audited.findings}


def test_freshness(spark: Any, database: str) -> None:
    name, limits = f"{database}.t", {"fresh": {"column": "at", "within": "26h"}}
    ages = {"25": "published", "27": "rejected"}
    for form in ("INT96", "TIMESTAMP_MICROS"):
        for kind in ("timestamp", "timestamp_ntz"):
            sql = "select cast(current_timestamp() - interval '{age}' hour as {kind}) as at"
            for age, outcome in ages.items():
                guard = Guard(spark)
                with guard.session.change_settings({"spark.sql.parquet.outputTimestampType": form}):
                    report = guard.publish(
                        Model(name, sql.format(age=age, kind=kind), settings=Settings.of({"limits": limits}))
                    )
                assert report.outcome == outcome, (form, kind, age, report.findings, report.error)
    none = publish(spark, name, "select cast(null as date) as at", limits)
    assert (none.outcome, codes(none)) == ("rejected", [("PP512", "violated")])
    assert publish(spark, name, "select current_date() as at", limits).outcome == "published"


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"nulls": {"amont": "1%"}}, "meta.planproof.limits.nulls: .* has no column 'amont'; did you mean 'amount'"),
        ({"fresh": {"column": "amount", "within": "1d"}}, "limits.fresh: amount is int; only a date or a timestamp"),
    ],
)
def test_a_limit_of_no_such_column_is_refused(spark: Any, database: str, limits: dict[str, Any], said: str) -> None:
    import re
    from datetime import datetime, timezone

    report = publish(spark, f"{database}.t", "select 1 as amount", limits)
    assert report.outcome == "failed"
    assert re.search(said, report.error or ""), report.error
    assert run_report("run", [report], datetime.now(timezone.utc)).exit_code() == 2
    assert not spark.catalog.tableExists(f"{database}.t")
