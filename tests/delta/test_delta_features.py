"""What a Delta table can be: each is kept, refused by name, or guarded (docs/delta.md)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from delta_tables import ADDED, MERGED, contract, folder, publish, rows, versions

from planproof import Contract
from planproof.contract import Constraint
from planproof.session.classic import ClassicSession
from planproof.session.delta.tables import Delta
from planproof.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from planproof.report.model import Report

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


def test_what_stands_is_not_written_together_with_new_rows(delta: SparkSession, place: str) -> None:
    """Delta's auto compaction follows each write, the one to a clone too."""
    name, least = f"{place}.compacted", "spark.databricks.delta.autoCompact.minNumFiles"
    made(delta, name, "delta.autoOptimize.autoCompact = true")
    delta.conf.set(least, "2")
    try:
        for given in ({**ADDED, "contract": contract(keys=True)}, MERGED):
            start = 10 * len(versions(delta, name))
            report = publish(delta, name, f"select id, 'new' as v from range({start}, {start} + 3)", **given)
            assert (report.outcome, report.rows or 3) == ("published", 3), report.findings
            log = folder(delta, name) / "_delta_log" / f"{max(versions(delta, name)):020}.json"
            assert '"remove"' not in log.read_text()
    finally:
        delta.conf.unset(least)


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
    delta.conf.set("spark.databricks.delta.properties.defaults.columnMapping.mode", "name")
    try:
        for given in ({}, ADDED, {}):
            assert publish(delta, name, MORE, **given).outcome == "published"
    finally:
        delta.conf.unset("spark.databricks.delta.properties.defaults.columnMapping.mode")
    assert len(rows(delta, name)) == 2


MAPPED = "delta.columnMapping.mode = '{}', delta.minReaderVersion = 2, delta.minWriterVersion = 5"
KEPT = {
    "a column dropped and added again": [
        f"create table {{t}} {MADE} tblproperties ({MAPPED.format('name')})",
        "alter table {t} drop column v",
        "alter table {t} add column (v string)",
    ],
    "varchar": ["create table {t} (id bigint, v varchar(5)) using delta"],
    "char": ["create table {t} (id bigint, v char(5)) using delta"],
    "clustered": ["create table {t} (id bigint, v string) using delta cluster by (id)"],
    "append-only": [f"create table {{t}} {MADE} tblproperties (delta.appendOnly = true)"],
}
BARE = {
    "append": f"insert into {{t}} (id, v) {MORE}",
    "merge": f"merge into {{t}} using ({MORE}) as new on {{t}}.id = new.id "
    "when matched then update set * when not matched then insert *",
}


@pytest.mark.parametrize(
    ("kind", "how"), [(kind, how) for kind in KEPT for how in BARE if (kind, how) != ("append-only", "merge")]
)
def test_a_later_run_keeps_the_table_as_it_is(delta: SparkSession, place: str, kind: str, how: str) -> None:
    """By the guard as by the bare statement: the same rows, and the same table."""
    bare, name = f"{place}.bare", f"{place}.kept"
    for statement in (s.format(t=t) for t in (bare, name) for s in KEPT[kind]):
        delta.sql(statement).collect()
    delta.sql(BARE[how].format(t=bare)).collect()
    report = publish(delta, name, MORE, **{"append": ADDED, "merge": MERGED}[how])
    assert report.outcome == "published", report.findings
    assert rows(delta, name) == rows(delta, bare)
    assert delta.table(name).schema == delta.table(bare).schema
    assert [form(delta, name, detail) for detail in FORM] == [form(delta, bare, detail) for detail in FORM]


@pytest.mark.parametrize("how", [*BARE, "replace"])
def test_a_column_whose_type_was_widened_is_kept(delta: SparkSession, place: str, how: str) -> None:
    """Its older files hold the narrower type."""
    narrow, wide = ("smallint", "int") if delta.version < "4" else ("int", "bigint")
    bare, name = f"{place}.bare", f"{place}.widened"
    for table in (bare, name):
        made(delta, table, "delta.enableTypeWidening = true", MADE.replace("bigint", narrow))
        delta.sql(f"alter table {table} change column id type {wide}")
    more = f"select cast(id as {wide}) as id, 'new' as v from range(1, 3)"
    replace = "create or replace table {t} using delta as " + MORE
    delta.sql({**BARE, "replace": replace}[how].replace(MORE, more).format(t=bare)).collect()
    contract = Contract([("id", wide, True), ("v", "string", True)])
    report = publish(delta, name, more, contract=contract, **{"append": ADDED, "merge": MERGED, "replace": {}}[how])
    assert report.outcome == "published", (report.error, report.findings)
    assert rows(delta, name) == rows(delta, bare)
    assert delta.table(name).schema.simpleString() == delta.table(bare).schema.simpleString()
    assert [form(delta, name, detail) for detail in FORM] == [form(delta, bare, detail) for detail in FORM]


