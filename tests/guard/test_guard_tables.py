"""Tables through the guard on real Spark: healthy publishes, and refusals that leave the target as it was."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from reports import ROWS, SCHEMA, codes

from planproof import Contract, Guard, Model, Report, Settings, Verdict
from planproof.contract import Constraint

pytestmark = pytest.mark.hive


@pytest.mark.spark35_smoke
@pytest.mark.parametrize("on", [True, False])
def test_a_healthy_table_is_published_and_says_how(
    guard: Guard, database: str, read: Any, clean: Any, ansi: Any, on: bool
) -> None:
    ansi(on)
    report = guard.publish(Model(f"{database}.t", ROWS, contract=Contract(SCHEMA)))
    assert report.error is None
    assert (report.outcome, report.verdict, report.rows, report.strategy) == ("published", "proved", 2, "rename")
    assert read(f"{database}.t") == [(1, "a"), (2, "b")]
    assert {p.plane: p.status for p in report.planes if p.plane not in ("logical", "rewritten")} == {
        "contract": "read",
        "analyzed": "read",
        "optimized": "read",
        "executed": "read",
        "batches": "read",
        "files": "read",
        "catalog": "read",
    }
    assert {e.invariant for e in report.invariants if e.enforced} >= {"I2", "I5", "I7", "D1"}
    assert report.executed_sql is not None
    assert ROWS in report.executed_sql
    assert Report.from_json(report.to_json()).to_json() == report.to_json()
    clean()


def test_the_second_publish_keeps_the_table_and_its_properties(
    guard: Guard, database: str, read: Any, spark: Any, clean: Any
) -> None:
    name = f"{database}.t"
    guard.publish(Model(name, ROWS, contract=Contract(SCHEMA)))
    spark.sql(f"alter table {name} set tblproperties ('owner team' = 'it\\'s us')")
    spark.sql(f"comment on table {name} is 'kept'")
    report = guard.publish(Model(name, "select 3 as id, 'c' as name", contract=Contract(SCHEMA)))
    assert (report.outcome, report.strategy) == ("published", "location")
    report = guard.publish(Model(name, "select 3L as id, 'c' as name", comment="new"))
    assert (report.outcome, report.strategy) == ("published", "rename")
    table = guard.session.table(name)
    assert table is not None
    assert table.managed
    assert table.comment == "new"
    assert table.properties["owner team"] == "it's us"
    assert read(name) == [(3, "c")]
    clean()


BAD = {
    "PP501": "select 1 as id",
    "PP502": "select 1 as id, 'a' as name, 2 as more",
    "PP503": "select 'a' as name, 1 as id",
    "PP504": "select 1L as id, 'a' as name",
    "PP505": "select if(v > 1, null, v) as id, 'a' as name from values (1), (2) as t(v)",
    "PP102": "select 1 as id, 2 as id",
    "PP110": "select 1 as id, nmae as name from values ('a') as t(name)",
}


@pytest.mark.spark35_smoke
@pytest.mark.parametrize("code", BAD)
def test_a_violation_leaves_the_table_as_it_was(
    guard: Guard, database: str, read: Any, spark: Any, clean: Any, code: str
) -> None:
    name = f"{database}.t"
    guard.publish(Model(name, ROWS, contract=Contract(SCHEMA)))
    before = spark.sql(f"describe extended {name}").collect()
    report = guard.publish(Model(name, BAD[code], contract=Contract(SCHEMA)))
    assert (report.outcome, report.verdict) == ("rejected", "violated")
    assert code in codes(report, Verdict.VIOLATED)
    assert read(name) == [(1, "a"), (2, "b")]
    assert [r for r in spark.sql(f"describe extended {name}").collect() if "Stat" not in r[0]] == [
        r for r in before if "Stat" not in r[0]
    ]
    clean()


WORDS = Contract(
    [("id", "int", True), ("name", "varchar(2)", False)],
    constraints=[Constraint("unique", ("id",)), Constraint("check", expression="id < 2", name="small")],
)


def test_all_that_rows_break_is_counted_and_said_at_once(guard: Guard, database: str, spark: Any, clean: Any) -> None:
    rows = "select * from values (1, 'a'), (1, null), (3, 'long') as t(id, name)"
    stopped = guard.publish(Model(f"{database}.t", rows, contract=WORDS))
    spark.sql(f"create table {database}.stored using parquet as {rows}")
    for report in (stopped, guard.audit(f"{database}.stored", WORDS)):
        said = sorted(re.split(", counted| was counted", f.message)[0] for f in report.of(Verdict.VIOLATED))
        assert said == [
            "name: promised NOT NULL, and 1 null",
            "name: promised varchar(2), and 1 longer value in 3 rows",
            "small: check(id < 2): 1 row fails the check",
            "unique(id): 1 key stands on several rows",
        ]
        assert report.of(Verdict.UNPROVED) == []
    assert stopped.details.uncounted is None
    clean()


def test_what_nobody_counted_is_not_called_violated(guard: Guard, database: str, clean: Any) -> None:
    rows = "select '1' as id, name from values ('a'), (null) as t(name)"
    report = guard.publish(Model(f"{database}.t", rows, contract=WORDS))
    assert codes(report, Verdict.VIOLATED) == ["PP504"]
    lengths = [f for f in report.findings if f.code == "PP500"]
    assert [(f.verdict, "counted yet" in f.message) for f in lengths] == [(Verdict.UNPROVED, True)]
    assert report.details.uncounted == ("unique(id)", "check(id < 2)")
    clean()


def test_a_rejection_by_spark_is_placed(guard: Guard, database: str) -> None:
    sql = "select\n  id,\n  nmae\nfrom values (1) as t(id)"
    report = guard.check(Model(f"{database}.t", sql, file="models/t.sql"))
    (finding,) = report.of(Verdict.VIOLATED)
    assert finding.code == "PP110"
    assert "UNRESOLVED_COLUMN" in finding.message
    assert str(finding.origin) == "models/t.sql:3:3"


CONSTRAINTS = {
    "unique": ({"type": "unique", "columns": ["id"]}, "select 1 as id union all select 1", "select 1 as id"),
    "primary_key": ({"type": "primary_key", "columns": ["id"]}, "select 1 as id union all select 1", "select 1 as id"),
    "check": ({"type": "check", "expression": "id > 0 -- positive"}, "select 0 as id", "select 1 as id"),
    "foreign_key": (
        {"type": "foreign_key", "columns": ["id"], "expression": "{db}.parent (id)"},
        "select 9 as id",
        "select 1 as id",
    ),
}


@pytest.mark.parametrize("kind", CONSTRAINTS)
def test_declared_constraints_are_counted(
    guard: Guard, database: str, read: Any, spark: Any, clean: Any, kind: str
) -> None:
    spark.sql(f"create table {database}.parent using parquet as select 1 as id")
    constraint, bad, good = CONSTRAINTS[kind]
    constraint = {k: v.replace("{db}", database) if isinstance(v, str) else v for k, v in constraint.items()}
    contract = Contract([("id", "int", True)], constraints=[constraint])
    report = guard.publish(Model(f"{database}.t", good, contract=contract))
    assert (report.outcome, report.verdict) == ("published", "proved")
    assert "PP507" in codes(report, Verdict.PROVED)
    report = guard.publish(Model(f"{database}.t", bad, contract=contract))
    assert report.outcome == "rejected"
    assert codes(report, Verdict.VIOLATED) == ["PP507"]
    assert read(f"{database}.t") == [(1,)]
    clean()


def test_a_check_that_cannot_be_read_is_named(guard: Guard, database: str, clean: Any) -> None:
    contract = Contract([("id", "int", True)], constraints=[{"type": "check", "expression": "nosuch > 0"}])
    report = guard.publish(Model(f"{database}.t", "select 1 as id", contract=contract))
    assert report.outcome == "rejected"
    assert codes(report, Verdict.VIOLATED) == ["PP509"]
    assert "nosuch" in report.of(Verdict.VIOLATED)[0].message
    clean()


def test_nested_not_null_is_judged_by_what_is_stored(guard: Guard, database: str, clean: Any) -> None:
    contract = Contract([("items", "array<struct<sku:string not null,qty:int>>", True)])
    good = "select array(named_struct('sku', 'a', 'qty', 1)) as items"
    bad = "select array(named_struct('sku', if(v > 0, null, 'a'), 'qty', 1)) as items from values (1) as t(v)"
    assert guard.publish(Model(f"{database}.t", good, contract=contract)).outcome == "published"
    report = guard.publish(Model(f"{database}.t", bad, contract=contract))
    assert report.outcome == "rejected"
    assert [f.field for f in report.of(Verdict.VIOLATED)] == ["items.element.sku"]
    clean()


def test_two_columns_of_one_name_are_refused_before_anything_is_written(
    guard: Guard, database: str, spark: Any, clean: Any
) -> None:
    sql = "select t1.id, t2.id from values (1) as t1(id) join values (1) as t2(id) on t1.id = t2.id"
    report = guard.publish(Model(f"{database}.t", sql))
    assert report.outcome == "rejected"
    assert "PP102" in codes(report, Verdict.VIOLATED)
    assert report.executed_sql is None
    assert not spark.catalog.tableExists(f"{database}.t")
    clean()


def test_a_name_with_a_dot_is_kept_and_a_qualifier_is_not(guard: Guard, database: str, spark: Any) -> None:
    spark.sql(f"create table {database}.customer using parquet as select 1 as id")
    dotted = guard.publish(Model(f"{database}.a", "select 1 as `customer.id`"))
    plain = guard.publish(Model(f"{database}.b", f"select customer.id from {database}.customer"))
    assert (dotted.outcome, plain.outcome) == ("published", "published")
    assert spark.table(f"{database}.a").columns == ["customer.id"]
    assert spark.table(f"{database}.b").columns == ["id"]
    location = guard.session.table(f"{database}.a").location  # type: ignore[union-attr]
    assert spark.read.parquet(location).columns == ["customer.id"]


def test_a_name_may_say_the_session_catalog(guard: Guard, database: str, read: Any) -> None:
    for sql in ("select 1 as id", "select 2 as id", "select 3L as id"):
        assert guard.publish(Model(f"spark_catalog.{database}.t", sql)).outcome == "published"
    assert read(f"{database}.t") == [(3,)]
    assert guard.publish(Model("elsewhere.db.t", "select 1 as id")).outcome == "failed"
    report = guard.publish(Model("nosuch_database.t", "select 1 as id"))
    assert (report.outcome, codes(report)[-1]) == ("failed", "PP601")


def test_a_python_function_is_no_evidence_and_is_counted(spark: Any, database: str, clean: Any) -> None:
    def next_or_none(x: int) -> int | None:
        return None if x == 3 else x + 1

    from pyspark.sql.functions import udf

    guard = Guard(spark, functions={"next_or_none": udf(next_or_none, "int")})
    contract = Contract([("id", "int", False)])
    good = Model(f"{database}.t", "select next_or_none(v) as id from values (1), (2) as t(v)", contract=contract)
    bad = Model(f"{database}.t", "select next_or_none(v) as id from values (1), (3) as t(v)", contract=contract)
    assert guard.publish(good).outcome == "published"
    report = guard.publish(bad)
    assert (report.outcome, codes(report, Verdict.VIOLATED)) == ("rejected", ["PP505"])
    clean()


def test_a_rewriting_runs_only_where_the_settings_say_so(spark: Any, database: str, read: Any) -> None:
    spark.sql(f"create table {database}.s using parquet as select array(1, 2, 2) as xs")
    sql = f"select transform(xs, x -> x + size(array_distinct(xs))) as ys from {database}.s"
    ran = Guard(spark, settings=Settings(rewrite="on")).publish(Model(f"{database}.t", sql))
    asked = Guard(spark, settings=Settings(rewrite="suggest")).publish(Model(f"{database}.u", sql))
    never = Guard(spark, settings=Settings(rewrite="off")).publish(Model(f"{database}.v", sql))
    assert [r.applied for r in ran.rewrites] == [True]
    assert sql not in (ran.executed_sql or "")
    assert [r.applied for r in asked.rewrites] == [False]
    assert "PP210" in codes(asked)
    assert sql in (asked.executed_sql or "")
    assert (asked.verdict, asked.fails("warning")) == ("proved", False)
    assert never.rewrites == ()
    assert read(f"{database}.t") == read(f"{database}.u") == read(f"{database}.v")


def test_what_was_proved_upstream_is_evidence_downstream(guard: Guard, database: str) -> None:
    pytest.importorskip("planproof_engine.api")
    guard.publish(
        Model(f"{database}.up", "select * from values (1) as v(id)", contract=Contract([("id", "int", False)]))
    )
    down = Model(f"{database}.down", f"select id from {database}.up", contract=Contract([("id", "int", False)]))
    (finding,) = [f for f in guard.check(down).findings if f.field == "id"]
    assert finding.verdict is Verdict.PROVED
    assert f"{database}.up was published" in (finding.evidence or "")
    (finding,) = [f for f in Guard(guard.session).check(down).findings if f.field == "id"]
    assert finding.verdict is Verdict.UNPROVED


def test_audit_judges_what_is_stored(guard: Guard, database: str, spark: Any) -> None:
    name = f"{database}.t"
    spark.sql(
        f"create table {name} using parquet partitioned by (d) as select * from values (1, 'x'), (null, 'y') v(id, d)"
    )
    good = guard.audit(name, Contract([("id", "int", True), ("d", "string", False)]))
    assert (good.outcome, good.verdict, good.rows) == ("audited", "proved", 2)
    bad = guard.audit(name, Contract([("id", "int", False), ("d", "string", True)]))
    assert (bad.verdict, codes(bad, Verdict.VIOLATED)) == ("violated", ["PP505"])
    location = guard.session.table(name).location  # type: ignore[union-attr]
    path = guard.audit(f"{location}/d=x", Contract([("id", "int", False)]))
    assert (path.outcome, path.verdict, path.rows) == ("audited", "proved", 1)
    log = Path(str(location).removeprefix("file:")) / "_delta_log"
    log.mkdir()
    for place in (f"{location}/d=x", f"{location}/"):
        report = guard.audit(place, Contract([("id", "int", True)]))
        assert (report.outcome, "belongs to a Delta table" in str(report.error)) == ("failed", True), report.findings
    log.rmdir()
    assert guard.audit(f"{database}.nosuch", Contract([("id", "int", True)])).outcome == "failed"


def test_an_audit_says_which_stored_rows_break_the_contract(guard: Guard, database: str, spark: Any) -> None:
    name = f"{database}.t"
    rows = "(1, 'a', 5), (2, null, 6), (2, 'b', 7), (null, 'toolong', 8)"
    spark.sql(f"create table {name} using parquet as select * from values {rows} as v(id, d, n)")
    path = guard.session.table(name).location  # type: ignore[union-attr]
    terms = [Constraint("unique", ("id",)), Constraint("check", expression="n < 8")]
    filled, loose, short = (
        Contract([("id", "int", True), ("d", kind, nullable), ("n", "int", True)], constraints=terms)
        for kind, nullable in (("string", False), ("string", True), ("varchar(3)", True))
    )

    def broken(stored: str, contract: Contract, samples: str) -> dict[tuple[str, str | None], Any]:
        report = Guard(guard.session, settings=Settings(samples=samples)).audit(stored, contract)
        found = report.details.broken or ()
        assert [spark.sql(b.query).count() for b in found] == [1] * len(found)
        assert ("these rows:" in (text := report.to_text()), "keeps them" in text) == (True, False)
        return {(b.code, b.promised): b.rows for b in found}

    unique, check = (("PP507", str(term)) for term in terms)
    null, keys = ("PP505", "NOT NULL"), {unique: (("2", "2"),), check: ((None,),)}
    assert broken(name, filled, "none") == dict.fromkeys((null, unique, check))
    assert broken(path, filled, "keys") == {null: (("2",),), **keys}
    assert broken(name, loose, "keys") == keys
    assert broken(name, short, "rows") == {
        ("PP500", "varchar(3)"): ((None, "toolong", "8"),),
        unique: (("2", "2"),),
        check: ((None, "toolong", "8"),),
    }


def test_a_file_without_a_byte_is_skipped_as_spark_skips_it(
    guard: Guard, database: str, spark: Any, read: Any, tmp_path: Any
) -> None:
    spark.sql("select 1 as id").write.parquet(str(tmp_path / "t"))
    (tmp_path / "t" / "empty.parquet").touch()
    spark.sql(f"create table {database}.t (id int) using parquet location '{tmp_path / 't'}'")
    report = guard.audit(f"{database}.t", Contract([("id", "int", False)]))
    assert read(f"{database}.t") == [(1,)]
    assert (report.verdict, report.rows, codes(report, Verdict.WARNING)) == ("proved", 1, ["PP402"])


def test_what_another_tool_did_to_a_table_in_the_metastore_is_said(guard: Guard, database: str, spark: Any) -> None:
    spark.sql(f"create table {database}.t using parquet as select 1 as id")
    contract = Contract([("id", "int", False)])
    assert guard.audit(f"{database}.t", contract).of(Verdict.WARNING) == []
    metastore = spark._jsparkSession.sharedState().externalCatalog().unwrapped().client()
    wider = spark._jvm.org.apache.spark.sql.types.StructType.fromDDL("id int, extra string")
    metastore.alterTableDataSchema(database, "t", wider, metastore.getTable(database, "t").properties())
    [found] = guard.audit(f"{database}.t", contract).of(Verdict.WARNING)
    assert (found.code, found.plane, found.field, found.found) == ("PP403", "catalog", "extra", "string")


@pytest.mark.parametrize("kind", ["table", "view"])
def test_a_text_may_end_in_a_semicolon_and_a_comment(guard: Guard, database: str, read: Any, kind: str) -> None:
    contract = Contract([("n", "int", False)], constraints=[{"type": "check", "expression": "n > 0"}])
    sql = "select cast('1' as int) as n ; -- the end;"
    report = guard.publish(Model(f"{database}.t", sql, contract=contract, materialized=kind))
    assert (report.outcome, report.verdict) == ("published", "proved"), report.findings
    assert read(f"{database}.t") == [(1,)]


def test_files_whose_schema_stays_are_staged_without_a_table(
    guard: Guard, database: str, spark: Any, session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table is put over them where a query must read them: a key, a check, or rows that were rejected."""
    said: list[str] = []
    rows = type(session).rows
    monkeypatch.setattr(type(session), "rows", lambda self, sql: (said.append(sql), rows(self, sql))[1])

    def publish(number: int, *constraints: Constraint) -> tuple[str, int]:
        contract = Contract([("id", "int", True), ("s", "string", True)], constraints=list(constraints))
        said.clear()
        report = guard.publish(Model(f"{database}.t", f"select {number} as id, 'it\\'s' as s", contract=contract))
        made = [sql for sql in said if sql.startswith(("CREATE TABLE", "DROP TABLE")) and "__planproof" in sql]
        return report.outcome, len(made)

    assert publish(1)[0] == "published"
    assert publish(2) == ("published", 0)
    assert publish(3, Constraint("unique", columns=("id",))) == ("published", 2)
    assert publish(4, Constraint("check", expression="id < 4")) == ("rejected", 2)
    assert [tuple(r) for r in spark.table(f"{database}.t").collect()] == [(3, "it's")]
    assert [r[1] for r in spark.sql(f"show tables in {database}").collect()] == ["t"]
