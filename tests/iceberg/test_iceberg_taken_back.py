"""What others take back, or forget, of an Iceberg table in the moment of a publish's commit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from planproof import Guard, Model, Report
from planproof.session.iceberg import IcebergTransaction
from planproof.session.protocol import SparkFailure

ALL = "older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => 1"
ACTS = {
    "rolled back": ["call {c}.system.rollback_to_snapshot(table => '{n}', snapshot_id => {base})"],
    "set back": ["call {c}.system.set_current_snapshot(table => '{n}', snapshot_id => {first})"],
    "branch replaced": ["alter table {t} create or replace branch main as of version {first}"],
    "rolled back, and expired": [
        "call {c}.system.rollback_to_snapshot(table => '{n}', snapshot_id => {base})",
        f"call {{c}}.system.expire_snapshots(table => '{{n}}', {ALL})",
    ],
    "overwritten": ["insert into {t} values (8, 'o')", "insert overwrite {t} values (9, 'o')"],
    "made anew": ["create or replace table {t} using iceberg as select 9 as id, 'o' as s"],
    "deleted": ["delete from {t} where id = 10"],
    "deleted by positions": [
        "alter table {t} set tblproperties ('format-version'='2', 'write.delete.mode'='merge-on-read')",
        "delete from {t} where id = 11",
    ],
    "inserted": ["insert into {t} values (8, 'o')"],
    "others' deleted": ["delete from {t} where id = 1 and s = 'a'"],
    "expired": [f"call {{c}}.system.expire_snapshots(table => '{{n}}', {ALL})"],
    "compacted": ["call {c}.system.rewrite_data_files(table => '{n}', options => map('rewrite-all', 'true'))"],
    "inserted, and expired": [
        "insert into {t} values (8, 'o')",
        f"call {{c}}.system.expire_snapshots(table => '{{n}}', {ALL})",
    ],
}
ACTS["compacted, and expired"] = [*ACTS["compacted"], *ACTS["expired"]]
GONE = {
    "dropped": ["drop table {t}"],
    "made again": ["drop table {t}", "create table {t} using iceberg as select 9 as id, 'o' as s"],
}
UNDOING = [act for act in ACTS if act.startswith(("rolled", "set", "branch", "over", "made", "deleted"))]
APPENDS: dict[str, Any] = {"materialized": "incremental", "incremental_strategy": "append"}


class Table:
    """A table of two snapshots, and what somebody else does to it right after the first commit of a publish."""

    def __init__(self, spark: Any, name: str, patch: pytest.MonkeyPatch) -> None:
        self.spark, self.name, self.patch = spark, name, patch
        spark.sql(f"create table {name} using iceberg as select 1 as id, 'a' as s")
        spark.sql(f"insert into {name} values (2, 'b')")
        shown = spark.sql(f"select snapshot_id from {name}.snapshots order by committed_at").collect()
        self.first, self.base = (row[0] for row in shown)

    def publish(self, strategy: str = "append") -> Report:
        more = {} if strategy == "table" else {**APPENDS, "incremental_strategy": strategy}
        if strategy == "merge":
            more["options"] = {"unique_key": "id"}
        sql = "select * from values (10, 'n'), (11, 'n'), (1, 'n') as v(id, s)"
        return Guard(self.spark).publish(Model(self.name, sql, file_format="iceberg", **more))

    def act_after_commit(self, act: str, is_lost: bool = False, owner: Any = IcebergTransaction) -> None:
        """`is_lost`: the answer to the commit gets lost."""
        commit: Callable[[Any], None] = owner.commit

        def late(transaction: Any) -> None:
            commit(transaction)
            self.patch.undo()
            self.act(act)
            if is_lost:
                raise SparkFailure("nobody answers", outside=True)

        self.patch.setattr(owner, "commit", late)

    def act_at_commit(self, act: str) -> None:
        """Right after the catalog has taken the first commit, before anybody has looked at it."""
        verify = IcebergTransaction._verify_committed

        def late(transaction: Any) -> None:
            self.patch.undo()
            self.act(act)
            verify(transaction)

        self.patch.setattr(IcebergTransaction, "_verify_committed", late)

    def act(self, act: str) -> None:
        catalog, _, rest = self.name.partition(".")
        given = {"t": self.name, "c": catalog, "n": rest, "first": self.first, "base": self.base}
        session = self.spark.newSession()
        session.catalog.refreshTable(self.name)
        for statement in {**ACTS, **GONE}[act]:
            session.sql(statement.format(**given)).collect()

    def ids(self) -> list[int]:
        return sorted(row[0] for row in self.spark.newSession().sql(f"select id from {self.name}").collect())


def told(report: Report) -> bool:
    return any("took back or replaced rows of it right after" in (f.message or "") for f in report.findings)


@pytest.mark.parametrize("strategy", ["append", "table"])
@pytest.mark.parametrize("act", ACTS)
def test_rows_that_others_take_back_right_after_the_commit_are_told(
    lake: str, iceberg: Any, act: str, strategy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if strategy == "table" and act.startswith(("rolled", "others'")):
        pytest.skip("a replacement begins a history of its own, and leaves no rows of others")
    table = Table(iceberg, f"{lake}.t", monkeypatch)
    table.act_after_commit(act)
    report = table.publish(strategy)
    assert report.outcome == "published", report.error
    assert told(report) == (act in UNDOING), report.findings
    assert ({10, 11} <= set(table.ids())) != (act in UNDOING)


@pytest.mark.parametrize("strategy", ["append", "table"])
@pytest.mark.parametrize("act", ["dropped", "made again"])
def test_they_are_told_where_the_table_is_gone(
    place_by_either: str, iceberg: Any, act: str, strategy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = Table(iceberg, f"{place_by_either}.t", monkeypatch)
    table.act_after_commit(act)
    report = table.publish(strategy)
    assert (report.outcome, told(report)) == ("published", True), report.findings
    assert iceberg.catalog.tableExists(table.name) == (act == "made again")


@pytest.mark.parametrize("act", ["rolled back", "inserted"])
def test_they_are_told_in_catalogs_that_compare(
    place_by_either: str, iceberg: Any, act: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = Table(iceberg, f"{place_by_either}.t", monkeypatch)
    table.act_after_commit(act)
    report = table.publish()
    assert (report.outcome, told(report)) == ("published", act in UNDOING), report.findings


def test_they_are_told_of_a_table_that_a_publish_has_emptied(
    lake: str, iceberg: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = Table(iceberg, f"{lake}.t", monkeypatch)
    table.act_after_commit("set back")
    model = Model(table.name, "select 1 as id, 'a' as s where false", file_format="iceberg")
    report = Guard(iceberg).publish(model)
    assert (report.outcome, told(report), table.ids()) == ("published", True, [1]), report.findings


@pytest.mark.parametrize("act", ["rolled back", "others' deleted"])
def test_nobody_takes_back_what_added_no_row(
    lake: str, iceberg: Any, act: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = Table(iceberg, f"{lake}.t", monkeypatch)
    iceberg.sql(f"delete from {table.name} where id = 2")
    table.act_after_commit(act)
    model = Model(table.name, "select 1 as id, 'a' as s where false", file_format="iceberg", **APPENDS)
    report = Guard(iceberg).publish(model)
    assert (report.outcome, told(report)) == ("published", False), report.findings


def test_a_failure_to_look_for_others_undoes_no_commit(
    lake: str, iceberg: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(self: IcebergTransaction) -> None:
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(IcebergTransaction, "find_undoing", fails)
    table = Table(iceberg, f"{lake}.t", monkeypatch)
    report = table.publish()
    assert (report.outcome, [f.code for f in report.findings if f.code == "PP403"]) == ("published", ["PP403"])
    assert {10, 11} <= set(table.ids())


@pytest.mark.parametrize("act", ["rolled back", "inserted", "inserted, and expired", "rolled back, and expired"])
def test_a_commit_whose_answer_is_lost_is_found_where_its_snapshot_is_gone(
    lake: str, iceberg: Any, act: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = Table(iceberg, f"{lake}.t", monkeypatch)
    table.act_after_commit(act, is_lost=True)
    report, found = table.publish(), table.ids()
    is_there = {10, 11} <= set(found)
    assert is_there == act.startswith("inserted")
    if act == "rolled back, and expired":  # Nothing is left that tells of it.
        assert (report.outcome, report.details.transient) == ("failed", True), report.findings
    else:
        assert (report.outcome, told(report)) == ("published", not is_there), report.findings
    assert "failed" not in {r.outcome for r in Guard(iceberg).recover(force=True)}
    assert table.ids() == found


@pytest.mark.parametrize(
    ("strategy", "other", "is_replaced"),
    [
        ("table", "insert into {t} (id, s) values (8, 'n')", True),
        ("table", "insert into {t} (id, s) values (8, 'z')", True),
        ("table", "select 1", False),
        ("insert_overwrite", "insert into {t} (id, s) values (8, 'n')", True),
        ("insert_overwrite", "insert into {t} (id, s) values (8, 'z')", False),
        ("append", "insert into {t} (id, s) values (8, 'n')", False),
    ],
)
def test_what_a_second_staging_replaces_of_others_is_told(
    lake: str, iceberg: Any, strategy: str, other: str, is_replaced: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A comment that others set has the model staged anew; the rows that they add with it would be unsaid."""
    name, verify = f"{lake}.t", IcebergTransaction._verify
    iceberg.sql(f"create table {name} (id int, s string) using iceberg partitioned by (s)")
    iceberg.sql(f"insert into {name} values (1, 'a'), (2, 'n')")

    def act(transaction: Any) -> None:
        verify(transaction)
        monkeypatch.undo()
        session = iceberg.newSession()
        for statement in ("alter table {t} alter column s comment 'theirs'", other):
            session.sql(statement.format(t=name)).collect()

    monkeypatch.setattr(IcebergTransaction, "_verify", act)
    more = {} if strategy == "table" else {"materialized": "incremental", "incremental_strategy": strategy}
    model = Model(name, "select 10 as id, 'n' as s", file_format="iceberg", partition_by=["s"], **more)
    report = Guard(iceberg).publish(model)
    assert report.outcome == "published", report.error
    assert ("PP621" in {f.code for f in report.findings}) == is_replaced, report.findings


@pytest.mark.parametrize("strategy", ["append", "merge", "table"])
@pytest.mark.parametrize("act", ["inserted, and expired", "compacted, and expired", "rolled back, and expired"])
def test_a_commit_is_no_lost_one_where_others_expire_its_snapshot_at_once(
    place_by_either: str, iceberg: Any, act: str, strategy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its manifests are deleted then, and the table has its files all the same: they were deleted, too."""
    if strategy == "table" and act.startswith("rolled"):
        pytest.skip("a replacement begins a history of its own")
    table = Table(iceberg, f"{place_by_either}.t", monkeypatch)
    table.act_at_commit(act)
    report = table.publish(strategy)
    assert report.outcome == "published", report.error
    kept = {"append": [1, 1, 2, 10, 11], "merge": [1, 2, 10, 11], "table": [1, 10, 11]}[strategy]
    assert table.ids() in (kept, sorted([*kept, 8])), report.findings
    assert (8 in table.ids()) == act.startswith("inserted"), report.findings
