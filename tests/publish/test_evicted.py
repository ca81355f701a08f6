"""Who is evicted by a forced recovery stops, says so, and its table is what one of the writers left."""

from __future__ import annotations

import functools
import itertools
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from guarded_place import CASES, Place, drop
from quick import keep_quick

from planproof import Contract, Guard
from planproof.publish.transaction import lock, recover
from planproof.publish.transaction.publication import JournaledPublication
from planproof.publish.transaction.states import STATES, Target
from planproof.settings import Settings


def recover_by_force(there: Place, told: list[Any]) -> None:
    told += Guard(there.other).recover(force=True)


def meanwhile(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None], at: int | None = None) -> list[str]:
    """`act` happens once, right before the publish's step, change or file operation number `at`; returns what they
    were."""
    seen: list[str] = []

    def before(method: str) -> Any:
        plain = getattr(JournaledPublication, method)

        def run(self: JournaledPublication, *args: Any, **named: Any) -> Any:
            if threading.current_thread().name != "acting":
                seen.append(f"{method} {args[0] if args else ''}")
                if len(seen) - 1 == at:
                    thread = threading.Thread(target=act, name="acting")
                    thread.start()
                    thread.join()
            return plain(self, *args, **named)

        return run

    for method in ("step", "refuse_incomplete", "define", "move", "delete"):
        monkeypatch.setattr(JournaledPublication, method, before(method))
    return seen


def each(*names: str, quick: dict[str, int]) -> Any:
    """Some cases at every one of their steps; and those that are quick at each of so many, in any run."""
    return pytest.mark.parametrize(
        ("name", "every"), keep_quick([*quick.items(), *((n, 1) for n in names)], *quick.items())
    )


