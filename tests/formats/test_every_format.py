"""One suite for every format: whatever anybody does at any moment, the table is what one of the writers left, each
publish's report says what became of its rows, and nobody's files are deleted but one's own.

The first case of each format and test runs with `make test`; all of them with `make conformance`, or
`pytest -m "conformance or not conformance" tests/formats`. Iceberg's runs where its runtime is: `make test-iceberg
PYTEST_ARGS=tests/formats`.
"""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest
from killed import Killed, kill
from quick import keep_quick
from under_test import (
    BAD,
    BAD_ROWS,
    CONTRACT,
    FORMATS,
    QUARANTINING,
    Place,
    Rows,
    caught,
    meanwhile,
)

from planproof import Contract, Guard, Report
from planproof.publish.data_tests.trial import DataTest, run_tests
from planproof.publish.kernel import Publish
from planproof.publish.parquet import Parquet
from planproof.publish.protocol import Steps
from planproof.publish.transaction import lock
from planproof.publish.transaction.leave import move_back
from planproof.publish.transaction.owner import Owner
from planproof.publish.transaction.places import database_root
from planproof.session import open as opened
from planproof.session.protocol import SparkFailure
from planproof.session.store import store_of

Make = Callable[[str, str], Place]
POINTS = keep_quick(("stage", "audit", "commit"), "stage", "commit")


def cases(*quick: str, but: Iterable[str] = ()) -> Any:
    """Every case of every format; those that are `quick` run always."""
    found = [
        pytest.param(name, case, id=f"{name}-{case}", marks=[] if case in quick else [pytest.mark.conformance])
        for name, each in FORMATS.items()
        for case in each.cases
        if case not in but
    ]
    return pytest.mark.parametrize(("name", "case"), found)


def once(patch: pytest.MonkeyPatch, point: str, act: Callable[[], Any]) -> list[bool]:
    """`act` happens once, right before the first publish that gets there carries out `point`."""
    plain, acted = getattr(Steps, point), list[bool]()

    def run(self: Any, *given: Any) -> Any:
        if not acted:
            acted.append(True)
            failed: list[BaseException] = []
            thread = threading.Thread(target=caught, args=(act, failed))
            thread.start()
            thread.join()
            assert failed == [], failed
        return plain(self, *given)

    patch.setattr(Steps, point, run)
    return acted


def said(report: Report) -> str:
    return f"{report.outcome}: {report.error}; {[f.code for f in report.findings]}"


def is_told(report: Report) -> None:
    """A publish that did not come to its end blames no model for what others did."""
    assert report.outcome == "failed", said(report)
    assert report.details.transient, said(report)
    assert [f.code for f in report.findings if f.verdict == "violated"] == [], said(report)


@cases("location", "append", "replace")
def test_new_rows_are_published_and_broken_ones_are_not(name: str, case: str, place: Make) -> None:
    there = place(name, case)
    assert (there.rows(), there.publish().outcome) == (there.case.old, "published")
    assert there.rows() == there.case.new
    columns = ("id", "d") if case == "partitions" else ("id", "s")
    broken = Contract([(columns[0], "int", False), (columns[1], "string", False)])
    sql = f"select cast(null as int) as {columns[0]}, 'x' as {columns[1]}"
    report = there.publish(sql=sql, contract=broken)
    assert report.outcome == "rejected", said(report)
    assert "PP505" in {f.code for f in report.findings if f.verdict == "violated"}
    assert (there.rows(), there.left()) == (there.case.new, [])


@pytest.mark.parametrize("every", [6, pytest.param(1, marks=pytest.mark.faults)])
@cases("location", "append", "replace")
def test_killed_at_any_call_the_table_is_old_or_new(name: str, case: str, every: int, place: Make) -> None:
    outcomes, at = set[bool](), 0
    while True:
        there = place(name, case)
        report = kill(at, there, there.publish)
        if report is not None:
            assert report.outcome == "published", said(report)
            break
        there.recover()
        found = there.rows()
        assert found in (there.case.old, there.case.new), f"died at {at}: {found}"
        assert there.left() == [], f"died at {at}"
        outcomes.add(found == there.case.new)
        again = there.publish()
        assert again.outcome == "published", f"died at {at}: {said(again)}"
        assert there.rows() == there.case.after(2 if found == there.case.new else 1), f"died at {at}"
        at += every
    assert False in outcomes, "it died before its commit"
    assert at > 1


