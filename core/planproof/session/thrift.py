"""A session over the Thrift server, through a PyHive connection, which takes SQL texts and nothing else.

The analyzed plane is read from what Spark says of a temporary view over the query, every flag included. Spark's later
plans, Arrow batches and Python functions cannot be had this way, and are reported as unreadable.
"""

from __future__ import annotations

import re
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from planproof.session.absence import doubt_absence, verify_absence
from planproof.session.described import CLAIMING, MANAGED_PARTITIONS, conf_of, parse_lines, parse_relation, parse_tree
from planproof.session.protocol import Capabilities, Entries, SparkFailure, SparkPlanes, StoredTable
from planproof.session.sql_only import SqlOnlySession
from planproof_engine import AnalysisError, PhysicalSchema, drop_terminators, quote_name, quote_parts, split_name
from planproof_engine.conf import SETTINGS, Conf
from planproof_engine.functions.nested import ListCall
from planproof_engine.python_functions import Function

UNREADABLE = "the Thrift server gives plans as text only, without types and flags"
_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*)\]\s*(.*)", re.S)
_TAIL = re.compile(r"(?<!\s)\s*(SQLSTATE: [0-9A-Z]{5}|\n\tat |== SQL).*", re.S)
_RUNNING = re.compile(
    r"ABORTED|ARITHMETIC|DIVIDE_BY_ZERO|CAST_|FAILED_|JOB|INTERNAL|OVERFLOW|USER_RAISED|INVALID_ARRAY"
    r"|NOT_NULL_ASSERT|EXCEED_LIMIT_LENGTH|SCALAR_SUBQUERY_TOO_MANY_ROWS|MERGE_CARDINALITY|NULL_MAP_KEY"
    r"|DUPLICATED_MAP_KEY|MAP_KEY_DOES_NOT_EXIST|INVALID_INDEX|CONCURRENT|CHECK_CONSTRAINT_VIOLATION|REMAINDER_BY_ZERO"
    r"|INTERVAL_DIVIDED|CANNOT_PARSE_(DECIMAL|TIME|INTERVAL)|DATETIME_FIELD|INVALID_FRACTION|MALFORMED_RECORD"
)
"""Conditions of a query that ran. All others come from the analyzer, as far as a text can tell."""

_NOT_PARSED = "PARSE_SYNTAX_ERROR"
_NO_JSON = (_NOT_PARSED, "NOT_SUPPORTED_COMMAND_FOR_V2_TABLE")
"""Conditions of `AS JSON`: of a Spark that is older than it, as all names are quoted, and of a newer one for Iceberg's
and Delta's tables."""
_DEFAULTS: dict[tuple[str, str], str | None] = {}
"""By Spark's version and the setting's name."""


