"""The text of a query on lines that people read: a line per clause, deeper for a query inside of another one.

Only blanks outside of quotes are changed. The text must have no comments; what `sql.unparse` writes has none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from planproof_engine.depth import deeply

_TOKEN = re.compile(
    r"'[^'\\]*(?:(?:\\.|'')[^'\\]*)*(?:'|\\?\Z)"
    r"|\"[^\"\\]*(?:(?:\\.|\"\")[^\"\\]*)*(?:\"|\\?\Z)"
    r"|`[^`]*(?:``[^`]*)*(?:`|\Z)|[()]|[^\s()'\"`]+",
    re.S,
)
_JOINS = ("JOIN", "LEFT", "RIGHT", "FULL", "INNER", "CROSS", "NATURAL", "ANTI", "SEMI", "OUTER", "LATERAL")
_CLAUSES = ("SELECT", "FROM", "WHERE", "HAVING", "LIMIT", "UNION", "INTERSECT", "EXCEPT", "WINDOW", *_JOINS)
_WITH_BY = ("GROUP", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE")
_QUERIES = ("SELECT", "WITH")
_STEP = "  "


@dataclass(slots=True)
class _Token:
    text: str
    is_apart: bool
    inner: list[_Token] = field(default_factory=list)


def lay_out(sql: str, width: int = 100) -> str:
    """The query with a line per clause, none wider than `width` where blanks allow it.

    >>> print(lay_out("SELECT a, max('x  (y') AS b FROM (SELECT a, b FROM `t`) AS s WHERE a > 1 GROUP BY a"))
    SELECT a, max('x  (y') AS b
    FROM (
      SELECT a, b
      FROM `t`
    ) AS s
    WHERE a > 1
    GROUP BY a
    """
    found = [_Token(m[0], m.start() > 0 and sql[m.start() - 1].isspace()) for m in _TOKEN.finditer(sql)]
    return "\n".join(deeply(lambda: _lay_out_block(_nest(iter(found)), "", width)))


def _nest(tokens: Iterator[_Token]) -> list[_Token]:
    """The tokens up to the closing parenthesis. Each inner pair of parentheses becomes one token that holds its
    content."""
    found = []
    for token in tokens:
        if token.text == ")":
            break
        if token.text == "(":
            token.inner = [*_nest(tokens), _Token(")", False)]
        found.append(token)
    return found


def _lay_out_block(tokens: Sequence[_Token], indent: str, width: int) -> list[str]:
    lines: list[str] = []
    clause: list[_Token] = []
    for i, token in enumerate(tokens):
        if clause and _begins_clause(tokens, i):
            lines += _lay_out_clause(clause, indent, width)
            clause = []
        clause.append(token)
    return lines + (_lay_out_clause(clause, indent, width) if clause else [])


def _begins_clause(tokens: Sequence[_Token], at: int) -> bool:
    """Whether a clause begins with the token."""
    word, before = tokens[at].text.upper(), tokens[at - 1].text.upper()
    following = tokens[at + 1].text if at + 1 < len(tokens) else ""
    if word in _WITH_BY:
        return following.upper() == "BY"
    if word in _JOINS:  # `LEFT OUTER JOIN` begins once, and `left(...)` is a function.
        return before not in _JOINS and (following != "(" or word == "JOIN")
    return word in _CLAUSES and (word, before) != ("FROM", "DISTINCT")


def _lay_out_clause(tokens: Sequence[_Token], indent: str, width: int) -> list[str]:
    """One clause: words up to the width, queries in it on lines of their own."""
    lines, line = list[str](), indent
    for token in _flatten(tokens):
        if token.inner:
            line = f"{line}{' ' if token.is_apart and line.strip() else ''}("
            # Thousands of levels would be a text of blanks.
            deeper = indent + _STEP if len(indent) < width // 2 else indent
            lines += [line, *_lay_out_block(token.inner[:-1], deeper, width)]
            line = f"{indent})"
            continue
        word = f"{' ' if token.is_apart and line.strip() else ''}{token.text}"
        if token.is_apart and line.strip() and len(line) + len(word) > width:
            lines.append(line)
            line, word = f"{indent}{_STEP}{_STEP}", token.text
        line += word
    return [*lines, line]


def _flatten(tokens: Sequence[_Token]) -> Iterator[_Token]:
    """The words of a clause. Parentheses are flattened, unless a query stands in them."""
    for token in tokens:
        if token.inner and token.inner[0].text.upper() not in _QUERIES:
            yield _Token("(", token.is_apart)
            yield from _flatten(token.inner)
        else:
            yield token
