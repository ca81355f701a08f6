"""The filters that a later run of an incremental model adds to the plan of its first run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from planproof_engine.expr.nodes import Expr, Literal, Subquery, conjuncts
from planproof_engine.expr.pretty import pretty
from planproof_engine.logical.nodes import LEFT, LEFT_ANTI, Filter, Join, Plan, Scan
from planproof_engine.logical.text import show


class Differs(Exception):
    """Raised where two plans differ in more than filters."""


@dataclass(frozen=True, slots=True)
class Delta:
    """One condition that the later run adds, and the nodes over it, from the root down."""

    condition: Expr
    over: tuple[Plan, ...]


def added_filters(first: Plan, later: Plan, over: tuple[Plan, ...], own: str) -> Iterator[Delta]:
    """The conditions that the later plan adds. Raises `Differs`."""
    if isinstance(later, Filter):
        known = {_shape(c) for c in conjuncts(first.condition)} if isinstance(first, Filter) else set()
        extra = [c for c in conjuncts(later.condition) if _shape(c) not in known]
        if known - {_shape(c) for c in conjuncts(later.condition)}:
            raise Differs("the later text lacks a filter of the first one")
        below = first.child if isinstance(first, Filter) else first
        yield from (Delta(condition, over) for condition in extra)
        yield from added_filters(below, later.child, over, own)
    elif isinstance(later, Join) and _joins_itself(later, own) and not isinstance(first, Join):
        yield Delta(Literal(True, later.output[0].type, "true"), (*over, later))
        yield from added_filters(first, later.left, over, own)
    elif type(first) is not type(later) or _own(first) != _own(later):
        raise Differs("its two texts differ in more than filters")
    else:
        for ours, theirs in zip(first.children, later.children):
            yield from added_filters(ours, theirs, (*over, later), own)


def _joins_itself(join: Join, own: str) -> bool:
    return join.kind in (LEFT, LEFT_ANTI) and any(isinstance(n, Scan) and n.relation == own for n in join.right.walk())


def _own(node: Plan) -> tuple[object, ...]:
    """What a node says by itself, without its children."""
    said: list[object] = [_shape(e) for e in node.expressions]
    said += [getattr(node, name, None) for name in ("relation", "kind", "all", "what", "natural", "name")]
    return (*said, len(node.children))


def _shape(expr: Expr) -> str:
    inner = [show(e.plan) for e in expr.walk() if isinstance(e, Subquery)]
    return "\n".join([pretty(expr), *inner])
