"""Identifiers in backticks, and texts in quotes: the one place that writes them."""

from __future__ import annotations

from collections.abc import Sequence


def backticked(name: str) -> str:
    """One identifier for Spark.

    >>> backticked("odd`name")
    '`odd``name`'
    """
    return "`" + name.replace("`", "``") + "`"


def quoted(parts: Sequence[str]) -> str:
    """Name parts for Spark, each in backticks.

    >>> quoted(("shop", "odd`name"))
    '`shop`.`odd``name`'
    """
    return ".".join(map(backticked, parts))


def literal(text: str) -> str:
    """A Spark string literal.

    >>> print(literal("it's"))
    'it\\'s'
    """
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
