"""What Spark refuses before `CheckAnalysis` looks at a plan: its rules raise while they resolve.

An error that `CheckAnalysis` raises is reported only where no rule raised one, wherever in the query that is.
Source: `ResolveReferences`, `ExtractWindowExpressions`, `UnresolvedSubqueryColumnAliases`.
"""

from __future__ import annotations

from collections.abc import Iterator

from planproof_engine.analysis.context import Context, Environment
from planproof_engine.analysis.names.scope import ambiguous
from planproof_engine.origin import AnalysisError
from planproof_engine.sql import nodes as q
from planproof_engine.sql.names import name_parts

_CHECKED = frozenset(
    (
        "AGGREGATE_FUNCTION_WITH_NONDETERMINISTIC_EXPRESSION",
        "DATATYPE_MISMATCH",
        "DISTINCT_WINDOW_FUNCTION_UNSUPPORTED",
        "EXPRESSION_TYPE_IS_NOT_ORDERABLE",
        "GROUP_EXPRESSION_TYPE_IS_NOT_ORDERABLE",
        "INCOMPATIBLE_COLUMN_TYPE",
        "INVALID_WINDOW_SPEC_FOR_AGGREGATION_FUNC",
        "MISSING_AGGREGATION",
        "MISSING_GROUP_BY",
        "NESTED_AGGREGATE_FUNCTION",
        "NUM_COLUMNS_MISMATCH",
        "TABLE_OR_VIEW_NOT_FOUND",
        "UNRESOLVED_COLUMN",
        "UNSUPPORTED_EXPR_FOR_WINDOW",
    )
)


def is_checked(error: AnalysisError) -> bool:
    """Whether `CheckAnalysis` raises it, after all rules have run."""
    return error.condition.split(".")[0] in _CHECKED


def is_of_typed(error: AnalysisError) -> bool:
    """Whether it is one of `CheckAnalysis` about a plan in which all names and types are known."""
    return error.condition.startswith(
        (
            "MISSING_",
            "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY",
            "DISTINCT_WINDOW_FUNCTION_UNSUPPORTED",
            "EXPRESSION_TYPE_IS_NOT_ORDERABLE",
        )
    )


def window_in_where(tree: q.Node, error: AnalysisError, env: Environment) -> AnalysisError | None:
    """The error for a window in a WHERE of the query, where it comes before `error`."""
    if not is_checked(error):
        return None
    where = next((w for w in _wheres(tree) if _holds_window(w)), None)
    text = "Window functions are not allowed in the WHERE clause."
    return None if where is None else env.rejected("WINDOW_FUNCTION_NOT_ALLOWED_IN_CLAUSE", text, where)


def ambiguous_name(block: q.Block, error: AnalysisError, ctx: Context) -> AnalysisError | None:
    """The error for a name of the SELECT list or of GROUP BY that means several columns, where it comes before
    `error`."""
    if not is_checked(error) or any(s.except_ for s in block.find_all(q.Star)):
        return None  # what EXCEPT cannot find is no matter of `CheckAnalysis`
    for node in (*block.items, *((block.group,) if block.group is not None else ())):
        if any(True for _ in node.find_all(q.Lambda)):
            continue  # a parameter may have the name
        for named in _names(node):
            parts = name_parts(named)
            found, _ = ctx.scope.matches(parts)
            if len(found) > 1:
                return ambiguous(parts, found, ctx.env.origin(named))
    return None


def _names(node: q.Node) -> Iterator[q.Node]:
    """The longest names of an expression, outside of its subqueries."""
    if isinstance(node, (q.Column, q.Dot)) and name_parts(node):
        yield node
    elif not isinstance(node, q.Query):
        for child in node.children:
            yield from _names(child)


def _wheres(node: q.Node) -> Iterator[q.Node]:
    if isinstance(node, q.Where):
        yield node
    else:
        for child in node.children:
            yield from _wheres(child)


def _holds_window(node: q.Node) -> bool:
    """Whether a window stands in the expression, outside of its subqueries."""
    if isinstance(node, q.Query):
        return False
    return (isinstance(node, q.Call) and node.over is not None) or any(map(_holds_window, node.children))
