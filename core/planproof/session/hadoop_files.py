"""Files where Spark keeps them, read by its own file system clients: object stores and HDFS, with its credentials."""

from __future__ import annotations

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
            files, path = self._open(location)
            root = files.makeQualified(path)
            listed = files.listFiles(root, True)
            found = []
            while listed.hasNext():
                name = str(listed.next().getPath().toString())
                below = name.removeprefix(str(root.toString())).strip("/").split("/")
                if not any(is_hidden(part) for part in below):
                    found.append(name)
        return sorted(found)

    def _open(self, location: str) -> tuple[Any, Any]:
        """A file system as Spark's own client opens it, and the path in it."""
        path = getattr(self._jvm, "org.apache.hadoop.fs.Path")(location)
        return path.getFileSystem(self._state.newHadoopConf()), path

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
