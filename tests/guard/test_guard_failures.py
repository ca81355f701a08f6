"""Settings, failures, locks and strangers: nothing is published, and nothing of others is touched."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from damaged import ending_footer
from reports import ROWS, SCHEMA, codes

from planproof import Contract, Guard, Model, Report, Settings, Verdict
from planproof.session.versions import given_settings


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


def test_a_footer_that_ends_its_reader_ends_no_audit(guard: Guard, database: str, spark: Any, tmp_path: Path) -> None:
    """pyarrow ends its process over it."""
    spark.sql(f"create table {database}.x using parquet as select id, array(id) as s from range(2)")
    location = Path(guard.session.table(f"{database}.x").location.removeprefix("file:"))  # type: ignore[union-attr]
    for file in location.glob("*.parquet"):
        file.write_bytes(ending_footer(tmp_path / "damaged.parquet", file.read_bytes())[1])
    report = guard.audit(f"{database}.x", Contract([("id", "bigint", True), ("s", "array<bigint>", True)]))
    said = {reading.plane: (reading.status, reading.reason) for reading in report.planes}
    assert said["files"][0] == said["batches"][0] == "unreadable"
    assert "no footer that pyarrow reads" in said["files"][1]


def test_no_setting_of_the_session_changes(guard: Guard, database: str, spark: Any) -> None:
    before = given_settings(spark)
    guard.publish(Model(f"{database}.t", ROWS, contract=Contract(SCHEMA)))
    guard.publish(Model(f"{database}.t", "select 1L as id, 'a' as name", contract=Contract(SCHEMA)))
    assert given_settings(spark) == before


def test_settings_decide_what_stops_a_publish(spark: Any, database: str, read: Any) -> None:
    model = Model(
        f"{database}.t",
        "select if(v > 0, null, v) as id from values (1) as t(v)",
        contract=Contract([("id", "int", False)]),
    )
    assert Guard(spark, settings=Settings(fail_on="never")).publish(model).outcome == "published"
    report = Guard(spark, settings=Settings(keep_rejected=True)).publish(model)
    assert report.outcome == "rejected"
    assert read(report.details.rejected) == [(None,)]
    again = Guard(spark, settings=Settings(keep_rejected=True)).publish(model)
    shown = [r[1] for r in spark.sql(f"show tables in {database} like '__planproof*'").collect()]
    assert [f"`{database}`.`{name}`" for name in shown] == [again.details.rejected], "the newest is kept"
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
    assert report.details.transient is False
    assert read(name) == [(1,)]
    clean()


def test_a_locked_table_is_left_alone(guard: Guard, spark: Any, database: str, read: Any) -> None:
    from planproof.publish.transaction import lock
    from planproof.publish.transaction.places import database_root
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
    from planproof.publish.transaction.publication import JournaledPublication

    class Killed(BaseException):
        pass

    name = f"{database}.t"
    guard.publish(Model(name, "select 1 as id"))

    def die(self: JournaledPublication, table: str, location: str) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(JournaledPublication, "set_location", die)
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
    monkeypatch.setattr("planproof.publish.audit.staged.files.read", lambda *given, **more: 1 / 0)
    report = guard.publish(Model(name, "select 2 as id"))
    assert (report.outcome, codes(report)[-1]) == ("failed", "PP901")
    assert "ZeroDivisionError" in report.details.traceback
    assert read(name) == [(1,)]
    clean()


def test_our_own_failure_leaves_the_model_to_sparks_planes(
    guard: Guard, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*given: Any, **named: Any) -> None:
        raise ZeroDivisionError("ours")

    monkeypatch.setattr("planproof_engine.api.bind_whole", fails)
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
    assert (report.outcome, report.details.transient) == ("failed", True)
    assert codes(report, Verdict.VIOLATED) == []


BROKEN = """
select id, code, nullif(amount, 0) as amount, array(named_struct('n', nullif(id, 3L))) as items, 7L as customer
from values (1L, 'a', 0), (2L, 'toolong', 5), (2L, 'b', -1), (3L, 'c', 9) as v(id, code, amount)
"""
ITEMS = "array<struct<n: bigint>>"
COLUMNS = {"id": "bigint", "code": "string", "amount": "int", "items": ITEMS, "customer": "bigint"}
ALL = [("1", "a", "None"), ("2", "b", "-1"), ("2", "toolong", "5"), ("3", "c", "9")]


def promising(database: str, changed: dict[str, str], constraints: Any = (), not_null: str = "") -> Model:
    columns = [(name, kind, name != not_null) for name, kind in {**COLUMNS, **changed}.items()]
    return Model(f"{database}.t", BROKEN, contract=Contract(columns, constraints))


def test_a_rejected_model_shows_the_rows_that_break_its_promises_as_far_as_it_was_asked(
    spark: Any, database: str, clean: Any
) -> None:
    spark.sql(f"create table {database}.customers using parquet as select 1L as id")
    keys = [
        {"kind": "unique", "columns": ["id"]},
        {"kind": "check", "expression": "amount >= 0", "name": "positive"},
        {"kind": "foreign_key", "columns": ["customer"], "expression": f"{database}.customers (id)"},
    ]
    values = promising(database, {"code": "varchar(3)"}, not_null="amount")
    nested = promising(database, {"items": "array<struct<n: bigint not null>>"})
    declared = promising(database, {}, keys)
    wanted = {
        ("PP505", "amount"): [ALL[0]],
        ("PP500", "code"): [ALL[2]],
        ("PP505", "items.element.n"): [ALL[3]],
        ("PP507", "id"): [("2", "2")],
        ("PP507", None): [ALL[1]],
        ("PP507", "customer"): ALL,
    }
    seen = {}
    for model in (values, nested, declared, replace(declared, materialized="view")):
        report = Guard(spark).publish(model)
        assert report.outcome == "rejected"
        for b in report.details.broken or ():
            assert (b.rows, b.columns) == (None, None), "no row leaves the cluster"
            rows = sorted(tuple(map(str, row))[:3] for row in spark.sql(b.query).collect())
            assert rows == wanted[b.code, b.field], b.query
            seen[b.code, b.field] = report
    assert set(seen) == set(wanted)
    told = seen["PP505", "amount"]
    assert "WHERE `amount` IS NULL" in told.to_text()
    without_text = json.dumps({**told.to_dict(), "sql": "", "executed_sql": "", "details": {}}, default=str)
    assert "toolong" not in without_text
    clean()

    by_key = Guard(spark, settings=Settings(samples="keys")).publish(declared)
    shown = {(b.code, b.field): (b.columns, b.rows) for b in by_key.details.broken or ()}
    assert shown["PP507", None] == (("id",), (("2",),))
    assert shown["PP507", "id"] == (("id", "rows"), (("2", "2"),))
    assert "id = 2" in by_key.to_text()
    unnamed = Guard(spark, settings=Settings(samples="keys")).publish(values)
    assert [b.rows for b in unnamed.details.broken or ()] == [None, None], "nobody says what its key is"
    whole = Guard(spark, settings=Settings(samples="rows", keep_rejected=True)).publish(values)
    found = {b.code: b for b in whole.details.broken or ()}
    assert found["PP500"].rows[0][:3] == ALL[2]
    assert str(whole.details.rejected) in str(found["PP500"].query)
    assert spark.sql(found["PP500"].query).count() == 1
    assert Report.from_json(whole.to_json()) == whole
    spark.sql(f"drop table {whole.details.rejected}")
    assert Guard(spark).publish(replace(values, contract=None)).details.broken is None
