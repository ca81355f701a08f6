"""A Spark Connect session: what a client without plan objects can read.

Analyzed schemas have all flags. The optimized and executed plans are text to a client, without types or flags: they
are reported as unreadable.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from planproof.session import versions
from planproof.session.absence import verify_absence
from planproof.session.described import BY_PLACE, CLAIMING, COMPARED, declared_schema, physical_schema
from planproof.session.failures import explain_unplanned, translate_errors
from planproof.session.frames import FrameSession
from planproof.session.protocol import Capabilities, Entries, SparkPlanes, StoredTable
from planproof_engine.catalog import split_name
from planproof_engine.origin import AnalysisError, Origin, place
from planproof_engine.quoting import quote_parts
from planproof_engine.texts import drop_terminators

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
            if BY_PLACE.search(plans):
                by_place = COMPARED not in versions.settings_in_force(self.spark, (COMPARED,))
        return SparkPlanes(physical_schema(form), None, None, declared_schema(form), fed, unplanned.reason, by_place)

    @contextmanager
    def entries(self, sql: str) -> Iterator[Entries]:
        """Nothing has to be counted: a client's rows were checked against their flags when they became Arrow."""
        with translate_errors():
            text = self.spark.sql(f"{_BEFORE}{drop_terminators(sql)}{_AFTER}")._explain_string(extended=True)
        yield Entries((), tuple(sorted({found.group() for found in CLAIMING.finditer(text)})))

    def table(self, name: str) -> StoredTable | None:
        try:
            with translate_errors():
                form = self.spark.table(quote_parts(split_name(name))).schema.json()
                found = self.describe(name, declared_schema(form))
        except AnalysisError as error:
            verify_absence(error, name, self._run, lambda: self.conf.case_sensitive)
            return None
        with translate_errors():
            temporary = self.spark.catalog.getTable(quote_parts(split_name(name))).isTemporary
        return replace(found, kind="temporary view") if temporary else found

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
