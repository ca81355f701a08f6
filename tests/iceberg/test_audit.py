"""An audit of an Iceberg table reads one snapshot: its manifests, and what they leave open by a query."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planproof import Contract, Guard
from planproof.project.freeze import find_drift, freeze_relations, render_form
from planproof.project.manifest import read_project
from planproof.project.sources import read_frozen
from planproof.report.model import Report
from planproof.session.snapshots import Snapshot

ORDERS = Contract([("id", "bigint", False), ("name", "string", False), ("amount", "double", True)])


@pytest.fixture
def guard(iceberg: Any) -> Guard:
    return Guard(iceberg)


def orders(spark: Any, database: str, more: str = "") -> str:
    name = f"{database}.orders"
    spark.sql(f"create table {name} (id bigint not null, name string, amount double) using iceberg {more}")
    spark.sql(f"insert into {name} values (1, 'a', 1.0), (2, 'b', null)")
    return name


def terms(report: Report, field: str) -> list[tuple[str, str]]:
    return [(f.code, f.verdict.value) for f in report.findings if f.field == field]


def message(report: Report, field: str) -> str:
    return "; ".join(f.message for f in report.findings if f.field == field)


def snapshot(guard: Guard, name: str, at: str | None = None) -> Snapshot:
    tables = guard.session.transactions()
    assert tables is not None
    found = tables.snapshot(name, at)
    assert found is not None
    return found


def test_manifests_prove_what_a_contract_promises(iceberg: Any, guard: Guard, place: str) -> None:
    name = orders(iceberg, place, "partitioned by (bucket(4, id))")
    iceberg.sql(f"alter table {name} write ordered by name")
    report = guard.audit(name, ORDERS)
    assert report.verdict == "proved", report.findings
    assert report.rows == 2
    assert "required by Iceberg's schema" in message(report, "id")
    assert "0 nulls in 2 rows, counted in the manifests of snapshot" in message(report, "name")
    catalog = next(p for p in report.planes if p.plane == "catalog")
    assert catalog.schema is not None
    assert catalog.schema[0] == ("id", "bigint", False)
    for said in ("field ids id 1, name 2, amount 3", "bucket(4, id)", "sorted by name ASC NULLS FIRST", "snapshot"):
        assert said in str(catalog.what), catalog.what


def test_files_that_no_snapshot_names_are_not_looked_at(iceberg: Any, guard: Guard, lake: str) -> None:
    name = orders(iceberg, lake)
    iceberg.sql(f"insert into {name} values (3, null, null)")
    broken = guard.audit(name, ORDERS)
    assert terms(broken, "name") == [("PP505", "violated")]
    iceberg.sql(f"insert overwrite {name} values (4, 'd', 4.0)")
    healed = guard.audit(name, ORDERS)
    assert (healed.verdict, healed.rows) == ("proved", 1), healed.findings


def test_a_snapshot_a_tag_or_a_branch_is_audited_with_the_schema_of_then(iceberg: Any, guard: Guard, lake: str) -> None:
    name = orders(iceberg, lake)
    first = snapshot(guard, name).number
    iceberg.sql(f"alter table {name} create tag audited")
    iceberg.sql(f"alter table {name} create branch trial")
    iceberg.sql(f"insert into {name}.branch_trial values (5, null, null)")
    iceberg.sql(f"alter table {name} add column note string")
    iceberg.sql(f"insert into {name} values (3, null, null, 'x')")
    for at in ("audited", str(first)):
        then = guard.audit(name, ORDERS, at=at)
        assert (then.verdict, then.rows) == ("proved", 2), then.findings
    assert terms(guard.audit(name, ORDERS, at="trial"), "name") == [("PP505", "violated")]
    now = guard.audit(name, ORDERS)
    assert (terms(now, "name"), terms(now, "note")) == ([("PP505", "violated")], [("PP502", "violated")])
    unknown = guard.audit(name, ORDERS, at="audit")
    assert "no tag, branch or snapshot audit; it has audited, main, trial" in str(unknown.error)


def test_where_files_take_rows_away_rows_are_counted(iceberg: Any, guard: Guard, lake: str) -> None:
    name = orders(iceberg, lake, "tblproperties ('format-version'='2', 'write.delete.mode'='merge-on-read')")
    # One file, or Iceberg takes the whole of it away.
    rows = "values (3L, null, null), (4L, 'd', 4.0D), (6L, 'f', 6.0D)"
    iceberg.sql(f"insert into {name} select /*+ coalesce(1) */ * from {rows}")
    iceberg.sql(f"delete from {name} where id = 3")
    found = snapshot(guard, name)
    assert (found.counts.rows, found.counts.deletes > 0) == (5, True)
    report = guard.audit(name, ORDERS)
    assert (report.verdict, report.rows) == ("proved", 4), report.findings
    assert "delete files take some away" in str(next(p for p in report.planes if p.plane == "files").what)


def test_what_manifests_do_not_count_is_counted_by_a_query(iceberg: Any, guard: Guard, lake: str) -> None:
    bare = orders(iceberg, lake, "tblproperties ('write.metadata.metrics.default'='none')")
    assert not snapshot(guard, bare).counts.nulls
    assert guard.audit(bare, ORDERS).verdict == "proved"
    iceberg.sql(f"insert into {bare} values (3, null, null)")
    assert terms(guard.audit(bare, ORDERS), "name") == [("PP505", "violated")]
    wide = f"{lake}.wide"
    columns = ", ".join(f"{n} as c{n}" for n in range(101))
    iceberg.sql(f"create table {wide} using iceberg as select array(1, null) as items, {columns}")
    counted = snapshot(guard, wide)
    paths = {p.path for p in counted.fields if p.number in counted.counts.nulls}
    assert ("c5",) in paths
    assert not paths & {("c100",), ("items", "element")}
    promised = [("items", "array<int not null>", True), *((f"c{n}", "int", False) for n in range(101))]
    report = guard.audit(wide, Contract(promised))
    assert terms(report, "c100") == [("PP505", "proved")]
    assert terms(report, "items.element") == [("PP505", "violated")]


def test_a_column_dropped_and_added_again_is_not_the_one_of_older_files(iceberg: Any, guard: Guard, lake: str) -> None:
    name = orders(iceberg, lake)
    iceberg.sql(f"alter table {name} drop column name")
    iceberg.sql(f"alter table {name} add column name string after id")
    report = guard.audit(name, ORDERS)
    assert terms(report, "name") == [("PP505", "violated")]
    assert "2 nulls" in message(report, "name")


def test_renamed_and_widened_columns_are_healthy(iceberg: Any, guard: Guard, lake: str) -> None:
    name = f"{lake}.orders"
    iceberg.sql(f"create table {name} (key int not null, label string, amount float) using iceberg")
    iceberg.sql(f"insert into {name} values (1, 'a', 1.0)")
    for change in ("rename column key to id", "rename column label to name", "alter column id type bigint"):
        iceberg.sql(f"alter table {name} {change}")
    iceberg.sql(f"alter table {name} alter column amount type double")
    iceberg.sql(f"insert into {name} values (2, 'b', 2.0)")
    assert guard.audit(name, ORDERS).verdict == "proved"


def test_a_flag_that_was_not_enforced_is_no_evidence(iceberg: Any, guard: Guard, lake: str) -> None:
    contract = Contract([("id", "bigint", False), ("name", "string", True), ("amount", "double", True)])
    plain = "tblproperties ('write.metadata.metrics.default'='none')"
    for more, verdict, code in (("", "violated", "PP402"), (plain, "unproved", "PP506")):
        name = f"{lake}.late"
        iceberg.sql(f"create table {name} (id bigint, name string, amount double) using iceberg {more}")
        iceberg.sql(f"insert into {name} values (1, 'a', 1.0), (null, 'b', 2.0)")
        found = guard.session.spark._jsparkSession.sessionState().catalogManager().catalog("lake_hadoop")  # type: ignore[attr-defined]
        jvm = iceberg._jvm
        namespace = iceberg.sparkContext._gateway.new_array(jvm.java.lang.String, 1)
        namespace[0] = lake.split(".")[1]
        identifier = getattr(jvm, "org.apache.spark.sql.connector.catalog.Identifier").of(namespace, "late")
        table = found.loadTable(identifier).table()
        table.updateSchema().allowIncompatibleChanges().requireColumn("id").commit()
        iceberg.sql(f"refresh table {name}")
        report = guard.audit(name, contract)
        assert (code, verdict) in terms(report, "id"), report.findings
        assert report.verdict == verdict
        iceberg.sql(f"drop table {name} purge")


def test_lengths_and_small_numbers_change_on_the_way(iceberg: Any, guard: Guard, lake: str) -> None:
    name = f"{lake}.small"
    iceberg.sql(f"create table {name} (code varchar(3), size smallint) using iceberg")
    iceberg.sql(f"insert into {name} values ('abc', 1)")
    promised = Contract([("code", "string", True), ("size", "smallint", True)])
    assert "Iceberg has no smallint, and stores int: promise int" in message(guard.audit(name, promised), "size")
    ints = Contract([("code", "varchar(3)", True), ("size", "int", True)])
    assert terms(guard.audit(name, ints), "code") == [("PP500", "proved")]
    iceberg.sql(f"insert into {name} values ('abcd', 1)")
    assert terms(guard.audit(name, ints), "code") == [("PP500", "violated")]


def test_a_table_s_folder_is_not_taken_for_its_rows(iceberg: Any, guard: Guard, lake: str) -> None:
    name = orders(iceberg, lake)
    location = iceberg.sql(f"select file from {name}.metadata_log_entries").first()[0].removeprefix("file:")
    root = location.partition("/metadata/")[0]
    for path in (root, f"{root}/data"):
        assert "belongs to an Iceberg table" in str(guard.audit(path, ORDERS).error)


def test_other_tables_have_no_snapshots(iceberg: Any, guard: Guard, database: str) -> None:
    iceberg.sql(f"create table {database}.plain using parquet as select 1L as id, 'a' as name, 1.0D as amount")
    assert guard.audit(f"{database}.plain", ORDERS).verdict == "proved"
    asked = guard.audit(f"{database}.plain", ORDERS, at="1")
    assert "is no Iceberg or Delta table" in str(asked.error)
    tables = guard.session.transactions()
    assert tables is not None
    assert [tables.snapshot(f"{database}.{name}") for name in ("plain", "absent")] == [None, None]


def test_sources_are_frozen_with_their_flags_and_field_ids(
    iceberg: Any, guard: Guard, lake: str, dbt_manifest: Any, tmp_path: Path
) -> None:
    name = orders(iceberg, lake)
    form = dbt_manifest(sources={"lake.orders": {"id": "bigint"}})
    (source,) = form["sources"].values()
    source["relation_name"] = name
    (tmp_path / "manifest.json").write_text(json.dumps(form))
    project = read_project(tmp_path / "manifest.json")
    content, missing = freeze_relations(project, guard.session)
    assert not missing
    found = [(c["name"], c["type"], c["nullable"], c["id"]) for c in content["sources"][name]["columns"]]
    assert found[:2] == [("id", "bigint", False, 1), ("name", "string", True, 2)]
    file = tmp_path / "frozen.json"
    file.write_text(render_form(content))
    frozen = read_frozen(project, file)
    assert not find_drift(project, guard.session, frozen).changes
    iceberg.sql(f"alter table {name} alter column id drop not null")
    iceberg.sql(f"alter table {name} drop column name")
    iceberg.sql(f"alter table {name} add column name string after id")
    changes = find_drift(project, guard.session, frozen).changes
    assert [(c.column, c.what, c.before, c.after) for c in changes] == [
        ("id", "may be null now", "bigint NOT NULL", "bigint"),
        ("name", "made anew", "field 2", "field 4"),
    ]
