"""Identifiers in backticks, and texts in quotes: the one place that writes them."""

from __future__ import annotations

from collections.abc import Sequence


def quote_name(name: str) -> str:
    """One identifier for Spark.

    >>> quote_name("odd`name")
    '`odd``name`'
    """
    return "`" + name.replace("`", "``") + "`"


def quote_parts(parts: Sequence[str]) -> str:
    """Name parts for Spark, each in backticks.

    >>> quote_parts(("shop", "odd`name"))
    '`shop`.`odd``name`'
    """
    return ".".join(map(quote_name, parts))


def quote_literal(text: str) -> str:
    """A Spark string literal. Before it parses a text, Spark puts its settings in the place of `${name}`: that is
    written otherwise.

    >>> print(quote_literal("it's"), quote_literal("${x}"))
    'it\\'s' '\\u0024{x}'
    """
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("${", "\\u0024{") + "'"
