"""What a publish says that it changes, for each format and each way to write: what Spark counts of the table itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from stated_changes import assert_true, read_change
from under_test import APPEND, MERGE, OVERWRITE, Place

from planproof import Guard, Model, Verdict
from planproof.publish import kernel
from planproof.publish.audit import changes
from planproof.settings import Settings

LOGGED = ("delta", "iceberg")
NEW = "append_new_columns"
ROWS = "select id, concat('n', id) as s, if(id % 3 = 0, null, cast(id as double)) as x from range({low}, {high})"


def publish(place: Place, sql: str, name: str = "made", **kind: Any) -> Any:
    """The change that a publish reports, which is the table's own if all of it is known."""
    at = f"{place.database}.{name}"
    made = read_change(Guard(place.spark).publish(Model(at, sql, file_format=place.format.using, **kind)))
    assert_true(place.spark, at, made.after)
    return made


@pytest.mark.parametrize("form", ["parquet", *LOGGED])
def test_each_way_to_write(place: Callable[[str, str], Place], form: str) -> None:
    here = place(form, "append")
    assert publish(here, ROWS.format(low=0, high=6)).line() == "6 rows, a new table"
    put = publish(here, ROWS.format(low=3, high=6))
    assert put.line() == "6 -> 3 rows; id: min 0 -> 3; s: min n0 -> n3; x: nulls 2 -> 1, min 1.0 -> 4.0"
    added = publish(here, ROWS.format(low=6, high=8), **APPEND)
    assert added.line() == "3 -> 5 rows; id: max 5 -> 7; s: max n5 -> n7; x: nulls 1 -> 2, max 5.0 -> 7.0"
    parts = {"name": "p", "partition_by": ["d"]}
    publish(here, "select * from values (1, 'x'), (2, 'y') as v(id, d)", **parts)
    over = publish(here, "select * from values (3, 'x'), (4, 'z') as v(id, d)", **{**OVERWRITE, **parts})
    assert over.line().startswith("2 -> 3 rows; id: min 1 -> 2, max 2 -> 4; d: ")
    assert "max y -> z" in over.line()


@pytest.mark.parametrize("form", LOGGED)
def test_a_merge_and_new_columns(place: Callable[[str, str], Place], form: str) -> None:
    here = place(form, "merge")
    publish(here, ROWS.format(low=0, high=4))
    merged = publish(here, "select 2L as id, 'b' as s, 0D as x union all select 9L, 'c', 1D", **MERGE)
    assert merged.line() == "4 -> 5 rows; id: max 3 -> 9; s: min n0 -> b; x: min 1.0 -> 0.0, max 2.0 -> 1.0"
    grown = publish(
        here, "select 10L as id, 'd' as s, 2D as x, true as seen", **APPEND, options={"on_schema_change": NEW}
    )
    assert "seen: new, boolean" in grown.line()


@pytest.mark.parametrize("form", ["parquet", *LOGGED])
def test_a_null_without_a_type_is_stored_in_the_columns_own(place: Callable[[str, str], Place], form: str) -> None:
    """`null as s` says no type: a table has to be given one, a later run gets the stored column's."""
    here = place(form, "append")
    publish(here, ROWS.format(low=0, high=2))
    publish(here, "select 2L as id, null as s, 1D as x", **APPEND)
    if form in LOGGED:
        publish(here, "select 0L as id, null as s, 1D as x", **MERGE)
        name, void = f"{here.database}.made", "select 9L as id, 'n' as s, 1D as x, null as y"
        for more in ({**APPEND, "options": {"on_schema_change": NEW}}, {**APPEND, "name": "anew"}):
            at = f"{here.database}.{more.pop('name', 'made')}"
            report = Guard(here.spark).publish(Model(at, void, file_format=here.format.using, **more))
            assert (report.outcome, [f.code for f in report.findings if f.verdict == "violated"]) == (
                "rejected",
                ["PP103"],
            )
        assert here.spark.table(name).columns == ["id", "s", "x"]
    rows = {row.id: row.s for row in here.spark.table(f"{here.database}.made").collect()}
    assert rows == {0: None if form in LOGGED else "n0", 1: "n1", 2: None}