class ThriftSession(SqlOnlySession):
    """planproof's Session over a DB-API connection to Spark; see `planproof.session.protocol.Session`."""

    def __init__(self, connection: Any, another: Callable[[], Any] | None = None) -> None:
        """`another` opens one more connection: PyHive's is one thread's at a time, so that each thread gets its own."""
        self._first, self._another = connection, another
        self._opened, self._here = [connection], threading.local()
        self._here.connection = connection
        self._version = str(self._run("select version()")[0][0]).split()[0]
        self._says_json = True

    @property
    def connection(self) -> Any:
        """The calling thread's connection."""
        if self._another is None:
            return self._first
        if not hasattr(self._here, "connection"):
            self._here.connection = self._another()
            self._opened.append(self._here.connection)
        return self._here.connection

    def __repr__(self) -> str:
        return f"ThriftSession(Spark {self._version})"

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities("thrift", UNREADABLE)

    @property
    def conf(self) -> Conf:
        found = self._settings()
        version = ".".join(self._version.split(".")[:2])
        known = {key: found.get(key) or self._read_default(key, version) for key in SETTINGS}
        return conf_of(version, known, found.get("spark.sql.sources.default"))

    @property
    def namespace(self) -> tuple[str, ...]:
        ((catalog, database),) = self.rows("select current_catalog(), current_database()")
        return (str(catalog), str(database))

    def _settings(self) -> dict[str, str]:
        return {str(key): str(value) for key, value, *_ in self.rows("SET")}

    def _read_default(self, key: str, version: str) -> str | None:
        """A setting's default. It is remembered: otherwise each question would send a statement for each setting."""
        if (version, key) not in _DEFAULTS:
            _DEFAULTS[version, key] = self.setting(key)
        return _DEFAULTS[version, key]

    def setting(self, key: str) -> str | None:
        ((_, value, *_),) = self.rows(f"SET {key}")
        return None if value == "<undefined>" else str(value)

    @contextmanager
    def change_settings(self, changes: dict[str, str]) -> Iterator[None]:
        before = self._settings()
        try:
            for key, value in changes.items():
                self._set_setting(key, value)
            yield
        finally:
            for key in changes:
                self._set_setting(key, before.get(key))

    def _set_setting(self, key: str, value: str | None) -> None:
        if not re.fullmatch(r"[\w.\-]+", key):
            raise SparkFailure(f"{key!r} is no name of a setting")
        self.rows(f"RESET {key}" if value is None else f"SET `{key}` = {quote_name(value)}")

    @contextmanager
    def preserve_settings(self) -> Iterator[None]:
        before, namespace = self._settings(), self.namespace
        try:
            yield
        finally:
            after = self._settings()
            for key in after.keys() | before.keys():
                if after.get(key) != before.get(key):
                    self._set_setting(key, before.get(key))
            if self.namespace != namespace:
                self.rows(f"USE {quote_parts(namespace)}")

    def analyze(self, sql: str) -> SparkPlanes:
        query = drop_terminators(sql)
        try:
            declared = self._read_view_schema(query)
        except AnalysisError as error:
            if error.condition != "COLUMN_ALREADY_EXISTS":
                raise
            # A query may have two columns of one name, a view may not.
            names = [str(row[0]) for row in self.rows(f"DESCRIBE QUERY {query}")]
            viewed = self._read_view_schema(query, [f"c{i}" for i in range(len(names))])
            declared = PhysicalSchema(tuple(replace(f, name=name) for f, name in zip(viewed, names)))
        # What feeds a temporary view of another client is not known: no flag is evidence.
        return SparkPlanes(declared.drop_lengths(), None, None, declared, True)

    def _read_view_schema(self, query: str, columns: Sequence[str] = ()) -> PhysicalSchema:
        """The schema of a temporary view over the query, with `columns` as its names where they are given."""
        view = f"planproof_{uuid.uuid4().hex}"
        named = f" ({', '.join(columns)})" if columns else ""
        self.rows(f"CREATE TEMPORARY VIEW {view}{named} AS (\n{query}\n)")
        try:
            return self._describe(view).schema
        finally:
            self.rows(f"DROP VIEW IF EXISTS {view}")

    def _describe(self, name: str) -> StoredTable:
        """A relation, read from the newest description that this Spark knows. Raises `AnalysisError` where there is
        none."""
        dotted = _quote(name)
        if self._says_json:
            try:
                ((text,),) = self._run(f"DESCRIBE TABLE EXTENDED {dotted} AS JSON")
                return parse_relation(name, str(text))
            except AnalysisError as error:
                if error.condition not in _NO_JSON:
                    raise
                self._says_json = error.condition != _NOT_PARSED
        lines = self._run(f"DESCRIBE TABLE EXTENDED {dotted}")
        providers = {str(line[1]).lower() for line in lines if line[0] == "Provider"}
        if providers & {"iceberg", "delta"}:
            # Spark shows no table of that kind in another way; a view over it has its flags.
            schema = self._read_view_schema(f"SELECT * FROM {dotted}")
            told = {str(key): str(value) for key, value, *_ in self._run(f"SHOW TBLPROPERTIES {dotted}")}
            return parse_lines(name, lines, schema, told)
        *within, own = split_name(name)
        place = f" IN {quote_parts(within)}" if within else ""
        # This LIKE has patterns of its own, in which a star and a bar mean something. No table's name holds them.
        ((_, _, temporary, information, *_),) = self._run(f"SHOW TABLE EXTENDED{place} LIKE '{_pattern(own)}'")
        properties = {str(key): str(value) for key, value in self._run(f"SHOW TBLPROPERTIES {dotted}")}
        found = parse_lines(name, lines, parse_tree(str(information), lines), properties)
        return replace(found, kind="temporary view") if str(temporary).lower() == "true" else found

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        with doubt_absence(self._run, lambda: self.conf.case_sensitive):
            return self._run(sql)

    def _run(self, sql: str) -> list[tuple[Any, ...]]:
        cursor = self.connection.cursor()
        try:
            cursor.execute(sql)
            return _fetch(cursor) if cursor.description else []
        except (SparkFailure, AnalysisError):
            raise
        except Exception as error:
            raise _translate(error) from error
        finally:
            cursor.close()

    @contextmanager
    def entries(self, sql: str) -> Iterator[Entries]:
        """SQL alone brings no Python data, but relations that other clients of the server made may hold some."""
        text = "\n".join(str(row[0]) for row in self.rows(f"EXPLAIN EXTENDED {sql.strip().removesuffix(';')}"))
        yield Entries((), tuple(sorted({found.group() for found in CLAIMING.finditer(text)})))

    def table(self, name: str) -> StoredTable | None:
        try:
            found = self._describe(name)
        except AnalysisError as error:
            verify_absence(error, name, self._run, lambda: self.conf.case_sensitive)
            return None
        if not found.partition_by:
            return found
        return replace(found, tracked=found.tracked and self.setting(MANAGED_PARTITIONS) in ("true", None))

    def register(self, name: str, function: Any) -> Function | None:
        raise SparkFailure(f"the Python function {name} cannot be handed over: the Thrift server takes SQL only")

    def register_lists(self, call: ListCall, functions: Mapping[str, Function]) -> None:
        raise SparkFailure("the Thrift server takes SQL only, no Python function")

    def ship(self, path: str) -> None:
        raise SparkFailure("the Thrift server takes SQL only, no Python function")

    def unregister(self, name: str) -> None:
        """Nothing can have been registered."""

    def tag(self, tag: str) -> None:
        """The Thrift server has no job tags."""

    def cancel(self, tag: str) -> None:
        raise SparkFailure("a statement of the Thrift server cannot be cancelled by tag")

    def stop(self) -> None:
        for connection in self._opened:
            connection.close()


