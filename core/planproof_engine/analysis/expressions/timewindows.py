"""`window(..)` and `session_window(..)`: each makes a column that the rest of its block can name.

Source: `TimeWindowing`, `SessionWindowing`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from planproof_engine import types as dt
from planproof_engine.analysis.expressions import Context
from planproof_engine.analysis.expressions.calls import bind_plain_call
from planproof_engine.expr import Alias, Call, Cast, Column, Expr, Literal, fresh_id
from planproof_engine.ground import evolve
from planproof_engine.logical.nodes import Filter, Join, Named, Plan, Project, Scan
from planproof_engine.sql import nodes as q

NAMES = ("window", "session_window")


def add_time_windows(node: q.Block, child: Plan, ctx: Context) -> tuple[Plan, Context]:
    """The block's input with the column of its time window, where the block has one.

    Spark puts the window below the block, so `window.start` names it in the items and in HAVING.
    """
    found = _find_window([*node.items, *([node.group] if node.group is not None else [])], node, ctx)
    if found is None:
        return child, ctx
    window, column = found
    plan = Project((*child.output, Alias(window, column.name, column.id)), child)
    scope = evolve(ctx.scope, hidden=(*ctx.scope.hidden, column))
    if _comes_before_tables(window, child, ctx):
        scope = evolve(scope, columns=(column,), hidden=())
    return plan, evolve(ctx, scope=scope, time_windows={window: column})


def add_time_window_below(parts: Sequence[q.Node], node: q.Node, child: Plan, ctx: Context) -> tuple[Plan, Context]:
    """The input of a filter or sort, with the column of its time window as the first column."""
    found = _find_window(parts, node, ctx)
    if found is None:
        return child, ctx
    window, column = found
    plan = Project((Alias(window, column.name, column.id), *child.output), child)
    known = () if _comes_before_tables(window, child, ctx) else ctx.scope.columns
    scope = evolve(ctx.scope, columns=(column, *known))
    return plan, evolve(ctx, scope=scope, time_windows={window: column})


def find_time_windows(parts: Sequence[q.Node], node: q.Node, ctx: Context) -> dict[Expr, Expr]:
    """The time window of a sort over what its block does not select: no column of the output stands for it."""
    found = _find_window(parts, node, ctx)
    return {} if found is None else {found[0]: found[0]}


def _comes_before_tables(window: Call, child: Plan, ctx: Context) -> bool:
    """Whether the window is made before the columns of the tables below are known, so that it hides them for good: that
    of a constant is resolved at once, a table only after the first round of rules (`FindDataSourceTable`)."""
    parts = [*window.args[0].walk()]
    if parts[0].type not in (dt.TIMESTAMP, dt.TIMESTAMP_NTZ) or not all(_is_known_at_once(e, ctx) for e in parts):
        return False
    if not all(isinstance(n, (Scan, Named, Join, Filter)) for n in child.walk()):
        return False
    return all(ctx.env.is_of_kind(n.relation, "table") for n in child.walk() if isinstance(n, Scan))


def _is_known_at_once(expr: Expr, ctx: Context) -> bool:
    """Whether the first round of rules resolves the expression: what needs a time zone waits for `ResolveTimeZone`, and
    before Spark 4.0 each function for a later round."""
    if isinstance(expr, Cast):
        ends = (expr.type, expr.child.type)
        return expr.written and not (
            dt.TIMESTAMP in ends and any(t in (dt.DATE, dt.STRING, dt.TIMESTAMP_NTZ) for t in ends)
        )
    if isinstance(expr, Call):
        return not expr.children and expr.type == dt.TIMESTAMP and not ctx.conf.before("4.0")
    return isinstance(expr, Literal)


def _find_window(parts: Sequence[q.Node], node: q.Node, ctx: Context) -> tuple[Call, Column] | None:
    """The one time window that these parts of a query call, and a column for it."""
    if not _mentions_window(ctx.env.text):
        return None
    calls = (call for part in parts for call in part.find_all(q.Call, outside=(q.Query,)))
    asked = (call for call in calls if isinstance(call.name, str) and call.name.lower() in NAMES)
    made = list(dict.fromkeys(bind_plain_call(call, ctx) for call in asked))
    if len(made) > 1:
        text = "Multiple time/session window expressions would result in a cartesian product of rows."
        raise ctx.env.make_error("_LEGACY_ERROR_TEMP_1039", text, node)
    return (made[0], Column(fresh_id(), made[0].function.name, made[0].type, made[0].nullable)) if made else None


@lru_cache(maxsize=4)
def _mentions_window(text: str) -> bool:
    return "window" in text.lower()
