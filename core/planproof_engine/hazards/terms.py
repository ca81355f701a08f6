"""What the conditions of an incremental model's filter say."""

from __future__ import annotations

from collections.abc import Iterator

from planproof_engine import types as dt
from planproof_engine.expr.function import Category
from planproof_engine.expr.nodes import Alias, Call, Cast, Column, Expr, Subquery
from planproof_engine.logical.nodes import Plan, Scan


def alternatives(condition: Expr) -> Iterator[Expr]:
    """The conditions that OR joins: `a OR b OR c` gives three."""
    if isinstance(condition, Call) and condition.function.name == "or":
        for side in condition.args:
            yield from alternatives(side)
    else:
        yield condition


def flip_operator(operator: str) -> str:
    """The operator with its sides exchanged: `<` of `>`."""
    return operator.translate(str.maketrans("<>", "><"))


def list_scanned(plan: Plan) -> set[int]:
    """The ids of the columns that a plan reads."""
    return {c.id for node in plan.walk() if isinstance(node, Scan) for c in node.output}


def is_of_rows(expr: Expr) -> bool:
    """Whether an expression has a value of its own in each row."""
    if isinstance(expr, Subquery):
        return False
    return isinstance(expr, Column) or any(map(is_of_rows, expr.children))


def row_sides(condition: Expr) -> list[Expr]:
    """What a condition looks at of a row."""
    return [child for child in condition.children if is_of_rows(child)] or [condition]


def drop_casts(expr: Expr) -> Expr:
    """The expression below the casts that Spark adds."""
    while isinstance(expr, (Cast, Alias)) and not (isinstance(expr, Cast) and expr.written):
        expr = expr.child
    return expr


def is_greatest(expr: Expr) -> bool:
    """Whether it is `max` or `min` of rows."""
    return (
        isinstance(expr, Call)
        and expr.function.name in ("max", "min")
        and (expr.function.category is Category.AGGREGATE)
    )


def is_now(expr: Expr) -> bool:
    """Whether it is the time of the run."""
    return isinstance(expr, Call) and not expr.args and expr.type in (dt.DATE, dt.TIMESTAMP, dt.TIMESTAMP_NTZ)


def is_kept(expr: Expr, inner: Expr) -> bool:
    """Whether an expression is the inner one, but for NULL and its type."""
    if expr is inner:
        return True
    if isinstance(expr, (Cast, Alias)):
        return is_kept(expr.child, inner)
    handed = expr.function.traits.hands_on(len(expr.args)) if isinstance(expr, Call) else ()
    return isinstance(expr, Call) and any(is_kept(expr.args[place], inner) for place in handed)


def is_strict(expr: Expr, inner: Expr) -> bool:
    """Whether an expression is NULL where the inner one is."""
    if expr is inner:
        return True
    if isinstance(expr, (Cast, Alias)):
        return is_strict(expr.child, inner)
    return isinstance(expr, Call) and expr.function.null_intolerant and any(is_strict(a, inner) for a in expr.args)


def is_cut(expr: Expr) -> bool:
    """Whether many values of a time come to one here: a day, an hour that was cut off."""
    found = inner_expressions(expr)
    return any(e.type == dt.DATE or (isinstance(e, Call) and e.function.name in ("date_trunc", "trunc")) for e in found)


def inner_expressions(expr: Expr) -> Iterator[Expr]:
    """An expression's own parts, and those of its subqueries."""
    for part in expr.walk():
        yield part
        if isinstance(part, Subquery):
            yield from (e for node in part.plan.walk() for top in node.expressions for e in top.walk())
