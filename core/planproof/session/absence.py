"""A relation is absent where two different questions say so: a catalog that does not answer can look empty.

Hive's metastore answers a look-up with "no such object" when its own database fails (`ObjectStore.getDatabase` turns
every MetaException into a NoSuchObjectException), and clients of other metastores map errors in that way, too. Listing
goes another way, and fails where nothing answers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from planproof.session.protocol import SparkFailure
from planproof_engine import AnalysisError, quote_parts, split_name

NOT_THERE = ("TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "CATALOG_NOT_FOUND", "REQUIRES_SINGLE_PART_NAMESPACE")
"""Conditions in which Spark says that there is no such relation."""
_LOOKED_UP = NOT_THERE[:2]
_NAMED = re.compile(r"(?:`(?:[^`]|``)+`\.)*`(?:[^`]|``)+`")
"""The relation, or the namespace, that a message says to be absent."""
_REFUSED = re.compile(
    r"PERMISSION|AccessControl|Forbidden|not (authorized|allowed)|access (is )?denied|UnsupportedOperation", re.I
)
Rows = Callable[[str], list[tuple[Any, ...]]]
Tables = Callable[[list[str], str | None], list[str]]
"""Lists the tables and views of a namespace: those that a pattern means, or all."""


@contextmanager
def doubt_absence(rows: Rows, is_case_sensitive: Callable[[], bool]) -> Iterator[None]:
    """A text that is rejected in the block, for what it names is said to be absent, is at fault where that is believed.

    `rows` runs a statement, outside of any such block. Raises what `verify_absence` raises, else Spark's own rejection.
    """
    try:
        yield
    except AnalysisError as error:
        named = _NAMED.search(error.message) if error.condition in _LOOKED_UP else None
        if named is not None and error.condition == "SCHEMA_NOT_FOUND":
            verify_database_absence(error, named[0], rows)
        # What stands in a view's text without a namespace is in the one that was the view's own.
        elif named is not None and (error.origin is not None or len(split_name(named[0])) > 1):
            verify_absence(error, named[0], rows, is_case_sensitive)
        raise


def verify_absence(
    error: AnalysisError, name: str, rows: Rows, is_case_sensitive: Callable[[], bool], tables: Tables | None = None
) -> None:
    """Returns where the relation is absent. Raises `error` where it says something else, and a transient `SparkFailure`
    where the catalog lists the relation, or its namespace, all the same, or cannot list.

    `rows` runs a statement, and `tables` lists what a statement would, where that can be had for less. A catalog that
    has no lists, or keeps them from this user, is believed.
    """
    if error.condition not in NOT_THERE:
        raise error
    *within, own = split_name(name)
    if error.condition not in _LOOKED_UP:
        return
    try:
        shown = _list_alike(tables or partial(list_tables, rows), within, own)
        if shown is None:
            shown = _list_namespaces(rows, within)
            own = within[-1]
    except SparkFailure as failure:
        if _REFUSED.search(f"{failure.condition} {failure}"):
            return
        said = f"the catalog says that it has no {name}, and does not answer when it is asked for a list: {failure}"
        raise SparkFailure(f"{said}. Whether it exists is not known", failure.condition, outside=True) from failure
    alike = [found for found in shown if found.lower() == own.lower()]
    if own in alike or (alike and not is_case_sensitive() and not _has_relation(rows, within, alike[0])):
        raise SparkFailure(
            f"the catalog says that it has no {name}, and lists {own} all the same: it does not answer as it should. "
            "Nothing is taken for absent by that; try again once it is well",
            error.condition,
            outside=True,
        ) from error


def verify_database_absence(error: AnalysisError, name: str, rows: Rows) -> None:
    """The same of a database: returns where it is absent, or something else is said of it."""
    *within, own = split_name(name)
    try:
        shown = _list_namespaces(rows, [*within, own]) if error.condition in NOT_THERE else []
    except SparkFailure as failure:
        if _REFUSED.search(f"{failure.condition} {failure}"):
            return
        raise
    if own.lower() in (found.lower() for found in shown):
        said = f"the catalog says that it has no database {name}, and lists it all the same: try again once it is well"
        raise SparkFailure(said, error.condition, outside=True) from error


def is_listed(name: str, rows: Rows) -> bool:
    """Whether the catalog lists a table or view of that name, which is one that Hive keeps as it is."""
    *within, own = split_name(name)
    return own.lower() in (found.lower() for found in _list_alike(partial(list_tables, rows), within, own) or ())


def list_tables(rows: Rows, within: list[str], pattern: str | None) -> list[str]:
    """What `Tables` says, by a statement."""
    place, like = f" IN {quote_parts(within)}" if within else "", f" LIKE '{pattern}'" if pattern else ""
    return [str(row[1]) for row in rows(f"SHOW TABLES{place}{like}") if str(row[2]).lower() != "true"]


def _list_alike(tables: Tables, within: list[str], own: str) -> list[str] | None:
    """The names of tables and views that may be the one; None where the namespace itself is said not to be there."""
    try:
        # A pattern has a language of its own, in which only such a name means itself.
        return tables(within, own if re.fullmatch(r"\w+", own) else None)
    except AnalysisError as error:
        return None if error.condition in _LOOKED_UP and within else []


def _has_relation(rows: Rows, within: list[str], own: str) -> bool:
    """Whether a catalog other than the session's, whose names may be told apart by case alone, has the listed one."""
    if len(within) < 2 or within[0].lower() == "spark_catalog":
        return False
    try:
        rows(f"DESCRIBE TABLE {quote_parts([*within, own])}")
    except (AnalysisError, SparkFailure):
        return False
    return True


def _list_namespaces(rows: Rows, within: list[str]) -> list[str]:
    place = f" IN {quote_parts(within[:-1])}" if len(within) > 1 else ""
    try:
        return [str(row[0]).rpartition(".")[2].strip("`") for row in rows(f"SHOW NAMESPACES{place}")]
    except AnalysisError:
        return []
