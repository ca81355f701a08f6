"""What classic and Connect sessions have in common, everything that goes through a SparkSession's own methods; and a
Spark Connect session, which sees what a client without plan objects can read.

Analyzed schemas have all flags. The optimized and executed plans are text to a Connect client, without types or flags:
they are reported as unreadable.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from typing import Any

from planproof.session import described, python_functions, versions
from planproof.session.absence import doubt_absence, verify_absence
from planproof.session.failures import explain_unplanned, translate_errors
from planproof.session.protocol import Capabilities, Entries, SparkPlanes, StoredTable
from planproof.session.sql_only import SqlOnlySession
from planproof_engine import PhysicalSchema, drop_terminators, evolve, quote_parts, split_name
from planproof_engine.conf import SETTINGS, Conf
from planproof_engine.functions.nested import ListCall
from planproof_engine.origin import AnalysisError, Origin, place
from planproof_engine.python_functions import Function

_SETTING = threading.Lock()
_PROVIDER = "spark.sql.sources.default"


class FrameSession(SqlOnlySession):
    """The part of `planproof.session.protocol.Session` that needs no plan objects."""

    spark: Any

    @property
    def conf(self) -> Conf:
        with translate_errors():
            found = versions.settings_in_force(self.spark, (*SETTINGS, _PROVIDER))
        return described.conf_of(str(self.spark.version), found, found.get(_PROVIDER))

    def setting(self, key: str) -> str | None:
        with translate_errors():
            return versions.settings_in_force(self.spark, (key,)).get(key)

    @property
    def namespace(self) -> tuple[str, ...]:
        raise NotImplementedError

    @contextmanager
    def change_settings(self, changes: dict[str, str]) -> Iterator[None]:
        taken: list[str] = []
        try:
            for key, value in changes.items():
                with _SETTING, translate_errors():
                    self._hold(key, value)
                taken.append(key)
            yield
        finally:
            for key in reversed(taken):
                with _SETTING, translate_errors():
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
    def preserve_settings(self) -> Iterator[None]:
        with translate_errors():
            before, namespace = versions.given_settings(self.spark), self.namespace
        try:
            yield
        finally:
            self._reset(before)
            with translate_errors():
                if self.namespace != namespace:
                    self.spark.sql(f"USE {quote_parts(namespace)}")

    def _reset(self, before: Mapping[str, str]) -> None:
        with translate_errors():
            after = versions.given_settings(self.spark)
        for key in {key for key, _ in before.items() ^ after.items()}:
            try:
                with translate_errors():
                    if key in before:
                        self.spark.conf.set(key, before[key])
                    else:
                        self.spark.conf.unset(key)
            except AnalysisError:
                # A dbt profile may name settings of the JVM, which a running session notes and does not follow.
                if self.spark.conf.isModifiable(key):
                    raise

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        with self._doubt_absence():
            return self._run(sql)

    def _doubt_absence(self) -> AbstractContextManager[None]:
        return doubt_absence(self._run, lambda: self.conf.case_sensitive)

    def _run(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a statement, with whatever Spark says of it."""
        with translate_errors(sql):
            frame = self.spark.sql(sql)
            # A statement has run by now. A result without columns has no rows: no job is started for them.
            return [tuple(row) for row in frame.collect()] if frame.columns else []

    def describe(self, name: str, schema: PhysicalSchema) -> StoredTable:
        """A relation by what `DESCRIBE TABLE EXTENDED` prints; `schema` is the one that a query of it sees."""
        lines = [tuple(r) for r in self.spark.sql(f"describe table extended {quote_parts(split_name(name))}").collect()]
        properties = {
            str(r[0]): str(r[1])
            for r in self.spark.sql(f"show tblproperties {quote_parts(split_name(name))}").collect()
        }
        found = described.parse_lines(name, lines, schema, properties)
        return evolve(found, tracked=found.tracked and self._has_managed_partitions())

    def _has_managed_partitions(self) -> bool:
        return str(self.spark.conf.get(described.MANAGED_PARTITIONS, "true")).lower() == "true"

    def register(self, name: str, function: Any) -> Function | None:
        return python_functions.register(self.spark, name, function)

    def register_lists(self, call: ListCall, functions: Mapping[str, Function]) -> None:
        python_functions.register_lists(self.spark, call, functions)

    def unregister(self, name: str) -> None:
        self.rows(f"drop temporary function if exists {quote_parts(split_name(name))}")

    def stop(self) -> None:
        self.spark.stop()


