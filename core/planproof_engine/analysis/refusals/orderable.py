"""Types that Spark can neither sort nor compare, where a clause needs to: maps, variants, calendar intervals.

Source: `SortOrder.checkInputDataTypes`, `CheckAnalysis`.
"""

from __future__ import annotations

from collections.abc import Sequence

from planproof_engine import types as dt
from planproof_engine.analysis.expressions import Environment
from planproof_engine.expr import Column, Expr
from planproof_engine.expr.pretty import pretty
from planproof_engine.sql import nodes as q
from planproof_engine.types.kinds import is_orderable


def refuse_sort_key(key: Expr, node: q.Node, env: Environment) -> None:
    """ORDER BY and SORT BY, of a query or a window."""
    if not is_orderable(key.type):
        text = f'Cannot sort by "{pretty(key)}": the type "{key.type.sql}" has no order.'
        raise env.make_error("DATATYPE_MISMATCH.INVALID_ORDERING_TYPE", text, node)


def refuse_spread_key(key: Expr, node: q.Node, env: Environment) -> None:
    """DISTRIBUTE BY, and CLUSTER BY before it sorts."""
    if _holds_variant(key.type):
        text = f'Cannot partition by "{pretty(key)}", whose type is "{key.type.sql}".'
        raise env.make_error("UNSUPPORTED_FEATURE.PARTITION_BY_VARIANT", text, node)


def refuse_partition_key(key: Expr, node: q.Node, env: Environment) -> None:
    """PARTITION BY of a window, which sorts its rows by it."""
    if not is_orderable(key.type) and not env.lacks("partitions checked for order") and not env.lenient:
        text = f'Column expression "{pretty(key)}" cannot be sorted because its type "{key.type.sql}" is not orderable.'
        raise env.make_error("EXPRESSION_TYPE_IS_NOT_ORDERABLE", text, node)


def refuse_group(key: Expr, node: q.Node, env: Environment) -> None:
    """GROUP BY, which takes maps since 4.0."""
    if _holds_variant(key.type) or (env.lacks("grouping by maps") and not is_orderable(key.type)):
        text = (
            f'The expression "{pretty(key)}" cannot be used as a grouping expression because its data type '
            f'"{key.type.sql}" is not an orderable data type.'
        )
        raise env.make_error("GROUP_EXPRESSION_TYPE_IS_NOT_ORDERABLE", text, node)


def refuse_rows(columns: Sequence[Column], node: q.Node, env: Environment) -> None:
    """DISTINCT and the set operations that compare rows."""
    for kind, holds in (("MAP", _holds_map), ("VARIANT", _holds_variant)):
        column = next((c for c in columns if holds(c.type)), None)
        if column is not None:
            env.refuse_late(
                f"UNSUPPORTED_FEATURE.SET_OPERATION_ON_{kind}_TYPE",
                f"Cannot have {kind} type columns in DataFrame which calls set operations (INTERSECT, EXCEPT, etc.), "
                f'but the type of column `{column.name}` is "{column.type.sql}".',
                node,
            )


def _holds_map(data_type: dt.DataType) -> bool:
    return isinstance(data_type, dt.Map) or any(map(_holds_map, data_type.children))


def _holds_variant(data_type: dt.DataType) -> bool:
    return data_type == dt.VARIANT or any(map(_holds_variant, data_type.children))
