"""Files where Spark keeps them, read by its own file system clients: object stores and HDFS, with its credentials."""

from __future__ import annotations

from typing import Any

from planproof.session.failures import translated
from planproof.session.files import footer_of, is_hidden


class HadoopFiles:
    """The files of one session: `state` is Spark's holder of the session's settings."""

    def __init__(self, jvm: Any, state: Any) -> None:
        self._jvm, self._state = jvm, state

    def listed(self, location: str) -> list[str]:
        """The data files below a location, by their full names. Raises `SparkFailure`."""
        with translated():
            files, path = self._opened(location)
            root = files.makeQualified(path)
            listed = files.listFiles(root, True)
            found = []
            while listed.hasNext():
                name = str(listed.next().getPath().toString())
                below = name.removeprefix(str(root.toString())).strip("/").split("/")
                if not any(is_hidden(part) for part in below):
                    found.append(name)
        return sorted(found)

    def _opened(self, location: str) -> tuple[Any, Any]:
        """A file system as Spark's own client opens it, and the path in it."""
        path = getattr(self._jvm, "org.apache.hadoop.fs.Path")(location)
        return path.getFileSystem(self._state.newHadoopConf()), path

    def footer(self, path: str) -> bytes:
        """The end of a Parquet file, from its footer on."""
        with translated():
            files, where = self._opened(path)
            size = int(files.getFileStatus(where).getLen())
            return footer_of(lambda start, stop: self._range(files, where, start, stop), size)

    def _range(self, files: Any, where: Any, start: int, stop: int) -> bytes:
        stream = files.open(where)
        try:
            stream.seek(start)
            return bytes(getattr(self._jvm, "org.apache.commons.io.IOUtils").toByteArray(stream, stop - start))
        finally:
            stream.close()
