"""What a Delta table can be: each is kept, refused by name, or guarded (docs/delta.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from delta_tables import ADDED, MERGED, publish, rows, versions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MADE = "(id bigint, v string) using delta"
MORE = "select id, 'new' as v from range(1, 3)"
OVER = {"materialized": "incremental", "incremental_strategy": "insert_overwrite"}


def made(spark: SparkSession, name: str, properties: str = "", form: str = MADE) -> None:
    spark.sql(f"create table {name} {form} {f'tblproperties ({properties})' if properties else ''}")
    spark.sql(f"insert into {name} (id, v) values (0, 'old'), (1, 'old')")


def test_deletion_vectors_and_changes_come_with_a_merge(delta: SparkSession, place: str) -> None:
    name = f"{place}.merged"
    made(delta, name, "delta.enableDeletionVectors = true, delta.enableChangeDataFeed = true")
    delta.sql(f"insert into {name} select id, 'old' from range(10, 30)").collect()
    report = publish(delta, name, MORE, **MERGED)
    assert report.outcome == "published", report.findings
    assert rows(delta, name)[:3] == [(0, "old"), (1, "new"), (10, "old")]
    assert delta.table(name).count() == 23
    last = max(versions(delta, name))
    changes = delta.sql(f"select id, _change_type as kind from table_changes('{name}', {last})").collect()
    assert {(row.id, row.kind) for row in changes} == {(1, "update_preimage"), (1, "update_postimage"), (2, "insert")}


def test_mapped_columns_are_counted_and_kept(delta: SparkSession, place: str) -> None:
    name = f"{place}.mapped"
    made(delta, name, "delta.columnMapping.mode = 'name', delta.minReaderVersion = 2, delta.minWriterVersion = 5")
    delta.sql(f"alter table {name} rename column v to w")
    delta.sql(f"alter table {name} rename column w to v")
    bad = "select if(id = 1, null, id) as id, 'new' as v from range(1, 3)"
    assert publish(delta, name, bad, **ADDED).outcome == "rejected"
    report = publish(delta, name, MORE, **ADDED)
    assert report.outcome == "published", report.findings
    assert len(rows(delta, name)) == 4
    refused = publish(delta, name, MORE)
    assert (refused.outcome, "columnMapping" in str(refused.error)) == ("failed", True), refused.error


@pytest.mark.parametrize("term", ["alter column v set not null", "add constraint short check (length(v) < 5)"])
def test_what_the_table_itself_forbids_stays_out(delta: SparkSession, place: str, term: str) -> None:
    name = f"{place}.strict"
    form = MADE.replace("v string", "v string not null") if "not null" in term else MADE
    made(delta, name, form=form)
    if "constraint" in term:
        delta.sql(f"alter table {name} {term}")
    before = versions(delta, name)
    bad = "select id, if(id = 1, null, 'much too long') as v from range(1, 3)"
    report = publish(delta, name, bad, **ADDED)
    assert report.outcome in ("failed", "rejected")
    assert versions(delta, name) == before
    assert publish(delta, name, MORE, **ADDED).outcome == "published"


@pytest.mark.parametrize(
    ("properties", "given", "said"),
    [("delta.appendOnly = true", OVER, "append-only"), ("delta.enableRowTracking = true", ADDED, "row tracking")],
)
def test_what_is_refused_by_name(
    delta: SparkSession, place: str, properties: str, given: dict[str, Any], said: str
) -> None:
    name = f"{place}.refused"
    made(delta, name, properties)
    before = versions(delta, name)
    report = publish(delta, name, MORE, **given)
    assert (report.outcome, said in str(report.error)) == ("failed", True), report.error
    assert versions(delta, name) == before