def _fetch(cursor: Any) -> list[tuple[Any, ...]]:
    try:
        return [tuple(row) for row in cursor.fetchall()]
    except TypeError:
        # Spark 3.5 announces a result for statements that have none: PyHive then fails, as it finds no columns.
        return []


def _quote(name: str) -> str:
    return quote_parts(split_name(name))


def _pattern(name: str) -> str:
    """A table's own name as LIKE takes it. Raises `SparkFailure` for one that no session catalog holds."""
    if not re.fullmatch(r"\w+", name):
        raise SparkFailure(f"{name!r} cannot be described over this kind of session")
    return name


def _translate(error: Exception) -> SparkFailure | AnalysisError:
    """The server's error as ours. There is its message only: the condition in it tells an error of the analyzer from an
    error of a run."""
    status = getattr(error.args[0] if error.args else None, "status", None)
    said = str(getattr(status, "errorMessage", None) or error)
    found = _CONDITION.search(said)
    if found is None:
        outside = type(error).__module__.startswith(("thrift", "socket", "http")) or isinstance(error, OSError)
        return SparkFailure(_TAIL.sub("", said), outside=outside)
    condition, message = found.group(1), _TAIL.sub("", found.group(2))
    message = re.sub(r"^(?:[\w.$]+(?:Exception|Error): )?(?:\[[A-Z0-9_.]+\] )?", "", message).strip()
    if _RUNNING.match(condition):
        return SparkFailure(message, condition)
    return AnalysisError(condition, message)
