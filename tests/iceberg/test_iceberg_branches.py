"""Iceberg's tables over a Thrift server, which takes SQL and nothing else: rows change by way of a branch."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from projects import Dbt, project_files

from planproof import Contract, Guard, Model
from planproof.report.model import Report
from planproof.session.branches import BranchChange
from planproof.session.protocol import SparkFailure
from planproof.session.thrift import ThriftSession
from planproof.settings import Settings
from planproof_engine.finding import Verdict

COLUMNS = [("id", "bigint", False), ("day", "string", True), ("amount", "int", True)]
FIRST = "select id, concat('d', id % 2) as day, cast(id as int) as amount from range(4)"
NEW = "select 9L as id, 'd1' as day, 9 as amount"
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def connect(thrift: str) -> Callable[[], ThriftSession]:
    hive = pytest.importorskip("pyhive.hive")
    host, _, port = thrift.partition(":")
    return lambda: ThriftSession(hive.connect(host, int(port)))


@pytest.fixture(scope="module")
def session(connect: Callable[[], ThriftSession]) -> Iterator[ThriftSession]:
    made = connect()
    made.rows("create database if not exists lake_hadoop.shop")
    yield made
    made.stop()


@pytest.fixture
def name(session: ThriftSession) -> str:
    found = f"lake_hadoop.shop.t{next(_numbers)}"
    session.rows(f"create table {found} (id bigint, day string, amount int) using iceberg partitioned by (day)")
    session.rows(f"insert into {found} {FIRST}")
    return found


def model(name: str, sql: str, strategy: str | None = "append", columns: Any = COLUMNS, **more: Any) -> Model:
    kind = {"materialized": "incremental", "incremental_strategy": strategy} if strategy else {}
    return Model(name, sql, contract=Contract(columns), file_format="iceberg", partition_by=["day"], **kind, **more)


def held(session: ThriftSession, name: str) -> list[int]:
    session.rows(f"refresh table {name}")
    return sorted(int(row[0]) for row in session.rows(f"select id from {name}"))


def state(session: ThriftSession, name: str) -> Any:
    """Its rows, its snapshot, and the names that point to others."""
    refs = session.rows(f"select name, snapshot_id from {name}.refs")
    return held(session, name), sorted(map(tuple, refs))


def violated(report: Report) -> set[str]:
    return {f.code for f in report.of(Verdict.VIOLATED)}


def test_rows_change_in_one_step(session: ThriftSession, name: str) -> None:
    guard, kept = Guard(session), {"options": {"unique_key": "id"}}
    for sql, strategy, expected in (
        (NEW, "append", [0, 1, 2, 3, 9]),
        ("select 7L as id, 'd1' as day, 7 as amount", "insert_overwrite", [0, 2, 7]),
        ("select id, 'd0' as day, 1 as amount from range(2, 4)", "merge", [0, 2, 3, 7]),
        (FIRST, None, [0, 1, 2, 3]),
    ):
        report = guard.publish(model(name, sql, strategy, **kept))
        assert report.outcome == "published", (strategy, report.error, report.findings)
        assert report.strategy == ("change" if strategy else "replace")
        assert report.rows is not None or strategy == "merge"
        assert state(session, name)[0] == expected
        assert [ref for ref, _ in state(session, name)[1]] == ["main"], "no branch is left"
    assert len(session.rows(f"select snapshot_id from {name}.history")) == 5


def test_what_is_refused_leaves_the_table_as_it_was(session: ThriftSession, name: str) -> None:
    guard, before = Guard(session), state(session, name)
    null = "select if(id = 6, id, null) as id, 'd' as day, cast(id as int) as amount from range(6, 8)"
    for strategy in ("append", "insert_overwrite", "merge", None):
        report = guard.publish(model(name, null, strategy, options={"unique_key": "amount"}))
        assert (report.outcome, violated(report)) == ("rejected", {"PP505"}), (report.error, report.findings)
    failing = guard.publish(model(name, "select cast(raise_error('no') as bigint) as id, 'd' as day, 1 as amount"))
    assert failing.outcome == "failed"
    wide, columns = "select 1L as id, 'd' as day, 1 as amount, 2 as more", [*COLUMNS, ("more", "int", True)]
    for asked, said in (
        (
            model(name, wide, columns=columns, options={"on_schema_change": "append_new_columns"}),
            "gets the column more",
        ),
        (model(name, wide, None, columns=columns), "its columns are others"),
        (model(name, NEW, settings=Settings(on_violation="quarantine")), "on_violation: stop"),
        (model(f"{name}_absent", NEW), "there is no such Iceberg table yet"),
    ):
        report = guard.publish(asked)
        assert report.outcome == "failed", report.findings
        assert said in str(report.error)
    assert state(session, name) == before


def test_rows_of_many_files_that_lie_far_away(
    session: ThriftSession, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of files that only Spark reads, the rows that are new are counted, and no older ones."""
    monkeypatch.setattr("planproof.publish.iceberg.publication.LISTED", 2)
    monkeypatch.setattr(ThriftSession, "local_path", lambda session, path: None)
    session.rows(f"insert into {name} values (null, 'd0', 1)")
    many = "select nullif(id, -1) as id, concat('n', id % 5) as day, 2 as amount from range(20)"
    for strategy in ("append", "insert_overwrite"):
        report = Guard(session).publish(model(name, many, strategy))
        assert report.outcome == "published", (strategy, report.findings)
    report = Guard(session).publish(model(name, many.replace("-1", "19")))
    assert [f.found for f in report.of(Verdict.VIOLATED)] == ["1 null"], report.findings


