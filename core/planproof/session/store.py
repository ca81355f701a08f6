"""Small files and directories where a warehouse lies: what the journal, the locks and the staged data need.

A location is a Hadoop path as Spark prints it: `file:/warehouse/t`, `hdfs://host/warehouse/t` or a bare local path,
with its characters as they are (not percent-encoded). `decode_uri` makes one of a URI.
"""

from __future__ import annotations

import errno
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol
from urllib.parse import quote, unquote

from planproof.regular import LARGEST_NOTE, open_anew, open_regular, read_regular
from planproof.session.files import data_files
from planproof.session.protocol import Session, SparkFailure


class Store(Protocol):
    """Reads and writes below a location. Every failure is a `SparkFailure`."""

    def read(self, location: str) -> str | None:
        """The text of a file, None where there is none."""

    def write(self, location: str, text: str, lasting: bool = True) -> None:
        """Writes a file at once: a reader sees the old text or the new one. Makes its folders. What is not `lasting`
        outlives the process, and not always the machine: it is not waited for until the disk has it."""

    def create(self, location: str, text: str) -> bool:
        """Writes a file that does not exist yet; False, and nothing written, where it does."""

    def exists(self, location: str) -> bool: ...

    def modification_time(self, location: str) -> float | None:
        """When a file or folder was changed last, in seconds since 1970; None where there is none."""

    def names(self, location: str) -> list[str]:
        """The names in a folder, sorted; none where there is no folder."""

    def contents(self, location: str) -> dict[str, int]:
        """The data files below a folder, those that Spark reads, with their bytes: paths from the folder on."""

    def delete(self, location: str) -> None:
        """Deletes a file or a folder with all that it holds; nothing happens where there is none."""

    def prune(self, location: str) -> None:
        """Deletes the folders at and below a location that hold no file."""

    def move(self, source: str, target: str) -> None:
        """Renames a file or folder. Fails where the target exists. Makes the target's parent."""

    def copy(self, source: str, target: str) -> None:
        """Copies a file, or gives it a second name: data files are never changed. Fails where the target exists. Makes
        the target's parent."""


def decode_uri(uri: str) -> str:
    """A location of a catalog's URI.

    >>> decode_uri("file:/tmp/a%20b"), decode_uri("/tmp/50%")
    ('file:/tmp/a b', '/tmp/50%')
    """
    return unquote(uri) if ":" in uri.split("/", 1)[0] else uri


def encode_uri(location: str) -> str:
    """A location as a URI; `decode_uri` is the reverse.

    >>> encode_uri("file:/tmp/a b"), encode_uri("/tmp/50%")
    ('file:/tmp/a%20b', '/tmp/50%')
    """
    return quote(location, safe="/:@=") if ":" in location.split("/", 1)[0] else location


def local(location: str) -> str | None:
    """The path on this machine, or None for another file system.

    >>> local("file:/tmp/x%2F"), local("file:///tmp/x"), local("/tmp/x"), local("hdfs://h/x")
    ('/tmp/x%2F', '/tmp/x', '/tmp/x', None)
    """
    if location.startswith("/"):
        return location
    if not location.startswith("file:"):
        return None
    rest = location.removeprefix("file:")
    return rest.removeprefix("//") if rest.startswith("///") else rest


def store_of(session: Session) -> Store:
    """The store that reaches every location that the session's Spark reaches."""
    own = getattr(session, "store", None)
    if own is not None:
        found: Store = own
        return found
    spark = getattr(session, "spark", None)
    if spark is None or not hasattr(spark, "_jvm"):
        return RoutedStore(None)
    from planproof.session.hadoop_store import HadoopStore

    return RoutedStore(HadoopStore(spark))


_LINKLESS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


@contextmanager
def _failing(to_do: str) -> Iterator[None]:
    """An error of the file system is a `SparkFailure`, which says what could not be done."""
    try:
        yield
    except OSError as error:
        raise SparkFailure(f"cannot {to_do}: {error}") from error


