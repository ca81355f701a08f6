"""The text of a node: one table of writers for plans and expressions, which hold each other; and names in a text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from planproof_engine.expr import Column, Expr
from planproof_engine.ground import Unknown, quote_name
from planproof_engine.logical.nodes import Plan
from planproof_engine.sql.keywords import KEYWORDS

Writer = Callable[[Any], str]

_WRITERS: dict[type, Writer] = {}


def add_writers(table: Mapping[type, Writer]) -> None:
    """Adds the writers of a family of nodes."""
    _WRITERS.update(table)


def write_node(node: Expr | Plan) -> str:
    """An expression over columns named by their ids, or a query whose columns are the plan's, each under its id."""
    writer = _WRITERS.get(type(node))
    if writer is None:
        raise make_error(type(node).__name__)
    return writer(node)


def make_error(what: str) -> Unknown:
    """The error for what no text is written for."""
    return Unknown(f"a text for {what}")


def column_id(column: Column) -> str:
    """The name that a column has in a generated text: unique in its plan."""
    return name_column(column.id, column.name)


def name_column(id: int, name: str) -> str:
    """The name in a generated text of the column that has this id, and this name for people."""
    return _naming.get()(id, name)


_naming: ContextVar[Callable[[int, str], str]] = ContextVar("naming", default=lambda id, name: f"c{id}")


@contextmanager
def use_names(write: Callable[[], str]) -> Iterator[None]:
    """Names columns, in the block, as people do. `write` is what is going to be written there.

    A column whose name another one has too, case aside, or that generated texts use for something else, gets its id
    behind its name.
    """
    seen: dict[int, str] = {}

    def noted(id: int, name: str) -> str:
        seen.setdefault(id, name)
        return f"c{id}"

    with _use_naming(noted):
        write()
    times = Counter(name.lower() for name in seen.values())
    chosen = {i: n if times[n.lower()] == 1 and not _GENERATED.fullmatch(n) else f"{n}_{i}" for i, n in seen.items()}
    taken = Counter(name.lower() for name in chosen.values())
    with _use_naming(lambda id, name: _quote_name(chosen[id]) if taken[chosen[id].lower()] == 1 else f"c{id}"):
        yield


@contextmanager
def _use_naming(naming: Callable[[int, str], str]) -> Iterator[None]:
    token = _naming.set(naming)
    try:
        yield
    finally:
        _naming.reset(token)


_above_groups: ContextVar[bool] = ContextVar("above_groups", default=False)


@contextmanager
def above_groups() -> Iterator[None]:
    """Writes, in the block, what stands in HAVING, QUALIFY or ORDER BY: there an expression of grouping sets has a
    name, which is its text."""
    token = _above_groups.set(True)
    try:
        yield
    finally:
        _above_groups.reset(token)


def is_above_groups() -> bool:
    """Whether what is written now stands above grouping sets."""
    return _above_groups.get()


def _quote_name(name: str) -> str:
    return name if _PLAIN.fullmatch(name) and name.upper() not in KEYWORDS else quote_name(name)


_PLAIN = re.compile(r"[a-z_][a-z0-9_]*", re.I | re.A)
_GENERATED = re.compile(r"[a-z]\d*(?:_a\d+)?", re.I)
"""What tables, variables and values are called in a generated text."""


def write_item(made: str, name: str) -> str:
    """A select item under a name, which is left out where the item has it anyway."""
    return name if made in (name, quote_name(name)) or quote_name(made) == name else f"{made} AS {name}"


def write_string(value: str) -> str:
    """A text literal, escaped."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