def test_a_null_that_the_table_itself_forbids(session: ThriftSession, name: str) -> None:
    """It fails the write; the contract's promise is what is broken."""
    own = f"{name}_own"
    session.rows(f"create table {own} (id bigint not null, day string, amount int) using iceberg partitioned by (day)")
    session.rows(f"alter table {own} set identifier fields id")
    assert Guard(session).publish(model(own, NEW)).outcome == "published"
    before, null = state(session, own), NEW.replace("9L", "if(length(uuid()) > 1, null, 9L)")
    for strategy in ("append", "insert_overwrite", None):
        report = Guard(session).publish(model(own, null, strategy))
        assert (report.outcome, violated(report)) == ("rejected", {"PP505"}), (strategy, report.error, report.findings)
    bare = model(own, null, columns=[("id", "bigint", True), *COLUMNS[1:]])
    assert "says NOT NULL of id in its own schema" in str(Guard(session).publish(bare).error)
    assert state(session, own) == before


def test_what_a_table_replaced_by_a_branch_keeps(session: ThriftSession, name: str) -> None:
    """Partitions are the same however they are spelled; what differs is said."""
    own, columns = f"{name}_own", [("id", "bigint", True), ("At", "timestamp", True), ("odd col", "string", True)]
    columns.append(("day", "string", True))
    session.rows(
        f"create table {own} (id bigint, At timestamp, `odd col` string, day string) using iceberg "
        "partitioned by (day(At), bucket(4, id), truncate(2, `odd col`), day)"
    )
    sql = "select 1L as id, timestamp'2024-01-01 00:00:00' as At, 'a' as `odd col`, 'd' as day"
    spelled = ["Days( at )", "bucket(4,`id`)", "truncate(`odd col`, 2)", "DAY"]

    def publish(sql: str = sql, columns: Any = columns, partitions: Any = spelled, **more: Any) -> Report:
        given = Model(own, sql, contract=Contract(columns), file_format="iceberg", partition_by=partitions, **more)
        return Guard(session).publish(given)

    assert publish().outcome == "published"
    for report, said in (
        (publish(partitions=["day(at)", "bucket(8, id)"]), "(day(at), bucket(8, id); the table has days(At), bucket(4"),
        (publish(partitions=[]), "(none; the table has days(At)"),
        (publish(options={"tblproperties": {"x": 1}}), "(x is 1, the table's not set)"),
        (publish(sql.replace("1L", "1"), [("id", "int", True), *columns[1:]]), "(id is int, the table's bigint)"),
        (publish(f"{sql}, 1 as more", [*columns, ("more", "int", True)]), "(more is new)"),
        (
            publish(f"select id, `odd col`, At, day from ({sql})", [columns[0], columns[2], columns[1], columns[3]]),
            "(in the order id, odd col, At, day; the table has id, At, odd col, day)",
        ),
    ):
        assert report.outcome == "failed", report.findings
        assert said in str(report.error)


