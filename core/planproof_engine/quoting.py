"""Identifiers in backticks, and texts in quotes: the one place that writes them, and finds where one ends."""

from __future__ import annotations

import re
from collections.abc import Sequence

_WITHIN = {"'": re.compile(r"\\.|''?", re.S), '"': re.compile(r'\\.|""?', re.S), "`": re.compile("``?")}
"""By quote: what of a text in such quotes is not itself. One pattern for the whole text would keep 300 bytes for each
of these."""


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


def find_end_of_quoted(text: str, at: int, doubled: bool = True) -> int | None:
    """The offset after the name or text whose quote stands at `at`; None where it is not closed. `doubled`: two quotes
    of a text's own stand for one in it, as in a name's. Where what follows them is not closed, the first one ends it: a
    lexer takes the longest token that there is.

    >>> find_end_of_quoted("`a``b`", 0), find_end_of_quoted("'a", 0), find_end_of_quoted("'a''b", 0)
    (6, None, 3)
    """
    last = None
    for found in _WITHIN[text[at]].finditer(text, at + 1):
        if text[found.start()] != "\\":
            last = found.start() + 1
            if last == found.end() or not (doubled or text[at] == "`"):
                break
    return last
