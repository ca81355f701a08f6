"""Delta's tables over Thrift and Spark Connect: rows are staged, audited, and copied by one statement of Delta's."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from delta_tables import ADDED, BAD, GOOD, MERGED, contract

from planproof import Contract, Guard, Model, Report
from planproof.publish.delta.statements.publication import StatementPublication
from planproof.session.delta.statements import DeltaStatements, Version
from planproof.session.frames import ConnectSession
from planproof.session.protocol import Session, SparkFailure
from planproof.session.thrift import ThriftSession
from planproof.settings import Settings

NEW = "select id, 'new' as v from range(3, 5)"
OVER = {"materialized": "incremental", "incremental_strategy": "insert_overwrite"}
_numbers = itertools.count(1)


@pytest.fixture(
    scope="module",
    params=[
        "thrift",
        pytest.param("connect", marks=pytest.mark.needs_spark("4.0", "a Connect server in pip's package")),
    ],
)
def session(request: pytest.FixtureRequest) -> Iterator[Session]:
    server, made = request.getfixturevalue(request.param), None
    if request.param == "thrift":
        hive = pytest.importorskip("pyhive.hive")
        host, _, port = server.partition(":")
        made = ThriftSession(hive.connect(host, int(port)), lambda: hive.connect(host, int(port)))
    found = made or ConnectSession(server)
    found.rows("create database if not exists shop")
    yield found
    if made is not None:
        made.stop()


@pytest.fixture
def name() -> str:
    return f"shop.t{next(_numbers)}"


def publish(session: Session, name: str, sql: str, settings: Settings | None = None, **more: Any) -> Report:
    given = {"contract": contract(), "file_format": "delta", **more}
    return Guard(session, settings=settings).publish(Model(name, sql, **given))


def rows(session: Session, name: str) -> list[tuple[Any, ...]]:
    return sorted(session.rows(f"select * from {name}"), key=str)


def folder(session: Session, name: str) -> Path:
    return Path(str(session.rows(f"describe detail {name}")[0][4]).removeprefix("file:"))


def list_left(session: Session) -> list[str]:
    """What publishes have left in the database's folder: staged rows and notes."""
    home = Path(str(session.database_location("`shop`")).removeprefix("file:"))
    return sorted(str(at.relative_to(home)) for at in [*home.glob("__planproof*"), *home.glob(".planproof/**/*.json")])


def versions(session: Session, name: str) -> int:
    return len(session.rows(f"describe history {name}"))


def test_a_table_is_made_replaced_added_to_and_merged(session: Session, name: str) -> None:
    bad = publish(session, name, BAD)
    assert bad.outcome == "rejected", (bad.error, bad.findings)
    assert session.registered_table(name) is None
    given = {"partition_by": ("v",), "comment": "it's", "options": {"tblproperties": {"a.b": "c"}}}
    made = publish(session, name, GOOD, **given)
    assert (made.outcome, made.rows) == ("published", 3), made.findings
    detail = {str(row[0]): str(row[1]) for row in session.rows(f"describe extended {name}")}
    assert (detail["Type"], detail["Provider"], detail["Comment"]) == ("MANAGED", "delta", "it's")
    assert session.rows(f"show tblproperties {name} ('a.b')")[0][1] == "c"
    assert publish(session, name, GOOD).outcome == "published"
    assert str(session.rows(f"describe detail {name}")[0][7]) == "[]"  # The partitions are the model's.
    for given, sql, held in (
        (ADDED, NEW, [(0, "0"), (1, "1"), (2, "2"), (3, "new"), (4, "new")]),
        (MERGED, "select id, 'merged' as v from range(4, 6)", [(3, "new"), (4, "merged"), (5, "merged")]),
        (OVER, NEW, [(3, "new"), (4, "new")]),
    ):
        before = versions(session, name)
        assert publish(session, name, BAD, **given).outcome == "rejected"
        assert versions(session, name) == before
        report = publish(session, name, sql, **given)
        assert (report.outcome, rows(session, name)[-len(held) :]) == ("published", held), report.findings
        assert versions(session, name) == before + 1
    assert list_left(session) == []


def test_a_table_of_a_place_of_its_own(session: Session, name: str, tmp_path: Path) -> None:
    given = {"options": {"location_root": str(tmp_path)}}
    for _ in range(2):
        report = publish(session, name, GOOD, **given)
        assert (report.outcome, len(rows(session, name))) == ("published", 3), report.findings
    assert (folder(session, name).parent, versions(session, name)) == (tmp_path, 2)
    assert publish(session, name, NEW).outcome == "published"  # It stays where it is.
    assert folder(session, name).parent == tmp_path


