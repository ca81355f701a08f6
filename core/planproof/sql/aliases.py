"""Aliases without AS. Spark's keywords may be names, so the next tokens tell an alias from the start of a clause."""

from __future__ import annotations

from planproof.sql import nodes as q
from planproof.sql.calls import ENDS
from planproof.sql.cursor import Cursor
from planproof.sql.expressions import expression
from planproof.sql.keywords import ALIAS_WORDS, WORDS

_BY = frozenset(("BY",))
_QUERY_STARTS = frozenset(("ALL", "DISTINCT", "SELECT", "FROM", "VALUES", "TABLE", "MAP", "REDUCE", "("))

_CLAUSES: dict[str, frozenset[str]] = {
    "GROUP": _BY,
    "ORDER": _BY,
    "SORT": _BY,
    "CLUSTER": _BY,
    "DISTRIBUTE": _BY,
    "BIN": _BY,
    "PARTITION": frozenset(("BY", "(")),
    "FROM": WORDS | {"("},
    "LATERAL": frozenset(("VIEW",)),
    "UNION": _QUERY_STARTS,
    "EXCEPT": _QUERY_STARTS,
    "INTERSECT": _QUERY_STARTS,
    "MINUS": _QUERY_STARTS,
    "FOR": WORDS | {"("},
    "USING": WORDS | {"STRING_LITERAL", "("},
    "INSERT": frozenset(("INTO", "OVERWRITE", "WITH")),
    "PIVOT": frozenset(("(",)),
    "UNPIVOT": frozenset(("(", "INCLUDE", "EXCLUDE")),
    "TABLESAMPLE": frozenset(("(", "SYSTEM", "BERNOULLI")),
    "ASOF": frozenset(("JOIN",)),
    "REPLACE": frozenset(("WHERE", "ON", "USING")),
    "WHEN": frozenset(("MATCHED", "NOT", "!")),
    "MATCH_CONDITION": frozenset(("(",)),
    "APPROX": frozenset(("NEAREST",)),
    "EXACT": frozenset(("NEAREST",)),
    "WITH": frozenset(("(", "SCHEMA")),
    "IDENTIFIED": _BY,
    "VALUES": frozenset(("(",)),
    "TABLE": WORDS,
}
"""By keyword: the tokens that, right after it, make it the start of a clause and not a name."""

_BEFORE_EXPRESSION = frozenset(("WHERE", "HAVING", "QUALIFY", "LIMIT", "OFFSET", "SELECT", "WATERMARK"))
_NOT_EXPRESSION = frozenset((*ENDS, ".", "="))
_SET_ASSIGNMENT = frozenset(("=", "."))


def clause_follows(c: Cursor) -> bool:
    """Whether the keyword at hand begins a clause here, rather than being a name."""
    return c.kind != "BACKQUOTED" and c.decide(_clause_likely(c))


def _clause_likely(c: Cursor) -> bool:
    kind, following = c.kind, c.peek()
    openers = _CLAUSES.get(kind)
    if kind == "FROM" and following == "FROM" and c.peek(2) in _CLAUSES["FROM"]:
        return False
    if openers is not None:
        return following in openers
    if kind in _BEFORE_EXPRESSION:
        return following not in _NOT_EXPRESSION
    if kind == "WINDOW":
        literal = following == "IDENTIFIER" and c.identifier_literal_at(c.i + 1)
        return literal or (following in WORDS and c.peek(2) == "AS")
    if kind == "SET":
        return following in WORDS and c.peek(2) in _SET_ASSIGNMENT
    return False


def named_expression(c: Cursor) -> q.Node:
    """An expression, with an alias or several where they follow: Spark's rule `namedExpression`."""
    node = expression(c)
    kind = c.kind
    if kind == "AS" and c.peek() not in ENDS:
        if not _as_is_a_name(c):
            c.advance()
        if c.kind == "(":
            return _aliases(c, node)
    elif kind == "(" and c.peek() in WORDS:
        return _aliases(c, node)
    elif kind not in WORDS or (kind != "IDENTIFIER_TOKEN" and clause_follows(c)):
        return node
    alias = c.captured_identifier()
    start = node.span[0]
    return c.placed(q.Alias(node, alias), start)


def _as_is_a_name(c: Cursor) -> bool:
    """Whether the AS at hand is the name itself, and a clause follows: `SELECT total AS FROM orders`."""
    following = c.peek()
    if following not in _CLAUSES and following not in _BEFORE_EXPRESSION:
        return False
    return c.decide(following == "FROM" != c.peek(2) and c.peek(2) in _CLAUSES["FROM"])


def _aliases(c: Cursor, node: q.Node) -> q.Node:
    start = node.span[0]
    return c.placed(q.Aliases(node, c.identifier_list()), start)


def named_expressions(c: Cursor) -> list[q.Node]:
    """One or more, between commas."""
    found = [named_expression(c)]
    while c.skip(","):
        found.append(named_expression(c))
    return found


def table_alias(c: Cursor) -> q.TableAlias | None:
    """An alias of a relation, with or without AS, perhaps with column names; None where none stands."""
    start, kind = c.start, c.kind
    if kind == "AS" and c.peek() != "(":
        if c.peek() in ALIAS_WORDS and not _as_is_a_name(c):
            c.advance()
    elif kind not in ALIAS_WORDS or (kind != "IDENTIFIER_TOKEN" and clause_follows(c)):
        return None
    name = c.identifier(ALIAS_WORDS)
    columns = c.identifier_list() if c.kind == "(" else ()
    return c.placed(q.TableAlias(name, columns), start)


def bare_alias(c: Cursor) -> q.Identifier | None:
    """`[AS] name`, as after PIVOT; None where none stands."""
    if c.skip("AS"):
        return c.captured_identifier()
    if c.kind not in ALIAS_WORDS or (c.kind != "IDENTIFIER_TOKEN" and clause_follows(c)):
        return None
    return c.captured_identifier()


def ordered(c: Cursor) -> list[q.Ordered]:
    """Spark's `sortItem`s: `desc` a flag, `nulls_first` True, False or None where nothing is said."""
    found = [sort_item(c)]
    while c.skip(","):
        found.append(sort_item(c))
    return found


def sort_item(c: Cursor) -> q.Ordered:
    """What ORDER BY sorts by: an expression, its direction, and where its nulls go."""
    start = c.start
    operand = expression(c)
    desc = c.kind == "DESC"
    if c.kind in ("ASC", "DESC"):
        c.advance()
    nulls_first = None
    if c.kind == "NULLS" and c.peek() in ("FIRST", "LAST"):
        c.advance()
        nulls_first = c.kind == "FIRST"
        c.advance()
    return c.placed(q.Ordered(operand, desc, nulls_first), start)
