"""Files in whose place others may have put something: a pipe would keep the reader for ever, a device fill the memory,
a link have another file written."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

LARGEST_NOTE = 2**28
"""Bytes of a journal entry or a note, at most: it may name a million files."""
_LARGE = 2**16
# A pipe that nobody writes to would not open.
_READ = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
_FOLDER = getattr(os, "O_PATH", 0) | getattr(os, "O_DIRECTORY", 0)
"""How a folder is opened to look for what lies in it: nobody need be allowed to list it."""


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """A regular file to read, links followed: what somebody put in its place is never waited for. Raises OSError."""
    opened = os.open(path, _READ)
    if not stat.S_ISREG(os.fstat(opened).st_mode):
        os.close(opened)
        raise PermissionError(f"{os.fspath(path)} is no regular file")
    return os.fdopen(opened, "rb")


def read_regular(path: str | os.PathLike[str], most: int, home: str | None = None) -> bytes:
    """The bytes of a regular file of at most `most` bytes. Links are followed, but where `home` is given: the path of
    the file, and of this folder that it lies in, were found to have none, and none is followed that took the place of a
    part since. Of a small file in half the time that Python takes: a check reads thousands of them. Raises OSError."""
    opened = os.open(path, _READ) if home is None else _open_below(home, os.fspath(path), _READ)
    try:
        status = os.fstat(opened)
        if not stat.S_ISREG(status.st_mode):
            raise PermissionError(f"{os.fspath(path)} is no regular file")
        if status.st_size > most:
            raise PermissionError(f"{os.fspath(path)} has {status.st_size:,} bytes, more than {most:,}")
        found = os.read(opened, _LARGE)
        if len(found) < _LARGE and not os.read(opened, 1):
            return found
        with os.fdopen(opened, "rb", closefd=False) as file:
            file.seek(0)
            return file.read(most)
    finally:
        os.close(opened)


def _open_below(home: str, path: str, how: int) -> int:
    if os.open not in os.supports_dir_fd:
        return os.open(path, how)
    at = os.open(home, _FOLDER)
    try:
        *folders, name = os.path.relpath(path, home).split(os.sep)
        for folder in folders:
            inner = os.open(folder, _FOLDER | os.O_NOFOLLOW, dir_fd=at)
            os.close(at)
            at = inner
        return os.open(name, how | os.O_NOFOLLOW, dir_fd=at)
    finally:
        os.close(at)


def write_anew(path: Path, parts: Iterable[str], home: Path | None = None) -> None:
    """Writes a file of UTF-8, and its directories; a reader sees the old text or the new one. What the user names in
    /dev is written to. `home` as in `open_anew`. Raises OSError."""
    if path.parts[:2] == ("/", "dev") and path.exists() and not path.is_file():
        with path.open("wb") as device:
            device.writelines(part.encode("utf-8", "backslashreplace") for part in parts)
        return
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open_anew(draft, home) as file:
            file.writelines(part.encode("utf-8", "backslashreplace") for part in parts)
        os.replace(draft, path)
    finally:
        remove(draft, home)


def open_anew(path: Path, home: Path | None = None) -> BinaryIO:
    """A new file in place of what is there. `home` as in `remove`. Raises OSError."""
    remove(path, home)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open("xb")


def remove(path: Path, home: Path | None = None) -> None:
    """Removes a file, where there is one: a link of that name, which a pull request may bring, is not followed, nor are
    links that lead out of `home`, the folder that such links may lie in. Raises OSError."""
    if home is not None and not real_path(path.parent).is_relative_to(real_path(home)):
        raise PermissionError(f"a link on this path leads out of {home}, to {real_path(path.parent)}; name that folder")
    path.unlink(missing_ok=True)


def real_path(path: Path) -> Path:
    """The path without links. `Path.resolve` raises a RuntimeError for links that lead in a circle, before Python
    3.13."""
    return Path(os.path.realpath(path))


def checkout_of(path: Path) -> Path | None:
    """The checkout of a repository, or dbt project, that the path leads through: somebody else may have brought the
    links in it. None where the path is the user's own."""
    parents = Path(os.path.abspath(path)).parents
    return next(
        (folder for mark in (".git", "dbt_project.yml") for folder in parents if (folder / mark).exists()), None
    )