class LocalStore:
    """Files of this machine."""

    def read(self, location: str) -> str | None:
        try:
            return read_regular(_path(location), LARGEST_NOTE).decode("utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise SparkFailure(f"cannot read {location}: {error}") from error

    def write(self, location: str, text: str, lasting: bool = True) -> None:
        path = _path(location)
        with _failing(f"write {location}"):
            temporary = self._write_temporary(path, text, lasting)
            os.replace(temporary, path)
            if lasting:
                _sync_names(path)

    def create(self, location: str, text: str) -> bool:
        path = _path(location)
        with _failing(f"write {location}"):
            temporary = self._write_temporary(path, text)
            try:
                # A link appears with its whole content or not at all; opening exclusively would show an empty file.
                os.link(temporary, path)
                _sync_names(path)
            except FileExistsError:
                return False
            except OSError as error:
                if error.errno not in _LINKLESS:
                    raise
                return self._create_unlinked(path, text)
            finally:
                os.unlink(temporary)
        return True

    def _create_unlinked(self, path: str, text: str) -> bool:
        """For file systems that have no links."""
        try:
            handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
        except FileExistsError:
            return False
        try:
            with open(handle, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            _sync_names(path)
        except OSError:
            os.unlink(path)
            raise
        return True

    def _write_temporary(self, path: str, text: str, lasting: bool = True) -> str:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        temporary = f"{path}.{uuid.uuid4().hex}.tmp"
        with open(temporary, "w", encoding="utf-8") as file:
            file.write(text)
            if lasting:
                file.flush()
                os.fsync(file.fileno())
        return temporary

    def exists(self, location: str) -> bool:
        # A file system that does not answer has not said that nothing is there.
        with _failing(f"look at {location}"):
            try:
                os.lstat(_path(location))
            except (FileNotFoundError, NotADirectoryError):
                return False
        return True

    def modification_time(self, location: str) -> float | None:
        with _failing(f"look at {location}"), suppress(FileNotFoundError):
            return os.stat(_path(location)).st_mtime
        return None

    def names(self, location: str) -> list[str]:
        with _failing(f"list {location}"), suppress(FileNotFoundError, NotADirectoryError):
            return sorted(os.listdir(_path(location)))
        return []

    def contents(self, location: str) -> dict[str, int]:
        path = _path(location)
        with _failing(f"list {location}"):
            return {os.path.relpath(file, path): os.stat(file).st_size for file in data_files(path)}

    def delete(self, location: str) -> None:
        path = _path(location)
        with _failing(f"delete {location}"), suppress(FileNotFoundError):
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path)
            else:
                os.unlink(path)
                os.unlink(_checksum_path(path))

    def prune(self, location: str) -> None:
        for folder, _, _ in os.walk(_path(location), topdown=False):
            with suppress(OSError):  # It holds something.
                os.rmdir(folder)

    def move(self, source: str, target: str) -> None:
        old, new = _path(source), _path(target)
        with _failing(f"move {source} to {target}"):
            if os.path.lexists(new):
                raise FileExistsError(f"{target} exists")
            os.makedirs(os.path.dirname(new), exist_ok=True)
            _rename(old, new)
            # Hadoop's local file system keeps a file's checksum beside it.
            checksum = _checksum_path(old)
            if os.path.lexists(checksum):
                _rename(checksum, _checksum_path(new))

    def copy(self, source: str, target: str) -> None:
        old, new = _path(source), _path(target)
        with _failing(f"copy {source} to {target}"):
            os.makedirs(os.path.dirname(new), exist_ok=True)
            try:
                os.link(old, new)
            except OSError as error:
                if error.errno not in (*_LINKLESS, errno.EXDEV):
                    raise
                _copy_anew(old, new)


def _path(location: str) -> str:
    path = local(location)
    if path is None:
        raise SparkFailure(f"{location} is not on this machine")
    return path


def _sync_names(path: str) -> None:
    """A power cut leaves the file's name in its folder, too. Some file systems keep no folder open."""
    with suppress(OSError):
        folder = os.open(os.path.dirname(path), os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _rename(old: str, new: str) -> None:
    """A partition's folder, or the one that a table's folder links to, may be on another device than what is staged:
    there a file is copied, and has its name once it is whole. Spark does not read one whose name begins with a dot."""
    try:
        os.rename(old, new)
    except OSError as error:
        if error.errno != errno.EXDEV or os.path.isdir(old):
            raise
        folder, name = os.path.split(new)
        half = os.path.join(folder, f".{name}.tmp")
        _copy_anew(old, half)
        os.replace(half, new)
        os.unlink(old)


def _copy_anew(old: str, new: str) -> None:
    """A copy in place of what is there: who may write to the folder may have put a link there."""
    with open_regular(old) as source, open_anew(Path(new)) as target:
        shutil.copyfileobj(source, target)


def _checksum_path(path: str) -> str:
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{name}.crc")


class RoutedStore:
    """Local locations by the machine's own calls (whose exclusive creation is atomic), all others by `elsewhere`."""

    def __init__(self, elsewhere: Store | None) -> None:
        self._local, self._elsewhere = LocalStore(), elsewhere

    def _route(self, location: str) -> Store:
        if local(location) is not None:
            return self._local
        if self._elsewhere is None:
            raise SparkFailure(f"{location} cannot be reached over this kind of session")
        return self._elsewhere

    def read(self, location: str) -> str | None:
        return self._route(location).read(location)

    def write(self, location: str, text: str, lasting: bool = True) -> None:
        self._route(location).write(location, text, lasting)

    def create(self, location: str, text: str) -> bool:
        return self._route(location).create(location, text)

    def exists(self, location: str) -> bool:
        return self._route(location).exists(location)

    def modification_time(self, location: str) -> float | None:
        return self._route(location).modification_time(location)

    def names(self, location: str) -> list[str]:
        return self._route(location).names(location)

    def contents(self, location: str) -> dict[str, int]:
        return self._route(location).contents(location)

    def delete(self, location: str) -> None:
        self._route(location).delete(location)

    def prune(self, location: str) -> None:
        self._route(location).prune(location)

    def move(self, source: str, target: str) -> None:
        self._route(source).move(source, target)

    def copy(self, source: str, target: str) -> None:
        self._route(source).copy(source, target)
