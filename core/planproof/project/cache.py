"""What earlier checks found out, by content: a file of the user's own, which several processes may use at once.

An entry is found by a digest of all that a judgement depends on, keyed by a secret of this installation: what another
user, or another job, wrote is not read. An entry that is damaged, or of another version of planproof, is ignored.
Whatever is wrong with the file, a check goes on without it.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import sqlite3
import stat
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache as remembered
from importlib.util import find_spec
from pathlib import Path

KEY = "PLANPROOF_CACHE_KEY"
"""The environment variable that holds a secret which jobs of CI share, where they share the cache's folder."""
_BYTES = 32


@remembered
def cache_key() -> bytes:
    """`PLANPROOF_CACHE_KEY`, else the key of this installation, which lies apart from the cache in the user's folder of
    settings (XDG) and is made once. Where it cannot be kept, one of this process alone: nothing is found then."""
    given = os.environ.get(KEY)
    if given:
        return hashlib.blake2b(os.fsencode(given), digest_size=_BYTES).digest()
    try:
        return _installation_key()
    except (OSError, RuntimeError):
        return secrets.token_bytes(_BYTES)


def seal(parts: tuple[bytes, ...]) -> bytes:
    """A digest that nobody can make without the key. Each part is told from the next by its length."""
    found = hashlib.blake2b(digest_size=16, key=cache_key())
    for part in parts:
        found.update(len(part).to_bytes(8, "big"))
        found.update(part)
    return found.digest()


def make_private(folder: Path) -> None:
    """Makes a folder that is this user's alone, and so are those above it that are not there: whoever may write to one
    could put another folder in its place. Raises OSError."""
    for part in (*reversed(folder.parents), folder):
        part.mkdir(mode=0o700, exist_ok=True)


def is_own(path: Path) -> bool:
    """Whether a file or folder belongs to this user, and nobody else may write to it. True where there is none yet."""
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    is_plain = stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)
    return is_plain and status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _installation_key() -> bytes:
    xdg = os.environ.get("XDG_CONFIG_HOME")
    folder = (Path(xdg) if xdg and os.path.isabs(xdg) else Path.home() / ".config") / "planproof"
    make_private(folder)
    file = folder / "cache.key"
    if not is_own(folder) or not is_own(file):
        raise PermissionError(f"{file} may be written by others")
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        found = file.read_bytes()
        if len(found) != _BYTES:
            raise OSError(f"{file} holds no key") from None
        return found
    made = secrets.token_bytes(_BYTES)
    with open(handle, "wb") as out:
        out.write(made)
    return made


FOLDER = "PLANPROOF_CACHE_DIR"
MOST_BYTES = 400 * 2**20
"""How large the file may become: the entries that were used least recently make room."""

_COLUMNS = "key blob primary key, day integer, small blob, sum blob, large blob, large_sum blob"
_TABLE = f"CREATE TABLE judged ({_COLUMNS})"
"""As SQLite keeps it."""
_SCHEMA = "select sql from sqlite_master where sql is not null"
_BESIDE = ("-journal", "-wal", "-shm")
"""What SQLite adds to the file's name: it follows links there, and waits for pipes."""
_WRITE = "insert or replace into judged values (?, ?, ?, ?, ?, ?)"
_SMALL, _WHOLE = (f"select day, small, sum{rest} from judged where key = ?" for rest in ("", ", large, large_sum"))
_OLDER_HALF = "select rowid from judged order by day, rowid limit (select count(*) from judged) / 2"
_OLDEST = f"delete from judged where rowid in ({_OLDER_HALF})"
_LOTS = 500

CacheEntry = tuple[bytes, bytes | None]


def cache_folder() -> Path | None:
    """Where the file lies: `PLANPROOF_CACHE_DIR`, else the user's cache folder (XDG); None where there is no home.

    It is not below the project: a file that comes with a repository must not say what is proved.
    """
    given, xdg = os.environ.get(FOLDER), os.environ.get("XDG_CACHE_HOME")
    try:
        if given:
            return Path(given).expanduser()
        home = Path(xdg) if xdg and os.path.isabs(xdg) else Path.home() / ".cache"
    except RuntimeError:
        return None
    return home / "planproof"


@remembered
def code_digest() -> bytes:
    """A digest of the code that makes reports: planproof's own files, Jinja's, and Python's version."""
    said = [sys.version]
    for package in ("planproof", "planproof_engine", "jinja2"):
        spec = find_spec(package)
        own = os.path.dirname(str(spec.origin if spec is not None else ""))
        for folder, _, names in sorted(os.walk(own)):
            for name in sorted(name for name in names if name.endswith(".py")):
                stat = os.stat(os.path.join(folder, name))
                said.append(f"{package}{folder[len(own) :]}/{name} {stat.st_size} {stat.st_mtime_ns}")
    return hashlib.blake2b("\n".join(said).encode(), digest_size=16).digest()