DDL = {
    "dropped": ["drop table {t}"],
    "made anew with other columns": ["drop table {t}", "create table {t} (z double) using {using}"],
    "made anew alike": ["drop table {t}", "create table {t} {columns} using {using} {parts}"],
    "made anew in another format": ["drop table {t}", "create table {t} (id int, s string) using orc"],
    "renamed": ["alter table {t} rename to {t}_moved"],
    "altered": ["alter table {t} add columns (more int)"],
}


@pytest.mark.parametrize("point", ["commit", "stage"])
@pytest.mark.parametrize("ddl", keep_quick(DDL, "made anew alike", "renamed", "altered"))
@cases("location", "append", but=("first", "view"))
def test_ddl_in_the_middle_is_left_as_it_is(name: str, case: str, ddl: str, point: str, place: Make) -> None:
    there, after = place(name, case), list[Rows | None]()
    if there.format.catalog == "lake_hadoop" and ddl in ("renamed", "made anew in another format"):
        pytest.skip("a catalog of folders renames no table, and keeps none of another format")
    # A log holds more than one version then, as it does wherever people work.
    there.other.sql(f"alter table {there.t} set tblproperties ('kept' = 'for long')")

    def act() -> None:
        there.carry_out(DDL[ddl])
        after.append(there.rows())
        after.append(there.rows(f"{there.t}_moved"))

    with pytest.MonkeyPatch.context() as patch:
        once(patch, point, act)
        report = there.publish()
    if report.outcome == "published":  # It was staged anew on what they left, which has all of it then.
        assert after[0] is not None, said(report)
        assert len(there.rows() or []) >= len(there.case.new) - len(there.case.old or []), said(report)
    elif report.outcome == "rejected":  # Staged anew, the model does not fit the table that stands there now.
        assert {f.code for f in report.findings if f.verdict == "violated"} <= {"PP402", "PP401", "PP606"}, said(report)
        assert there.rows() == after[0], said(report)
    else:
        is_told(report)
        assert there.rows() == after[0], said(report)
    # Spark's catalog in memory forgets where the partitions of a renamed table lie.
    assert there.rows(f"{there.t}_moved") == after[1]
    # A Delta table that is renamed takes its folder with it, and what was staged in it.
    assert [left for left in there.left() if not (name == "delta" and "/t_moved/" in left)] == []
    assert Guard(there.other).recover() == [], "nothing is left to be settled"


@cases("location", "append", "replace", but=("first", "view"))
def test_rows_that_others_insert_meanwhile_are_kept_or_told(name: str, case: str, place: Make) -> None:
    there = place(name, case)
    with pytest.MonkeyPatch.context() as patch:
        once(patch, "commit", lambda: there.other.sql(f"insert into {there.t} values (9, 'x')"))
        report = there.publish()
    found, told = there.rows(), [f.code for f in report.findings if f.code == "PP621"]
    assert report.outcome == "published", said(report)
    assert (found == sorted([*there.case.new, (9, "x")], key=str)) or (found == there.case.new), found
    if case != "append":
        assert bool(told) == ((9, "x") not in (found or [])), said(report)
    else:
        assert ((9, "x") in (found or []), told) == (True, [])


@pytest.mark.parametrize(
    "ddl",
    [
        DDL["dropped"],
        ["drop table {t}", "create table {t} (id string, s int) using {using}", "insert into {t} values ('theirs', 9)"],
    ],
)
@cases("location", "rename", "replace", but=("view", "append", "partitions", "merge"))
def test_what_others_put_in_its_place_right_after_a_publish_blames_no_model(
    name: str, case: str, ddl: list[str], place: Make
) -> None:
    there, look = place(name, case), Publish.look

    def act(publish: Publish[Any]) -> Any:
        there.carry_out(ddl)
        return look(publish)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Publish, "look", act)
        report = there.publish()
    assert (report.outcome, [f for f in report.findings if f.verdict == "violated"]) == ("published", []), said(report)
    assert [p.status for p in report.planes if p.plane == "catalog"] == ["unreadable"], said(report)


