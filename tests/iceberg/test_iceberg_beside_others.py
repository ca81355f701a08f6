"""Publishes of Iceberg tables while others write to them, drop them, make them again, or sweep their folders.

Whatever anybody does at any moment, the table is what one of the writers left, each publish's report says what became
of its rows, and nobody's files are deleted but one's own.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from planproof import Contract, Guard, Model
from planproof.limits import Limits
from planproof.publish.data_tests.trial import DataTest, run_tests
from planproof.report.model import Report
from planproof.session.iceberg import IcebergTransaction
from planproof.settings import Settings

_COLUMNS = [("id", "bigint", False), ("day", "string", True)]
_MADE = "create table {t} (id bigint, day string) using iceberg partitioned by (day)"
_HELD = "insert into {t} values (1, 'a'), (2, 'b')"
_TOLD = {"write.metadata.delete-after-commit.enabled": "true", "write.metadata.previous-versions-max": "1"}


@pytest.fixture
def guard(iceberg: Any) -> Guard:
    return Guard(iceberg)


@pytest.fixture
def table(place_by_either: str, iceberg: Any) -> str:
    """A table with the rows (1, a) and (2, b)."""
    for statement in (_MADE, _HELD):
        iceberg.sql(statement.format(t=f"{place_by_either}.t"))
    return f"{place_by_either}.t"


def model(name: str, sql: str, strategy: str = "append", **more: Any) -> Model:
    """`strategy`: table, or how rows are added."""
    contract = Contract(_COLUMNS, more.pop("constraints", ()))
    if strategy != "table":
        more |= {"materialized": "incremental", "incremental_strategy": strategy}
    if strategy in ("table", "insert_overwrite"):
        more.setdefault("partition_by", ["day"])
    return Model(name, sql, contract=contract, file_format="iceberg", **more)


def held(spark: Any, name: str) -> list[tuple[Any, ...]] | None:
    """The table's rows as another session reads them; None where there is none."""
    session = spark.newSession()
    if not session.catalog.tableExists(name):
        return None
    return sorted((tuple(row) for row in session.sql(f"select id, day from {name}").collect()), key=str)


def said(report: Report) -> str:
    return f"{report.outcome}: {report.error}; {sorted(codes(report))}; {report.details.traceback}"


def codes(report: Report) -> set[str]:
    return {f.code for f in report.findings}


@contextmanager
def meanwhile(monkeypatch: pytest.MonkeyPatch, guard: Guard, when: str, act: Callable[[], Any]) -> Iterator[list[Any]]:
    """Does something once: `staged`, when the rows are written; `commit`, when the commit has looked at the table for
    the last time. Yields what was staged."""
    staged: list[Any] = []
    acted: list[Any] = []
    write, verify = guard.session.write, IcebergTransaction._verify

    def once() -> None:
        if not acted:
            acted.append(act())

    def written(sql: str) -> Any:
        done = write(sql)
        staged.append(sql)
        if when == "staged":
            once()
        return done

    def verified(self: Any) -> None:
        verify(self)
        if when == "commit":
            once()

    with monkeypatch.context() as patch:
        patch.setattr(guard.session, "write", written)
        patch.setattr(IcebergTransaction, "_verify", verified)
        yield staged
    assert acted, "nobody came between"


# --- other writers --------------------------------------------------------------------------------------------------

_ADDED = "insert into {t} values (7, 'a'), (8, 'c')"