@dataclass(slots=True)
class Cache:
    """The entries of one file; None where nothing can be kept. Used by one thread of one process.

    `brief`: of an entry that is found the large part is not read, and None stands for it. `refused`: why the file is
    not used. An entry that was not sealed by this installation's key (`cache_key`) is as if it were not there."""

    path: Path | None
    most_bytes: int = MOST_BYTES
    brief: bool = False
    hits: int = 0
    refused: str | None = None
    _open: sqlite3.Connection | None = None
    _new: dict[bytes, CacheEntry] = field(default_factory=dict)
    _used: list[bytes] = field(default_factory=list)

    @classmethod
    def of_user(cls, *, brief: bool = False) -> Cache:
        found = cache_folder()
        return cls(found / "check.sqlite" if found is not None else None, brief=brief)

    def get(self, key: bytes) -> CacheEntry | None:
        """What was put under the key, if it is whole."""
        if key in self._new:
            return self._new[key]
        row = None
        try:
            opened = self._connect()
            if opened is not None:
                row = opened.execute(_SMALL if self.brief else _WHOLE, (key,)).fetchone()
        except sqlite3.Error as error:
            self._give_up(error)
        if row is None or not all(isinstance(part, bytes) for part in row[1:]):
            return None
        parts = row[1::2]
        if row[2::2] != tuple(seal((key, *parts[: i + 1])) for i in range(len(parts))):
            return None
        if row[0] != _today():
            self._used.append(key)
        return row[1], None if self.brief else row[3]

    def put(self, key: bytes, small: bytes, large: bytes | None) -> None:
        if self.path is None:
            return
        self._new[key] = small, large
        if len(self._new) >= _LOTS:
            self._write()

    def close(self) -> None:
        """Writes what is new. The cache can be used again."""
        self._write()
        self.close_file()

    def close_file(self) -> None:
        """Closes the file: a forked process must not share it."""
        if self._open is not None:
            self._open.close()
            self._open = None

    def _connect(self) -> sqlite3.Connection | None:
        if self._open is None and self.path is not None:
            try:
                make_private(self.path.parent)
                beside = (Path(f"{self.path}{end}") for end in _BESIDE)
                if all(map(is_own, (self.path.parent, self.path, *beside))):
                    # SQLite would make it as the umask says.
                    os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
                else:
                    self.refused = f"{self.path} may be written by others: the cache is not used"
            except OSError as error:
                self.refused = str(error)
            if self.refused is not None:
                self.path = None
                return None
            if self.path.stat().st_size > 2 * self.most_bytes:  # No check leaves such a file.
                self.path.unlink()
            self._open = sqlite3.connect(self.path, timeout=5, isolation_level=None)
            self._open.execute("pragma page_size = 32768")  # Of a new file. Some entries are megabytes.
            self._open.execute("pragma synchronous = off")
            self._make_table(self._open)
        return self._open

    def _make_table(self, opened: sqlite3.Connection) -> None:
        """Raises sqlite3.DatabaseError for a file with another table, a view or a trigger, which could compute for ever
        in place of an answer: it is none of ours."""
        found = opened.execute(_SCHEMA).fetchall()
        if not found:
            opened.execute("begin immediate")
            if not opened.execute(_SCHEMA).fetchall():  # Else another process was first.
                opened.execute(_TABLE)
            opened.execute("commit")
            found = opened.execute(_SCHEMA).fetchall()
        if found != [(_TABLE,)]:
            raise sqlite3.DatabaseError("not a file of planproof's")

    def _write(self) -> None:
        day, rows = _today(), []
        for key, parts in self._new.items():
            small, large = parts
            # What is large is sealed with what it belongs to: an older one is not that.
            rows.append((key, day, small, seal((key, small)), large, seal((key, small, large or b""))))
        used, self._used = self._used, []
        self._new = {}
        if not rows and not used:
            return
        try:
            opened = self._connect()
            if opened is None:
                return
            opened.execute("begin immediate")
            opened.executemany(_WRITE, rows)
            opened.executemany("update judged set day = ? where key = ?", [(_today(), key) for key in used])
            opened.execute("commit")
            self._shrink(opened)
        except sqlite3.Error as error:
            self._give_up(error)

    def _shrink(self, opened: sqlite3.Connection) -> None:
        (pages,), (size,) = (opened.execute(f"pragma {name}").fetchone() for name in ("page_count", "page_size"))
        if pages * size > self.most_bytes:
            opened.execute(_OLDEST)
            opened.execute("vacuum")

    def _give_up(self, error: sqlite3.Error) -> None:
        """A file that is no database is removed; one that is locked or cannot be written is left."""
        self.close_file()
        if not isinstance(error, sqlite3.OperationalError) and self.path is not None:
            with suppress(OSError):
                self.path.unlink()
        self.path = None


def digest_of(parts: Iterable[bytes]) -> bytes:
    """One digest of several texts, each told from the next by its length."""
    found = hashlib.blake2b(digest_size=16)
    for part in parts:
        found.update(len(part).to_bytes(8, "big"))
        found.update(part)
    return found.digest()


def _today() -> int:
    return int(time.time() // 86_400)
