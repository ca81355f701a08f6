"""What classic and Connect sessions have in common: everything that goes through a SparkSession's own methods."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import cached_property
from typing import Any

from planproof.catalog import split_name
from planproof.conf import SETTINGS, Conf
from planproof.functions.declared import Function
from planproof.functions.nested import ListCall
from planproof.origin import AnalysisError
from planproof.quoting import quoted
from planproof.schema import PhysicalSchema
from planproof.session import python_functions, versions
from planproof.session.absence import doubting
from planproof.session.described import of_lines
from planproof.session.failures import translated
from planproof.session.files import data_files, local_path
from planproof.session.protocol import SparkFailure, SparkPlanes, StoredTable, Transactional
from planproof.session.settings import MANAGED_PARTITIONS, conf_of

_SETTING = threading.Lock()
_PROVIDER = "spark.sql.sources.default"


class FrameSession:
    """The part of `planproof.session.protocol.Session` that needs no plan objects."""

    spark: Any

    @property
    def conf(self) -> Conf:
        with translated():
            found = versions.settings_in_force(self.spark, (*SETTINGS, _PROVIDER))
        return conf_of(str(self.spark.version), found, found.get(_PROVIDER))

    @property
    def namespace(self) -> tuple[str, ...]:
        raise NotImplementedError

    @property
    def catalog_id(self) -> str | None:
        return None

    @contextmanager
    def settings(self, changes: dict[str, str]) -> Iterator[None]:
        taken: list[str] = []
        try:
            for key, value in changes.items():
                with _SETTING, translated():
                    self._hold(key, value)
                taken.append(key)
            yield
        finally:
            for key in reversed(taken):
                with _SETTING, translated():
                    self._give_back(key)

    @cached_property
    def _held(self) -> dict[str, tuple[int, str | None]]:
        """How many threads hold each setting, and what it was before the first of them."""
        return {}

    def _hold(self, key: str, value: str) -> None:
        number, before = self._held.get(key, (0, None))
        if not number and key in versions.given_settings(self.spark):
            before = self.spark.conf.get(key)
        self.spark.conf.set(key, value)
        self._held[key] = number + 1, before

    def _give_back(self, key: str) -> None:
        """Restores a setting when the last thread that holds it gives it back: until then others count on it."""
        number, before = self._held.pop(key)
        if number > 1:
            self._held[key] = number - 1, before
        elif before is None:
            self.spark.conf.unset(key)
        else:
            self.spark.conf.set(key, before)

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        with translated():
            before, namespace = versions.given_settings(self.spark), self.namespace
        try:
            yield
        finally:
            self._reset(before)
            with translated():
                if self.namespace != namespace:
                    self.spark.sql(f"USE {'.'.join('`' + part.replace('`', '``') + '`' for part in namespace)}")

    def _reset(self, before: Mapping[str, str]) -> None:
        with translated():
            after = versions.given_settings(self.spark)
        for key in {key for key, _ in before.items() ^ after.items()}:
            try:
                with translated():
                    if key in before:
                        self.spark.conf.set(key, before[key])
                    else:
                        self.spark.conf.unset(key)
            except AnalysisError:
                # A dbt profile may name settings of the JVM, which a running session notes and does not follow.
                if self.spark.conf.isModifiable(key):
                    raise

    def planes(self, sql: str) -> SparkPlanes:
        return self.planned(self.analyzed(sql))

    def transactions(self) -> Transactional | None:
        return None

    def analyzed(self, sql: str) -> SparkPlanes:
        raise NotImplementedError

    def planned(self, planes: SparkPlanes) -> SparkPlanes:
        return planes

    def write_files(self, planes: SparkPlanes, location: str) -> SparkPlanes | None:
        return None

    @contextmanager
    def watched(self, sql: str) -> Iterator[str | None]:
        yield None

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        with self._doubting():
            return self._told(sql)

    def _doubting(self) -> AbstractContextManager[None]:
        return doubting(self._told, lambda: self.conf.case_sensitive)

    def _told(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a statement, with whatever Spark says of it."""
        with translated(sql):
            frame = self.spark.sql(sql)
            # A statement has run by now. A result without columns has no rows: no job is started for them.
            return [tuple(row) for row in frame.collect()] if frame.columns else []

    def write(self, sql: str) -> PhysicalSchema | None:
        self.rows(sql)
        return None

    def batches(self, sql: str, limit: int | None = None) -> Any:
        try:
            with translated(sql):
                frame = self.spark.sql(sql)
                return versions.arrow_table(frame if limit is None else frame.limit(limit))
        except (ValueError, TypeError, NotImplementedError) as error:
            # Arrow's own errors are subclasses of these. They mean that the client refuses a batch that Spark sent.
            raise SparkFailure(f"the result is no valid Arrow: {error}") from error

    def table(self, name: str) -> StoredTable | None:
        raise NotImplementedError

    def registered(self, name: str) -> StoredTable | None:
        return self.table(name)

    def metastore(self, name: str) -> PhysicalSchema | None:
        return None

    def database(self, name: str) -> str | None:
        described = self.rows(f"DESCRIBE DATABASE EXTENDED {quoted(split_name(name))}")
        return next((str(row[1]) for row in described if row[0] == "Location" and row[1]), None)

    def described(self, name: str, schema: PhysicalSchema) -> StoredTable:
        """A relation by what `DESCRIBE TABLE EXTENDED` prints; `schema` is the one that a query of it sees."""
        lines = [tuple(r) for r in self.spark.sql(f"describe table extended {quoted(split_name(name))}").collect()]
        properties = {
            str(r[0]): str(r[1]) for r in self.spark.sql(f"show tblproperties {quoted(split_name(name))}").collect()
        }
        found = of_lines(name, lines, schema, properties)
        return replace(found, tracked=found.tracked and self._manages_partitions())

    def _manages_partitions(self) -> bool:
        return str(self.spark.conf.get(MANAGED_PARTITIONS, "true")).lower() == "true"

    def partitions(
        self, name: str, among: Sequence[Mapping[str, str]] | None = None
    ) -> Sequence[tuple[str, str]] | None:
        return None

    def partition_locations(self, name: str) -> Sequence[str] | None:
        return None

    def files(self, location: str) -> Sequence[str]:
        path = self.local_path(location)
        if path is None:
            raise SparkFailure(f"cannot list {location}: only file: locations can be read from this machine")
        return data_files(path)

    def footer(self, path: str) -> bytes:
        raise SparkFailure(f"cannot read {path}: only file: locations can be read from this machine")

    def spread(self, function: Callable[[Iterable[str]], list[Any]], paths: Sequence[str]) -> list[Any] | None:
        return None

    def local_path(self, uri: str) -> str | None:
        return local_path(uri)

    def register(self, name: str, function: Any) -> Function | None:
        return python_functions.register(self.spark, name, function)

    def register_lists(self, call: ListCall, functions: Mapping[str, Function]) -> None:
        python_functions.register_lists(self.spark, call, functions)

    def unregister(self, name: str) -> None:
        self.rows(f"drop temporary function if exists {quoted(split_name(name))}")

    def stop(self) -> None:
        self.spark.stop()