@pytest.mark.parametrize("when", ["staged", "commit"])
@pytest.mark.parametrize(
    ("strategy", "expected", "replaced"),
    [
        ("append", [(1, "a"), (2, "b"), (5, "a"), (7, "a"), (8, "c")], None),
        ("insert_overwrite", [(2, "b"), (5, "a"), (8, "c")], "1 row"),
        ("table", [(5, "a")], "2 rows"),
    ],
)
def test_rows_that_come_between_are_kept_or_told(
    table: str, guard: Guard, iceberg: Any, monkeypatch: Any, when: str, strategy: str, expected: Any, replaced: Any
) -> None:
    """Nothing is staged anew, and what a replacement replaces besides is said."""
    other = iceberg.newSession()
    with meanwhile(monkeypatch, guard, when, lambda: other.sql(_ADDED.format(t=table))) as staged:
        report = guard.publish(model(table, "select 5L as id, 'a' as day", strategy))
    assert (report.outcome, len(staged)) == ("published", 1), said(report)
    assert held(iceberg, table) == expected
    assert [f.found for f in report.findings if f.code == "PP621"] == ([replaced] if replaced else [])
    assert unnamed(iceberg, table) == []
    kept = [r[0] for r in iceberg.newSession().sql(f"select snapshot_id from {table}.snapshots").collect()]
    assert len(kept) == 3, "the other's commit stays in the history"


def test_all_rows_are_overwritten_without_partitions(lake: str, guard: Guard, iceberg: Any, monkeypatch: Any) -> None:
    name, other = f"{lake}.t", iceberg.newSession()
    iceberg.sql(f"create table {name} (id bigint, day string) using iceberg")
    iceberg.sql(_HELD.format(t=name))
    with meanwhile(monkeypatch, guard, "staged", lambda: other.sql(_ADDED.format(t=name))) as staged:
        report = guard.publish(model(name, "select 5L as id, 'a' as day", "insert_overwrite", partition_by=[]))
    assert (report.outcome, len(staged), held(iceberg, name)) == ("published", 1, [(5, "a")])
    assert [f.found for f in report.findings if f.code == "PP621"] == ["2 rows"]


@pytest.mark.parametrize(
    ("isolation", "other", "stagings"),
    [
        ("serializable", "insert into {t} values (7, 'c')", 2),
        ("snapshot", "insert into {t} values (7, 'c')", 1),
        ("snapshot", "update {t} set id = 7 where id = 2", 2),
        ("serializable", "alter table {t} set tblproperties ('a' = 'b')", 1),
    ],
)
def test_a_merge_conflicts_as_icebergs_own_does(
    lake: str, guard: Guard, iceberg: Any, monkeypatch: Any, isolation: str, other: str, stagings: int
) -> None:
    """By `write.merge.isolation-level`, and where the files that it has read are there no more."""
    name, session = f"{lake}.t", iceberg.newSession()
    for statement in (
        _MADE,
        _HELD,
        f"alter table {{t}} set tblproperties ('write.merge.isolation-level'='{isolation}')",
    ):
        iceberg.sql(statement.format(t=name))
    merged = model(
        name, "select * from values (2L, 'm'), (3L, 'm') as v(id, day)", "merge", options={"unique_key": "id"}
    )
    with meanwhile(monkeypatch, guard, "staged", lambda: session.sql(other.format(t=name))) as staged:
        report = guard.publish(merged)
    assert (report.outcome, len(staged)) == ("published", stagings), said(report)
    rows = held(iceberg, name)
    assert rows is not None
    assert (1, "a") in rows
    assert [day for id, day in rows if id in (2, 3)] == ["m", "m"]
    if "alter" not in other:
        assert [id for id, _ in rows].count(7) == 1


@pytest.mark.parametrize("looks", ["keys", "limits", "tests"])
@pytest.mark.parametrize("breaks", [True, False])
def test_what_looks_at_the_whole_table_is_counted_again(
    lake: str, guard: Guard, iceberg: Any, monkeypatch: Any, looks: str, breaks: bool
) -> None:
    name, other, more, tests = f"{lake}.t", iceberg.newSession(), dict[str, Any](), None
    if looks == "keys":
        more["constraints"] = [{"kind": "unique", "columns": ["id"]}]
    elif looks == "limits":
        more["settings"] = Settings(limits=Limits(most=3 if breaks else 4))
    else:
        tests = run_tests([DataTest("once", f"select id from {name} group by id having count(*) > 1", column="id")])
    for statement in (_MADE, _HELD):
        iceberg.sql(statement.format(t=name))
    row = "(5, 'z')" if breaks else "(6, 'z')"
    with meanwhile(monkeypatch, guard, "staged", lambda: other.sql(f"insert into {name} values {row}")) as staged:
        report = guard.publish(model(name, "select 5L as id, 'a' as day", **more), tests=tests)
    if not breaks:
        assert (report.outcome, len(staged)) == ("published", 1), said(report)
        assert held(iceberg, name) == [(1, "a"), (2, "b"), (5, "a"), (6, "z")]
        return
    assert (report.outcome, len(staged)) == ("rejected", 2), said(report)
    assert held(iceberg, name) == [(1, "a"), (2, "b"), (5, "z")]
    assert unnamed(iceberg, name) == []


