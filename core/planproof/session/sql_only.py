"""The answers of a session that reaches Spark through SQL texts alone.

A session that has more of Spark, its JVM or a client's DataFrames, overrides what it can answer better.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from planproof.session.delta.protocol import DeltaTables
from planproof.session.files import list_data_files, local_path
from planproof.session.protocol import Place, SparkFailure, SparkPlanes, StoredTable, Transactional, Written
from planproof_engine import PhysicalSchema, quote_parts, split_name

_ELSEWHERE = "only file: locations can be read from this machine"


class SqlOnlySession:
    """The part of `planproof.session.protocol.Session` for which SQL is enough, or to which SQL has no answer."""

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        raise NotImplementedError

    def analyze(self, sql: str) -> SparkPlanes:
        raise NotImplementedError

    def table(self, name: str) -> StoredTable | None:
        raise NotImplementedError

    @property
    def catalog_id(self) -> str | None:
        return None

    def planes(self, sql: str) -> SparkPlanes:
        return self.add_plans(self.analyze(sql))

    def add_plans(self, planes: SparkPlanes) -> SparkPlanes:
        return planes

    def transactions(self) -> Transactional | None:
        return None

    def delta(self) -> DeltaTables | None:
        return None

    def write(self, sql: str) -> Written | None:
        self.rows(sql)
        return None

    def write_files(self, planes: SparkPlanes, location: str) -> SparkPlanes | None:
        return None

    @contextmanager
    def watch(self, sql: str) -> Iterator[str | None]:
        yield None

    def registered_table(self, name: str) -> StoredTable | None:
        return self.table(name)

    def metastore(self, name: str) -> PhysicalSchema | None:
        return None

    def database_location(self, name: str) -> str | None:
        described = self.rows(f"DESCRIBE DATABASE EXTENDED {quote_parts(split_name(name))}")
        return next((str(row[1]) for row in described if row[0] == "Location" and row[1]), None)

    def places(self, database: str) -> Mapping[str, Place]:
        return {}

    def partitions(
        self, name: str, among: Sequence[Mapping[str, str]] | None = None
    ) -> Sequence[tuple[str, str]] | None:
        return None

    def partition_locations(self, name: str) -> Sequence[str] | None:
        return None

    def forget_size(self, name: str) -> None:
        # SET LOCATION has Spark forget it, too, and would take back the place that somebody has just given the table.
        if any(row[0] == "Statistics" for row in self.rows(f"DESCRIBE TABLE EXTENDED {name}")):
            self.rows(f"ANALYZE TABLE {name} COMPUTE STATISTICS NOSCAN")

    def files(self, location: str) -> Sequence[str]:
        path = self.local_path(location)
        if path is None:
            raise SparkFailure(f"cannot list {location}: {_ELSEWHERE}")
        return list_data_files(path)

    def footer(self, path: str) -> bytes:
        raise SparkFailure(f"cannot read {path}: {_ELSEWHERE}")

    def spread(self, function: Callable[[Iterable[str]], list[Any]], paths: Sequence[str]) -> list[Any] | None:
        return None

    def local_path(self, uri: str) -> str | None:
        return local_path(uri)
