"""What may follow an aggregate or window function: DISTINCT, FILTER, IGNORE NULLS, WITHIN GROUP.

Source: `FunctionResolution`, `CheckAnalysis`, `ResolveAggregateFunctions`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from planproof_engine import types as dt
from planproof_engine.analysis.expressions import Context, bind
from planproof_engine.analysis.expressions.windows import sort_keys
from planproof_engine.analysis.refusals.checks import holds_window, nests_aggregate
from planproof_engine.expr import Call, Cast, Category, Expr, Signature, Sort, Subquery
from planproof_engine.expr.pretty import pretty
from planproof_engine.expr.traits import UNSTATED
from planproof_engine.ground import evolve
from planproof_engine.sql import nodes as q

Argument = q.Node | Expr
"""An argument as the text has it, or bound already: a star's columns, a default."""


def order_arguments(function: Signature, arguments: list[Argument], node: q.Call, ctx: Context) -> list[Argument]:
    """The arguments with the sort key of WITHIN GROUP first, where the function takes its values from there."""
    if not {"order first", "order instead"} & set(function.modifiers):
        return arguments
    within = node.within_group
    written = len(function.inputs) - 1
    if not within and "order first" in function.modifiers and ctx.conf.before("4.0"):
        raise _make_within_group_error("WITHIN_GROUP_MISSING", function, node, ctx)  # The grammar alone has it.
    if "order first" in function.modifiers and len(arguments) != written:
        sort_keys(node.within_group, ctx)
        text = f"The `{function.name}` requires {written} parameters but the actual number is {len(arguments)}."
        raise ctx.env.make_error("WRONG_NUM_ARGS.WITHOUT_SUGGESTION", text, node)
    if node.distinct and (within or not ctx.conf.before("4.0")):
        raise _make_within_group_error("DISTINCT_UNSUPPORTED", function, node, ctx)
    if "order instead" in function.modifiers and arguments:
        if within:
            raise _make_within_group_error("WRONG_NUM_ORDERINGS", function, node, ctx)
        return arguments
    if not within:
        raise _make_within_group_error("WITHIN_GROUP_MISSING", function, node, ctx)
    if len(within) > 1:
        raise _make_within_group_error("WRONG_NUM_ORDERINGS", function, node, ctx)
    key = within[0]
    return [key.key, *arguments]


def _make_within_group_error(reason: str, function: Signature, node: q.Call, ctx: Context) -> Exception:
    sort_keys(node.within_group, ctx)  # Spark looks up the function where its keys are resolved.
    text = f"Invalid function `{function.name}` with WITHIN GROUP."
    return ctx.env.make_error(f"INVALID_WITHIN_GROUP_EXPRESSION.{reason}", text, node)


def add_modifiers(found: Call, node: q.Call, ctx: Context) -> Call:
    """The call with what follows its parentheses. Raises `AnalysisError` for what the function does not take."""
    changes: dict[str, Any] = {}
    filtered = refuse_modifiers(found.function, node, ctx)
    if filtered is not None and node.over is not None and ctx.lacks("FILTER of windows"):
        text = "Window aggregate function with filter predicate is not supported yet."
        raise ctx.env.make_error("_LEGACY_ERROR_TEMP_1030", text, node)
    if node.distinct:
        changes["distinct"] = True
    if node.nulls is not None:
        changes |= _change_nulls(found, node.nulls, ctx)
    if filtered is not None:
        changes["filter"] = filtered
    if node.within_group:
        changes["order"] = tuple(sort_keys(node.within_group, ctx))
    _refuse(found, changes, node, ctx)
    return evolve(found, **changes) if changes else found


def refuse_modifiers(function: Signature, node: q.Call, ctx: Context) -> Expr | None:
    """The bound FILTER condition. Raises `AnalysisError` for what follows the call and the function does not take."""
    said = (
        ("DISTINCT", node.distinct),
        ("FILTER", node.filter),
        ("WITHIN GROUP", node.within_group),
        ("IGNORE NULLS", node.nulls == "IGNORE"),
    )
    words = [word for word, stands in said if stands]
    if _is_unsupported(function, words) or (node.nulls and not _is_of_groups(function)):
        text = f"The function `{function.name}` does not support {', '.join(words)}."
        raise ctx.env.make_error("INVALID_SQL_SYNTAX.FUNCTION_WITH_UNSUPPORTED_SYNTAX", text, node)
    return _filter(node.filter, ctx) if node.filter is not None else None


def _is_of_groups(function: Signature) -> bool:
    return function.category in (Category.AGGREGATE, Category.WINDOW)


