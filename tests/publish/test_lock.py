"""Locks: exclusive, named, and taken over only from an owner that is certainly dead."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from planproof.publish.transaction import lock
from planproof.publish.transaction.journal import (
    FORM,
    Entry,
    Journal,
    Move,
    PartitionSwap,
    Prior,
    folder,
    list_publishes,
    read,
)
from planproof.publish.transaction.names import STATE, join
from planproof.publish.transaction.owner import Owner
from planproof.session import SparkFailure
from planproof.session.store import LocalStore, RoutedStore


def dead_pid() -> int:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


def held_by(store: LocalStore, root: Path, owner: Owner, epoch: int = 1) -> str:
    location = lock.path(str(root), "t", epoch)
    store.create(location, json.dumps(owner.form()))
    return location


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, seconds in (("LEASE", 0.6), ("RENEWAL", 0.1), ("_POLL", 0.02)):
        monkeypatch.setattr(lock, name, seconds)
    # A thread that waits already does so for as long as it was told.
    monkeypatch.setattr(lock, "_renewed", lock._Renewed())


def test_a_second_writer_is_refused_and_told_who_holds_it(tmp_path: Path) -> None:
    store = LocalStore()
    held = lock.acquire(store, str(tmp_path), "t", "first", "s.t")
    with pytest.raises(lock.Locked, match=r"s\.t is being published by run first, process \d+ on"):
        lock.acquire(store, str(tmp_path), "t", "second", "s.t")
    held.release()
    lock.acquire(store, str(tmp_path), "t", "second", "s.t").release()
    assert store.names(str(tmp_path / ".planproof/locks")) == []


def test_only_one_of_many_gets_it(tmp_path: Path) -> None:
    got: list[lock.Lock] = []
    barrier = threading.Barrier(8)

    def attempt(run: str) -> None:
        barrier.wait()
        with contextlib.suppress(lock.Locked):
            got.append(lock.acquire(LocalStore(), str(tmp_path), "t", run, "s.t"))

    threads = [threading.Thread(target=attempt, args=(f"r{i}",)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 1
    got[0].release()


def test_dead_is_only_what_is_certainly_dead() -> None:
    here = Owner.here("given up")
    assert here.is_dead, "this process does not work on that run"
    gone = dead_run("r")
    assert gone.is_dead
    assert not replace(gone, space="pid:[1]").is_dead, "another container's pids are not seen from here"
    assert not replace(gone, boot="another").is_dead, "a cloned machine has this one's name and its namespace's number"
    assert not replace(gone, boot=None).is_dead, "nothing is known of a machine that does not tell its boot"
    parent = replace(gone, pid=os.getppid())
    assert not parent.is_dead
    assert parent.is_alive
    assert replace(parent, started="0.5").is_dead, "the pid was given to another process"


def dead_run(run: str) -> Owner:
    return replace(Owner.here(run), pid=dead_pid(), started=None)


def elsewhere(run: str = "theirs") -> Owner:
    return replace(Owner.here(run), boot="another machine", host="pod-1")


def test_what_a_dead_owner_held_is_taken_over_by_one(tmp_path: Path) -> None:
    store, got, lost = LocalStore(), [], []
    held_by(store, tmp_path, dead_run("d"))
    barrier = threading.Barrier(6)

    def rescue(run: str) -> None:
        barrier.wait()
        try:
            got.append(lock.acquire(LocalStore(), str(tmp_path), "t", run, "s.t"))
        except lock.Locked as refusal:
            lost.append(refusal.holder)

    threads = [threading.Thread(target=rescue, args=(f"rescue_{i}",)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(got), len(lost)) == (1, 5)
    assert got[0].took_over
    got[0].release()


def test_an_owner_that_cannot_be_seen_is_watched_for_a_lease(tmp_path: Path, quick: None) -> None:
    """A killed pod's table is free again without a person, by the watcher's clock alone."""
    store = LocalStore()
    held_by(store, tmp_path, elsewhere())
    begun = time.monotonic()
    taken = lock.acquire(store, str(tmp_path), "t", "mine", "s.t")
    assert 0.6 <= time.monotonic() - begun < 5
    assert taken.epoch == 2
    taken.release()


def test_an_owner_that_renews_its_lock_keeps_it(tmp_path: Path, quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    held = lock.acquire(LocalStore(), str(tmp_path), "t", "theirs", "s.t")
    monkeypatch.setattr(Owner, "is_seen", property(lambda self: False))
    for _ in range(3):
        with pytest.raises(lock.Locked, match="run theirs"):
            lock.acquire(LocalStore(), str(tmp_path), "t", "mine", "s.t")
    held.fence()
    held.release()
    assert LocalStore().names(str(tmp_path / ".planproof/locks")) == []


def test_an_owner_that_came_after_the_one_that_was_watched_keeps_its_lock(tmp_path: Path, quick: None) -> None:
    """Both locks had one name, and no renewal yet."""
    store, watch = LocalStore(), lock.Watch()
    first = held_by(store, tmp_path, replace(elsewhere(), run="r1"))
    watch.begin(store, first)
    time.sleep(lock.LEASE * 1.5)
    store.delete(first)
    held_by(store, tmp_path, replace(elsewhere(), run="r2"))
    with pytest.raises(lock.Locked, match="run r2"):
        lock.acquire(store, str(tmp_path), "t", "r3", "d.t", watch=watch)


def test_a_zombie_is_dead() -> None:
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    owner = replace(Owner.here("r1"), pid=child.pid, started=None)
    while Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
        time.sleep(0.05)
    assert (owner.is_dead, owner.is_alive) == (True, False)
    child.wait()


def test_force_takes_over_at_once_and_the_evicted_owner_finds_out(tmp_path: Path) -> None:
    held = lock.acquire(LocalStore(), str(tmp_path), "t", "theirs", "s.t")
    held.fence()
    taken = lock.acquire(LocalStore(), str(tmp_path), "t", "mine", "s.t", force=True)
    with pytest.raises(lock.Evicted, match=r"evicted: .* has taken s\.t over"):
        held.fence()
    taken.fence()
    taken.release()
    for _ in range(2):
        with pytest.raises(lock.Evicted):
            held.fence()
        lock.acquire(LocalStore(), str(tmp_path), "t", "third", "s.t").release()
    again = lock.acquire(LocalStore(), str(tmp_path), "t", "fourth", "s.t")
    held.release()
    again.fence()
    assert again.epoch == 3, "epochs only grow once a table was taken over"
    again.release()


def test_an_evicted_owner_finds_out_where_the_folder_of_locks_was_made_anew(tmp_path: Path) -> None:
    """`clean` removes the state of a database that nobody uses: epochs begin again, with a file of the same name."""
    store = LocalStore()
    evicted = lock.acquire(store, str(tmp_path), "t", "first", "s.t")
    lock.acquire(store, str(tmp_path), "t", "second", "s.t", force=True).release()
    store.delete(join(str(tmp_path), STATE))
    lock.acquire(store, str(tmp_path), "t", "third", "s.t").fence()
    with pytest.raises(lock.Evicted):
        evicted.fence()


def test_a_lock_that_cannot_be_read_is_taken_over_after_a_lease(tmp_path: Path, quick: None) -> None:
    store = LocalStore()
    store.write(lock.path(str(tmp_path), "t", 1), "{")
    begun = time.monotonic()
    lock.acquire(store, str(tmp_path), "t", "r", "s.t").release()
    assert time.monotonic() - begun >= 0.6


def test_the_lock_of_an_older_planproof_is_watched_too(tmp_path: Path, quick: None) -> None:
    store = LocalStore()
    form = {k: v for k, v in Owner.here("older").form().items() if k != "boot"}
    store.write(lock.path(str(tmp_path), "t", 0), json.dumps(form))
    begun = time.monotonic()
    lock.acquire(store, str(tmp_path), "t", "r", "s.t").release()
    assert time.monotonic() - begun >= 0.6


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
    held_by(store, tmp_path, elsewhere())
    held.release()
    assert store.exists(held.location)


def test_a_lock_that_cannot_be_made_leaves_no_run_behind(tmp_path: Path) -> None:
    class Full(LocalStore):
        def create(self, location: str, text: str) -> bool:
            super().create(location, text)
            raise SparkFailure("No space left on device")

    with pytest.raises(SparkFailure):
        lock.acquire(Full(), str(tmp_path), "t", "first", "s.t")
    lock.acquire(LocalStore(), str(tmp_path), "t", "second", "s.t").release()


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
    assert list_publishes(LocalStore(), str(tmp_path)) == ["t.r_1"]
    found = read(LocalStore(), str(tmp_path), "t.r_1")
    assert found is not None
    assert found.entry == replace(entry, step="files")
    found.step("undo")
    assert LocalStore().names(folder(str(tmp_path))) == ["t.r_1.3.json"]
    journal.close()
    assert list_publishes(LocalStore(), str(tmp_path)) == []
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


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no JSON"),
        ("{", "no JSON"),
        ("[]", "no JSON object"),
        ("[" * 9000, "no JSON"),
        ("{}", "its form is 1"),
        ('{"model": 1}', "its form is 1"),
        ('{"form": 99}', "its form is 99"),
        (f'{{"form": {FORM}}}', "model is not there"),
        (f'{{"form": {FORM}, "model": 1}}', "model is 1"),
    ],
)
def test_what_is_no_entry_is_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Entry.from_json(text)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("attempt", "1"),
        ("external", 1),
        ("owner", None),
        ("owner", {"host": "h", "pid": True, "run": "r"}),
        ("moves", [{"source": "a"}]),
        ("columns", [["a", "b", "c"]]),
        ("content", [["a", 1.5]]),
        ("prior", {"kind": "table", "managed": None, "location": None}),
        ("step", "swapped"),
        ("strategy", "teleport"),
    ],
)
def test_an_entry_with_a_value_of_another_kind_is_refused(field: str, value: Any, tmp_path: Path) -> None:
    entry = entry_below(tmp_path)
    told = json.loads(entry.to_json())
    assert Entry.from_json(json.dumps(told)) == entry
    with pytest.raises(ValueError, match=field):
        Entry.from_json(json.dumps({**told, field: value}))


def test_a_step_that_another_process_has_written_is_left_alone(tmp_path: Path) -> None:
    """Whoever settles an evicted publish writes the next number; that file is theirs."""
    journal = Journal(LocalStore(), entry_below(tmp_path))
    journal.step("stage")
    rescuer = read(LocalStore(), str(tmp_path), "t.r_1")
    assert rescuer is not None
    rescuer.step("undo")
    with pytest.raises(lock.Evicted):
        journal.step("swap")
    found = read(LocalStore(), str(tmp_path), "t.r_1")
    assert found is not None
    assert found.entry.step == "undo"


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