def test_partitions_are_overwritten(session: Session, name: str) -> None:
    over = {**OVER, "partition_by": ("v",)}
    first = "select id, concat('a b/', id % 2) as v from range(4)"
    for sql in (first, "select id + 10 as id, 'a b/1' as v from range(2)"):
        report = publish(session, name, sql, **over)
        assert report.outcome == "published", report.findings
    assert rows(session, name) == [(0, "a b/0"), (10, "a b/1"), (11, "a b/1"), (2, "a b/0")]
    unique = Contract([("id", "bigint", False), ("v", "string", True)], [{"type": "unique", "columns": ["id"]}])
    report = publish(session, name, "select 0L as id, 'a b/1' as v", contract=unique, **over)
    assert report.outcome == "rejected", report.findings  # Id 0 stays in the other partition.
    report = publish(session, name, "select 10L as id, 'a b/1' as v", contract=unique, **over)
    assert report.outcome == "published", report.findings


def test_columns_come_with_their_rows(session: Session, name: str) -> None:
    assert publish(session, name, GOOD).outcome == "published"
    wider = Contract([("id", "bigint", False), ("v", "string", True), ("extra", "int", True)])
    for way in (ADDED, MERGED):
        options = {**way.get("options", {}), "on_schema_change": "append_new_columns"}
        report = publish(
            session, name, "select 7L as id, 'x' as v, 1 as extra", contract=wider, **{**way, "options": options}
        )
        assert report.outcome == "published", report.findings
    assert versions(session, name) == 4  # The columns are added by a commit of their own.
    assert rows(session, name)[-1] == (7, "x", 1)


def test_keys_are_counted_over_the_table_as_it_will_be(session: Session, name: str) -> None:
    unique = Contract([("id", "bigint", False), ("v", "string", True)], [{"type": "unique", "columns": ["id"]}])
    assert publish(session, name, GOOD).outcome == "published"
    assert publish(session, name, "select 2L as id, 'x' as v", contract=unique, **ADDED).outcome == "rejected"
    assert publish(session, name, "select 3L as id, 'x' as v", contract=unique, **ADDED).outcome == "published"
    assert publish(session, name, "select 2L as id, 'y' as v", contract=unique, **MERGED).outcome == "published"
    assert rows(session, name) == [(0, "0"), (1, "1"), (2, "y"), (3, "x")]
    assert list_left(session) == []


Act = Callable[[], object]


@pytest.fixture
def at_commit(monkeypatch: pytest.MonkeyPatch) -> Callable[[Act], list[int]]:
    """Has others act once, before a publish looks at the table for the last time."""

    def prepare(act: Act) -> list[int]:
        calls: list[int] = []
        commit = StatementPublication.commit

        def late(self: StatementPublication) -> None:
            if not calls:
                act()
            calls.append(1)
            commit(self)

        monkeypatch.setattr(StatementPublication, "commit", late)
        return calls

    return prepare


FED = {**ADDED, "sql": "select id, 'new' as v from shop.source"}
ITSELF = {**ADDED, "sql": "select coalesce(max(id), 0) + 1 as id, 'next' as v from {name}"}


@pytest.mark.parametrize(
    ("given", "times", "told", "held"),
    [
        (ADDED, 1, [], [(3, "new"), (4, "new"), (9, "theirs")]),
        (FED, 1, [], [(3, "new"), (4, "new"), (9, "theirs")]),
        (MERGED, 1, [], [(3, "new"), (4, "new"), (9, "theirs")]),
        (OVER, 1, ["1 row"], [(3, "new"), (4, "new")]),
        ({}, 1, ["1 row"], [(3, "new"), (4, "new")]),
        (ITSELF, 2, [], [(10, "next"), (9, "theirs")]),
    ],
    ids=["append", "fed", "merge", "overwrite", "replace", "itself"],
)
def test_beside_another_writer(
    session: Session,
    name: str,
    at_commit: Callable[[Act], list[int]],
    given: dict[str, Any],
    times: int,
    told: list[Any],
    held: list[Any],
) -> None:
    given = dict(given)
    sql = given.pop("sql", NEW).format(name=name)
    session.rows("create or replace table shop.source using delta as select id from range(3, 5)")
    assert publish(session, name, "select 0L as id, 'first' as v").outcome == "published"
    calls = at_commit(lambda: session.rows(f"insert into {name} values (9, 'theirs')"))
    report = publish(session, name, sql, **given)
    assert (report.outcome, len(calls)) == ("published", times), report.findings
    assert [f.found for f in report.findings if f.code == "PP621"] == told
    assert [row for row in rows(session, name) if row in held] == held