@pytest.mark.parametrize("answers", [True, False])
def test_a_table_that_differs_from_what_was_written_is_a_violation_unless_it_is_another_one(
    answers: bool, place: Make
) -> None:
    there, look = place("parquet", "location"), Publish.look

    def act(publish: Publish[Any]) -> Any:
        there.carry_out(["drop table {t}", "create table {t} (id string, s int) using {using}"])
        return look(publish)

    def is_exchanged(self: Any, publication: Any) -> bool:
        if answers:
            return False
        raise SparkFailure("nobody answers", outside=True)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Publish, "look", act)
        patch.setattr(Parquet, "is_exchanged", is_exchanged)
        report = there.publish()
    assert {f.code for f in report.findings if f.verdict == "violated"} == {"PP403"}, said(report)


@pytest.mark.parametrize("point", POINTS)
@cases("location", "replace")
def test_a_forced_recovery_beside_a_living_owner_harms_nothing(name: str, case: str, point: str, place: Make) -> None:
    there = place(name, case)
    with pytest.MonkeyPatch.context() as patch:
        acted = once(patch, point, there.recover)
        report = there.publish()
    assert acted
    found = there.rows()
    if report.outcome == "published":
        assert found == there.case.new, said(report)
    else:
        is_told(report)
        assert str(report.error).startswith("evicted"), said(report)
        assert found in (there.case.old, there.case.new)
    again = there.publish()
    assert again.outcome == "published", said(again)
    assert there.rows() == there.case.after(2 if found == there.case.new else 1)
    assert there.left() == []


@pytest.mark.parametrize("every", [8, pytest.param(1, marks=pytest.mark.faults)])
@cases("location", "replace", "merge")
def test_a_forced_recovery_right_before_any_call_harms_nothing(name: str, case: str, every: int, place: Make) -> None:
    for at in itertools.count(1, every):
        there = place(name, case)
        guard = Guard(there.spark.newSession())
        with pytest.MonkeyPatch.context() as patch:
            seen = meanwhile(guard, there.format, patch, at, there.recover)
            report = there.publish(guard)
        where = f"{seen[-1:]}: {said(report)}"
        found = there.rows()
        if report.outcome == "published":
            assert found == there.case.new, where
        else:
            is_told(report)
            # A note that its owner writes at the same moment hides the eviction: what it staged is gone then.
            assert str(report.error).startswith("evicted") or "are gone" in str(report.error), where
            # Partitions are swapped call by call: one call that arrives late leaves its own partition with new rows.
            late = [[(1, "x"), (2, "y"), (4, "z")], [(2, "y"), (3, "x")]] if case == "partitions" else []
            assert found in (there.case.old, there.case.new, *late), where
        again = there.publish()
        assert again.outcome == "published", f"{where}; {said(again)}"
        assert there.rows() == there.case.after(2 if found == there.case.new else 1), where
        assert there.left() == [], where
        if len(seen) <= at:
            return


@pytest.mark.parametrize("point", POINTS)
@cases("append")
def test_of_two_publishes_each_says_what_became_of_its_rows(name: str, case: str, point: str, place: Make) -> None:
    there, second = place(name, case), list[Report]()
    with pytest.MonkeyPatch.context() as patch:
        once(patch, point, lambda: second.append(there.publish(Guard(there.other))))
        first = there.publish()
    for report in (first, *second):
        if report.outcome != "published":
            is_told(report)
    count = [first.outcome, *(r.outcome for r in second)].count("published")
    assert count >= 1
    assert there.rows() == there.case.after(count)
    assert there.left() == []


