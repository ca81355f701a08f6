"""Settings, failures, locks and strangers: nothing is published, and nothing of others is touched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from reports import ROWS, SCHEMA, codes

from planproof import Contract, Guard, Model, Settings, Verdict
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
    assert "ZeroDivisionError" in report.details.traceback
    assert read(name) == [(1,)]
    clean()


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
    assert (report.outcome, report.details.transient) == ("failed", True)
    assert codes(report, Verdict.VIOLATED) == []
