"""`window(..)` and `session_window(..)`: each makes a column that the rest of its block can name.

Source: `TimeWindowing`, `SessionWindowing`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from sqlglot import exp

from planproof.analysis.calls import plain_call
from planproof.analysis.context import Context
from planproof.expr import Alias, Column, Expr, fresh_id
from planproof.plan.nodes import Plan, Project

NAMES = ("window", "session_window")


def with_time_windows(node: exp.Expr, child: Plan, ctx: Context) -> tuple[Plan, Context]:
    """The block's input with the column of its time window, where the block has one.

    Spark puts the window below the block, so `window.start` names it in the items and in HAVING.
    """
    if not _mentioned(ctx.env.text):
        return child, ctx
    made: dict[Expr, Column] = {}
    for asked in _calls(node):
        call = plain_call(asked, ctx)
        if call not in made:
            name = call.function.name
            made[call] = Column(fresh_id(), name, call.type, call.nullable)
    if not made:
        return child, ctx
    if len(made) > 1:
        raise ctx.env.rejected(
            "_LEGACY_ERROR_TEMP_1039",
            "Multiple time/session window expressions would result in a cartesian product of rows.",
            node,
        )
    [(window, column)] = made.items()
    plan = Project((*child.output, Alias(window, column.name, column.id)), child)
    scope = replace(ctx.scope, hidden=(*ctx.scope.hidden, column))
    return plan, replace(ctx, scope=scope, time_windows=made)


@lru_cache(maxsize=4)
def _mentioned(text: str) -> bool:
    return "window" in text.lower()


def _calls(node: exp.Expr) -> Iterator[exp.Anonymous]:
    group = node.args.get("group")
    parts = [*node.expressions, *([group] if group is not None else [])]
    for part in parts:
        for found in part.find_all(exp.Anonymous):
            name = found.args["this"]
            if isinstance(name, str) and name.lower() in NAMES and not _inside(found, part):
                yield found


def _inside(found: exp.Expr, part: exp.Expr) -> bool:
    """Whether the call belongs to a subquery of the block."""
    at: exp.Expr | None = found
    while at is not None and at is not part:
        at = at.parent
        if isinstance(at, exp.Query):
            return True
    return False