@pytest.mark.parametrize("how", ["dropped", "anew", "other", "renamed"])
@pytest.mark.parametrize("given", [ADDED, {}], ids=["append", "replace"])
def test_a_table_that_becomes_another_one_meanwhile(
    session: Session, name: str, at_commit: Callable[[Act], list[int]], how: str, given: dict[str, Any]
) -> None:
    assert publish(session, name, GOOD).outcome == "published"

    def others() -> None:
        if how == "renamed":  # Another table of the same columns gets the name.
            session.rows(f"alter table {name} rename to {name}_before")
            session.rows(f"create table {name} (id bigint, v string) using delta")
            return
        session.rows(f"drop table {name}")
        if how != "dropped":
            session.rows(f"create table {name} (x int) using {'delta' if how == 'anew' else 'parquet'}")

    at_commit(others)
    report = publish(session, name, NEW, **given)
    assert (report.outcome, "made anew" in str(report.findings)) == ("failed", True), report.findings
    if how == "dropped":
        assert session.registered_table(name) is None
    else:
        assert rows(session, name) == []


def test_a_name_that_others_take_meanwhile(session: Session, name: str, at_commit: Callable[[Act], list[int]]) -> None:
    at_commit(lambda: session.rows(f"create table {name} using delta as select 8L as id, 'theirs' as v"))
    report = publish(session, name, NEW, **ADDED)
    assert report.outcome == "published", report.findings
    assert rows(session, name) == [(3, "new"), (4, "new"), (8, "theirs")]


