"""The clauses of a query, in the order of Spark's rule `querySpecification` and after it `queryOrganization`; PIVOT and
UNPIVOT (`pivotClause`, `unpivotClause`), in FROM and in a pipe; and aliases without AS.

Spark's keywords may be names, so the next tokens tell an alias from the start of a clause.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from planproof_engine.ground import AnalysisError
from planproof_engine.sql import nodes as q
from planproof_engine.sql.calls import ENDS, window_spec
from planproof_engine.sql.cursor import Cursor
from planproof_engine.sql.expressions import expression, expressions
from planproof_engine.sql.keywords import ALIAS_WORDS, WORDS
from planproof_engine.sql.primary import column, multipart, parse_name, primary

# Aliases

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


# Clauses


def quantifier(c: Cursor) -> bool | None:
    """True for DISTINCT, False for ALL, None where neither stands."""
    if c.kind in ("DISTINCT", "ALL") and c.peek() not in ("=", ".", ",", ")", "EOF"):
        distinct = c.kind == "DISTINCT"
        c.advance()
        return distinct
    return None


def hints(c: Cursor) -> q.Hint | None:
    """Hints as calls, of primary expressions. They change no schema; a hint that Spark does not know is a warning to
    it."""
    first = c.start
    found: list[q.Call] = []
    while c.skip("HINT"):
        if c.kind == "HINT_END":
            c.fail()
        while not c.skip("HINT_END"):
            start = c.start
            name = c.identifier()
            given = []
            if c.skip("("):
                given = c.read_list(primary)
                c.take(")")
            found.append(c.place(q.Call(name.text, given), start))
            c.skip(",")
    return c.place(q.Hint(found), first) if found else None


def where(c: Cursor) -> q.Where:
    """WHERE and its condition."""
    start = c.start
    c.take("WHERE")
    return c.place(q.Where(expression(c)), start)


def group(c: Cursor, aliases: bool = False) -> q.Group:
    """GROUP BY: its keys may be GroupingAnalytics, and with `aliases`, in a pipe, Aliases."""
    start = c.start
    c.take("GROUP")
    c.take("BY")
    found = c.read_list(lambda c: _grouping(c, aliases))
    node = q.Group(found)
    if c.kind == "WITH" and c.peek() in ("ROLLUP", "CUBE"):
        node.with_kind = c.peek()
        c.advance(2)
    elif c.skip_all("GROUPING", "SETS"):
        node.with_kind = "GROUPING SETS"
        node.sets = _grouping_list(c, _grouping_set)
    only = found[0]
    if len(found) == 1 and isinstance(only, q.Column) and len(only.parts) == 1:
        node.is_all = only.parts[0].text.upper() == "ALL" and not only.parts[0].quoted
    return c.place(node, start)


def _grouping(c: Cursor, aliases: bool) -> q.Node:
    if (analytics := _grouping_analytics(c)) is not None:
        return analytics
    return named_expression(c) if aliases else expression(c)


def _grouping_analytics(c: Cursor) -> q.Node | None:
    start = c.start
    kind = c.kind
    if kind in ("ROLLUP", "CUBE") and c.peek() == "(" and c.peek(2) != ")":  # Of nothing it is a function's call.
        c.advance()
        sets = _grouping_list(c, _grouping_set)
        if any(isinstance(s, q.Tuple) and not s.members for s in sets):
            text = f"Empty set in {kind} grouping sets is not supported."
            raise AnalysisError("_LEGACY_ERROR_TEMP_0051", text, c.origin(start))
        return c.place(q.GroupingAnalytics(kind, sets), start)
    if c.skip_all("GROUPING", "SETS"):
        return c.place(q.GroupingAnalytics("GROUPING SETS", _grouping_list(c, _grouping_element)), start)
    return None


def _grouping_list(c: Cursor, read: Callable[[Cursor], q.Node]) -> list[q.Node]:
    return c.enclosed(lambda c: c.read_list(read))


def _grouping_element(c: Cursor) -> q.Node:
    analytics = _grouping_analytics(c)
    return _grouping_set(c) if analytics is None else analytics


def _grouping_set(c: Cursor) -> q.Node:
    """`()` and `(a, b)` are a Tuple; `(a)` is a Paren, `a` an expression: each is one set."""
    if c.kind == "(" and c.peek() == ")":
        start = c.start
        c.advance(2)
        return c.place(q.Tuple(()), start)
    return expression(c)


def windows(c: Cursor) -> list[q.NamedWindow]:
    """WINDOW's definitions."""
    c.take("WINDOW")
    found = [_named_window(c)]
    while c.skip(","):
        found.append(_named_window(c))
        name = found[-1].name
        if any(w.name.text == name.text for w in found[:-1]):
            message = f"Invalid SQL syntax: The definition of window `{name.text}` is repetitive."
            c.keep_error("INVALID_SQL_SYNTAX.REPETITIVE_WINDOW_DEFINITION", message, *name.span)
    _check_references(c, found)
    return found


