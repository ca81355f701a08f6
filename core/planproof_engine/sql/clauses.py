"""The clauses of a query, in the order of Spark's rule `querySpecification` and after it `queryOrganization`."""

from __future__ import annotations

from collections.abc import Callable

from planproof_engine.origin import AnalysisError
from planproof_engine.sql import nodes as q
from planproof_engine.sql.aliases import begins_clause, named_expression, sort_items
from planproof_engine.sql.calls import window_spec
from planproof_engine.sql.cursor import Cursor
from planproof_engine.sql.expressions import expression, expressions
from planproof_engine.sql.primary import primary


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
    """GROUP BY: its keys may be Rollup, Cube and GroupingSets, and with `aliases`, in a pipe, Aliases."""
    start = c.start
    c.take("GROUP")
    c.take("BY")
    found = c.read_list(lambda c: _grouping(c, aliases))
    node = q.Group(found)
    if c.kind == "WITH" and c.peek() in ("ROLLUP", "CUBE"):
        node.with_kind = c.peek()
        c.advance(2)
    elif c.kind == "GROUPING" and c.peek() == "SETS":
        node.with_kind = "GROUPING SETS"
        c.advance(2)
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
    if c.kind in ("ROLLUP", "CUBE") and c.peek() == "(" and c.peek(2) != ")":  # Of nothing it is a function's call.
        kind = q.Rollup if c.kind == "ROLLUP" else q.Cube
        c.advance()
        sets = _grouping_list(c, _grouping_set)
        if any(isinstance(s, q.Tuple) and not s.members for s in sets):
            text = f"Empty set in {kind.__name__.upper()} grouping sets is not supported."
            raise AnalysisError("_LEGACY_ERROR_TEMP_0051", text, c.origin(start))
        return c.place(kind(sets), start)
    if c.skip_all("GROUPING", "SETS"):
        return c.place(q.GroupingSets(_grouping_list(c, _grouping_element)), start)
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
            c.keep_error(
                "INVALID_SQL_SYNTAX.REPETITIVE_WINDOW_DEFINITION",
                f"Invalid SQL syntax: The definition of window `{name.text}` is repetitive.",
                *name.span,
            )
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
    first = start = c.start
    if c.skip_all("ORDER", "BY"):
        node.order = c.place(q.Order(sort_items(c)), start)
    start = c.start
    if c.skip_all("CLUSTER", "BY"):
        node.cluster = c.place(q.Cluster(expressions(c)), start)
    start = c.start
    if c.skip_all("DISTRIBUTE", "BY"):
        node.distribute = c.place(q.Distribute(expressions(c)), start)
    start = c.start
    if c.skip_all("SORT", "BY"):
        node.sort = c.place(q.Sort(sort_items(c)), start)
    given = [c for c in (node.order, node.cluster, node.distribute, node.sort) if c is not None]
    if len(given) > 2 or (len(given) == 2 and given != [node.distribute, node.sort]):
        c.keep_error(
            "UNSUPPORTED_FEATURE.COMBINATION_QUERY_RESULT_CLAUSES",
            "The feature is not supported: Combination of ORDER BY/SORT BY/DISTRIBUTE BY/CLUSTER BY.",
            first,
            c.stop,
        )
    if c.kind == "WINDOW" and begins_clause(c, c.i):
        node.windows = [*node.windows, *windows(c)]
    _parse_limits(c, node)


def _parse_limits(c: Cursor, node: q.Query) -> None:
    start = c.start
    if c.kind == "LIMIT":
        c.advance()
        if c.kind == "ALL":
            c.advance()
            count: q.Node = c.place(q.Var("ALL"), c.starts[c.i - 1])
        else:
            count = expression(c)
        node.limit = c.place(q.Limit(count), start)
    start = c.start
    if c.skip("OFFSET"):
        node.offset = c.place(q.Offset(expression(c)), start)
