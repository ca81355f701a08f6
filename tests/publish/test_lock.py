"""Locks: exclusive, named, and taken over only from an owner that is certainly dead."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from planproof.publish.transaction import lock
from planproof.publish.transaction.journal import Entry, Journal, Move, PartitionSwap, Prior, folder, publishes, read
from planproof.publish.transaction.owner import Owner
from planproof.session import SparkFailure
from planproof.session.store import LocalStore, RoutedStore


def dead_pid() -> int:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


def held_by(store: LocalStore, root: Path, owner: Owner) -> None:
    store.create(lock.path(str(root), "t"), json.dumps(owner.form()))


def test_a_second_writer_is_refused_and_told_who_holds_it(tmp_path: Path) -> None:
    store = LocalStore()
    held = lock.acquire(store, str(tmp_path), "t", "first", "s.t")
    with pytest.raises(lock.Locked, match=r"s\.t is being published by run first, process \d+ on") as refused:
        lock.acquire(store, str(tmp_path), "t", "second", "s.t")
    assert not refused.value.is_dead
    held.release()
    lock.acquire(store, str(tmp_path), "t", "second", "s.t").release()


def test_only_one_of_many_gets_it(tmp_path: Path) -> None:
    got: list[str] = []
    barrier = threading.Barrier(8)

    def attempt(run: str) -> None:
        barrier.wait()
        try:
            lock.acquire(LocalStore(), str(tmp_path), "t", run, "s.t")
            got.append(run)
        except lock.Locked:
            pass

    threads = [threading.Thread(target=attempt, args=(f"r{i}",)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 1


def test_dead_is_only_what_is_certainly_dead() -> None:
    here = Owner.here("given up")
    assert here.is_dead, "this process does not work on that run"
    gone = dead_run("r")
    assert gone.is_dead
    assert not replace(gone, space="pid:[1]").is_dead, "another container's pids are not seen from here"
    assert not Owner("another-host", dead_pid(), "r").is_dead, "nothing is known of another host"
    parent = replace(gone, pid=os.getppid())
    assert not parent.is_dead
    assert replace(parent, started="0.5").is_dead, "the pid was given to another process"


def test_a_lock_that_cannot_be_read_is_not_dead(tmp_path: Path) -> None:
    store = LocalStore()
    store.write(lock.path(str(tmp_path), "t"), "{")
    with pytest.raises(lock.Locked, match="cannot be read") as refused:
        lock.acquire(store, str(tmp_path), "t", "r", "s.t")
    assert not refused.value.is_dead


def dead_run(run: str) -> Owner:
    return replace(Owner.here(run), pid=dead_pid(), started=None)


def test_one_rescuer_at_a_time_inherits_from_the_dead(tmp_path: Path) -> None:
    store, dead, inside = LocalStore(), dead_run("d"), []
    barrier = threading.Barrier(6)

    def rescue() -> None:
        barrier.wait()
        try:
            with lock.inherited(LocalStore(), str(tmp_path), "t", dead, "s.t"):
                inside.append(True)
                refused.wait(10)
        except lock.Locked as refusal:
            losers.append(refusal)
            if len(losers) == 5:
                refused.set()

    losers: list[lock.Locked] = []
    refused = threading.Event()
    threads = [threading.Thread(target=rescue) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(inside), len(losers)) == (1, 5)
    assert all(refusal.holder is not None and refusal.holder.run.startswith("rescue_") for refusal in losers)
    assert store.names(str(tmp_path / ".planproof/claims")) == []


def test_a_dead_rescuer_is_inherited_from(tmp_path: Path) -> None:
    store, dead, rescuer = LocalStore(), dead_run("d"), dead_run("rescue_1")
    claim = tmp_path / ".planproof/claims/t.d.json"
    store.create(str(claim), json.dumps(rescuer.form()))
    with pytest.raises(RuntimeError), lock.inherited(store, str(tmp_path), "t", dead, "s.t"):
        raise RuntimeError("the metastore is gone")
    assert store.names(str(claim.parent)) == ["t.d.json"], "a rescue that failed leaves what it inherited"
    with lock.inherited(store, str(tmp_path), "t", dead, "s.t"):
        assert len(store.names(str(claim.parent))) == 2
    assert store.names(str(claim.parent)) == []


def test_the_living_are_inherited_from_by_force_only(tmp_path: Path) -> None:
    living = Owner("another-host", 1, "r")
    by_force = lock.inherited(LocalStore(), str(tmp_path), "t", living, "s.t", force=True)
    unasked = lock.inherited(LocalStore(), str(tmp_path), "t", living, "s.t")
    with pytest.raises(lock.Locked, match="run r, process 1 on another-host"), unasked:
        pass
    with by_force:
        pass


def test_a_file_system_without_links_still_has_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*paths: str) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    held = lock.acquire(LocalStore(), str(tmp_path), "t", "first", "s.t")
    with pytest.raises(lock.Locked, match="run first"):
        lock.acquire(LocalStore(), str(tmp_path), "t", "second", "s.t")
    held.release()
    assert LocalStore().names(str(tmp_path / ".planproof/locks")) == []


def test_release_leaves_the_lock_of_another(tmp_path: Path) -> None:
    store = LocalStore()
    held = lock.acquire(store, str(tmp_path), "t", "mine", "s.t")
    store.delete(held.location)
    held_by(store, tmp_path, Owner("elsewhere", 1, "theirs"))
    held.release()
    assert store.exists(held.location)


def test_a_lock_that_cannot_be_made_leaves_no_run_behind(tmp_path: Path) -> None:
    class Full(LocalStore):
        def create(self, location: str, text: str) -> bool:
            super().create(location, text)
            raise SparkFailure("No space left on device")

    with pytest.raises(SparkFailure):
        lock.acquire(Full(), str(tmp_path), "t", "first", "s.t")
    with pytest.raises(lock.Locked) as refused:
        lock.acquire(LocalStore(), str(tmp_path), "t", "second", "s.t")
    assert refused.value.is_dead, "the next publish takes it over"


def entry_below(root: Path) -> Entry:
    return Entry(
        "s.t",
        "`s`.`t`",
        "`s`.`x`",
        "`s`.`y`",
        "append",
        "r",
        1,
        Owner("h", 1, "r_1", "12"),
        "t",
        str(root),
        "/w/t",
        "/w/x",
        True,
        prior=Prior("table", True, "/w/t", True),
        moves=(Move("a", "b"),),
        partitions=(PartitionSwap("d=1", None, "/n"),),
    )


def test_a_journal_entry_survives_its_file(tmp_path: Path) -> None:
    entry = entry_below(tmp_path)
    journal = Journal(LocalStore(), entry)
    for step in ("stage", "files"):
        journal.step(step)
    assert publishes(LocalStore(), str(tmp_path)) == ["t.r_1"]
    found = read(LocalStore(), str(tmp_path), "t.r_1")
    assert found is not None
    assert found.entry == replace(entry, step="files")
    found.step("undo")
    assert LocalStore().names(folder(str(tmp_path))) == ["t.r_1.3.json"]
    journal.close()
    assert publishes(LocalStore(), str(tmp_path)) == []
    assert read(LocalStore(), str(tmp_path), "t.r_1") is None


def test_an_entry_that_was_half_written_is_as_if_its_step_had_not_begun(tmp_path: Path) -> None:
    """On an object store nothing replaces a file at once: each step gets its own, and a whole one is always there."""
    journal = Journal(LocalStore(), entry_below(tmp_path))
    journal.step("files")
    torn = tmp_path / ".planproof/journal/t.r_1.2.json"
    torn.write_text(Path(journal.location).read_text()[:40])
    found = read(LocalStore(), str(tmp_path), "t.r_1")
    assert found is not None
    assert found.entry.step == "files"
    Path(journal.location).unlink()
    with pytest.raises(ValueError, match=r"delimiter|Expecting|Unterminated"):
        read(LocalStore(), str(tmp_path), "t.r_1")
    found.step("undo")
    again = read(LocalStore(), str(tmp_path), "t.r_1")
    assert again is not None
    assert again.entry.step == "undo"


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"model": 1}'])
def test_what_is_no_entry_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"journal entry|Expecting|property name"):
        Entry.from_json(text)


def test_a_move_takes_the_checksum_along_and_never_overwrites(tmp_path: Path) -> None:
    store = RoutedStore(None)
    (tmp_path / "a").write_text("1")
    (tmp_path / ".a.crc").write_text("c")
    (tmp_path / "taken").write_text("2")
    store.move(str(tmp_path / "a"), f"file:{tmp_path}/new/b")
    assert sorted(p.name for p in (tmp_path / "new").iterdir()) == [".b.crc", "b"]
    with pytest.raises(SparkFailure, match="exists"):
        store.move(str(tmp_path / "taken"), str(tmp_path / "new" / "b"))
    with pytest.raises(SparkFailure, match="cannot be reached"):
        store.read("s3://bucket/key")
