"""The text of a node: one table of writers for plans and expressions, which hold each other; and names in a text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from planproof.expr.nodes import Column, Expr
from planproof.origin import Unknown
from planproof.plan.nodes import Plan

Writer = Callable[[Any], str]

_WRITERS: dict[type, Writer] = {}


def writers(table: Mapping[type, Writer]) -> None:
    """Adds the writers of a family of nodes."""
    _WRITERS.update(table)


def text(node: Expr | Plan) -> str:
    """An expression over columns named by their ids, or a query whose columns are the plan's, each under its id."""
    writer = _WRITERS.get(type(node))
    if writer is None:
        raise unwritable(type(node).__name__)
    return writer(node)


def unwritable(what: str) -> Unknown:
    """The error for what no text is written for."""
    return Unknown(f"a text for {what}")


def column_id(column: Column) -> str:
    """The name that a column has in a generated text: unique in its plan."""
    return f"c{column.id}"


def string(value: str) -> str:
    """A text literal, escaped."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
