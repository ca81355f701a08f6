"""Files that only Spark's own clients reach, with their credentials: object stores and HDFS, over py4j."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from typing import Any

from planproof.regular import LARGEST_NOTE
from planproof.session.failures import translate_errors
from planproof.session.files import footer_of, is_hidden
from planproof.session.protocol import SparkFailure

_PUT_WHOLE = ("s3a", "s3", "s3n", "gs", "wasb", "wasbs", "oss", "cosn", "obs")
"""File systems over stores of objects: a file appears whole where it is closed, also over another one, and a rename is
a copy, which S3A refuses where the target exists."""


class HadoopFiles:
    """The files of one session: `state` is Spark's holder of the session's settings."""

    def __init__(self, jvm: Any, state: Any) -> None:
        self._jvm, self._state = jvm, state

    def list_files(self, location: str) -> list[str]:
        """The data files below a location, by their full names. Raises `SparkFailure`."""
        with translate_errors():
            return sorted(str(status.getPath().toString()) for _, status in self._list_data(*self._open(location)))

    def _list_data(self, files: Any, path: Any) -> Iterator[tuple[str, Any]]:
        """The data files below a path, each by its path from there on."""
        root = files.makeQualified(path)
        listed = files.listFiles(root, True)
        while listed.hasNext():
            status = listed.next()
            below = str(status.getPath().toString()).removeprefix(str(root.toString())).strip("/")
            if not any(is_hidden(part) for part in below.split("/")):
                yield below, status

    @property
    def _conf(self) -> Any:
        return self._state.newHadoopConf()

    def _open(self, location: str) -> tuple[Any, Any]:
        """A file system as Spark's own client opens it, and the path in it."""
        path = getattr(self._jvm, "org.apache.hadoop.fs.Path")(location)
        return path.getFileSystem(self._conf), path

    def footer(self, path: str) -> bytes:
        """The end of a Parquet file, from its footer on."""
        with translate_errors():
            files, where = self._open(path)
            size = int(files.getFileStatus(where).getLen())
            return footer_of(lambda start, stop: self._read_range(files, where, start, stop), size)

    def _read_range(self, files: Any, where: Any, start: int, stop: int) -> bytes:
        stream = files.open(where)
        try:
            stream.seek(start)
            return bytes(getattr(self._jvm, "org.apache.commons.io.IOUtils").toByteArray(stream, stop - start))
        finally:
            stream.close()


class HadoopStore(HadoopFiles):
    """`planproof.session.store.Store` over any file system that Spark's own client reaches."""

    def __init__(self, spark: Any) -> None:
        super().__init__(spark._jvm, spark._jsparkSession.sessionState())
        self._spark = spark

    @cached_property
    def _conf(self) -> Any:
        return super()._conf

    def read(self, location: str) -> str | None:
        with translate_errors():
            files, path = self._open(location)
            if not files.exists(path):
                return None
            size = int(files.getFileStatus(path).getLen())
            if size > LARGEST_NOTE:
                raise SparkFailure(f"cannot read {location}: it has {size:,} bytes, more than {LARGEST_NOTE:,}")
            stream = files.open(path)
            try:
                # It may grow meanwhile.
                head = getattr(self._jvm, "org.apache.commons.io.input.BoundedInputStream")(stream, size)
                return str(getattr(self._jvm, "org.apache.commons.io.IOUtils").toString(head, "UTF-8"))
            finally:
                stream.close()

    def write(self, location: str, text: str, lasting: bool = True) -> None:
        with translate_errors():
            files, target = self._open(location)
            is_put = str(files.getUri().getScheme()).lower() in _PUT_WHOLE
        if is_put:
            self._put(location, text, over=True)
            return
        temporary = f"{location}.{uuid.uuid4().hex}.tmp"
        self._put(temporary, text)
        with translate_errors():
            files, source = self._open(temporary)
        self._replace(files, source, target)

    def _replace(self, files: Any, source: Any, target: Any) -> None:
        """Renames a file over another one: at once, where the file system has a way. Else a reader finds either file,
        or for a moment none."""
        option, hadoop = getattr(self._jvm, "org.apache.hadoop.fs.Options$Rename"), "org.apache.hadoop.fs"
        with suppress(SparkFailure), translate_errors():
            options = self._spark.sparkContext._gateway.new_array(option, 1)
            options[0] = option.OVERWRITE
            context = getattr(self._jvm, f"{hadoop}.FileContext").getFileContext(files.getUri(), self._conf)
            context.rename(source, target, options)
            return
        with translate_errors():
            if files.rename(source, target):
                return
            files.delete(target, False)
            if not files.rename(source, target):
                raise SparkFailure(f"cannot write {target}: rename failed")

    def create(self, location: str, text: str) -> bool:
        try:
            self._put(location, text)
        except SparkFailure:
            if self.exists(location):
                return False
            raise
        return True

    def _put(self, location: str, text: str, over: bool = False) -> None:
        """Creates a file that must not exist, which HDFS decides atomically, or which may (`over`)."""
        with translate_errors():
            files, path = self._open(location)
            stream = files.create(path, over)
            try:
                stream.write(bytearray(text.encode("utf-8")))
            finally:
                stream.close()

    def exists(self, location: str) -> bool:
        with translate_errors():
            files, path = self._open(location)
            return bool(files.exists(path))

    def modification_time(self, location: str) -> float | None:
        with translate_errors():
            files, path = self._open(location)
            if not files.exists(path):
                return None
            # An object store's folders are always of this moment; what lies in them is not.
            below = [status for status in files.listStatus(path) if status.isFile()]
            found = below or [files.getFileStatus(path)]
            return max(int(status.getModificationTime()) for status in found) / 1000

    def names(self, location: str) -> list[str]:
        with translate_errors():
            files, path = self._open(location)
            if not files.exists(path):
                return []
            return sorted(str(status.getPath().getName()) for status in files.listStatus(path))

    def contents(self, location: str) -> dict[str, int]:
        with translate_errors():
            files, path = self._open(location)
            if not files.exists(path):
                return {}
            return {below: int(status.getLen()) for below, status in self._list_data(files, path)}

    def delete(self, location: str) -> None:
        with translate_errors():
            files, path = self._open(location)
            if files.exists(path) and not files.delete(path, True):
                raise SparkFailure(f"cannot delete {location}")

    def prune(self, location: str) -> None:
        with translate_errors():
            files, path = self._open(location)
            if files.exists(path):
                _prune(files, path)

    def move(self, source: str, target: str) -> None:
        with translate_errors():
            files, old = self._open(source)
            new = getattr(self._jvm, "org.apache.hadoop.fs.Path")(target)
            if files.exists(new):
                raise SparkFailure(f"cannot move {source} to {target}: it exists")
            files.mkdirs(new.getParent())
            if not files.rename(old, new):
                raise SparkFailure(f"cannot move {source} to {target}")

    def copy(self, source: str, target: str) -> None:
        with translate_errors():
            files, old = self._open(source)
            others, new = self._open(target)
            copy = getattr(self._jvm, "org.apache.hadoop.fs.FileUtil").copy
            if not copy(files, old, others, new, False, False, self._conf):
                raise SparkFailure(f"cannot copy {source} to {target}")


def _prune(files: Any, folder: Any) -> None:
    for status in files.listStatus(folder):
        if status.isDirectory():
            _prune(files, status.getPath())
    if not len(files.listStatus(folder)):
        files.delete(folder, False)
