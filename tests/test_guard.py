"""The guard on real Spark: healthy publishes, refusals that leave the target as it was, and what the report says."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from planproof import Contract, Guard, Model, Report, Settings, Verdict

ROWS = "select * from values (1, 'a'), (2, 'b') as v(id, name)"
SCHEMA = [("id", "int", False), ("name", "string", True)]


@pytest.fixture
def guard(spark: Any) -> Guard:
    return Guard(spark)


@pytest.fixture
def read(spark: Any) -> Callable[[str], list[tuple[Any, ...]]]:
    def rows(name: str) -> list[tuple[Any, ...]]:
        return sorted((tuple(r) for r in spark.newSession().sql(f"select * from {name}").collect()), key=str)

    return rows


@pytest.fixture
def clean(spark: Any, database: str) -> Callable[[], None]:
    """Asserts that nothing staged is left: no table, no file, no journal entry, no lock."""

    def check() -> None:
        tables = [r[1] for r in spark.sql(f"show tables in {database}").collect()]
        assert not [t for t in tables if t.startswith("__planproof")]
        location = dict(tuple(r)[:2] for r in spark.sql(f"describe database {database}").collect())["Location"]
        folder = Path(location.removeprefix("file:"))
        assert not list((folder / ".planproof").glob("*/*"))
        assert not list(folder.glob("__planproof_*"))

    return check


def codes(report: Report, *verdicts: Verdict) -> list[str]:
    return [f.code for f in report.findings if f.verdict in (verdicts or tuple(Verdict))]


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
    spark.sql(f"alter table {name} set tblproperties ('owner team' = 'it''s us')")
    spark.sql(f"comment on table {name} is 'kept'")
    report = guard.publish(Model(name, "select 3 as id, 'c' as name", contract=Contract(SCHEMA)))
    assert (report.outcome, report.strategy) == ("published", "location")
    report = guard.publish(Model(name, "select 3L as id, 'c' as name", comment="new"))
    assert (report.outcome, report.strategy) == ("published", "rename")
    table = guard.session.table(name)
    assert table is not None
    assert table.managed
    assert table.comment == "new"
    assert table.properties["owner team"] == "its us" or table.properties["owner team"] == "it's us"
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


# --- D1 -------------------------------------------------------------------------------------------------------------


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


# --- views and incrementals -----------------------------------------------------------------------------------------


def test_a_view_is_replaced_only_when_its_contract_holds(
    guard: Guard, database: str, read: Any, spark: Any, clean: Any
) -> None:
    spark.sql(f"create table {database}.s using parquet as select * from values (1), (2) as v(id)")
    view = Model(
        f"{database}.v", f"select id from {database}.s", materialized="view", contract=Contract([("id", "int", False)])
    )
    report = guard.publish(view)
    assert (report.outcome, report.verdict, report.strategy) == ("published", "proved", "view")
    spark.sql(f"insert into {database}.s values (null)")
    report = guard.publish(view)
    assert (report.outcome, codes(report, Verdict.VIOLATED)) == ("rejected", ["PP505"])
    assert spark.catalog.tableExists(f"{database}.v")
    other = Model(f"{database}.v", "select 7 as id", materialized="view")
    assert guard.publish(other).outcome == "published"
    assert read(f"{database}.v") == [(7,)]
    clean()


def test_append_adds_what_was_audited(guard: Guard, database: str, read: Any, clean: Any) -> None:
    name, contract = f"{database}.t", Contract([("id", "int", False)])
    delta = {"materialized": "incremental", "contract": contract}
    assert guard.publish(Model(name, "select 1 as id", **delta)).strategy == "rename"
    assert guard.publish(Model(name, "select 2 as id", **delta)).strategy == "append"
    assert read(name) == [(1,), (2,)]
    report = guard.publish(Model(name, "select if(v = 3, null, v) as id from values (3) as t(v)", **delta))
    assert (report.outcome, codes(report, Verdict.VIOLATED)) == ("rejected", ["PP505"])
    assert read(name) == [(1,), (2,)]
    assert guard.publish(Model(name, "select 9 as id", **delta), full_refresh=True).outcome == "published"
    assert read(name) == [(9,)]
    clean()


def test_a_delta_that_does_not_fit_the_stored_table_is_refused(
    guard: Guard, database: str, read: Any, spark: Any, clean: Any
) -> None:
    name = f"{database}.t"
    spark.sql(f"create table {name} using parquet as select 1 as id, 'a' as name")
    for contract, sql in [
        ([("id", "bigint", True), ("name", "string", True)], "select 2L as id, 'b' as name"),
        (
            [("id", "int", True), ("name", "string", True), ("more", "int", True)],
            "select 2 as id, 'b' as name, 3 as more",
        ),
        ([("id", "int", True)], "select 2 as id"),
    ]:
        report = guard.publish(Model(name, sql, materialized="incremental", contract=Contract(contract)))
        assert (report.outcome, codes(report, Verdict.VIOLATED)) == ("rejected", ["PP402"]), sql
    assert read(name) == [(1, "a")]
    clean()


def test_what_dbt_would_insert_is_inserted(guard: Guard, database: str, read: Any, spark: Any) -> None:
    """Another order, a narrower type and a column more: healthy without a contract, as plain dbt inserts them."""
    name = f"{database}.t"
    spark.sql(f"create table {name} using parquet as select 1L as id, 'a' as name")
    report = guard.publish(Model(name, "select 'b' as name, 2 as id, 3 as more", materialized="incremental"))
    assert (report.outcome, report.verdict) == ("published", "proved")
    assert codes(report, Verdict.WARNING) == ["PP402"]
    assert read(name) == [(1, "a"), (2, "b")]


def test_a_key_is_unique_over_old_and_new_rows(guard: Guard, database: str, read: Any) -> None:
    name = f"{database}.t"
    contract = Contract([("id", "int", True)], constraints=[{"type": "unique", "columns": ["id"]}])
    model = Model(name, "select 1 as id", materialized="incremental", contract=contract)
    assert guard.publish(model).outcome == "published"
    report = guard.publish(model)
    assert (report.outcome, codes(report, Verdict.VIOLATED)) == ("rejected", ["PP507"])
    assert read(name) == [(1,)]


def test_insert_overwrite_replaces_the_partitions_of_the_delta(
    guard: Guard, database: str, read: Any, clean: Any, spark: Any
) -> None:
    name = f"{database}.t"
    model = {
        "materialized": "incremental",
        "incremental_strategy": "insert_overwrite",
        "partition_by": ["d"],
        "contract": Contract([("id", "int", False), ("d", "string", False)]),
    }
    assert guard.publish(Model(name, "select * from values (1, 'x'), (2, 'y') as v(id, d)", **model)).rows == 2
    report = guard.publish(Model(name, "select * from values (3, 'y'), (4, 'z') as v(id, d)", **model))
    assert (report.outcome, report.strategy, report.verdict) == ("published", "partitions", "proved")
    assert read(name) == [(1, "x"), (3, "y"), (4, "z")]
    report = guard.publish(
        Model(name, "select id, if(id > 3, null, d) as d from values (5, 'y'), (2, 'z') as v(id, d)", **model)
    )
    assert report.outcome == "rejected"
    assert read(name) == [(1, "x"), (3, "y"), (4, "z")]
    report = guard.publish(Model(name, "select * from values (6, 'x'), (7, 'y') as v(id, d)", **model))
    assert read(name) == [(4, "z"), (6, "x"), (7, "y")]
    spark.sql(f"drop table {name}")
    spark.sql(f"create table {name} using parquet partitioned by (d) as select 1 as id, 'x' as d")
    clean()


def test_insert_overwrite_without_partitions_replaces_all(guard: Guard, database: str, read: Any) -> None:
    name = f"{database}.t"
    model = {"materialized": "incremental", "incremental_strategy": "insert_overwrite"}
    guard.publish(Model(name, "select 1 as id", **model))
    report = guard.publish(Model(name, "select 2 as id", **model))
    assert (report.outcome, report.strategy) == ("published", "location")
    assert read(name) == [(2,)]


def test_an_append_lets_spark_forget_the_size_that_the_table_had(guard: Guard, database: str, spark: Any) -> None:
    def size() -> int:
        shown = dict(tuple(r)[:2] for r in spark.sql(f"describe extended {database}.t").collect())
        return int(shown["Statistics"].split()[0]) if "Statistics" in shown else -1

    guard.publish(Model(f"{database}.t", "select id from range(10)", materialized="incremental"))
    before = size()
    assert (
        guard.publish(Model(f"{database}.t", "select id from range(50000)", materialized="incremental")).rows == 50000
    )
    assert size() == -1 or size() > 20 * before


def test_a_name_may_say_the_session_catalog(guard: Guard, database: str, read: Any) -> None:
    for sql in ("select 1 as id", "select 2 as id", "select 3L as id"):
        assert guard.publish(Model(f"spark_catalog.{database}.t", sql)).outcome == "published"
    assert read(f"{database}.t") == [(3,)]
    assert guard.publish(Model("elsewhere.db.t", "select 1 as id")).outcome == "failed"
    report = guard.publish(Model("nosuch_database.t", "select 1 as id"))
    assert (report.outcome, codes(report)[-1]) == ("failed", "PP601")


def test_files_that_belong_to_no_table_are_left_alone(guard: Guard, database: str, spark: Any, clean: Any) -> None:
    spark.sql(f"create table {database}.x using parquet as select 1 as id")
    location = Path(guard.session.table(f"{database}.x").location.removeprefix("file:"))  # type: ignore[union-attr]
    stray = location.parent / "t" / "stray.parquet"
    stray.parent.mkdir()
    stray.write_text("mine")
    report = guard.publish(Model(f"{database}.t", "select 1 as id"))
    assert (report.outcome, codes(report)[-1]) == ("failed", "PP601")
    assert "stray" not in (report.error or "")
    assert stray.read_text() == "mine"
    clean()


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


# --- settings, failures, locks --------------------------------------------------------------------------------------


def test_no_setting_of_the_session_changes(guard: Guard, database: str, spark: Any) -> None:
    before = dict(spark.conf.getAll)
    guard.publish(Model(f"{database}.t", ROWS, contract=Contract(SCHEMA)))
    guard.publish(Model(f"{database}.t", BAD["PP504"], contract=Contract(SCHEMA)))
    assert dict(spark.conf.getAll) == before


def test_settings_decide_what_stops_a_publish(spark: Any, database: str, read: Any) -> None:
    model = Model(
        f"{database}.t",
        "select if(v > 0, null, v) as id from values (1) as t(v)",
        contract=Contract([("id", "int", False)]),
    )
    assert Guard(spark, settings=Settings(fail_on="never")).publish(model).outcome == "published"
    report = Guard(spark, settings=Settings(keep_rejected=True)).publish(model)
    assert report.outcome == "rejected"
    assert read(report.details["rejected"]) == [(None,)]
    again = Guard(spark, settings=Settings(keep_rejected=True)).publish(model)
    shown = [r[1] for r in spark.sql(f"show tables in {database} like '__planproof*'").collect()]
    assert [f"`{database}`.`{name}`" for name in shown] == [again.details["rejected"]], "the newest is kept"
    duplicates = Model(f"{database}.d", "select 1 as id, 2 as id")
    assert Guard(spark, settings=Settings(fail_on="never")).publish(duplicates).outcome == "rejected"


def test_a_failing_run_is_not_a_violation_and_leaves_the_table(
    guard: Guard, database: str, read: Any, clean: Any
) -> None:
    name = f"{database}.t"
    guard.publish(Model(name, "select 1 as id"))
    report = guard.publish(Model(name, "select 1 div (v - 1) as id from values (1) as t(v)"))
    assert (report.outcome, report.verdict) == ("failed", "unproved")
    assert report.error is not None
    assert "zero" in report.error
    assert report.details["transient"] is False
    assert read(name) == [(1,)]
    clean()


def test_a_locked_table_is_left_alone(guard: Guard, spark: Any, database: str, read: Any) -> None:
    from planproof.publish import lock
    from planproof.publish.publication import database_root
    from planproof.session.store import store_of

    name = f"{database}.t"
    guard.publish(Model(name, "select 1 as id"))
    root = database_root(guard.session, (database,))
    held = lock.acquire(store_of(guard.session), root, "t", "another", name)
    report = guard.publish(Model(name, "select 2 as id"))
    assert (report.outcome, codes(report)[-1]) == ("failed", "PP604")
    assert "run another, process" in (report.error or "")
    held.release()
    assert guard.publish(Model(name, "select 2 as id")).outcome == "published"
    assert read(name) == [(2,)]


def test_what_a_dead_process_left_is_settled_by_the_next_publish(
    guard: Guard, session: Any, database: str, read: Any, clean: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from planproof.publish.publication import Publication

    class Killed(BaseException):
        pass

    name = f"{database}.t"
    guard.publish(Model(name, "select 1 as id"))

    def die(self: Publication, table: str, location: str) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Publication, "set_location", die)
        with pytest.raises(Killed):
            guard.publish(Model(name, "select 2 as id"))
    assert read(name) == [(1,)]
    report = guard.publish(Model(name, "select 3 as id"))
    assert (report.outcome, codes(report, Verdict.WARNING)[-1:]) == ("published", ["PP602"])
    assert read(name) == [(3,)]
    assert guard.recover() == []
    clean()


def test_an_internal_error_publishes_nothing_and_is_not_swallowed(
    guard: Guard, database: str, read: Any, clean: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"{database}.t"
    guard.publish(Model(name, "select 1 as id"))
    monkeypatch.setattr("planproof.publish.audit.files.read", lambda *given: 1 / 0)
    report = guard.publish(Model(name, "select 2 as id"))
    assert (report.outcome, codes(report)[-1]) == ("failed", "PP901")
    assert "ZeroDivisionError" in report.details["traceback"]
    assert read(name) == [(1,)]
    clean()


# --- evidence, audit ------------------------------------------------------------------------------------------------


def test_what_was_proved_upstream_is_evidence_downstream(guard: Guard, database: str) -> None:
    pytest.importorskip("planproof.api")
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
    assert guard.audit(f"{database}.nosuch", Contract([("id", "int", True)])).outcome == "failed"


def test_importing_planproof_is_light() -> None:
    heavy = ("pyspark", "pyarrow", "sqlglot", "dbt", "airflow")
    code = f"import sys, planproof; print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_the_function_plan_is_not_hidden_by_the_package() -> None:
    code = (
        "import planproof.plan.nodes, planproof; from planproof.plan import nodes;"
        "print(planproof.plan.__name__, nodes.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "plan planproof.plan.nodes", done.stderr


@pytest.mark.parametrize("kind", ["table", "view"])
def test_a_text_may_end_in_a_semicolon_and_a_comment(guard: Guard, database: str, read: Any, kind: str) -> None:
    contract = Contract([("n", "int", False)], constraints=[{"type": "check", "expression": "n > 0"}])
    sql = "select cast('1' as int) as n ; -- the end;"
    report = guard.publish(Model(f"{database}.t", sql, contract=contract, materialized=kind))
    assert (report.outcome, report.verdict) == ("published", "proved"), report.findings
    assert read(f"{database}.t") == [(1,)]


def test_our_own_failure_leaves_the_model_to_sparks_planes(
    guard: Guard, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*given: Any, **named: Any) -> None:
        raise ZeroDivisionError("ours")

    monkeypatch.setattr("planproof.api.bind_query", fails)
    model = Model(f"{database}.t", ROWS, contract=Contract(SCHEMA))
    report = guard.publish(model)
    assert report.outcome == "published"
    assert [(f.code, f.verdict.value, f.plane) for f in report.findings if f.code == "PP901"] == [
        ("PP901", "warning", "logical")
    ]
    strict = Guard(guard.session, settings=Settings(planning="strict")).publish(model)
    assert (strict.outcome, codes(strict, Verdict.UNPROVED)) == ("failed", ["PP901"])


def test_files_that_are_gone_are_no_violation(guard: Guard, database: str, tmp_path: Path) -> None:
    report = guard.check(Model(f"{database}.t", f"select * from parquet.`{tmp_path}/gone`"))
    assert (report.outcome, report.details["transient"]) == ("failed", True)
    assert codes(report, Verdict.VIOLATED) == []