def test_a_query_of_its_own_table_reads_what_came_between(
    table: str, guard: Guard, iceberg: Any, monkeypatch: Any
) -> None:
    other = iceberg.newSession()
    own = model(table, f"select (select max(id) from {table}) + 1 as id, 'n' as day")
    with meanwhile(monkeypatch, guard, "commit", lambda: other.sql(_ADDED.format(t=table))) as staged:
        report = guard.publish(own)
    assert (report.outcome, len(staged)) == ("published", 2), said(report)
    assert held(iceberg, table) == [(1, "a"), (2, "b"), (7, "a"), (8, "c"), (9, "n")]


def test_new_columns_and_not_null_come_with_rows_on_top(
    table: str, guard: Guard, iceberg: Any, monkeypatch: Any
) -> None:
    other = iceberg.newSession()
    assert guard.publish(model(table, "select 5L as id, 'a' as day", "table")).outcome == "published"
    wide = Model(
        table,
        "select 6L as id, 'a' as day, 1 as more",
        contract=Contract([*_COLUMNS, ("more", "int", True)]),
        file_format="iceberg",
        materialized="incremental",
        incremental_strategy="append",
        options={"on_schema_change": "append_new_columns"},
    )
    with meanwhile(monkeypatch, guard, "commit", lambda: other.sql(f"insert into {table} values (7, 'c')")) as staged:
        report = guard.publish(wide)
    assert (report.outcome, len(staged)) == ("published", 1), said(report)
    session = iceberg.newSession()
    rows = sorted(tuple(r) for r in session.sql(f"select id, day, more from {table}").collect())
    assert rows == [(5, "a", None), (6, "a", 1), (7, "c", None)]
    assert [f.nullable for f in session.table(table).schema] == [False, True, True]


def test_beside_a_writer_who_never_rests(table: str, guard: Guard, iceberg: Any) -> None:
    """It inserts four times a second; every publish gets through, and no row of the other is lost unsaid."""
    other, is_over, written = iceberg.newSession(), threading.Event(), list[int]()

    def write() -> None:
        while not is_over.wait(0.25):
            other.sql(f"insert into {table} values ({1000 + len(written)}, 'w')")
            written.append(1000 + len(written))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        time.sleep(1)
        appended = [guard.publish(model(table, f"select {100 + i}L as id, 'g' as day")) for i in range(6)]
        before_replacing = held(iceberg, table)
        replaced = [guard.publish(model(table, f"select {200 + i}L as id, 'g' as day", "table")) for i in range(3)]
    finally:
        is_over.set()
        writer.join()
    assert [r.outcome for r in (*appended, *replaced)] == ["published"] * 9, [r.error for r in (*appended, *replaced)]
    assert before_replacing is not None
    ids = [id for id, _ in before_replacing]
    assert {100 + i for i in range(6)} <= set(ids)
    # The writer inserts on while it is read.
    assert [id for id in ids if id >= 1000] == written[: len(ids) - 8]
    after = held(iceberg, table)
    assert after is not None
    own = [id for id, _ in after if id < 1000]
    assert own == [202]
    kept = [id for id, _ in after if id >= 1000]
    assert kept == written[len(written) - len(kept) :]
    assert unnamed(iceberg, table) == []