@pytest.mark.parametrize("kind", ["char(5)", "varchar(5)"])
def test_a_text_that_is_too_long_for_its_column_is_counted(delta: SparkSession, place: str, kind: str) -> None:
    """Delta tells of the first one, and of no column."""
    name = f"{place}.short"
    made(delta, name, form=MADE.replace("v string", f"v {kind}"))
    before = versions(delta, name)
    report = publish(delta, name, "select id, 'much too long' as v from range(2)", **ADDED)
    assert (report.outcome, codes(report), versions(delta, name)) == ("rejected", {"PP500"}, before), report.findings
    (found,) = [f for f in report.findings if f.code == "PP500" and f.verdict == "violated"]
    assert (found.field, "2 " in str(found.message)) == ("v", True), found


FORM = ("minReaderVersion", "minWriterVersion", "tableFeatures", "partitionColumns")


def form(spark: SparkSession, name: str, detail: str) -> Any:
    found = spark.sql(f"describe detail {name}").collect()[0][detail]
    return sorted(found) if isinstance(found, list) else found


def codes(report: Report) -> set[str]:
    return {f.code for f in report.findings if f.verdict == "violated"}


def made_with(spark: SparkSession, name: str, how: Callable[[Any], Any]) -> None:
    """A table with a column `d` that Delta fills, which no SQL of Spark 3.5 makes."""
    tables, session = spark._jvm.io.delta.tables.DeltaTable, spark._jsparkSession  # type: ignore[union-attr]
    table = tables.create(session).tableName(name).addColumn("id", "bigint").addColumn("v", "string")
    table.addColumn(how(tables.columnBuilder(session, "d").dataType("BIGINT")).build()).execute()


def test_a_column_that_the_model_does_not_give_is_not_filled_in(delta: SparkSession, place: str) -> None:
    """As dbt-spark's INSERT, which names every column of the table, a default or none."""
    name = f"{place}.filled"
    allowed = "tblproperties (delta.feature.allowColumnDefaults = 'supported')"
    delta.sql(f"create table {name} (id bigint, v string, d int default 7) using delta {allowed}")
    report = publish(delta, name, MORE, **ADDED)
    assert (report.outcome, codes(report)) == ("rejected", {"PP402"}), report.findings
    given = Contract([("id", "bigint", False), ("v", "string", True), ("d", "int", True)])
    report = publish(delta, name, f"select *, 1 as d from ({MORE})", contract=given, **ADDED)
    assert report.outcome == "published", report.findings
    assert rows(delta, name) == [(1, "new", 1), (2, "new", 1)]


@pytest.mark.parametrize("query", ["select id from ({more})", "select id, array(v) as v from ({more})"])
def test_a_snapshot_is_not_told_to_run_with_full_refresh(delta: SparkSession, place: str, query: str) -> None:
    """There is none: its history would be gone."""
    name = f"{place}.kept"
    delta.sql(f"create table {name} using delta as select 1L as id, 'old' as v")
    merge = "on DBT_INTERNAL_SOURCE.id = DBT_INTERNAL_DEST.id when not matched then insert *"
    for options, is_told in (({"merge": merge}, True), ({"merge": merge, "adds": ()}, False)):
        how = {"materialized": "incremental", "incremental_strategy": "merge", "options": options}
        report = publish(delta, name, query.format(more=MORE), contract=None, **how)
        assert (report.outcome, codes(report)) == ("rejected", {"PP402"}), report.findings
        [found] = [f for f in report.findings if f.code == "PP402"]
        assert ("full_refresh" in found.message, "ALTER TABLE" in found.message) == (is_told, not is_told)


def test_a_generated_column_holds_what_it_is_generated_as(delta: SparkSession, place: str) -> None:
    name, given = f"{place}.doubled", Contract([("id", "bigint", False), ("v", "string", True), ("d", "bigint", True)])
    made_with(delta, name, lambda column: column.generatedAlwaysAs("id * 2"))
    wrong = publish(delta, name, f"select *, 1L as d from ({MORE})", contract=given, **ADDED)
    assert wrong.outcome == "failed", wrong.findings
    assert "Let the model give what the column is generated as" in str(wrong.error)
    assert versions(delta, name) == [0]
    report = publish(delta, name, f"select *, id * 2 as d from ({MORE})", contract=given, **ADDED)
    assert report.outcome == "published", report.findings
    assert rows(delta, name) == [(1, "new", 2), (2, "new", 4)]


