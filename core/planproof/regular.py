"""Reads a file of which others may have the say: a pipe in its place would keep the reader for ever, a device fill the
memory."""

from __future__ import annotations

import os
import stat

_LARGE = 2**16


def read_regular(path: str | os.PathLike[str], most: int) -> bytes:
    """The bytes of a regular file, links followed, of at most `most` bytes. Of a small file in half the time that
    Python takes: a check reads thousands of them. Raises OSError."""
    # A pipe that nobody writes to would not open.
    opened = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0))
    try:
        status = os.fstat(opened)
        if not stat.S_ISREG(status.st_mode):
            raise PermissionError(f"{os.fspath(path)} is no regular file")
        if status.st_size > most:
            raise PermissionError(f"{os.fspath(path)} has {status.st_size:,} bytes, more than {most:,}")
        found = os.read(opened, _LARGE)
        if len(found) < _LARGE and not os.read(opened, 1):
            return found
    finally:
        os.close(opened)
    with open(path, "rb") as file:
        return file.read(most)