@cases("location", "replace")
def test_the_lease_of_an_owner_that_nobody_sees_ends(
    name: str, case: str, place: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A publish dies on another machine: the next one gets the table without a person."""
    there, here = place(name, case), Owner.here
    monkeypatch.setattr(lock, "LEASE", 0.5)
    with pytest.MonkeyPatch.context() as patch:

        def die(self: Any, *given: Any) -> Any:
            raise Killed

        patch.setattr(Owner, "here", staticmethod(lambda run: replace(here(run), boot="another machine")))
        patch.setattr(Steps, "commit", die)
        patch.setattr(lock.Lock, "release", lambda self: lock._renewed.remove(self))
        dead = Guard(there.spark.newSession())
        with pytest.raises(Killed):
            there.publish(dead)
    report = there.publish()
    assert report.outcome == "published", said(report)
    assert there.rows() == there.case.new
    there.recover()
    assert (there.rows(), there.left()) == (there.case.new, [])


def broken_by(there: Place) -> dict[str, Any]:
    return {"sql": BAD, "contract": CONTRACT, "settings": QUARANTINING}


@pytest.mark.parametrize("every", [None, pytest.param(1, marks=pytest.mark.faults)])
@cases("location", "replace", but=("partitions", "view", "merge", "first"))
def test_bad_rows_are_quarantined_once_or_not_at_all(name: str, case: str, every: int | None, place: Make) -> None:
    """The whole publish once; or killed at each call in turn."""
    at = 0 if every else 10_000
    while True:
        there = place(name, case)
        new = sorted([*(there.case.old or [] if case == "append" else []), (2, "b")], key=str)
        report = kill(at, there, functools.partial(there.publish, **broken_by(there)))
        if report is None:
            there.recover()
        else:
            assert report.outcome == "published", said(report)
        found, bad = there.rows(), there.rows(f"{there.t}__quarantine", "id, s") or []
        assert (found, bad) in ((there.case.old, []), (new, BAD_ROWS)), f"died at {at}: {found}, {bad}"
        assert there.left() == [], f"died at {at}"
        if report is not None:
            assert (found, [f.code for f in report.findings].count("PP514")) == (new, 2), said(report)
            return
        at += every or 1


@cases("location", "append", "replace")
def test_data_tests_are_asked_before_the_rows_are_published(name: str, case: str, place: Make) -> None:
    there = place(name, case)
    fails = DataTest("none_is_two", f"select * from {there.t} where id in (2, 3)")
    passes = DataTest("none_is_99", f"select * from {there.t} where id = 99")
    report = Guard(there.spark).publish(there.model(), tests=run_tests([passes, fails]))
    assert report.outcome == "rejected", said(report)
    assert {t.name: t.status for t in report.details.tests} == {"none_is_99": "pass", "none_is_two": "fail"}
    assert (there.rows(), there.left()) == (there.case.old, [])
    assert Guard(there.spark).publish(there.model(), tests=run_tests([passes])).outcome == "published"
    assert there.rows() == there.case.new


@cases("location", "replace", but=("first",))
def test_readers_see_the_old_rows_or_the_new_ones(name: str, case: str, place: Make) -> None:
    there, done = place(name, case), threading.Event()
    # The files of a table that planproof did not write go at once: docs/guarantees.md names that exception.
    assert there.publish().outcome == "published"
    seen: list[Rows | None] = []
    errors: list[str] = []

    def read() -> None:
        own = there.spark.newSession()
        while not done.is_set():
            try:
                own.catalog.refreshTable(there.t)
                seen.append(sorted((tuple(row) for row in own.sql(f"select * from {there.t}").collect()), key=str))
            except Exception as error:
                errors.append(str(error).splitlines()[0])

    reader = threading.Thread(target=read)
    reader.start()
    try:
        reports = [there.publish() for _ in range(2)]
    finally:
        done.set()
        reader.join()
    assert [r.outcome for r in reports] == ["published", "published"]
    versions = [there.case.after(publishes) for publishes in (1, 2, 3)]
    # Partitions of a Parquet table are exchanged one by one, and its files are added one by one.
    parts = case in ("partitions", "append") and there.format.catalog is None
    assert parts or [rows for rows in seen if rows not in versions] == []
    assert there.case.has_gap or errors == []


@cases("location", "replace", but=("view",))
def test_who_leaves_keeps_every_row_and_finds_no_folder_of_ours(name: str, case: str, place: Make) -> None:
    there = place(name, case)
    for _ in range(2):
        assert there.publish().outcome == "published"
    session = opened(there.spark)
    if there.format.catalog is None:
        at = [database_root(session, (there.database,))]
        reports = move_back(session, store_of(session), at)
        assert {r.outcome for r in reports} <= {"moved"}, [r.error for r in reports]
        assert move_back(session, store_of(session), at) == [], "it is finished"
    names = {path.name for path in there.home().iterdir()}
    assert names & {".planproof", "__planproof"} == set()
    assert there.rows() == there.case.after(2)
    there.other.catalog.refreshTable(there.t)
    there.other.sql(f"insert into {there.t} values (9, 'x')")
    assert (9, "x") in (there.rows() or [])