@pytest.mark.parametrize("procedure", ["rewrite_data_files", "rewrite_manifests", "expire_snapshots"])
@pytest.mark.parametrize("strategy", ["append", "merge", "table"])
def test_maintenance_by_procedures(
    lake: str, guard: Guard, iceberg: Any, monkeypatch: Any, strategy: str, procedure: str
) -> None:
    """It moves rows to other files, or forgets snapshots, and changes no row: nothing is said to be replaced."""
    name, other = f"{lake}.t", iceberg.newSession()
    for statement in (_MADE, _HELD, "insert into {t} values (3, 'a')", "insert into {t} values (4, 'a')"):
        iceberg.sql(statement.format(t=name))
    told = {
        "rewrite_data_files": ", options => map('rewrite-all', 'true')",
        "expire_snapshots": ", older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => 1",
    }
    keyed = {"options": {"unique_key": "id"}} if strategy == "merge" else {}
    given = model(name, "select * from values (2L, 'n'), (5L, 'n') as v(id, day)", strategy, **keyed)
    call = f"call lake_hadoop.system.{procedure}(table => '{name.partition('.')[2]}'{told.get(procedure, '')})"
    with meanwhile(monkeypatch, guard, "staged", lambda: other.sql(call).collect()):
        report = guard.publish(given)
    assert report.outcome == "published", said(report)
    kept = {"append": [(1, "a"), (2, "b"), (3, "a"), (4, "a")], "merge": [(1, "a"), (3, "a"), (4, "a")], "table": []}
    assert held(iceberg, name) == sorted([*kept[strategy], (2, "n"), (5, "n")], key=str)
    assert "PP621" not in codes(report)
    assert unnamed(iceberg, name) == []


def test_a_query_that_fitted_before_others_changed_the_table_is_not_to_blame(
    table: str, guard: Guard, iceberg: Any, monkeypatch: Any
) -> None:
    iceberg.sql(f"alter table {table} add column x int")
    other, own = iceberg.newSession(), f"select id + coalesce(x, 10) as id, day, 1 as x from {table}"
    given = Model(table, own, file_format="iceberg", materialized="incremental", incremental_strategy="append")
    with meanwhile(monkeypatch, guard, "staged", lambda: other.sql(f"alter table {table} drop column x")):
        report = guard.publish(given)
    if "rest" in table:
        # Its server asks of an append only that nobody has added a snapshot: as if the column had gone after it.
        assert report.outcome == "published", said(report)
        assert held(iceberg, table) == [(1, "a"), (11, "a"), (12, "b"), (2, "b")]
        return
    assert (report.outcome, report.details.transient) == ("failed", True), said(report)
    assert "violated" not in {f.verdict for f in report.findings}, said(report)
    assert held(iceberg, table) == [(1, "a"), (2, "b")]


@pytest.mark.parametrize(
    ("strategy", "change"), [("append", "add columns (x int)"), ("merge", "rename column day to x")]
)
def test_a_model_that_fitted_before_others_changed_the_columns_is_not_to_blame(
    table: str, guard: Guard, iceberg: Any, monkeypatch: Any, strategy: str, change: str
) -> None:
    other, options = iceberg.newSession(), {"unique_key": "id"} if strategy == "merge" else {}
    given = model(table, "select 5L as id, 'a' as day", strategy, options=options)
    with meanwhile(monkeypatch, guard, "staged", lambda: other.sql(f"alter table {table} {change}")):
        report = guard.publish(given)
    if "rest" in table:
        # Its server takes what adds rows, as if the columns had changed after it.
        assert report.outcome == "published", said(report)
        return
    assert (report.outcome, report.details.transient) == ("failed", True), said(report)
    assert "violated" not in {f.verdict for f in report.findings}, said(report)
    assert sorted(row[0] for row in iceberg.newSession().table(table).collect()) == [1, 2]
    assert unnamed(iceberg, table) == []
    # Before the next publish the table was so already: the model has to follow it.
    assert guard.publish(given).outcome == "rejected"


