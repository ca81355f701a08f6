"""What others take back, and what their log forgets, in the moment of a publish's commit."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from delta_tables import ADDED, GOOD, folder, publish, rows, versions

from planproof import Guard
from planproof.session.protocol import SparkFailure

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MORE = "select id, 'ours' as v from range(10, 12)"


def act_after_commit(patch: pytest.MonkeyPatch, is_lost: bool, act: Callable[[], Any]) -> None:
    """`act` happens right after the first commit, whose answer gets lost if `is_lost`."""
    from planproof.session.delta.tables import Delta

    commit = Delta.commit

    def late(self: Delta, *given: Any) -> int:
        patch.undo()
        version = commit(self, *given)
        act()
        if is_lost:
            raise SparkFailure("nobody answers", outside=True)
        return version

    patch.setattr(Delta, "commit", late)


@pytest.mark.parametrize(
    ("act", "is_told"),
    [("restore table {t} to version as of 0", True), ("optimize {t}", False)],
    ids=["restore", "optimize"],
)
@pytest.mark.parametrize(("how", "is_lost"), [("append", True), ("replace", False)])
def test_rows_that_others_take_back_right_after_the_commit_are_told(
    delta: SparkSession, place: str, how: str, is_lost: bool, act: str, is_told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"{place}.taken_back"
    assert publish(delta, name, GOOD).outcome == "published"
    act_after_commit(monkeypatch, is_lost, lambda: delta.sql(act.format(t=name)).collect())
    report = publish(delta, name, MORE, **(ADDED if how == "append" else {}))
    assert report.outcome == "published", report.error
    told = [f.message for f in report.findings if "took back or replaced rows of it right after" in (f.message or "")]
    assert bool(told) == is_told, report.findings
    delta.catalog.refreshTable(name)
    assert ((10, "ours") in rows(delta, name)) != is_told


@pytest.mark.parametrize("how", ["append", "replace"])
@pytest.mark.parametrize("is_made_again", [False, True])
def test_they_are_told_where_the_table_is_gone(
    delta: SparkSession, place: str, how: str, is_made_again: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from planproof.publish.kernel import Publish

    name, tell = f"{place}.gone", Publish._tell_of_others
    assert publish(delta, name, GOOD).outcome == "published"

    def late(self: Any) -> None:
        delta.sql(f"drop table {name}")
        if is_made_again:
            delta.sql(f"create table {name} using delta as {GOOD}")
            delta.sql(f"insert into {name} values (99, 'theirs')")
        tell(self)

    monkeypatch.setattr(Publish, "_tell_of_others", late)
    report = publish(delta, name, MORE, **(ADDED if how == "append" else {}))
    assert report.outcome == "published", report.error
    told = [f for f in report.findings if "took back or replaced rows of it right after" in (f.message or "")]
    assert len(told) == 1, report.findings
    assert delta.catalog.tableExists(name) == is_made_again


@pytest.mark.parametrize("is_lost", [False, True])
@pytest.mark.parametrize("is_beside", [False, True])
def test_what_is_said_of_the_table_after_a_publish_was_looked_at(
    delta: SparkSession, place: str, is_lost: bool, is_beside: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that others add before the commit are in the table, and the report has not seen them."""
    from planproof.publish.kernel import Publish

    name, commit = f"{place}.on_top", Publish._commit
    assert publish(delta, name, GOOD).outcome == "published"
    act_after_commit(monkeypatch, is_lost, lambda: None)

    def late(self: Any) -> None:
        if is_beside:
            delta.sql(f"insert into {name} values (100, 'theirs')")
        commit(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Publish, "_commit", late)
        report = publish(delta, name, MORE, **ADDED)
    assert (report.outcome, report.details.change is None) == ("published", False), report.error
    after = report.details.change and report.details.change.after
    assert after is not None
    assert (after.rows, "committed on top of it" in str(after.unread)) == ((None, True) if is_beside else (5, False))
    delta.catalog.refreshTable(name)
    assert len(rows(delta, name)) == (6 if is_beside else 5)


@pytest.mark.parametrize("is_restored", [False, True])
def test_a_commit_that_the_log_has_forgotten_is_no_reason_to_delete_its_files(
    delta: SparkSession, place: str, is_restored: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its answer is lost, and the table's retention deletes its commit before anybody looks."""
    name = f"{place}.forgotten"
    assert publish(delta, name, GOOD).outcome == "published"
    delta.sql(f"alter table {name} set tblproperties ('delta.checkpointInterval' = '1')")

    def forget() -> None:
        delta.sql(f"restore table {name} to version as of 0" if is_restored else f"insert into {name} values (99, 'x')")
        last = f"{versions(delta, name)[0]:020}"
        for file in (folder(delta, name) / "_delta_log").glob("0*"):
            if file.name[: len(last)] < last:
                file.unlink()

    act_after_commit(monkeypatch, True, forget)
    report = publish(delta, name, MORE, **ADDED)
    delta.catalog.refreshTable(name)
    assert ((10, "ours") in rows(delta, name)) != is_restored
    if is_restored:
        assert (report.outcome, report.details.unsettled) == ("failed", True), report.findings
        assert [r.outcome for r in Guard(delta).recover(force=True)] == ["rejected"]
    else:
        assert report.outcome == "published", report.error
    files = list(folder(delta, name).glob("planproof_*/*.parquet"))
    assert len(files) >= 2, "an older version may name them"
    assert Guard(delta).recover(force=True) == []


def test_rows_that_others_add_while_a_commit_is_taken_back_are_named(
    delta: SparkSession, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files were deleted in the moment of their commit, and Delta's RESTORE takes back whatever came since, too."""
    from planproof.publish.delta.publication import DeltaPublication

    name, restore = f"{place}.beside", DeltaPublication._restore
    assert publish(delta, name, GOOD).outcome == "published"
    before, kept = rows(delta, name), set(folder(delta, name).rglob("*.parquet"))

    def lose() -> None:
        for file in set(folder(delta, name).glob("planproof_*/*.parquet")) - kept:
            file.unlink()

    def late(self: DeltaPublication, version: int) -> bool:
        delta.sql(f"insert into {name} values (99, 'theirs')")
        return restore(self, version)

    act_after_commit(monkeypatch, False, lose)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DeltaPublication, "_restore", late)
        report = publish(delta, name, MORE, **ADDED)
    assert (report.outcome, report.details.transient) == ("failed", True), report.error
    assert "what others have committed since version 1" in str(report.error)
    delta.catalog.refreshTable(name)
    assert rows(delta, name) == before
