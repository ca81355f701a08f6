"""What of an expression Spark finds no function for, or casts, before later rules: HAVING over grouping sets and names
beside generators depend on it. Source: `ResolveFunctions`, `ResolveGroupingAnalytics.tryResolveHavingCondition`."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from planproof_engine.analysis.context import Context
from planproof_engine.expr import Call, Expr, InSubquery, is_coerced
from planproof_engine.functions.names import OF_GRAMMAR, OF_PARSER
from planproof_engine.functions.replaced import is_made_anew
from planproof_engine.sql import nodes as q


def calls_function(expr: Expr, node: q.Node) -> bool:
    """Whether the expression holds a function that `node` calls by its name, and not operators alone."""
    called = list_called([node])
    return any(isinstance(e, Call) and is_called(e, called) for e in expr.walk())


def list_called(nodes: Iterable[q.Node]) -> set[str]:
    """The functions that are called by their names."""
    return {_last_part(str(c.name)) for node in nodes for c in node.find_all(q.Call) if not _is_of_grammar(c)}


def is_called(call: Call, called: Collection[str]) -> bool:
    """Whether the call is of one of these, and no operator."""
    return _last_part(call.function.name) in called or _last_part(call.shown) in called


def waits_for_rules(expr: Expr, node: q.Node, ctx: Context) -> bool:
    """Whether a condition, which `node` is and `expr` became, is not resolved with its names alone: something of it is
    cast, or a function of it is still to be found, as those of columns are."""
    called = list_called([node])
    if any(_is_changed(e, called) for e in expr.walk()):
        return True
    between = not ctx.conf.before("4.0")  # It is a function since.
    return any(
        part.holds(q.Column, q.Query)
        for part in node.find_all(q.Call, q.Between, outside=(q.Query,))
        if (not _is_of_parser(part) if isinstance(part, q.Call) else between)
    )


def _is_changed(e: Expr, called: Collection[str]) -> bool:
    """Whether a rule casts it, makes it anew, or finds a function where only a name stands (`current_date`)."""
    if isinstance(e, InSubquery):
        return any(map(is_coerced, (*e.values, *e.plan.expressions)))
    return is_coerced(e) or (isinstance(e, Call) and (is_made_anew(e) or not (e.args or is_called(e, called))))


def _last_part(name: str) -> str:
    return name[name.rfind(".") + 1 :].lower()


def _is_of_grammar(call: q.Call) -> bool:
    """Whether Spark's parser makes an expression of the call, and no name of a function that is still to be found."""
    return isinstance(call, q.SpecialCall) and call.form in OF_GRAMMAR


def _is_of_parser(call: q.Call) -> bool:
    return _is_of_grammar(call) or (call.over is None and str(call.name).lower() in OF_PARSER)
