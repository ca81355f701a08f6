"""Data files below a location, the local paths of `file:` URIs, and the footers of files elsewhere."""

from __future__ import annotations

import os
from collections.abc import Callable
from urllib.parse import unquote, urlsplit

from planproof.session.protocol import SparkFailure

_ASSUMED = 64 * 1024
"""Bytes at a file's end that are read at once: most footers are shorter."""


def local_path(uri: str) -> str | None:
    """The path on this machine of a `file:` URI or a bare path; None for any other scheme.

    >>> local_path("file:/tmp/a%20b"), local_path("file:///tmp/x"), local_path("/tmp/50%"), local_path("s3://b/x")
    ('/tmp/a b', '/tmp/x', '/tmp/50%', None)
    """
    if uri.startswith("/"):
        return uri
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return None
    return unquote(uri.split("?")[0].removeprefix("file:").removeprefix("//localhost").removeprefix("//"))


def is_hidden(name: str) -> bool:
    """True for the names that Spark skips when it reads a directory; a partition directory `_x=1` is not hidden."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name) or name.endswith("._COPYING_")


def data_files(path: str) -> list[str]:
    """The data files below a local directory (or the file itself), sorted; empty where nothing is there. Raises OSError
    where a directory cannot be listed: it has not said that nothing is there."""
    if os.path.isfile(path):
        return [path]
    found: list[str] = []
    for folder, folders, names in os.walk(path, onerror=_raise_unless_gone):
        folders[:] = [f for f in folders if not is_hidden(f)]
        found += [os.path.join(folder, name) for name in names if not is_hidden(name)]
    return sorted(found)


def list_data_files(path: str) -> list[str]:
    """As `data_files`. Raises `SparkFailure`."""
    try:
        return data_files(path)
    except OSError as error:
        raise SparkFailure(f"cannot list {path}: {error}", outside=True) from error


def _raise_unless_gone(error: OSError) -> None:
    if not isinstance(error, (FileNotFoundError, NotADirectoryError)):
        raise error


def footer_of(read: Callable[[int, int], bytes], size: int) -> bytes:
    """The footer of a Parquet file of so many bytes, with the eight that end it; `read` gives those between two
    places."""
    end = read(max(0, size - _ASSUMED), size)
    length = int.from_bytes(end[-8:-4], "little") + 8
    return end[-length:] if length <= len(end) else read(max(0, size - length), size)
