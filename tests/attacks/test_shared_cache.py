"""Who shares the folder of the cache cannot say what is proved."""

from __future__ import annotations

import os
import sqlite3
import stat
from pathlib import Path
from typing import Any

import pytest

from planproof.project import cache as caches
from planproof.project.cache import Cache, digest_of

KEY = b"k" * 16


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv(caches.KEY, raising=False)
    caches.cache_key.cache_clear()
    yield tmp_path / "cache" / "check.sqlite"
    caches.cache_key.cache_clear()


def kept(file: Path) -> None:
    cache = Cache(file)
    cache.put(KEY, b"violated", b"large")
    cache.close()


def test_an_entry_is_found_again_and_its_file_is_the_users_own(file: Path, tmp_path: Path) -> None:
    kept(file)
    assert Cache(file).get(KEY) == (b"violated", b"large")
    modes = {
        path: stat.S_IMODE(path.stat().st_mode) for path in (file, file.parent, tmp_path / "config/planproof/cache.key")
    }
    assert list(modes.values()) == [0o600, 0o700, 0o600]


def test_a_forged_entry_is_not_found(file: Path) -> None:
    """The forger knows planproof's code, and not the key."""
    kept(file)
    with sqlite3.connect(file) as opened:
        forged = b"proved"
        opened.execute("update judged set small = ?, sum = ?", (forged, digest_of((KEY, forged))))
    assert Cache(file).get(KEY) is None


def test_what_was_said_before_is_not_said_of_what_is_there_now(file: Path) -> None:
    """The second part of an entry is a finished check's verdicts, the first the files that they are about."""
    kept(file)
    with sqlite3.connect(file) as opened:
        old = opened.execute("select large, large_sum from judged").fetchone()
    cache = Cache(file)
    cache.put(KEY, b"other files", b"violated")
    cache.close()
    assert Cache(file).get(KEY) == (b"other files", b"violated")
    with sqlite3.connect(file) as opened:
        opened.execute("update judged set large = ?, large_sum = ?", old)
    assert Cache(file).get(KEY) is None


ENDLESS = "with recursive r(x) as (select 1 union all select x + 1 from r) select x from r"


@pytest.mark.parametrize(
    "made",
    [
        f"create trigger t before insert on judged begin select count(*) from ({ENDLESS}); end",
        f"create view entries as {ENDLESS}",
        f"drop table judged; create view judged as {ENDLESS}",
        "create index i on judged (day)",
        "drop table judged; create table judged (key, day, small, sum, large, large_sum)",
    ],
)
def test_nothing_is_computed_by_the_file(made: str, file: Path) -> None:
    """A trigger once kept the check for ever."""
    kept(file)
    opened = sqlite3.connect(file, isolation_level=None)
    opened.executescript(made)
    opened.close()
    assert Cache(file).get(KEY) is None
    kept(file)
    assert Cache(file).get(KEY) == (b"violated", b"large"), "the file was made anew"


@pytest.mark.parametrize("end", ["-journal", "-wal", "-shm"])
@pytest.mark.parametrize("made", [os.mkfifo, lambda at: at.symlink_to("/dev/zero")], ids=["a pipe", "a link"])
def test_nothing_beside_the_file_is_waited_for_or_followed(made: Any, end: str, file: Path) -> None:
    kept(file)
    made(file.with_name(file.name + end))
    cache = Cache(file)
    assert cache.get(KEY) is None
    assert "may be written by others" in str(cache.refused)


def test_a_file_that_no_check_left_is_not_read(file: Path) -> None:
    kept(file)
    os.truncate(file, 2**40)
    assert Cache(file).get(KEY) is None
    assert file.stat().st_size < 2**20


def test_an_entry_of_another_installation_is_not_found(
    file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kept(file)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "another"))
    caches.cache_key.cache_clear()
    assert Cache(file).get(KEY) is None


def test_jobs_that_share_a_secret_share_the_entries(
    file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(caches.KEY, "the team's")
    caches.cache_key.cache_clear()
    kept(file)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "another"))
    caches.cache_key.cache_clear()
    assert Cache(file).get(KEY) == (b"violated", b"large")


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o722])
def test_a_folder_that_others_may_write_to_is_not_used(mode: int, file: Path) -> None:
    file.parent.mkdir()
    file.parent.chmod(mode)
    cache = Cache(file)
    cache.put(KEY, b"a", None)
    cache.close()
    assert cache.get(KEY) is None
    assert cache.refused is not None
    assert "may be written by others" in cache.refused
    assert list(file.parent.iterdir()) == []


def test_a_link_in_the_place_of_the_file_is_not_followed(file: Path, tmp_path: Path) -> None:
    file.parent.mkdir(mode=0o700)
    file.symlink_to(tmp_path / "elsewhere")
    kept(file)
    assert not (tmp_path / "elsewhere").exists()


def test_another_users_file_is_not_used(file: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    kept(file)
    os.chown(file, 65534, 65534)
    assert Cache(file).get(KEY) is None


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_no_folder_above_it_is_made_for_others(mask: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever may write to ~/.config, or ~/.cache, can put another folder in the place of planproof's."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home/.config"))
    monkeypatch.delenv(caches.KEY, raising=False)
    caches.cache_key.cache_clear()
    before = os.umask(mask)
    try:
        kept(tmp_path / "home/.cache/planproof/check.sqlite")
    finally:
        os.umask(before)
    made = [path for path in tmp_path.rglob("*") if stat.S_IMODE(path.stat().st_mode) & 0o077]
    assert (made, len(list(tmp_path.rglob("*")))) == ([], 7)


def test_a_shared_secret_may_be_of_any_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(caches.KEY, "\udcff")
    caches.cache_key.cache_clear()
    assert len(caches.cache_key()) == 32