@pytest.mark.parametrize("given", [ADDED, {}], ids=["append", "replace"])
def test_identity_columns_are_refused(delta: SparkSession, place: str, given: dict[str, Any]) -> None:
    made_with(delta, f"{place}.numbered", lambda column: column.generatedAlwaysAsIdentity())
    report = publish(delta, f"{place}.numbered", MORE, **given)
    assert (report.outcome, "identity columns" in str(report.error)) == ("failed", True), report.error
    assert versions(delta, f"{place}.numbered") == [0]


def test_a_clustered_table_is_not_replaced(delta: SparkSession, place: str) -> None:
    name = f"{place}.clustered"
    delta.sql(f"create table {name} {MADE} cluster by (id)")
    report = publish(delta, name, MORE)
    assert (report.outcome, "liquid clustering" in str(report.error)) == ("failed", True), report.error
    assert versions(delta, name) == [0]


def test_no_protocol_is_upgraded(delta: SparkSession, place: str) -> None:
    name = f"{place}.older"
    made(delta, name)
    before = rows(delta, name), form(delta, name, "minReaderVersion"), versions(delta, name)
    report = publish(delta, name, MORE, options={"tblproperties": {"delta.enableDeletionVectors": "true"}})
    assert (report.outcome, "planproof upgrades none" in str(report.error)) == ("failed", True), report.error
    assert (rows(delta, name), form(delta, name, "minReaderVersion"), versions(delta, name)) == before


