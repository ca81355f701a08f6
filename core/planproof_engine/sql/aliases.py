"""Aliases without AS. Spark's keywords may be names, so the next tokens tell an alias from the start of a clause."""

from __future__ import annotations

from planproof_engine.sql import nodes as q
from planproof_engine.sql.calls import ENDS
from planproof_engine.sql.cursor import Cursor
from planproof_engine.sql.expressions import expression
from planproof_engine.sql.keywords import ALIAS_WORDS, WORDS

_QUERY_STARTS = frozenset(("ALL", "DISTINCT", "SELECT", "FROM", "VALUES", "TABLE", "MAP", "REDUCE", "("))
_JOINED = frozenset(("JOIN", "OUTER", "SEMI", "ANTI", "ASOF"))
_SCRIPT = (WORDS - {"AS"}) | {"(", "*"}
"""What a script reads (`FROM t MAP a USING 's'`); what is called `map` may have AS and column names after it."""

_CLAUSES: dict[str, frozenset[str]] = {
    **dict.fromkeys(("GROUP", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE", "BIN", "IDENTIFIED"), frozenset(("BY",))),
    **dict.fromkeys(("UNION", "EXCEPT", "INTERSECT", "MINUS"), _QUERY_STARTS),
    **dict.fromkeys(("FROM", "FOR", "JOIN"), WORDS | {"("}),
    **dict.fromkeys(("PIVOT", "MATCH_CONDITION", "VALUES"), frozenset(("(",))),
    **dict.fromkeys(("INNER", "CROSS", "SEMI", "ANTI", "ASOF"), frozenset(("JOIN",))),
    **dict.fromkeys(("LEFT", "RIGHT", "FULL"), _JOINED),
    **dict.fromkeys(("APPROX", "EXACT"), frozenset(("NEAREST",))),
    **dict.fromkeys(("MAP", "REDUCE"), _SCRIPT),
    "PARTITION": frozenset(("BY", "(")),
    "LATERAL": frozenset(("VIEW",)),
    "USING": WORDS | {"STRING_LITERAL", "("},
    "INSERT": frozenset(("INTO", "OVERWRITE", "WITH")),
    "UNPIVOT": frozenset(("(", "INCLUDE", "EXCLUDE")),
    "REPLACE": frozenset(("WHERE", "ON", "USING")),
    "WHEN": frozenset(("MATCHED", "NOT", "!")),
    "WITH": frozenset(("(", "SCHEMA")),
    "TABLE": WORDS,
    "NATURAL": frozenset(("JOIN", "INNER", "CROSS", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI")),
}
"""By keyword: the tokens that, right after it, make it the start of a clause and not a name."""

_BEFORE_EXPRESSION = frozenset(("WHERE", "HAVING", "QUALIFY", "LIMIT", "OFFSET", "SELECT"))
_NOT_EXPRESSION = frozenset(
    (*ENDS, ".", "=", "==", "<", ">", "<=", ">=", "<>", "!=", "<=>", "/", "%", "||", "|", "&", "^")
)
_SET_ASSIGNMENT = frozenset(("=", "."))

_FOLLOWERS: dict[str, frozenset[str]] = {
    word: opened for word, opened in _CLAUSES.items() if word not in ("PARTITION", "VALUES", "TABLE", "WITH")
}
"""By keyword that may come after an alias: the tokens that, right after it, make it the start of what follows."""


def begins_clause(c: Cursor, at: int) -> bool:
    """Whether the token with this index may begin a clause, as far as the tokens after it tell."""
    opened = _CLAUSES.get(c.kinds[at])
    return c.kinds[at + 1] in opened if opened is not None else _begins_by_more(c, at)


def _begins_by_more(c: Cursor, at: int) -> bool:
    """The same for the clauses that begin with an expression, or that more than one token tells."""
    kind = c.kinds[at]
    if kind in _BEFORE_EXPRESSION:
        return c.kinds[at + 1] not in _NOT_EXPRESSION
    if kind == "WINDOW":
        literal = c.kinds[at + 1] == "IDENTIFIER" and c.is_identifier_literal(at + 1)
        return literal or (c.kinds[at + 1] in WORDS and c.kinds[at + 2] in ("AS", "-"))
    if kind == "SET":
        literal = c.kinds[at + 1] == "IDENTIFIER" and c.is_identifier_literal(at + 1)
        return literal or (c.kinds[at + 1] in WORDS and c.kinds[at + 2] in _SET_ASSIGNMENT)
    return False


def is_name(c: Cursor, columns: bool = False) -> bool:
    """Whether the keyword at hand is an alias, rather than the start of a clause. `columns`: an alias may have some.

    Where the rest can be read both ways, it is an alias to Spark's parser: `FROM t WHERE (a)` has no filter, and names
    the only column of `t`. The next tokens tell nearly always that only one way is left. Elsewhere the name is tried.
    """
    if c.kind in c.reserved:
        return False
    if not begins_clause(c, c.i):
        return True
    return _name_may_end(c, c.i + 1, columns) and c.is_first_reading()


def _name_may_end(c: Cursor, at: int, columns: bool) -> bool:
    """Whether the token with this index may stand after an alias, as far as the tokens after it tell."""
    if columns and c.kinds[at] == "(":
        at += 1
        while c.kinds[at] in WORDS and c.kinds[at + 1] == ",":
            at += 2
        if c.kinds[at] not in WORDS or c.kinds[at + 1] != ")":
            return False
        at += 2
    kind = c.kinds[at]
    if kind in ENDS or kind == "ON":
        return True
    opened = _FOLLOWERS.get(kind)
    return c.kinds[at + 1] in opened if opened is not None else _begins_by_more(c, at)


def named_expression(c: Cursor) -> q.Node:
    """An expression, with an alias or several where they follow: Spark's rule `namedExpression`."""
    word = c.kind
    node = expression(c)
    kind = c.kind
    if kind == "AS" and c.peek() not in ENDS:
        if not _is_as_name(c):
            c.advance()
        if c.kind == "(":
            return _wrap_aliases(c, node)
    elif kind == "(" and c.peek() in WORDS:
        return _wrap_aliases(c, node)
    elif kind not in WORDS or (kind != "IDENTIFIER_TOKEN" and not is_name(c)):
        bare = word in _BARE_CALLS and not c.conf.before(_BARE_CALLS[word])
        return _take_arguments_for_names(c, node) if bare else node
    alias = c.captured_identifier()
    start = node.span[0]
    return c.place(q.Alias(node, alias), start)


def _is_as_name(c: Cursor, columns: bool = False) -> bool:
    """Whether the AS at hand is the name itself, and a clause follows: `SELECT total AS FROM orders`. Where the word
    after it may be the name, too, it is."""
    if "AS" in c.reserved or not begins_clause(c, c.i + 1):
        return False
    return not (_name_may_end(c, c.i + 2, columns) and c.is_first_reading())


_BARE_CALLS = {
    **dict.fromkeys(("CURRENT_DATE", "CURRENT_TIMESTAMP", "CURRENT_USER", "USER"), "3.5"),
    "SESSION_USER": "4.0",
    "CURRENT_TIME": "4.1",
}
"""The words of Spark's rule `currentLike`, which comes before `functionCall`, and since when they are."""


def _take_arguments_for_names(c: Cursor, node: q.Node) -> q.Node:
    """`current_date(a, b)` calls the function without parentheses, and names what it gives."""
    if type(node) is not q.Call or node.distinct is not None or not node.arguments:
        return node
    names = [a.parts[0] for a in node.arguments if isinstance(a, q.Column) and len(a.parts) == 1]
    if len(names) < len(node.arguments) or node.filter is not None or node.over is not None:
        return node
    start = node.span[0]
    called = q.Identifier(str(node.name))
    called.span = (start, start + len(called.text))
    operand = q.Column([called])
    operand.span = called.span
    return c.place(q.Aliases(operand, names), start)


def _wrap_aliases(c: Cursor, node: q.Node) -> q.Node:
    start = node.span[0]
    return c.place(q.Aliases(node, c.identifier_list()), start)


def named_expressions(c: Cursor) -> list[q.Node]:
    """One or more, between commas."""
    return c.read_list(named_expression)


def table_alias(c: Cursor) -> q.TableAlias | None:
    """An alias of a relation, with or without AS, perhaps with column names; None where none stands."""
    start, kind = c.start, c.kind
    if kind == "AS" and c.peek() != "(":
        if c.peek() in ALIAS_WORDS and not _is_as_name(c, columns=True):
            c.advance()
    elif kind not in ALIAS_WORDS or (kind != "IDENTIFIER_TOKEN" and not is_name(c, columns=True)):
        return None
    name = c.identifier(ALIAS_WORDS)
    columns = c.identifier_list() if c.kind == "(" else ()
    return c.place(q.TableAlias(name, columns), start)


def bare_alias(c: Cursor) -> q.Identifier | None:
    """`[AS] name`, as after PIVOT, where any word is a name, AS too; None where none stands."""
    if c.kind == "AS" and (c.peek() in WORDS or "AS" in c.reserved):
        c.advance()
        return c.captured_identifier()
    if c.kind not in WORDS or (c.kind != "IDENTIFIER_TOKEN" and not is_name(c)):
        return None
    return c.captured_identifier()


def sort_items(c: Cursor) -> list[q.Ordered]:
    """Spark's `sortItem`s: `desc` a flag, `nulls_first` True, False or None where nothing is said."""
    return c.read_list(sort_item)


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
    return c.place(q.Ordered(operand, desc, nulls_first), start)