def _check_references(c: Cursor, windows: list[q.NamedWindow]) -> None:
    """A window that stands for another one must be defined beside it, and not by a name again
    (`AstBuilder.withWindowClause`)."""
    defined = {w.name.text: w.window for w in windows}
    for reference in (w.window.reference for w in windows):
        if reference is None:
            continue
        meant = defined.get(reference.text)
        if meant is None:
            text = f"Invalid SQL syntax: Cannot resolve window reference `{reference.text}`."
            c.keep_error("INVALID_SQL_SYNTAX.UNRESOLVED_WINDOW_REFERENCE", text, *reference.span)
        elif meant.reference is not None:
            text = f"Invalid SQL syntax: Window reference `{reference.text}` is not a window specification."
            c.keep_error("INVALID_SQL_SYNTAX.INVALID_WINDOW_REFERENCE", text, *reference.span)


def _named_window(c: Cursor) -> q.NamedWindow:
    start = c.start
    name = c.captured_identifier()
    c.take("AS")
    return c.place(q.NamedWindow(name, window_spec(c)), start)


def parse_organization(c: Cursor, node: q.Query) -> None:
    """Spark's `queryOrganization`: ORDER BY, CLUSTER BY, DISTRIBUTE BY, SORT BY, WINDOW, LIMIT, OFFSET."""
    first = c.start
    node.order = _ordering(c, "ORDER", sort_items) or node.order
    node.cluster = _ordering(c, "CLUSTER", expressions) or node.cluster
    node.distribute = _ordering(c, "DISTRIBUTE", expressions) or node.distribute
    node.sort = _ordering(c, "SORT", sort_items) or node.sort
    given = [c for c in (node.order, node.cluster, node.distribute, node.sort) if c is not None]
    if len(given) > 2 or (len(given) == 2 and given != [node.distribute, node.sort]):
        message = "The feature is not supported: Combination of ORDER BY/SORT BY/DISTRIBUTE BY/CLUSTER BY."
        c.keep_error("UNSUPPORTED_FEATURE.COMBINATION_QUERY_RESULT_CLAUSES", message, first)
    if c.kind == "WINDOW" and begins_clause(c, c.i):
        node.windows = [*node.windows, *windows(c)]
    _parse_limits(c, node)


def _ordering(c: Cursor, word: str, read: Callable[[Cursor], Sequence[q.Node]]) -> q.Ordering | None:
    start = c.start
    return c.place(q.Ordering(read(c)), start) if c.skip_all(word, "BY") else None


def _parse_limits(c: Cursor, node: q.Query) -> None:
    start = c.start
    if c.skip("LIMIT"):
        if c.skip("ALL"):
            count: q.Node = c.place(q.Var("ALL"), c.starts[c.i - 1])
        else:
            count = expression(c)
        node.limit = c.place(q.Limit(count), start)
    start = c.start
    if c.skip("OFFSET"):
        node.offset = c.place(q.Offset(expression(c)), start)


# PIVOT and UNPIVOT


def pivot(c: Cursor, tree: q.Node | None, start: int) -> q.Pivoted:
    """A PIVOT, from that word on; `tree` is None in a pipe."""
    c.take("PIVOT")
    c.take("(")
    aggregates = named_expressions(c)
    c.take("FOR")
    columns = c.identifier_list() if c.kind == "(" else [c.captured_identifier()]
    c.take("IN")
    values = c.enclosed(named_expressions)
    c.take(")")
    alias = bare_alias(c) if "alias of PIVOT" not in c.lacks else None
    return c.place(q.Pivoted(tree, aggregates, columns, values, alias), start)


def unpivot(c: Cursor, tree: q.Node | None, start: int) -> q.Unpivoted:
    """An UNPIVOT, from that word on; `tree` is None in a pipe."""
    c.take("UNPIVOT")
    include_nulls = c.skip_all("INCLUDE", "NULLS")
    if not include_nulls:
        c.skip_all("EXCLUDE", "NULLS")
    c.take("(")
    multi = c.kind == "("
    values = c.identifier_list() if multi else [c.identifier()]
    c.take("FOR")
    name = c.identifier()
    c.take("IN")
    columns = c.enclosed(lambda c: c.read_list(lambda c: _unpivot_set(c, multi)))
    c.take(")")
    filters = () if include_nulls else [_parse_filtered(c, value) for value in values]
    return c.place(q.Unpivoted(tree, values, name, columns, filters, bare_alias(c)), start)


def _parse_filtered(c: Cursor, value: q.Identifier) -> tuple[str, ...]:
    """The name's parts: Spark hands the text of an identifier to `UnresolvedAttribute`, which parses it once more, so
    that a name that must be quoted is refused (`AstBuilder.withUnpivot`)."""
    try:
        return tuple(part.text for part in parse_name(value.text, c))
    except AnalysisError as error:
        c.keep_error(error.condition, error.message, *value.span)
        return ()


def _unpivot_set(c: Cursor, multi: bool) -> q.UnpivotSet:
    start = c.start
    if multi:
        c.take("(")
    columns = [column(c, multipart(c))]
    while multi and c.skip(","):
        columns.append(column(c, multipart(c)))
    if multi:
        c.take(")")
    alias = None
    if c.skip("AS") or c.kind in WORDS:
        alias = c.captured_identifier()
    return c.place(q.UnpivotSet(columns, alias), start)