@pytest.mark.parametrize("how", ["append", "replace", "overwrite"])
@pytest.mark.parametrize("act", ["optimize {t}", "restore table {t} to version as of 1"])
def test_maintenance_between_audit_and_commit(
    delta: SparkSession, place: str, act: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What no row of the model's depends on stays as others have left it; older versions stay readable."""
    from planproof.publish.delta.publication import DeltaPublication

    name, commit, acted = f"{place}.kept_up", DeltaPublication.commit, list[Any]()
    made(delta, name)
    delta.sql(f"insert into {name} values (2, 'old')")

    def late(self: DeltaPublication) -> None:
        if not acted:
            acted.append(delta.sql(act.format(t=name)).collect())
        commit(self)

    monkeypatch.setattr(DeltaPublication, "commit", late)
    given = {"append": ADDED, "replace": {}, "overwrite": OVER}[how]
    report = publish(delta, name, "select 9L as id, 'new' as v", **given)
    assert (report.outcome, len(acted)) == ("published", 1), report.findings
    is_told = "restore" in act and how != "append"
    assert [f.code for f in report.findings if f.code == "PP621"] == (["PP621"] if is_told else []), report.findings
    others = [(0, "old"), (1, "old")] if "restore" in act else [(0, "old"), (1, "old"), (2, "old")]
    delta.catalog.refreshTable(name)
    assert rows(delta, name) == [*(others if how == "append" else []), (9, "new")]
    then = delta.sql(f"select * from {name} version as of {max(versions(delta, name)) - 1}").collect()
    assert sorted(map(tuple, then), key=str) == others


SHORT = Constraint("check", (), "length(v) < 5", "short")
OWN_TERMS = {
    "not null": (MADE.replace("v string", "v string not null"), None, "PP505"),
    "check": (MADE, "add constraint short check (length(v)<5)", "PP507"),
}
FORBIDDEN = "select id, if(id < 3, {bad}, 'new') as v from range(1, 4)"


@pytest.mark.parametrize("term", OWN_TERMS)
def test_rows_that_table_and_contract_forbid_are_counted_or_quarantined(
    delta: SparkSession, place: str, term: str
) -> None:
    """Delta alone tells of the first one."""
    name, (form, change, code) = f"{place}.strict", OWN_TERMS[term]
    made(delta, name, form=form)
    delta.sql(f"alter table {name} {change}") if change else None
    given = Contract([("id", "bigint", False), ("v", "string", term == "check")], [SHORT] if term == "check" else [])
    bad = FORBIDDEN.format(bad="'much too long'" if term == "check" else "null")
    before = versions(delta, name)
    for strategy in (ADDED, OVER, MERGED):
        report = publish(delta, name, bad, contract=given, settings=Settings(samples="rows"), **strategy)
        assert (report.outcome, codes(report)) == ("rejected", {code}), report.findings
        assert [f.message for f in report.findings if f.code == code and "2 " in str(f.message)], report.findings
        assert [len(shown.rows or ()) for shown in report.details.broken or ()] == [2]
    assert versions(delta, name) == before
    report = publish(delta, name, bad, contract=given, settings=Settings(on_violation="quarantine"), **ADDED)
    assert report.outcome == "published", report.findings
    assert (3, "new") in rows(delta, name)
    assert [row[0] for row in rows(delta, f"{name}__quarantine")] == [1, 2]
    with pytest.raises(Exception, match="violated"):
        delta.sql(f"insert into {name} {bad}").collect()


@pytest.mark.parametrize("term", OWN_TERMS)
def test_what_the_table_alone_forbids_is_named(delta: SparkSession, place: str, term: str) -> None:
    name, (form, change, _) = f"{place}.strict", OWN_TERMS[term]
    made(delta, name, form=form)
    delta.sql(f"alter table {name} {change}") if change else None
    before = versions(delta, name)
    report = publish(delta, name, FORBIDDEN.format(bad="null"), **ADDED)
    assert (report.outcome, codes(report), versions(delta, name)) == ("failed", set(), before), report.findings
    said = "CHECK constraint short" if term == "check" else "NOT NULL constraint violated for column: v"
    assert said in str(report.error)
    assert "drop the term" in str(report.error)
    assert publish(delta, name, MORE, **ADDED).outcome == "published"


def test_a_null_keeps_a_check_of_the_contract_but_none_of_the_table(delta: SparkSession, place: str) -> None:
    """Only Delta takes the null for broken: nothing is committed that it would not have taken."""
    name = f"{place}.strict"
    made(delta, name)
    delta.sql(f"alter table {name} add constraint short check (length(v) < 5)")
    before, given = versions(delta, name), Contract([("id", "bigint", False), ("v", "string", True)], [SHORT])
    null = "select 9L as id, cast(null as string) as v"
    report = publish(delta, name, null, contract=given, **ADDED)
    assert (report.outcome, versions(delta, name)) == ("failed", before), report.findings
    assert "CHECK constraint short" in str(report.error)
    given = Contract([("id", "bigint", False), ("v", "string", True)], [replace(SHORT, takes_null=False)])
    report = publish(delta, name, null, contract=given, **ADDED)
    assert (report.outcome, codes(report), versions(delta, name)) == ("rejected", {"PP507"}, before), report.findings


@pytest.mark.parametrize(
    ("properties", "given", "said"),
    [
        ("delta.appendOnly = true", OVER, "append-only"),
        ("delta.appendOnly = true", {}, "This table is configured to only allow appends"),
        ("delta.enableRowTracking = true", MERGED, "row tracking"),
    ],
)
def test_what_is_refused_by_name(
    delta: SparkSession, place: str, properties: str, given: dict[str, Any], said: str
) -> None:
    name = f"{place}.refused"
    made(delta, name, properties)
    before = versions(delta, name)
    report = publish(delta, name, MORE, **given)
    assert (report.outcome, said in str(report.error)) == ("failed", True), report.error
    assert "internal error" not in str(report.error)
    assert versions(delta, name) == before


ROW_IDS = "select id, v, _metadata.row_id, _metadata.row_commit_version from {t} order by all"


TRACKS = "delta.enableRowTracking = true"
WAYS = {
    "append": (f"insert into {{t}} {MORE}", ADDED),
    "overwrite": (f"insert overwrite {{t}} {MORE}", OVER),
    "replace": (
        f"create or replace table {{t}} using delta tblproperties ({TRACKS}) as {MORE}",
        {"options": {"tblproperties": {"delta.enableRowTracking": "true"}}},
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_rows_of_a_table_with_row_tracking_get_their_ids(delta: SparkSession, place: str, way: str) -> None:
    statement, given = WAYS[way]
    bare, guarded = f"{place}.bare", f"{place}.guarded"
    for name in (bare, guarded):
        made(delta, name, TRACKS)
    for _ in range(2):
        delta.sql(statement.format(t=bare))
        assert publish(delta, guarded, MORE, **given).outcome == "published"
    for name in (bare, guarded):
        delta.sql(f"insert into {name} {MORE}")
    ids = [list(map(tuple, delta.sql(ROW_IDS.format(t=name)).collect())) for name in (bare, guarded)]
    assert ids[0] == ids[1]
    assert len(ids[0]) == len({row[2] for row in ids[0]}) > 1


@pytest.mark.parametrize("way", [{}, ADDED, OVER, MERGED], ids=["table", "append", "insert_overwrite", "merge"])
def test_a_folder_whose_name_a_uri_encodes(
    delta: SparkSession, place: str, tmp_path: Path, way: dict[str, Any]
) -> None:
    name, there = f"{place}.spaced", tmp_path / "a lake 50%20ü" / "t"
    made(delta, name, form=f"(id bigint, v string) using delta location '{there}'")
    options = {**way.get("options", {}), "location_root": str(there.parent)}
    report = publish(delta, name, MORE, **{**way, "options": options} if way else {})
    assert report.outcome == "published", report.findings
    assert (2, "new") in rows(delta, name)


def test_columns_in_another_order_are_added_by_name(delta: SparkSession, place: str) -> None:
    name = f"{place}.turned"
    made(delta, name)
    contract = Contract([("v", "string", True), ("id", "bigint", True)])
    report = publish(delta, name, "select 'new' as v, id from range(2, 3)", contract=contract, **ADDED)
    assert report.outcome == "published", report.findings
    assert rows(delta, name) == [(0, "old"), (1, "old"), (2, "new")]


@pytest.mark.parametrize(("verb", "parts"), [("into", ()), ("overwrite", ()), ("overwrite", ("v",))])
def test_an_insert_costs_as_many_jobs_as_the_bare_one(
    delta: SparkSession, place: str, verb: str, parts: tuple[str, ...]
) -> None:
    """A clone of the table, or a commit beside it, would cost several more."""
    name = f"{place}.counted"
    made(delta, name, form=f"{MADE} partitioned by ({parts[0]})" if parts else MADE)
    statement, mode = f"insert {verb} {name} by name {MORE}", "spark.sql.sources.partitionOverwriteMode"
    delta.conf.set(mode, "dynamic" if parts else "static")
    delta.sql(statement)
    bare = count_jobs(delta, lambda: delta.sql(statement))
    delta.conf.unset(mode)
    way = ADDED if verb == "into" else {**OVER, "partition_by": parts}
    assert count_jobs(delta, lambda: publish(delta, name, MORE, **way)) <= bare


def test_a_replacement_costs_as_many_jobs_as_the_bare_one(delta: SparkSession, place: str) -> None:
    name, bare = f"{place}.guarded", f"{place}.bare"
    for _ in range(2):
        delta.sql(f"create or replace table {bare} using delta as {MORE}")
        publish(delta, name, MORE)
    wanted = count_jobs(delta, lambda: delta.sql(f"create or replace table {bare} using delta as {MORE}"))
    assert count_jobs(delta, lambda: publish(delta, name, MORE)) <= wanted


def count_jobs(spark: SparkSession, work: Callable[[], Any]) -> int:
    """The jobs that Spark numbered meanwhile; its list of them forgets the oldest."""
    scheduler = spark.sparkContext._jsc.sc().dagScheduler()  # type: ignore[attr-defined]
    before = int(scheduler.numTotalJobs())
    work()
    return int(scheduler.numTotalJobs()) - before


def test_a_log_in_which_nothing_is_new_is_read_once(delta: SparkSession, place: str) -> None:
    """Each look at a publish's target would cost twenty calls of the JVM."""
    name = f"{place}.looked_at"
    made(delta, name)
    tables, location = Delta(delta), str(folder(delta, name))
    first = tables.state(location)
    assert tables.state(location) is first
    delta.sql(f"insert into {name} values (2, 'new')")
    assert tables.state(location).version == first.version + 1
    assert tables.state(location, first.version) == first
    delta.sql(f"drop table {name}")
    made(delta, name)
    now = tables.state(location)
    assert (now.version, now.metadata["id"] == first.metadata["id"]) == (first.version, False)


def test_settings_are_asked_for_anew_only_where_one_was_set(delta: SparkSession, place: str) -> None:
    """Delta sets one with each commit."""
    session, name = ClassicSession(delta), f"{place}.committed"
    before = session.conf
    made(delta, name)
    assert session.conf is before
    delta.conf.set("spark.sql.caseSensitive", "true")
    try:
        assert session.conf.case_sensitive
    finally:
        delta.conf.unset("spark.sql.caseSensitive")


def test_a_cached_table_shows_what_was_published(delta: SparkSession, place: str) -> None:
    name = f"{place}.cached"
    made(delta, name)
    delta.sql(f"cache table {name}")
    assert publish(delta, name, MORE, **ADDED).outcome == "published"
    assert len(rows(delta, name)) == 4
    delta.sql(f"uncache table {name}")