def test_another_writer(session: ThriftSession, connect: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both writers' rows are there: what was staged is staged anew."""
    other, write, staged = connect(), session.write, []

    def interrupted(sql: str) -> Any:
        done = write(sql)
        staged.append(sql)
        if len(staged) == 1:
            other.rows(f"insert into {name} values (100, 'd1', 1)")
        return done

    monkeypatch.setattr(session, "write", interrupted)
    report = Guard(session).publish(model(name, NEW))
    assert (report.outcome, len(staged)) == ("published", 2), report.error
    assert state(session, name)[0] == [0, 1, 2, 3, 9, 100]
    assert [ref for ref, _ in state(session, name)[1]] == ["main"]
    other.stop()


@pytest.mark.parametrize("landed", [True, False])
def test_a_commit_of_which_nobody_knows(
    session: ThriftSession, name: str, landed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BranchChange, "_drop", lambda change: None)
    commit = BranchChange.commit

    def cut(change: BranchChange) -> None:
        if landed:
            commit(change)
        raise SparkFailure("the connection was lost", outside=True)

    monkeypatch.setattr(BranchChange, "commit", cut)
    report = Guard(session).publish(model(name, NEW))
    assert report.outcome == ("published" if landed else "failed"), report.error
    assert held(session, name) == [0, 1, 2, 3, *([9] if landed else [])]


@pytest.mark.parametrize(
    ("act", "is_told"),
    [
        ("call lake_hadoop.system.rollback_to_snapshot(table => '{n}', snapshot_id => {base})", True),
        ("delete from {t} where id = 9", True),
        ("delete from {t} where id = 0", False),
        ("insert into {t} values (10, 'd1', 1)", False),
    ],
)
def test_rows_that_others_take_back_right_after_the_commit_are_told(
    session: ThriftSession, name: str, act: str, is_told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = session.rows(f"select snapshot_id from {name}.refs where name = 'main'")[0][0]
    commit = BranchChange.commit

    def late(change: BranchChange) -> None:
        commit(change)
        session.rows(act.format(t=name, n=name.partition(".")[2], base=base))

    monkeypatch.setattr(BranchChange, "commit", late)
    report = Guard(session).publish(model(name, NEW))
    assert (report.outcome, "PP623" in {f.code for f in report.findings}) == ("published", is_told), report.findings
    assert (9 in held(session, name)) != is_told


class Killed(BaseException):
    """No `except Exception` catches it."""


def test_a_publish_that_dies_leaves_a_branch_which_the_next_one_names(
    session: ThriftSession, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(change: BranchChange) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(BranchChange, "commit", dies)
        with pytest.raises(Killed):
            Guard(session).publish(model(name, NEW))
    rows, refs = state(session, name)
    assert rows == [0, 1, 2, 3]
    (branch,) = [ref for ref, _ in refs if ref != "main"]
    report = Guard(session).publish(model(name, NEW))
    assert (report.outcome, held(session, name)) == ("published", [0, 1, 2, 3, 9])
    (said,) = [f.message for f in report.findings if f.code == "PP604"]
    assert said is not None
    session.rows(said.partition("nobody needs it: ")[2])
    assert [ref for ref, _ in state(session, name)[1]] == ["main"]
    assert branch.startswith("planproof_")


class ServedDbt(Dbt):
    """A dbt project whose Spark is the Thrift server."""

    def __init__(self, root: Path, session: ThriftSession, thrift: str) -> None:
        self.root, self.schema = root, f"d{next(_numbers)}"
        session.rows(f"create database {self.schema}")
        host, _, port = thrift.partition(":")
        self.write(
            project_files(self.schema, f"method: thrift, host: {host}, port: {port}, user: dbt, poll_interval: 0")
        )


def test_dbts_own_build_over_thrift_is_left_to_dbt_and_says_how_it_is_guarded(
    session: ThriftSession, thrift: str, tmp_path: Path
) -> None:
    dbt = ServedDbt(tmp_path, session, thrift)
    dbt.write({"models/far.sql": "{{ config(materialized='table', file_format='iceberg') }} select 1 as id"})
    dbt.run("run")
    assert dbt.statuses == {"far": "success"}, dbt.results
    assert "planproof does not guard far: its file format is iceberg" in dbt.log
    assert "run dbt with method: session, where Spark runs in dbt's own process" in dbt.log
    assert "planproof: 1 left to dbt (1 model: far: its file format is iceberg" in dbt.log