UNREADABLE = "a Spark Connect client gets the optimized and the executed plan as text only, without types and flags"
_BEFORE, _AFTER = "SELECT * FROM (\n", "\n)"
_PYTHON = re.compile(r"EvalPython|PythonUDF|MapInArrow|MapInPandas|FlatMap(Co)?Groups|PythonDataSource")
"""Nodes of a plan whose rows Python may have fed, beside a client's own rows."""

_ROWS = re.compile(r"LocalRelation .*")
_PLANS = re.compile(r"^== (?:Parsed|Analyzed|Optimized) Logical Plan ==$", re.M)


def _is_python_fed(plans: str) -> bool:
    """Whether Python may have made rows of the query, as the text of its plans shows.

    A client's own rows are a LocalRelation, and so are the rows of VALUES. The parsed plan tells them apart: it has the
    rows of VALUES, which stand in the query's text, but only the name of the view for a client's rows.
    """
    if _PYTHON.search(plans) is not None:
        return True
    parts = _PLANS.split(plans)
    if len(parts) != 4:  # Some name in a plan looks like a heading.
        return "LocalRelation" in plans
    _, parsed, analyzed, _ = parts
    return not set(_ROWS.findall(analyzed)) <= set(_ROWS.findall(parsed))


class ConnectSession(FrameSession):
    """planproof's Session over a Connect SparkSession; see `planproof.session.protocol.Session`."""

    def __init__(self, spark: Any) -> None:
        self.spark = spark

    def __repr__(self) -> str:
        return f"ConnectSession(Spark {self.spark.version})"

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities("connect", UNREADABLE)

    @property
    def namespace(self) -> tuple[str, ...]:
        with translate_errors():
            return (str(self.spark.catalog.currentCatalog()), str(self.spark.catalog.currentDatabase()))

    def analyze(self, sql: str) -> SparkPlanes:
        # `spark.sql` runs a command at once. Between these parentheses only a query parses.
        text = f"{_BEFORE}{drop_terminators(sql)}{_AFTER}"
        with self._doubt_absence(), _move_errors(sql), translate_errors(text, analysing=True):
            frame = self.spark.sql(text)
            form = frame.schema.json()
        fed, by_place = True, False
        with explain_unplanned() as unplanned:
            plans = str(frame._explain_string(extended=True))
            fed = _is_python_fed(plans)
            if described.BY_PLACE.search(plans):
                by_place = described.COMPARED not in versions.settings_in_force(self.spark, (described.COMPARED,))
        schema, declared = described.physical_schema(form), described.declared_schema(form)
        return SparkPlanes(schema, None, None, declared, fed, unplanned.reason, by_place)

    @contextmanager
    def entries(self, sql: str) -> Iterator[Entries]:
        """Nothing has to be counted: a client's rows were checked against their flags when they became Arrow."""
        with translate_errors():
            text = self.spark.sql(f"{_BEFORE}{drop_terminators(sql)}{_AFTER}")._explain_string(extended=True)
        yield Entries((), tuple(sorted({found.group() for found in described.CLAIMING.finditer(text)})))

    def table(self, name: str) -> StoredTable | None:
        try:
            with translate_errors():
                form = self.spark.table(quote_parts(split_name(name))).schema.json()
                found = self.describe(name, described.declared_schema(form))
        except AnalysisError as error:
            verify_absence(error, name, self._run, lambda: self.conf.case_sensitive)
            return None
        with translate_errors():
            temporary = self.spark.catalog.getTable(quote_parts(split_name(name))).isTemporary
        return evolve(found, kind="temporary view") if temporary else found

    def ship(self, path: str) -> None:
        with translate_errors():
            self.spark.addArtifact(path, pyfile=True)

    def tag(self, tag: str) -> None:
        with translate_errors():
            self.spark.addTag(tag)

    def cancel(self, tag: str) -> None:
        with translate_errors():
            self.spark.interruptTag(tag)


@contextmanager
def _move_errors(sql: str) -> Iterator[None]:
    """Moves the place of an error from the text that Spark got to the one that the caller wrote."""
    try:
        yield
    except AnalysisError as error:
        raise AnalysisError(error.condition, error.message, _move_origin(error.origin, sql)) from None


def _move_origin(origin: Origin | None, sql: str) -> Origin | None:
    if origin is None or origin.start is None:
        return None
    skipped = len(_BEFORE) - (len(sql) - len(sql.lstrip()))
    start, stop = origin.start - skipped, (origin.stop or origin.start) - skipped
    return place(sql, start, min(stop, len(sql))) if 0 <= start < len(sql) else None
