"""The filters that a later run of an incremental model adds to the plan of its first run."""

from __future__ import annotations

from collections.abc import Iterator

from planproof_engine.expr.nodes import Column, Expr, Literal, ScalarSubquery, Subquery, conjuncts
from planproof_engine.expr.pretty import pretty
from planproof_engine.expr.rewrite import transform_up
from planproof_engine.logical.nodes import (
    CROSS,
    INNER,
    LEFT,
    LEFT_ANTI,
    Aggregate,
    Filter,
    Join,
    Named,
    Plan,
    Project,
    Scan,
)
from planproof_engine.logical.text import show
from planproof_engine.records import record


class Differs(Exception):
    """Raised where two plans differ in more than filters."""


@record(frozen=True, slots=True)
class Delta:
    """One condition that the later run adds, and the nodes over it, from the root down."""

    condition: Expr
    over: tuple[Plan, ...]


def added_filters(first: Plan, later: Plan, own: str) -> list[Delta]:
    """The conditions that the later plan adds. A value of the own table that is joined (`CROSS JOIN (SELECT max(..))`)
    stands in them as the subquery that it could be. Raises `Differs`."""
    bounds = {
        c.id: _make_value(c, side) for join in later.walk() if (side := _find_bound(join, own)) for c in side.output
    }

    def in_place(expr: Expr) -> Expr:
        return bounds.get(expr.id, expr) if isinstance(expr, Column) else expr

    found = _find_added(first, later, (), own)
    return [Delta(transform_up(d.condition, in_place), d.over) if bounds else d for d in found]


def _find_added(first: Plan, later: Plan, over: tuple[Plan, ...], own: str) -> Iterator[Delta]:
    if isinstance(later, Filter):
        known = {_shape(c) for c in conjuncts(first.condition)} if isinstance(first, Filter) else set()
        extra = [c for c in conjuncts(later.condition) if _shape(c) not in known]
        if known - {_shape(c) for c in conjuncts(later.condition)}:
            raise Differs("the later text lacks a filter of the first one")
        below = first.child if isinstance(first, Filter) else first
        yield from (Delta(condition, over) for condition in extra)
        yield from _find_added(below, later.child, over, own)
    elif isinstance(later, Join) and not reads(first, own) and (side := _find_bound(later, own)) is not None:
        yield from (Delta(condition, over) for condition in conjuncts(later.condition))
        yield from _find_added(first, later.left if side is later.right else later.right, over, own)
    elif isinstance(later, Join) and not reads(first, own) and _joins_itself(later, own):
        yield Delta(Literal(True, later.output[0].type, "true"), (*over, later))
        yield from _find_added(first, later.left, over, own)
    elif type(first) is not type(later) or _own_values(first) != _own_values(later):
        raise Differs("its two texts differ in more than filters")
    else:
        for ours, theirs in zip(first.children, later.children):
            yield from _find_added(ours, theirs, (*over, later), own)


def reads(plan: Plan, relation: str) -> bool:
    """Whether a plan reads a relation."""
    return any(isinstance(n, Scan) and n.relation == relation for n in plan.walk())


def _joins_itself(join: Join, own: str) -> bool:
    return join.kind in (LEFT, LEFT_ANTI) and reads(join.right, own)


def _find_bound(join: Plan, own: str) -> Plan | None:
    """The side of a join that is one row of aggregates over the own table."""
    if not isinstance(join, Join) or join.kind not in (INNER, CROSS):
        return None
    return next((side for side in (join.right, join.left) if _is_one_row(side) and reads(side, own)), None)


def _is_one_row(plan: Plan) -> bool:
    while isinstance(plan, (Named, Project)):
        plan = plan.child
    return isinstance(plan, Aggregate) and not plan.groups and plan.grouping_sets is None


def _make_value(column: Column, side: Plan) -> ScalarSubquery:
    return ScalarSubquery(Project((column,), side), column.type)


def _own_values(node: Plan) -> tuple[object, ...]:
    """What a node says by itself, without its children."""
    said: list[object] = [_shape(e) for e in node.expressions]
    said += [getattr(node, name, None) for name in ("relation", "kind", "all", "what", "natural", "name")]
    return (*said, len(node.children))


def _shape(expr: Expr) -> str:
    inner = [show(e.plan) for e in expr.walk() if isinstance(e, Subquery)]
    return "\n".join([pretty(expr), *inner])
