"""The grammar of pipe operators: Spark's rule `operatorPipeRightSide`.

Each operator is one `Pipe` around the query before it; nothing is rewritten into CTEs.
"""

from __future__ import annotations

from collections.abc import Callable

from planproof_engine.sql import nodes as q
from planproof_engine.sql.aliases import begins_clause, named_expressions
from planproof_engine.sql.calls import ENDS
from planproof_engine.sql.clauses import group, hints, parse_organization, quantifier, where, windows
from planproof_engine.sql.cursor import Cursor
from planproof_engine.sql.expressions import expression
from planproof_engine.sql.keywords import WORDS
from planproof_engine.sql.pivots import pivot, unpivot
from planproof_engine.sql.primary import column, multipart
from planproof_engine.sql.relations import join, sample
from planproof_engine.sql.tokens import NUMBERS

SETS = {"UNION": "union", "EXCEPT": "except", "MINUS": "except", "INTERSECT": "intersect"}


def pipe(c: Cursor, before: q.Query) -> q.Pipe:
    """The operator after `|>`."""
    reader = _OPERATORS.get(c.kind)
    if reader is None and c.kind in ENDS:
        reader = _organize  # Spark allows a pipe with nothing after it
    if reader is None:
        c.fail()
    return reader(c, before)


def _select(c: Cursor, before: q.Query) -> q.Pipe:
    c.advance()
    node = q.PipeSelect(before, hints(c), quantifier(c), named_expressions(c))
    if c.kind == "GROUP" and c.peek() == "BY" and "grouping in pipe SELECT" not in c.lacks:
        node.group = group(c, aliases=True)
    _parse_windows(c, node)
    return node


def _parse_windows(c: Cursor, node: q.Pipe) -> None:
    if c.kind == "WINDOW" and begins_clause(c, c.i):
        node.windows = windows(c)


def _extend(c: Cursor, before: q.Query) -> q.Pipe:
    c.advance()
    return q.PipeExtend(before, named_expressions(c))


def _assign(c: Cursor, before: q.Query) -> q.Pipe:
    c.advance()
    return q.PipeSet(before, c.read_list(assignment))


def assignment(c: Cursor) -> q.Binary:
    """`a = 1`, of SET."""
    start = c.start
    name = column(c, multipart(c))
    c.take("=")
    return c.place(q.Binary("=", name, expression(c)), start)


def _drop(c: Cursor, before: q.Query) -> q.Pipe:
    c.advance()
    return q.PipeDrop(before, c.read_list(_dropped_column))


def _dropped_column(c: Cursor) -> q.Column:
    return column(c, [c.identifier()] if "pipe DROP of fields" in c.lacks else multipart(c))


def _rename(c: Cursor, before: q.Query) -> q.Pipe:
    c.advance()
    return q.PipeAs(before, c.captured_identifier())


def _filter(c: Cursor, before: q.Query) -> q.Pipe:
    node = q.PipeWhere(before, where(c))
    _parse_windows(c, node)
    return node


def _aggregate(c: Cursor, before: q.Query) -> q.Pipe:
    start = c.start
    c.advance()
    found: list[q.Node] = []
    if not (c.kind == "GROUP" and c.peek() == "BY") and c.kind in WORDS | _EXPRESSION_STARTS:
        found = named_expressions(c)
    node = q.PipeAggregate(before, found)
    if c.kind == "GROUP" and c.peek() == "BY":
        node.group = group(c, aliases=True)
    _check_aggregate(c, node, start)
    return node