def test_a_statement_whose_answer_is_lost(session: Session, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert publish(session, name, GOOD).outcome == "published"
    ask = type(session).rows

    def lost(is_carried_out: bool) -> Callable[[Session, str], Any]:
        def rows_or_not(self: Session, sql: str) -> Any:
            if sql.startswith("INSERT INTO") and name.split(".")[1] in sql.split("BY NAME")[0]:
                if is_carried_out:
                    ask(self, sql)
                raise SparkFailure("the connection was lost", outside=True)
            return ask(self, sql)

        return rows_or_not

    for kind in (True, False):
        with monkeypatch.context() as patch:
            patch.setattr(type(session), "rows", lost(kind))
            report = publish(session, name, f"select {10 + kind}L as id, 'x' as v", **ADDED)
        assert report.outcome == ("published" if kind else "failed"), report
    assert "may still carry out" in str(report.error)
    assert len(rows(session, name)) == 4
    (recovered,) = Guard(session).recover()
    assert "recover again in 60 minutes" in str(recovered.findings), recovered
    monkeypatch.setattr("planproof.publish.delta.statements.left.is_young", lambda store, location: False)
    (recovered,) = Guard(session).recover()
    assert "not in the history" in str(recovered.findings), recovered
    assert (len(rows(session, name)), list_left(session)) == (4, [])


def test_staging_whose_answer_is_lost(session: Session, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark may write the staged rows later: the note stays until then."""
    write = type(session).write

    def lost(self: Session, sql: str) -> Any:
        raise SparkFailure("the connection was lost", outside=True)

    with monkeypatch.context() as patch:
        patch.setattr(type(session), "write", lost)
        assert publish(session, name, GOOD).outcome == "failed"
    (note,) = list_left(session)
    staged = f"__planproof_{note.rpartition('/')[2].removesuffix('.json').replace('.', '_')}"
    home = str(session.database_location("`shop`"))
    write(session, f"create table delta.`{home}/{staged}` using delta as {GOOD}")
    assert [report.outcome for report in Guard(session).recover()] == ["rejected"]
    assert list_left(session) == []


def test_a_forced_recovery_takes_a_publish_over(
    session: Session, name: str, at_commit: Callable[[Act], list[int]]
) -> None:
    assert publish(session, name, GOOD).outcome == "published"
    ended: list[Report] = []
    at_commit(lambda: ended.extend(Guard(session).recover(force=True)))
    report = publish(session, name, NEW, **ADDED)
    assert [one.outcome for one in ended] == ["rejected"]
    assert (report.outcome, "PP620" in str(report.findings)) == ("failed", True), report.findings
    assert (len(rows(session, name)), list_left(session)) == (3, [])


def test_a_server_with_disks_of_its_own(session: Session, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark writes where this machine sees nothing: no model is published unseen."""
    from planproof.session.store import LocalStore

    read = LocalStore.read
    monkeypatch.setattr(LocalStore, "read", lambda self, at: None if "_delta_log" in at else read(self, at))
    for sql in (GOOD, BAD):
        report = publish(session, name, sql)
        assert (report.outcome, "does not see it" in str(report.findings)) == ("failed", True), report.findings
    assert session.registered_table(name) is None


def test_terms_of_the_table_and_bad_rows(session: Session, name: str) -> None:
    session.rows(f"create table {name} (id bigint not null, v varchar(5)) using delta")
    session.rows(f"alter table {name} add constraint small check (id is null or id < 100)")
    loose = Contract([("id", "bigint", True), ("v", "string", True)])
    assert publish(session, name, GOOD, **ADDED).outcome == "published"
    for broken in (
        "select 200L as id, 'x' as v",
        "select cast(null as bigint) as id, 'x' as v",
        "select 1L as id, 'xxxxxx' as v",
    ):
        report = publish(session, name, broken, contract=loose, **ADDED)
        assert report.outcome in ("failed", "rejected"), report.findings
    assert len(rows(session, name)) == 3
    report = publish(session, name, BAD, Settings(on_violation="quarantine"), **ADDED)
    assert report.outcome == "published", report.findings
    assert (len(rows(session, name)), len(rows(session, f"{name}__quarantine"))) == (5, 1)
    assert list_left(session) == []


@pytest.mark.parametrize(
    "properties",
    [
        "'delta.columnMapping.mode' = 'name'",
        "'delta.enableDeletionVectors' = 'true'",
        "'delta.enableChangeDataFeed' = 'true'",
        "'delta.enableRowTracking' = 'true'",
        "'delta.enableInCommitTimestamps' = 'true'",
        "'delta.checkpointPolicy' = 'v2'",
        "'note' = 'a \"quoted\" text'",
    ],
)
def test_tables_of_every_kind(session: Session, name: str, properties: str) -> None:
    """Delta itself writes each of them."""
    session.rows(f"create table {name} (id bigint, v string) using delta tblproperties ({properties})")
    for given, sql in ((ADDED, GOOD), (MERGED, "select 2L as id, 'merged' as v"), (OVER, NEW)):
        assert publish(session, name, BAD, **given).outcome == "rejected"
        report = publish(session, name, sql, **given)
        assert report.outcome == "published", report.findings
    assert rows(session, name) == [(3, "new"), (4, "new")]
    assert publish(session, name, GOOD).outcome == "published"


def test_what_others_change_is_told_where_it_is_replaced(
    session: Session, name: str, at_commit: Callable[[Act], list[int]]
) -> None:
    assert publish(session, name, GOOD).outcome == "published"
    at_commit(lambda: session.rows(f"update {name} set v = 'theirs' where id = 0"))
    report = publish(session, name, NEW)
    assert [f.found for f in report.findings if f.code == "PP621"] == ["version 1 (UPDATE)"], report.findings


def test_two_publishes_that_look_at_the_whole_table(
    session: Session, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second one waits for the first, and is staged anew."""
    assert publish(session, name, "select 1L as id, 'first' as v").outcome == "published"
    look, reports = StatementPublication._refuse_moved, list[Report]()
    both = threading.Barrier(2, timeout=30)
    sql = f"select max(id) + 1 as id, 'next' as v from {name}"

    def together(self: StatementPublication) -> None:
        with suppress(threading.BrokenBarrierError):
            both.wait(3)  # The other one is kept out.
        look(self)

    monkeypatch.setattr(StatementPublication, "_refuse_moved", together)
    others = [threading.Thread(target=lambda: reports.append(publish(session, name, sql, **ADDED))) for _ in "ab"]
    for thread in others:
        thread.start()
    for thread in others:
        thread.join()
    assert [report.outcome for report in reports] == ["published"] * 2, reports
    assert [id for id, _ in rows(session, name)] == [1, 2, 3]


@pytest.mark.parametrize(
    ("sql", "unique", "found"),
    [
        ("select 7L as id, 'ours' as v", True, "violated"),
        ("select 8L as id, 'ours' as v", True, "proved"),
        ("select max(id) + 1 as id, 'ours' as v from {name}", False, None),
    ],
    ids=["twice", "once", "itself"],
)
def test_what_others_commit_while_the_statement_runs_is_told_and_keys_are_counted_again(
    session: Session, name: str, monkeypatch: pytest.MonkeyPatch, sql: str, unique: bool, found: str | None
) -> None:
    assert publish(session, name, GOOD).outcome == "published"
    look = StatementPublication._refuse_moved

    def late(self: StatementPublication) -> None:
        look(self)
        session.rows(f"insert into {name} values (7, 'theirs')")

    monkeypatch.setattr(StatementPublication, "_refuse_moved", late)
    keys = [{"type": "unique", "columns": ["id"]}, {"type": "check", "expression": "id < 100"}]
    promised = Contract([("id", "bigint", False), ("v", "string", True)], keys if unique else [])
    report = publish(session, name, sql.format(name=name), contract=promised, **ADDED)
    said = {f.promised: f.verdict.value for f in report.findings if f.code == "PP507"}
    assert report.outcome == "published", report.findings
    assert said == ({"unique(id)": found, "check(id < 100)": "proved"} if unique else {}), report.findings
    assert [f.code for f in report.findings if f.code == "PP624"] == ["PP624"], report.findings


def test_a_history_that_cannot_be_read_after_the_commit_is_told(
    session: Session, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert publish(session, name, GOOD).outcome == "published"

    def fail(*_: object) -> list[Version]:
        raise SparkFailure("the history is away", outside=True)

    monkeypatch.setattr(DeltaStatements, "history", fail)
    unique = Contract([("id", "bigint", False), ("v", "string", True)], [{"type": "unique", "columns": ["id"]}])
    report = publish(session, name, NEW, contract=unique, **ADDED)
    said = {f.code for f in report.findings if "the history is away" in (f.message or "")}
    assert (report.outcome, said) == ("published", {"PP403"}), report.findings
    assert "PP624" not in {f.code for f in report.findings}


def test_an_empty_text_that_a_merge_asks_for(session: Session, name: str) -> None:
    """It is NULL in a partition, and not in the source of a merge."""
    columns = [("id", "bigint", False), ("p", "string", True), ("v", "string", True)]
    session.rows(f"create table {name} using delta partitioned by (p) as select 1L as id, 'a' as p, 'old' as v")
    clauses = (
        "ON DBT_INTERNAL_SOURCE.id = DBT_INTERNAL_DEST.id WHEN MATCHED AND DBT_INTERNAL_SOURCE.p = '' "
        "THEN UPDATE SET v = 'asked' WHEN NOT MATCHED THEN INSERT *"
    )
    way = {**MERGED, "options": {"unique_key": "id", "merge": clauses}, "partition_by": ("p",)}
    report = publish(session, name, "select 1L as id, '' as p, 'new' as v", contract=Contract(columns), **way)
    assert (report.outcome, rows(session, name)) == ("published", [(1, "a", "asked")]), report.findings
    strict = Contract([columns[0], ("p", "string", False), columns[2]])
    report = publish(session, name, "select 2L as id, '' as p, 'new' as v", contract=strict, **way)
    assert report.outcome == "rejected", report.findings


def test_a_place_that_is_not_empty(session: Session, name: str) -> None:
    place = Path(str(session.database_location("`shop`")).removeprefix("file:")) / name.split(".")[1]
    place.mkdir()
    (place / "notes.txt").write_text("theirs")
    report = publish(session, name, GOOD)
    assert (report.outcome, len(rows(session, name))) == ("published", 3), report.findings


def test_a_log_without_a_name_gets_one_and_nobody_elses(
    session: Session, name: str, at_commit: Callable[[Act], list[int]]
) -> None:
    home = str(session.database_location("`shop`"))
    session.rows(f"create table delta.`{home}/{name.split('.')[1]}` using delta as {GOOD}")
    assert publish(session, name, NEW).outcome == "published"
    other = f"{name}_other"
    session.rows(f"create table delta.`{home}/{other.split('.')[1]}` using delta as {GOOD}")
    at_commit(lambda: session.rows(f"create table {other} (theirs int) using parquet location '{home}/{other}_x'"))
    report = publish(session, other, NEW)
    assert (report.outcome, rows(session, other)) == ("failed", []), report.findings


def test_a_name_that_the_catalog_refuses(session: Session, name: str) -> None:
    report = publish(session, f"shop.`{name.split('.')[1]} x`", GOOD)
    assert report.outcome == "failed", report.findings
    assert list_left(session) == []


def test_options_that_would_lead_elsewhere_are_refused(session: Session, name: str, tmp_path: Path) -> None:
    for option in ({"path": str(tmp_path / "t")}, {"userMetadata": "mine"}):
        report = publish(session, name, GOOD, options={"options": option})
        assert (report.outcome, next(iter(option)) in str(report.findings)) == ("failed", True), report.findings