def test_a_query_for_a_table_that_is_gone_since_is_not_to_blame(lake: str, guard: Guard) -> None:
    """dbt takes the columns of its INSERT from the table: where that is gone, it names none."""
    sql = "with n as (select 2 as id) select from n"
    given = Model(f"{lake}.gone", sql, file_format="iceberg", materialized="incremental", incremental_strategy="append")
    report = guard.publish(given, existed=True)
    assert (report.outcome, report.details.transient) == ("failed", True), said(report)
    assert "has disappeared since the model was compiled" in str(report.error)
    assert "violated" not in {f.verdict for f in report.findings}, said(report)


# --- what becomes of the table --------------------------------------------------------------------------------------

_OTHERS = {
    "dropped": ["drop table {t} purge"],
    "made again": ["drop table {t} purge", _MADE, "insert into {t} values (40, 'o')"],
    "made again as another": ["drop table {t} purge", "create table {t} (id bigint, day string, x int) using iceberg"],
    "made again, and written": ["drop table {t} purge", _MADE, *["insert into {t} values (40, 'o')"] * 6],
    "old states deleted": ["insert into {t} values (40, 'o')"] * 4,
}


@pytest.mark.parametrize("when", ["staged", "commit"])
@pytest.mark.parametrize("strategy", ["append", "insert_overwrite", "table"])
@pytest.mark.parametrize("other", sorted(_OTHERS))
def test_a_table_that_is_not_the_one_any_more(
    table: str, guard: Guard, iceberg: Any, monkeypatch: Any, other: str, strategy: str, when: str
) -> None:
    session, left = iceberg.newSession(), list[Any]()
    if other == "old states deleted":
        told = ", ".join(f"'{key}'='{value}'" for key, value in _TOLD.items())
        session.sql(f"alter table {table} set tblproperties ({told})")

    def act() -> None:
        for statement in _OTHERS[other]:
            session.sql(statement.format(t=table))
        left.append(held(iceberg, table))

    with meanwhile(monkeypatch, guard, when, act):
        report = guard.publish(model(table, "select 5L as id, 'a' as day", strategy))
    expected = left[0]
    if report.outcome == "published":
        if strategy == "table":
            expected = [(5, "a")]
        else:
            assert expected is not None, "a table that was dropped is not made by rows that were to be added to it"
            stays = [row for row in expected if strategy == "append" or row[1] != "a"]
            expected = sorted([*stays, (5, "a")], key=str)
    else:
        if (other, strategy) == ("made again as another", "insert_overwrite"):
            assert "is stored with the partitions (none)" in str(report.error), said(report)
        else:
            assert report.details.transient or codes(report) & {"PP606", "PP402"}, said(report)
    assert held(iceberg, table) == expected, said(report)
    assert (report.outcome == "published") or strategy != "table", said(report)
    if held(iceberg, table) is None:
        # A database's catalog leaves the state that it has refused.
        left_over = [p for p in home_of(iceberg, table).rglob("*") if "metadata.json" not in p.name and p.is_file()]
        assert left_over == []
        assert not home_of(iceberg, table).exists() or "jdbc" in table


@pytest.mark.parametrize("when", ["staged", "commit"])
@pytest.mark.parametrize("what", ["data", "all"])
@pytest.mark.parametrize("strategy", ["append", "table", "first"])
def test_files_that_somebody_swept(
    table: str, guard: Guard, iceberg: Any, monkeypatch: Any, strategy: str, what: str, when: str
) -> None:
    """As `remove_orphan_files` does: it takes for orphans what no snapshot names yet."""
    name = f"{table}2" if strategy == "first" else table
    before = held(iceberg, name)

    def act() -> None:
        files = unnamed(iceberg, name, home(iceberg, table).with_name(name.rpartition(".")[2]))
        assert files
        for file in files:
            if what == "all" or "/data/" in file:
                Path(file).unlink()

    with meanwhile(monkeypatch, guard, when, act) as staged:
        report = guard.publish(model(name, "select 5L as id, 'a' as day", "table" if strategy == "first" else strategy))
    # The files of the table's own metadata that are on their way are nobody's to sweep.
    assert (report.outcome, len(staged)) == ("published", 2), said(report)
    rows = [(5, "a")] if strategy != "append" else sorted([*(before or []), (5, "a")], key=str)
    assert held(iceberg, name) == rows


