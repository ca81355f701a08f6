"""A join key that Spark casts, and that loses something on the way.

`a.code = b.id` with a string and a number compares numbers: '007' meets 7, and '7' too. The same holds for two columns
that a WHERE compares, be it over a comma join or in a correlated subquery.
"""

from __future__ import annotations

from collections.abc import Iterator

from planproof_engine import types as dt
from planproof_engine.conf import Conf
from planproof_engine.expr.nodes import Call, Cast, Column, Expr, InSubquery, Literal, Outer, conjuncts
from planproof_engine.expr.pretty import pretty
from planproof_engine.hazards.definitions import Definitions
from planproof_engine.hazards.loss import loss
from planproof_engine.hazards.suspicion import Suspicion, make_warning
from planproof_engine.hazards.terms import drop_casts
from planproof_engine.logical.nodes import Filter, Join
from planproof_engine.types.coercion import find_wider


def join_casts(definitions: Definitions, conf: Conf) -> Iterator[Suspicion]:
    """PP124: a join compares columns of different types, and Spark casts one of them."""
    for node in definitions.nodes:
        if isinstance(node, (Join, Filter)) and node.condition is not None:
            for call in equalities(node.condition):
                if isinstance(node, Filter) and not all(_varies(side, definitions) for side in call.args):
                    continue
                for side in call.args:
                    if isinstance(side, Cast) and not side.written:
                        yield from _judge(side.child, side.type, call.span)
    for _, expr in definitions.operations:
        if isinstance(expr, InSubquery):
            for value, column in zip(expr.values, expr.plan.output):
                common = find_wider(value.type, column.type, conf)
                if common is not None:
                    yield from _judge(value, common, None)
                    yield from _judge(column, common, None)


def equalities(condition: Expr) -> Iterator[Call]:
    """The equalities that must all hold for a condition to."""
    for one in conjuncts(condition):
        if isinstance(one, Call) and one.function.name in ("=", "<=>"):
            yield one


def _varies(expr: Expr, definitions: Definitions) -> bool:
    """Whether a side is a column: what is compared with a constant is no key."""
    expr = drop_casts(expr)
    return isinstance(expr, Outer) or isinstance(definitions.of(expr), Column)


def _judge(key: Expr, used: dt.DataType, span: tuple[int, int] | None) -> Iterator[Suspicion]:
    lost = None if isinstance(key, Literal) else loss(key.type, used)
    if lost is not None:
        name, given = pretty(key.column if isinstance(key, Outer) else key), key.type.simple
        message = f"the join key {name} is {given} and is compared as {used.simple}: {lost}"
        yield Suspicion(make_warning("PP124", name, given, used.simple, message), span)
