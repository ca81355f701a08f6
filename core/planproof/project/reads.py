"""Notes which of a project's files a check reads: the same check over the same files gives the same result again."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path

from planproof.regular import read_regular


class ProjectError(ValueError):
    """A project, manifest, selection or contract file that cannot be read: the message says where, and what next."""


class UnreadableContract(ProjectError):
    """The contract of one model that cannot be read: it says nothing of the others."""


File = str | Path

_LARGE = 2**16
_SIZE = 16
_LONGEST = 2**15
MOST = 2**28
"""Bytes of a file that an artifact names, at most."""
LARGEST = 2**30
"""Bytes of any file of a project, at most: a manifest of ten thousand models has a fifth of that."""


@dataclass(slots=True)
class Reads:
    """`files`: the digest of each file that was read, b"" of one that was only seen to be there, None of one that was
    not. `later`: whether a file was written after a moment, in seconds since 1970. `folders`: the names of the YAML
    files in a folder. `is_whole` is False where something was read that stands in none of them."""

    files: dict[str, bytes | None] = field(default_factory=dict)
    later: dict[str, tuple[float, bool]] = field(default_factory=dict)
    folders: dict[str, list[str]] = field(default_factory=dict)
    is_whole: bool = True

    def hold(self) -> bool:
        """Whether all of it would be read now as it was."""
        return (
            self.is_whole
            and not any(_has_another_length(path, known) for path, known in self.files.items())
            and all(_digest(path, known) == known for path, known in self.files.items())
            and all(_is_later(path, moment) == was for path, (moment, was) in self.later.items())
            and all(_list_yaml_files(folder) == known for folder, known in self.folders.items())
        )


_noted: ContextVar[Reads | None] = ContextVar("reads", default=None)


@contextmanager
def note_reads() -> Iterator[Reads]:
    """What this thread reads within the block."""
    found = Reads()
    token = _noted.set(found)
    try:
        yield found
    finally:
        _noted.reset(token)


def read_content(path: File, home: str | None = None) -> bytes:
    """The file's bytes; `home` as in `read_regular`. Raises OSError."""
    noted = _noted.get()
    try:
        found = read_regular(path, LARGEST, home)
    except OSError:
        if noted is not None:
            noted.files[os.fspath(path)] = None
        raise
    if noted is not None:
        digest, before = _digest_of(found), noted.files.get(os.fspath(path))
        # A file that was written between two looks belongs to neither.
        noted.is_whole = noted.is_whole and before in (None, b"", digest)
        noted.files[os.fspath(path)] = digest
    return found


def read_within(home: File, name: str) -> bytes:
    """The bytes of a file that an artifact names, such as a manifest that came with a pull request: a regular file
    inside of `home`, links followed, of at most `MOST` bytes. Raises OSError."""
    root = os.path.realpath(home)
    return read_content(_resolve_below(root, home, name), root)


def resolve_within(home: File, name: str) -> str:
    """The path of such a file, without links. Raises OSError."""
    return _resolve_below(os.path.realpath(home), home, name)


def _resolve_below(root: str, home: File, name: str) -> str:
    if len(name) > _LONGEST:  # No system has one, and links are looked for in a time that grows with its square.
        raise PermissionError(f"a name of {len(name):,} characters is longer than any file's")
    path = os.path.join(os.fspath(home), name)
    real = os.path.realpath(path)
    if not is_within(real, root):
        raise PermissionError(f"{name} lies outside of {root}")
    if ".git" in os.path.relpath(real, root).split(os.sep):
        raise PermissionError(f"{name} lies in git's own folder, which may hold a token")
    status = os.stat(real)
    if not stat.S_ISREG(status.st_mode):
        raise PermissionError(f"{name} is no regular file")
    if status.st_size > MOST:
        raise PermissionError(f"{name} has {status.st_size:,} bytes, more than {MOST:,}")
    if real != os.path.abspath(path):
        note_unrepeatable()  # A link that points elsewhere later is not noted.
        return real
    return path


def package_folder(package: str) -> str | None:
    """Where dbt installs a package, from the project's folder; a local package is a link there. None for a name that no
    package has: it may lead elsewhere."""
    return f"dbt_packages/{package}" if re.fullmatch(r"\w+", package) else None


def is_within(real: str, root: str) -> bool:
    """Whether a path without links is a folder, also without links, or lies in it."""
    return real == root or real.startswith(root.rstrip(os.sep) + os.sep)


def is_file(path: File) -> bool:
    """Whether there is such a file; a check that is noted is told again only while the answer stays."""
    found = os.path.isfile(path)
    noted = _noted.get()
    if noted is not None:
        noted.files.setdefault(os.fspath(path), b"" if found else None)
    return found


def is_later(path: File, moment: float) -> bool:
    """Whether the file was written after the moment, in seconds since 1970. Raises OSError."""
    found = os.stat(path).st_mtime > moment
    noted = _noted.get()
    if noted is not None:
        noted.later[os.fspath(path)] = moment, found
    return found


def list_yaml_files(folder: File) -> list[str]:
    """The names of the YAML files in the folder, in order; none where it cannot be read."""
    found = _list_yaml_files(folder)
    noted = _noted.get()
    if noted is not None:
        noted.folders[os.fspath(folder)] = found
    return found


def note_unrepeatable() -> None:
    """Something else is read, which nobody could read again for less: the check cannot be told again."""
    noted = _noted.get()
    if noted is not None:
        noted.is_whole = False


def _digest(path: str, known: bytes | None) -> bytes | None:
    if not known:
        return b"" if os.path.isfile(path) else None
    try:
        return _digest_of(read_regular(path, LARGEST))
    except OSError:
        return None


def _is_later(path: str, moment: float) -> bool | None:
    try:
        return os.stat(path).st_mtime > moment
    except OSError:
        return None


def _list_yaml_files(folder: File) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if name.endswith((".yml", ".yaml")))
    except OSError:
        return []


def _digest_of(found: bytes) -> bytes:
    """A digest, and of a large file, a manifest, its length: most changes show in it."""
    length = len(found).to_bytes(8, "big") if len(found) >= _LARGE else b""
    return length + hashlib.blake2b(found, digest_size=_SIZE).digest()


def _has_another_length(path: str, known: bytes | None) -> bool:
    if not known or len(known) == _SIZE:
        return False
    try:
        return os.stat(path).st_size != int.from_bytes(known[:8], "big")
    except OSError:
        return True