def _change_nulls(found: Call, word: str, ctx: Context) -> dict[str, Any]:
    """Either word makes Spark forget the alias under which the function was called; before 4.2 IGNORE alone does."""
    function = found.function
    if word == "IGNORE":
        return {"ignore_nulls": True, "shown": function.name}
    if ctx.conf.before("4.2"):
        return {}
    if function.name not in ("collect_list", "collect_set"):
        return {"shown": function.name}
    return {"respect_nulls": True, "type": dt.Array(found.args[0].type, True)}


def _filter(condition: q.Node, ctx: Context) -> Expr:
    bound = bind(condition, ctx)
    reason = None
    if bound.type != dt.BOOLEAN:
        reason = "NOT_BOOLEAN"
    elif nests_aggregate(bound):
        reason = "CONTAINS_AGGREGATE"
    elif holds_window(bound):
        reason = "CONTAINS_WINDOW_FUNCTION"
    elif is_volatile(bound):
        reason = "NON_DETERMINISTIC"
    if reason is not None:
        text = f"The FILTER {pretty(bound)} is invalid."
        raise ctx.env.make_error(f"INVALID_AGGREGATE_FILTER.{reason}", text, condition)
    return bound


def is_volatile(expr: Expr) -> bool:
    """Whether it is not `deterministic`: it calls `rand`, say, or `input_file_name`, or a subquery in it does."""
    return any(_calls_volatile(e) or _reads_volatile(e) for e in expr.walk())


def stays_volatile(expr: Expr) -> bool:
    """Whether it is not deterministic even after `PullOutNondeterministic`, which takes calls of `rand` and its like
    out of a clause: it leaves a subquery, and `uniform`, which Spark replaces later."""
    return any(_reads_volatile(e) or (isinstance(e, Call) and e.function.name == "uniform") for e in expr.walk())


def _calls_volatile(expr: Expr) -> bool:
    """Aggregates count as deterministic in Spark, `first` too; of functions that users made it is not known."""
    function = expr.function if isinstance(expr, Call) else None
    if function is None or function.category is Category.AGGREGATE:
        return False
    return function.traits.volatile and function.traits != UNSTATED


def _reads_volatile(expr: Expr) -> bool:
    return isinstance(expr, Subquery) and any(map(_calls_volatile, expr.plan.all_expressions()))


NESTED = (
    "It is not allowed to use an aggregate function in the argument of another aggregate function. "
    "Please use the inner aggregate function in a sub-query."
)


def _refuse(found: Call, changes: dict[str, Any], node: q.Call, ctx: Context) -> None:
    function = found.function
    if function.category is not Category.AGGREGATE:
        return
    keys = changes.get("order", ())
    if node.over is None and any(nests_aggregate(key.child) for key in keys):
        raise ctx.env.make_error("NESTED_AGGREGATE_FUNCTION", NESTED, node)
    if node.over is None and any(is_volatile(e) for e in (*found.args, *(key.child for key in keys))):
        said = f"{pretty(found)}: the arguments of an aggregate function must be deterministic."
        raise ctx.env.make_error("AGGREGATE_FUNCTION_WITH_NONDETERMINISTIC_EXPRESSION", said, node)
    if "order" in function.modifiers and changes.get("distinct"):
        reason = _find_order_refusal(found, keys, ctx)
        if reason is not None:
            text = f"Invalid function `{function.name}` with WITHIN GROUP."
            ctx.env.refuse_late(f"INVALID_WITHIN_GROUP_EXPRESSION.{reason}", text, node)


def _is_unsupported(function: Signature, words: Sequence[str]) -> bool:
    if not words:
        return False
    if not _is_of_groups(function):
        return True
    if function.category is Category.WINDOW and ("FILTER" in words or "DISTINCT" in words):
        return True
    ordered = any(m.startswith("order") for m in function.modifiers)
    return ("IGNORE NULLS" in words and "nulls" not in function.modifiers) or ("WITHIN GROUP" in words and not ordered)


_APART = (dt.BOOLEAN, dt.DATE, dt.TIMESTAMP_NTZ, dt.CALENDAR_INTERVAL)


def _find_order_refusal(found: Call, keys: Sequence[Sort], ctx: Context) -> str | None:
    """Why Spark refuses a sort key beside DISTINCT; None where it does not. The key must be the listed expression, or
    that expression before Spark cast it: the cast must then give different texts for different values."""
    listed = found.args[0]
    for key in keys:
        if key.child == listed:
            continue
        if not isinstance(listed, Cast) or listed.written or key.child != listed.child or ctx.conf.before("4.2"):
            return "MISMATCH_WITH_DISTINCT_INPUT"
        source = listed.child.type
        if not (dt.is_integral(source) or isinstance(source, (dt.Decimal, dt.Time, dt.Interval)) or source in _APART):
            return "MISMATCH_WITH_DISTINCT_INPUT_UNSAFE_CAST"
    return None