# --- recoveries -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("when", ["staged", "commit"])
@pytest.mark.parametrize("strategy", ["append", "insert_overwrite", "table", "first", "quarantine"])
def test_a_forced_recovery_beside_a_living_owner(
    table: str, guard: Guard, iceberg: Any, monkeypatch: Any, strategy: str, when: str
) -> None:
    """The owner goes on, and finds out: it commits nothing of which the files are gone, and says `evicted`."""
    name = f"{table}2" if strategy == "first" else table
    sql, more, before, recovered = "select 5L as id, 'a' as day", dict[str, Any](), held(iceberg, name), list[Report]()
    if strategy == "quarantine":
        sql, more = (
            "select * from values (5L, 'a'), (null, 'x') as v(id, day)",
            {"settings": Settings(on_violation="quarantine")},
        )
    given = model(name, sql, {"first": "table", "quarantine": "append"}.get(strategy, strategy), **more)

    def act() -> None:
        recovered.extend(r for r in Guard(iceberg).recover(force=True) if r.model == name)

    with meanwhile(monkeypatch, guard, when, act):
        report = guard.publish(given)
    # Beside the publish of the good rows stands that which has staged them all.
    assert len(recovered) == (2 if (strategy, when) == ("quarantine", "commit") else 1), recovered
    assert {code for r in recovered for code in codes(r)} in ({"PP602"}, {"PP609"}), recovered
    if report.outcome == "published":
        assert (codes(recovered[0]), when) == ({"PP609"}, "commit"), "only where nothing was deleted"
        kept = {"append": before, "quarantine": before, "insert_overwrite": [(2, "b")]}.get(strategy)
        assert held(iceberg, name) == [*(kept or []), (5, "a")]
        return
    assert (report.outcome, "PP620" in codes(report)) == ("failed", True), said(report)
    assert "evicted" in str(report.error)
    assert held(iceberg, name) == before
    if before is not None:
        assert unnamed(iceberg, name) == []
    else:
        assert not [p for p in home_of(iceberg, name).rglob("*") if p.is_file() and "metadata.json" not in p.name]
    if iceberg.catalog.tableExists(f"{name}__quarantine"):
        assert iceberg.newSession().table(f"{name}__quarantine").count() == 0
    assert not list(home_of(iceberg, name).parent.glob(".planproof/staged/*"))
    assert guard.publish(given).outcome == "published"


def home_of(spark: Any, name: str) -> Path:
    """Where a table lies, or would."""
    catalog, database, table = name.split(".")
    shown = spark.sql(f"describe namespace extended {catalog}.{database}").collect()
    return Path(next(str(r[1]) for r in shown if r[0] == "Location").removeprefix("file:")) / table


def home(spark: Any, name: str) -> Path:
    shown = spark.newSession().sql(f"describe extended {name}").collect()
    return Path(next(str(r[1]) for r in shown if r[0] == "Location").removeprefix("file:"))


def unnamed(spark: Any, name: str, folder: Path | None = None) -> list[str]:
    """The files of a table's folder that neither its snapshots nor its states name."""
    session = spark.newSession()
    known = set[str]()
    if session.catalog.tableExists(name):
        folder = folder or home(spark, name)
        asked = {"all_files": "file_path", "all_manifests": "path", "snapshots": "manifest_list"}
        for what, column in asked.items():
            known |= {
                str(r[0]).removeprefix("file:") for r in session.sql(f"select {column} from {name}.{what}").collect()
            }
    assert folder is not None
    files = [str(f) for f in folder.rglob("*") if f.is_file() and not f.name.startswith(".")]
    return [f for f in files if f not in known and "metadata.json" not in f and "version-hint" not in f]
