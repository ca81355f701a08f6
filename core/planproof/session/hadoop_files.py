"""Files where Spark keeps them, read by its own file system clients: object stores and HDFS, with its credentials."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from planproof.session.failures import translate_errors
from planproof.session.files import footer_of, is_hidden


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
