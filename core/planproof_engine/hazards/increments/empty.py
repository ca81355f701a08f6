"""What a later run's bound is where the model's own table has no rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planproof_engine.expr import nodes as x
from planproof_engine.hazards import filters
from planproof_engine.hazards.definitions import Definitions
from planproof_engine.hazards.increments import units
from planproof_engine.logical import nodes as p


def is_null_over_nothing(bound: x.Expr, own: str) -> bool:
    """Whether a bound that reads the own table is NULL where that is empty."""
    queries = [e for e in bound.walk() if isinstance(e, x.ScalarSubquery) and filters.reads(e.plan, own)]
    return is_null_of(bound, [query for query in queries if _gives_null(query.plan, own)])


def _gives_null(plan: p.Plan, own: str) -> bool:
    """Whether a query gives NULL, or no row, where the own table is empty."""
    nodes = list(plan.walk())
    sides = [side for n in nodes if isinstance(n, p.SetOperation) for side in n.inputs]
    if not all(filters.reads(side, own) for side in sides):
        return False  # Another side may have rows.
    if _has_no_row(plan):
        return True
    made = filters.expand(plan.output[0], Definitions(plan))
    return is_null_of(made, [e for e in made.walk() if isinstance(e, x.Call) and e.function.traits.null_over_nothing])


def _has_no_row(plan: p.Plan) -> bool:
    while isinstance(plan, (p.Named, p.Project, p.Ordered, p.Limit, p.Filter, p.Distinct)):
        plan = plan.children[0]
    is_grouped = isinstance(plan, p.Aggregate) and bool(plan.groups) and plan.grouping_sets is None
    return is_grouped or isinstance(plan, p.Scan)


def is_null_of(expr: x.Expr, nulls: Sequence[x.Expr]) -> bool:
    """Whether an expression is NULL where all of `nulls` are; not where nobody can tell."""
    if any(expr is one for one in nulls) or (isinstance(expr, x.Literal) and expr.value is None):
        return bool(nulls)
    if isinstance(expr, (x.Cast, x.Alias)):
        return is_null_of(expr.child, nulls)
    if not isinstance(expr, x.Call):
        return False
    if (cut := units.find_cut(expr)) is not None:
        return is_null_of(cut[1], nulls)
    handed = expr.function.traits.hands_on(len(expr.args))
    if handed and len(handed) < len(expr.args):
        return all(is_null_of(value, nulls) for value in _list_chosen(expr, nulls))
    if handed and not expr.function.null_intolerant:
        return all(is_null_of(arg, nulls) for arg in expr.args)
    return expr.function.null_intolerant and any(is_null_of(arg, nulls) for arg in expr.args)


def _list_chosen(choice: x.Call, nulls: Sequence[x.Expr]) -> Iterator[x.Expr]:
    """The values that IF or CASE may give."""
    args = choice.args
    for condition, value in zip(args[::2], args[1::2]):
        held = _find_held(condition, nulls)
        if held is not False:
            yield value
        if held:
            return
    if len(args) % 2:
        yield args[-1]


def _find_held(condition: x.Expr, nulls: Sequence[x.Expr]) -> bool | None:
    """Whether a condition holds; None where nobody can tell."""
    name = condition.function.name if isinstance(condition, x.Call) else ""
    if name in ("isnull", "isnotnull") and is_null_of(condition.children[0], nulls):
        return name == "isnull"
    return False if is_null_of(condition, nulls) else None
