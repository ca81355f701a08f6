"""What may follow an aggregate or window function: DISTINCT, FILTER, IGNORE NULLS, WITHIN GROUP.

Source: `FunctionResolution`, `CheckAnalysis`, `ResolveAggregateFunctions`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp

from planproof.analysis.binding import bind
from planproof.analysis.checks import holds_aggregate, holds_window
from planproof.analysis.context import Context
from planproof.analysis.windows import sort_keys
from planproof.expr import Call, Expr, Sort
from planproof.expr.pretty import pretty
from planproof.functions.signature import Category, Function
from planproof.types import BOOLEAN, VOID, Array

_RANDOM = frozenset(("rand", "randn", "uuid", "randstr", "uniform", "shuffle", "monotonically_increasing_id"))


def ordered_arguments(function: Function, arguments: list[Any], node: exp.Anonymous, ctx: Context) -> list[Any]:
    """The arguments with the sort key of WITHIN GROUP first, where the function takes its values from there."""
    if not {"order first", "order instead"} & set(function.modifiers):
        return arguments
    within = node.args.get("within_group") or []
    written = len(function.inputs) - 1
    if "order first" in function.modifiers and len(arguments) != written:
        raise ctx.env.rejected(
            "WRONG_NUM_ARGS.WITHOUT_SUGGESTION",
            f"The `{function.name}` requires {written} parameters but the actual number is {len(arguments)}.",
            node,
        )
    if node.args.get("distinct"):
        raise _within_group("DISTINCT_UNSUPPORTED", function, node, ctx)
    if "order instead" in function.modifiers and arguments:
        if within:
            raise _within_group("WRONG_NUM_ORDERINGS", function, node, ctx)
        return arguments
    if not within:
        raise _within_group("WITHIN_GROUP_MISSING", function, node, ctx)
    if len(within) > 1:
        raise _within_group("WRONG_NUM_ORDERINGS", function, node, ctx)
    key = within[0]
    return [key.args["this"] if isinstance(key, exp.Ordered) else key, *arguments]


def _within_group(reason: str, function: Function, node: exp.Expr, ctx: Context) -> Exception:
    return ctx.env.rejected(
        f"INVALID_WITHIN_GROUP_EXPRESSION.{reason}", f"Invalid function `{function.name}` with WITHIN GROUP.", node
    )


def modified(found: Call, node: exp.Anonymous, ctx: Context) -> Call:
    """The call with what follows its parentheses. Raises `AnalysisError` for what the function does not take."""
    changes: dict[str, Any] = {}
    if node.args.get("distinct"):
        changes["distinct"] = True
    if node.args.get("nulls"):
        changes |= _nulls(found, node.args["nulls"])
    if node.args.get("filter") is not None:
        changes["filter"] = _filter(node.args["filter"], ctx)
    if node.args.get("within_group"):
        changes["order"] = tuple(sort_keys(node.args["within_group"], ctx))
    _refuse(found, changes, node, ctx)
    return replace(found, **changes) if changes else found


def _nulls(found: Call, word: str) -> dict[str, Any]:
    """Either word makes Spark forget the alias under which the function was called."""
    function = found.function
    if word == "IGNORE":
        return {"ignore_nulls": True, "shown": function.name}
    if not function.name.startswith("collect_"):
        return {"shown": function.name}
    return {"respect_nulls": True, "type": Array(found.args[0].type, True)}


def _filter(condition: exp.Expr, ctx: Context) -> Expr:
    bound = bind(condition, ctx)
    reason = None
    if bound.type not in (BOOLEAN, VOID):
        reason = "NOT_BOOLEAN"
    elif holds_aggregate(bound):
        reason = "CONTAINS_AGGREGATE"
    elif holds_window(bound):
        reason = "CONTAINS_WINDOW_FUNCTION"
    elif is_random(bound):
        reason = "NON_DETERMINISTIC"
    if reason is not None:
        text = f"The FILTER {pretty(bound)} is invalid."
        raise ctx.env.rejected(f"INVALID_AGGREGATE_FILTER.{reason}", text, condition)
    return bound


def is_random(expr: Expr) -> bool:
    return any(isinstance(e, Call) and e.function.name in _RANDOM for e in expr.walk())


def _refuse(found: Call, changes: dict[str, Any], node: exp.Expr, ctx: Context) -> None:
    function = found.function
    if _unsupported(function, changes):
        raise ctx.env.rejected(
            "INVALID_SQL_SYNTAX.FUNCTION_WITH_UNSUPPORTED_SYNTAX",
            f"The function `{function.name}` does not support {', '.join(changes)}.",
            node,
        )
    if function.category is not Category.AGGREGATE:
        return
    if any(is_random(a) for a in found.args):
        raise ctx.env.rejected(
            "AGGREGATE_FUNCTION_WITH_NONDETERMINISTIC_EXPRESSION",
            f"{pretty(found)}: the arguments of an aggregate function must be deterministic.",
            node,
        )
    if "order" in function.modifiers and changes.get("distinct") and _other_order(found, changes.get("order", ())):
        raise _within_group("MISMATCH_WITH_DISTINCT_INPUT", function, node, ctx)


def _unsupported(function: Function, changes: dict[str, Any]) -> bool:
    if not changes:
        return False
    if function.category not in (Category.AGGREGATE, Category.WINDOW):
        return True
    if function.category is Category.WINDOW and ("filter" in changes or "distinct" in changes):
        return True
    ordered = any(m.startswith("order") for m in function.modifiers)
    return ("ignore_nulls" in changes and "nulls" not in function.modifiers) or ("order" in changes and not ordered)


def _other_order(found: Call, keys: Sequence[Sort]) -> bool:
    return any(k.child != found.args[0] for k in keys)