@pytest.mark.parametrize("form", ["parquet", *LOGGED])
def test_an_overwrite_by_a_partition_that_the_table_lacks(place: Callable[[str, str], Place], form: str) -> None:
    """It would replace other rows than the model means; Spark refuses dbt's statement, too."""
    here = place(form, "append")
    at, parts = f"{here.database}.p", {"name": "p", "partition_by": ["d"]}
    publish(here, "select * from values (1, 'x', 7) as v(id, d, e)", **parts)
    model = Model(
        at,
        "select 2 as id, 'y' as d, 7 as e",
        file_format=here.format.using,
        **{**OVERWRITE, "partition_by": ["e"]},
    )
    report = Guard(here.spark).publish(model)
    assert (report.outcome, "run it with full_refresh" in str(report.error)) == ("failed", True), report.findings
    assert here.spark.table(at).select("id", "d", "e").collect() == [(1, "x", 7)]
    assert Guard(here.spark).publish(model, full_refresh=True).outcome == "published"


@pytest.mark.parametrize("form", ["parquet", *LOGGED])
def test_partitions_whose_folders_are_spelt_in_another_way(place: Callable[[str, str], Place], form: str) -> None:
    here = place(form, "append")
    parts = {"partition_by": ["d"]}
    publish(here, "select * from values (1, 'a/b %'), (2, null), (3, 'c:d') as v(id, d)", **parts)
    put = publish(here, "select * from values (4, 'a/b %') as v(id, d)", **{**OVERWRITE, **parts})
    assert put.line().startswith("3 -> 3 rows; id: min 1 -> 2, max 3 -> 4")


def test_mapped_columns_of_a_new_table_are_not_told_from_their_files(place: Callable[[str, str], Place]) -> None:
    here = place("delta", "replace")
    mapped = {"tblproperties": {"delta.columnMapping.mode": "name"}}
    at = f"{here.database}.made"
    settings = Settings.of({"limits": {"nulls": {"id": 0}}})
    model = Model(at, ROWS.format(low=0, high=3), file_format="delta", options=mapped)
    change = read_change(Guard(here.spark, settings=settings).publish(model))
    assert "maps its columns" in str(change.after.unread)


def test_a_renamed_column_is_not_told_from_older_files(place: Callable[[str, str], Place]) -> None:
    here = place("iceberg", "append")
    publish(here, ROWS.format(low=0, high=3))
    at = f"{here.database}.made"
    here.spark.sql(f"alter table {at} rename column x to y")
    more = Model(at, "select 7L as id, 'n7' as s, 1D as y", file_format="iceberg", **APPEND)
    change = read_change(Guard(here.spark).publish(more))
    assert "borne another name" in str(change.after.unread)


@pytest.mark.parametrize("form", LOGGED)
def test_what_is_not_known_has_its_reason(
    place: Callable[[str, str], Place], form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = place(form, "replace")
    publish(here, ROWS.format(low=0, high=6))
    monkeypatch.setattr(changes, "LOCAL", 0)
    at = f"{here.database}.made"
    model = Model(at, ROWS.format(low=0, high=3), file_format=here.format.using)
    change = read_change(Guard(here.spark).publish(model))
    assert change.before is not None
    assert (change.before.rows, change.after.rows) == (None, 3)
    assert "at most 0 are looked at" in change.line()


@pytest.mark.parametrize("form", LOGGED)
def test_on_top_of_others_rows_nothing_is_said_of_what_was_not_looked_at(
    place: Callable[[str, str], Place], form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = place(form, "append")
    publish(here, ROWS.format(low=0, high=6))
    commit = kernel.Publish._commit

    def late(self: kernel.Publish) -> None:
        here.spark.sql(f"insert into {here.database}.made values (100, 'theirs', 1D)")
        commit(self)

    monkeypatch.setattr(kernel.Publish, "_commit", late)
    model = Model(f"{here.database}.made", ROWS.format(low=6, high=8), file_format=here.format.using, **APPEND)
    made = read_change(Guard(here.spark).publish(model))
    assert made.before is not None
    assert (made.before.rows, made.after.rows, made.after.columns) == (6, None, ())
    assert "committed on top of it" in made.line()
    assert here.spark.table(f"{here.database}.made").count() == 9


@pytest.mark.parametrize("form", ["parquet", *LOGGED])
def test_partition_columns_that_do_not_stand_last(place: Callable[[str, str], Place], form: str) -> None:
    """A log keeps the model's order, Spark's own catalog puts them last: neither breaks a promise."""
    here = place(form, "append")
    model = Model(
        f"{here.database}.parted", "select 1 as id, 'a' as d, 2 as w", file_format=here.format.using, partition_by=["d"]
    )
    for _ in range(2):
        report = Guard(here.spark).publish(model)
        assert (report.outcome, report.of(Verdict.VIOLATED)) == ("published", []), report.findings