def _check_aggregate(c: Cursor, node: q.PipeAggregate, start: int) -> None:
    """AGGREGATE groups by plain keys, and computes something (`AstBuilder.visitOperatorPipeAggregate`)."""
    keys = node.group.keys if node.group is not None else ()
    plain = node.group is None or not (node.group.with_kind or node.group.is_all)
    if not plain or any(isinstance(key, q.GroupingAnalytics) for key in keys):
        text = "The pipe operator |> AGGREGATE does not support grouping sets or GROUP BY ALL."
        c.keep_error("UNSUPPORTED_FEATURE.PIPE_OPERATOR_AGGREGATE_UNSUPPORTED_CASE", text, start)
    elif any(map(_calls_grouping, node.items)):
        text = "The pipe operator |> AGGREGATE does not support GROUPING."
        c.keep_error("UNSUPPORTED_FEATURE.PIPE_OPERATOR_AGGREGATE_UNSUPPORTED_CASE", text, start)
    elif node.group is not None and any(map(_holds_window, (*node.items, *keys))):
        text = "The pipe operator |> AGGREGATE does not support window functions: move them to a |> SELECT behind it."
        c.keep_error("UNSUPPORTED_FEATURE.PIPE_OPERATOR_AGGREGATE_UNSUPPORTED_CASE", text, start)
    if node.group is None and not node.items:
        text = (
            "Operation not allowed: The AGGREGATE clause requires a list of aggregate expressions or a list of "
            "grouping expressions, or both."
        )
        c.keep_error("_LEGACY_ERROR_TEMP_0035", text, start)


def _calls_grouping(node: q.Node) -> bool:
    inner = node.operand if isinstance(node, q.Alias) else node
    return isinstance(inner, q.Call) and str(inner.name).lower() == "grouping"


def _holds_window(node: q.Node) -> bool:
    """Whether a window that is written out stands in the expression, outside of its subqueries."""
    if isinstance(node, q.Query):
        return False
    return (isinstance(node, q.Window) and node.reference is None) or any(map(_holds_window, node.children))


def _combine(c: Cursor, before: q.Query) -> q.Pipe:
    kind = SETS[c.kind]
    c.advance()
    distinct = quantifier(c) is not False
    return q.PipeSetOperation(before, kind, c.rules.query_primary(c), distinct)


def _organize(c: Cursor, before: q.Query) -> q.Pipe:
    node, start = q.PipeOrganize(before), c.start
    parse_organization(c, node)
    if node.windows:
        message = (
            "The feature is not supported: The SQL pipe operator syntax using |> does not support the WINDOW clause."
        )
        c.keep_error("UNSUPPORTED_FEATURE.CLAUSE_WITH_PIPE_OPERATORS", message, start)
    _refuse_two(c, node, start)
    return node


def _refuse_two(c: Cursor, node: q.PipeOrganize, start: int) -> None:
    """An operator sorts rows or cuts them off (`AstBuilder.withQueryResultClauses`)."""
    cut = "LIMIT" if node.limit is not None else "OFFSET" if node.offset is not None else None
    if cut is not None and any((node.order, node.sort, node.distribute, node.cluster)):
        text = f"ORDER BY and its kin, and {cut}, cannot coexist in the same SQL pipe operator using '|>'."
        c.keep_error("MULTIPLE_QUERY_RESULT_CLAUSES_WITH_PIPE_OPERATORS", text, start)


_EXPRESSION_STARTS = frozenset(("(", "STRING_LITERAL", "-", "+", "~", "*", "!", *NUMBERS))

_OPERATORS: dict[str, Callable[[Cursor, q.Query], q.Pipe]] = {
    "SELECT": _select,
    "EXTEND": _extend,
    "SET": _assign,
    "DROP": _drop,
    "AS": _rename,
    "WHERE": _filter,
    "AGGREGATE": _aggregate,
    "PIVOT": lambda c, before: q.PipePivot(before, pivot(c, None, c.start)),
    "UNPIVOT": lambda c, before: q.PipeUnpivot(before, unpivot(c, None, c.start)),
    "TABLESAMPLE": lambda c, before: q.PipeSample(before, sample(c)),
    **dict.fromkeys(SETS, _combine),
    **dict.fromkeys(
        ["JOIN", "INNER", "CROSS", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI", "NATURAL", "ASOF"],
        lambda c, before: q.PipeJoin(before, join(c, None, c.start)),
    ),
    **dict.fromkeys(["ORDER", "CLUSTER", "DISTRIBUTE", "SORT", "WINDOW", "LIMIT", "OFFSET"], _organize),
}
