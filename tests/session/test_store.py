"""The same calls on this machine's files and through Spark's own file systems, which reach HDFS and object stores."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from planproof.session.files import list_data_files
from planproof.session.hadoop_store import HadoopStore
from planproof.session.protocol import SparkFailure
from planproof.session.store import LocalStore


@pytest.fixture(params=["local", "hadoop"])
def store(request: pytest.FixtureRequest) -> Any:
    return LocalStore() if request.param == "local" else HadoopStore(request.getfixturevalue("spark"))


def test_a_file_is_written_read_replaced_and_deleted(store: Any, tmp_path: Path) -> None:
    place = f"file:{tmp_path}/a b/ü.json"
    assert (store.read(place), store.exists(place), store.modification_time(place)) == (None, False, None)
    store.write(place, "eins")
    store.write(place, "zwei")
    assert store.read(place) == "zwei"
    assert [name for name in store.names(f"file:{tmp_path}/a b") if not name.endswith(".crc")] == ["ü.json"]
    for _ in range(2):
        store.delete(place)
        assert not store.exists(place)
    assert store.names(f"file:{tmp_path}/nowhere") == []
    store.delete(f"file:{tmp_path}/a b")
    assert not (tmp_path / "a b").exists()


def test_a_file_without_end_is_not_read(store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever may write to a database's folder may put a journal of any size there."""
    place = f"file:{tmp_path}/journal.json"
    for module in ("store", "hadoop_store"):
        monkeypatch.setattr(f"planproof.session.{module}.LARGEST_NOTE", 5)
    for text in ("", "fünf", "fünf!"):
        store.write(place, text)
        if len(text.encode()) <= 5:
            assert store.read(place) == text
    with pytest.raises(SparkFailure, match="6 bytes, more than 5"):
        store.read(place)


def test_a_file_is_copied_once_and_stays(store: Any, tmp_path: Path) -> None:
    old, new = f"file:{tmp_path}/a b/ü", f"file:{tmp_path}/c/d/ü"
    store.write(old, "eins")
    store.copy(old, new)
    assert (store.read(old), store.read(new)) == ("eins", "eins")
    store.write(old, "zwei")
    with pytest.raises(SparkFailure):
        store.copy(old, new)
    store.delete(old)
    assert store.read(new) == "eins"
    with pytest.raises(SparkFailure):
        store.copy(old, f"file:{tmp_path}/e")


def test_a_file_is_created_once(store: Any, tmp_path: Path) -> None:
    place = str(tmp_path / "lock.json")
    assert [store.create(place, text) for text in ("mine", "yours")] == [True, False]
    assert store.read(place) == "mine"


def test_one_of_many_creates_a_file(tmp_path: Path) -> None:
    """On this machine's own files. Hadoop's client for them looks first and writes then, and serves none of ours."""
    store, place, barrier, made = LocalStore(), str(tmp_path / "lock.json"), threading.Barrier(6), []

    def create(text: str) -> None:
        barrier.wait()
        if store.create(place, text):
            made.append(text)

    threads = [threading.Thread(target=create, args=(str(i),)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [store.read(place)]


def test_nothing_is_moved_over_something(store: Any, tmp_path: Path) -> None:
    old, new = str(tmp_path / "old/part.parquet"), str(tmp_path / "new/x=1/part.parquet")
    store.write(old, "rows")
    store.move(old, new)
    assert (store.exists(old), store.read(new)) == (False, "rows")
    store.write(old, "others")
    with pytest.raises(SparkFailure, match="exists"):
        store.move(old, new)
    assert (store.read(old), store.read(new)) == ("others", "rows")
    with pytest.raises(SparkFailure):
        store.move(str(tmp_path / "gone"), str(tmp_path / "there"))


def test_a_file_goes_to_another_device_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, old, new = LocalStore(), str(tmp_path / "here/part.parquet"), str(tmp_path / "there/x=1/part.parquet")
    store.write(old, "rows")
    store.write(str(tmp_path / "here/.part.parquet.crc"), "sum")
    rename, seen = os.rename, []

    def refuse(source: str, target: str) -> None:
        seen.append(sorted(os.listdir(os.path.dirname(target))))
        if os.path.dirname(source) != os.path.dirname(target):
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        rename(source, target)

    monkeypatch.setattr(os, "rename", refuse)
    store.move(old, new)
    assert (os.listdir(tmp_path / "here"), store.read(new)) == ([], "rows")
    assert sorted(os.listdir(tmp_path / "there/x=1")) == [".part.parquet.crc", "part.parquet"]
    with pytest.raises(SparkFailure, match="cross-device"):
        store.move(str(tmp_path / "here"), str(tmp_path / "there/here"))


def test_a_versions_age_is_that_of_its_files(store: Any, tmp_path: Path) -> None:
    """Some stores say of every folder that it was changed just now."""
    store.write(str(tmp_path / "v1/part.parquet"), "rows")
    for path in (*(tmp_path / "v1").iterdir(), tmp_path / "v1"):
        os.utime(path, (1000, 1000))
    assert store.modification_time(str(tmp_path / "v1")) == 1000.0


def test_a_folder_that_does_not_answer_is_not_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "d=1").mkdir()
    (tmp_path / "d=1" / "a.parquet").write_text("x")
    assert LocalStore().contents(str(tmp_path)) == {"d=1/a.parquet": 1}
    listed = os.scandir

    def scandir(path: Any) -> Any:
        if str(path).endswith("d=1"):
            raise OSError(errno.ESTALE, "Stale file handle")
        return listed(path)

    monkeypatch.setattr(os, "scandir", scandir)
    for look in (LocalStore().contents, list_data_files):
        with pytest.raises(SparkFailure, match="Stale file handle"):
            look(str(tmp_path))