@each(*(name for name in CASES if name != "append to partitions"), quick={"location": 3})
def test_a_forced_recovery_evicts_a_living_owner(
    name: str, every: int, place: Callable[[str], Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each `every`th of the owner's steps: it stops, says `evicted`, and the table is wholly old or new."""
    at, told = every - 1, []
    while True:
        there = place(name)
        with monkeypatch.context() as patch:
            seen = meanwhile(patch, functools.partial(recover_by_force, there, told), at)
            report = there.publish()
        if at >= len(seen):
            assert report.outcome == "published"
            break
        found = there.rows()
        if report.outcome == "published":
            assert found == there.new, seen[at]
        else:
            assert report.error is not None
            assert report.error.startswith("evicted"), report.error
            assert [f.code for f in report.findings if f.code == "PP620"] == ["PP620"]
            assert found in (there.old, there.new), seen[at]
        assert "failed" not in [r.outcome for r in told], [r.error for r in told]
        told.clear()
        again = there.publish()
        assert again.outcome == "published", again.error
        twice = sorted([*there.new, *set(there.new).difference(there.old or ())])
        expected = twice if name.startswith("append") and found == there.new else there.new
        assert there.rows() == expected, seen[at]
        drop(there)
        at += every
    assert at >= 3


MOMENTS = ("before its last step", "after it")


def evict(patch: pytest.MonkeyPatch, there: Place, moment: str) -> None:
    """A forced recovery at a moment of the owner's last step."""
    plain, seen = JournaledPublication.step, list[str]()

    def step(self: Any, step: str, **changes: Any) -> None:
        # The recovery takes this step, too.
        is_owners = step == "clean" and step not in seen
        seen.append(step)
        if is_owners and moment == MOMENTS[0]:
            Guard(there.other).recover(force=True)
        plain(self, step, **changes)
        if is_owners and moment == MOMENTS[1]:
            Guard(there.other).recover(force=True)

    patch.setattr(JournaledPublication, "step", step)


@pytest.mark.parametrize("name", keep_quick(["append", "append to partitions", "rename", "partitions"], "append"))
def test_who_is_evicted_once_its_rows_stand_says_so(
    name: str, place: Callable[[str], Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever runs an append again for its report must not have its rows twice: before its last step they are taken
    back."""
    for moment in MOMENTS:
        there = place(name)
        with monkeypatch.context() as patch:
            evict(patch, there, moment)
            report = there.publish()
        if name.startswith("append") and moment == MOMENTS[0]:
            assert (report.outcome, there.rows()) == ("failed", there.old)
            assert "evicted" in str(report.error)
        else:
            assert (report.outcome, there.rows()) == ("published", there.new), report.error
            assert "evicted" in "".join(f.message or "" for f in report.findings if f.code == "PP603")
        drop(there)


@pytest.mark.parametrize(
    "name", keep_quick(["location", "rename", "append", "partitions", "table to view"], "location")
)
def test_who_is_evicted_says_what_the_recovery_that_is_under_way_makes_of_its_rows(
    name: str, place: Callable[[str], Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The owner sees that it was evicted while the other one is still at work: right after each of its changes."""
    settle, told, ends = recover.settle_found, list[Any](), set[str]()
    for at in itertools.count():
        there, seen, taken = place(name), list[str](), threading.Event()
        rescue = threading.Thread(target=functools.partial(recover_by_force, there, told), name="acting")

        def slowly(*found: Any, taken: threading.Event = taken) -> Any:
            taken.set()
            time.sleep(0.3)
            return settle(*found)

        def evicted_after(
            method: str, seen: list[str] = seen, at: int = at, rescue: Any = rescue, taken: Any = taken
        ) -> Any:
            plain = getattr(JournaledPublication, method)

            def run(self: Any, *given: str) -> None:
                plain(self, *given)
                if threading.current_thread() is not rescue and STATES[self.entry.step].target is Target.EITHER:
                    seen.append(f"{method} {given}")
                    if len(seen) - 1 == at:
                        rescue.start()
                        taken.wait(10)

            return run

        with monkeypatch.context() as patch:
            patch.setattr(recover, "settle_found", slowly)
            for method in ("define", "move"):
                patch.setattr(JournaledPublication, method, evicted_after(method))
            report = there.publish()
            if at >= len(seen):
                break
            rescue.join()
        is_new = there.rows() == there.new
        ends.add(report.outcome)
        assert is_new or there.rows() == there.old, seen[at]
        assert report.outcome == ("published" if is_new else "failed"), (seen[at], report.error)
        assert "stand there" not in str(report.error)
        assert [f.code for f in report.findings if f.code == "PP403"] == []
        drop(there)
    assert ("published" in ends) == (name != "append")


def test_who_is_evicted_once_its_rows_stand_sets_no_comment(
    place: Callable[[str], Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table is another's by then."""
    there, plain = place("location"), JournaledPublication.set_location
    there.model = replace(there.model, comment="the evicted one's")

    def set_location(self: Any, *args: Any) -> None:
        plain(self, *args)
        monkeypatch.undo()
        Guard(there.other).recover(force=True)

    monkeypatch.setattr(JournaledPublication, "set_location", set_location)
    report = there.publish()
    assert (report.outcome, there.rows()) == ("published", there.new), report.error
    assert "evicted" in str(report.findings)
    described = there.spark.sql(f"describe extended {there.name}").collect()
    assert "the evicted one's" not in [row[1] for row in described]


@pytest.mark.parametrize("name", keep_quick(["location", "append"], "location"))
def test_who_is_evicted_once_good_and_bad_rows_stand_says_so(
    name: str, place: Callable[[str], Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    there, method = place(name), "set_location" if name == "location" else "add_columns"
    promised = Contract([("id", "int", False), ("s", "string", True)])
    sql = "select * from values (2, 'b'), (cast(null as int), 'c') as v(id, s)"
    there.model = replace(there.model, sql=sql, contract=promised, settings=Settings(on_violation="quarantine"))
    plain = getattr(JournaledPublication, method)

    def last(self: Any, *args: Any) -> None:
        plain(self, *args)
        monkeypatch.undo()
        Guard(there.other).recover(force=True)

    monkeypatch.setattr(JournaledPublication, method, last)
    report = there.publish()
    quarantined = there.other.table(f"{there.name}__quarantine").count()
    if name == "append":
        assert (report.outcome, there.rows(), quarantined) == ("failed", there.old, 0)
    else:
        assert (report.outcome, there.rows(), quarantined) == ("published", there.new, 1), report.error
        assert "evicted" in str(report.findings)


@each("location", "rename", "append", "partitions", quick={"rename": 3})
def test_a_call_that_arrives_late_harms_nothing(
    name: str, every: int, place: Callable[[str], Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The owner stood still between its last look for a take-over and the call itself."""
    at = every - 1
    while True:
        there, seen = place(name), list[str]()
        with monkeypatch.context() as patch:
            plain = lock.Lock.fence

            def late(self: Any, plain: Any = plain, there: Any = there, seen: Any = seen, at: int = at) -> None:
                plain(self)
                if threading.current_thread().name == "acting":
                    return
                seen.append("")
                if len(seen) - 1 == at:
                    act = threading.Thread(target=lambda: Guard(there.other).recover(force=True), name="acting")
                    act.start()
                    act.join()

            patch.setattr(lock.Lock, "fence", late)
            report = there.publish()
        if at >= len(seen):
            break
        found = there.rows()
        mixed = [[(1, "x"), (2, "y"), (4, "z")], [(2, "y"), (3, "x")]] if name == "partitions" else []
        assert found in (there.old, there.new, *mixed), f"late at {at}"
        assert found == there.new or report.outcome != "published", f"late at {at}"
        if found in mixed and report.outcome != "published":
            assert "new rows stand in the partition d=" in str(report.error), f"late at {at}: {report.error}"
        if report.outcome != "published":
            assert (report.error or "").startswith("evicted") or report.details.transient, report.error
        drop(there)
        at += every
    assert at >= 3
