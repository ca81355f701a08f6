"""What a disagreement with Spark is reported by: one case of `planproof derive`, and what made the field."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from planproof.expr.nodes import Alias, Call, Expr
from planproof.plan.nodes import Plan, Scan

if TYPE_CHECKING:
    from planproof.api import LogicalPlan
    from planproof.schema import PhysicalSchema


def reproducer(plan: LogicalPlan, analyzed: PhysicalSchema) -> str:
    """The case as one line of JSON: the query, what it reads, the settings, and both schemas. It holds no row."""
    relations = {
        node.relation: [[c.name, c.type.simple, c.nullable] for c in node.output]
        for node in plan.root.everywhere()
        if isinstance(node, Scan) and not node.recursive
    }
    case = {
        "id": "PP201",
        "query": plan.text,
        "relations": relations,
        "ansi": plan.conf.ansi,
        "spark": plan.conf.spark,
        "time_zone": plan.conf.time_zone,
        "derived": [str(f) for f in plan.physical_schema],
        "analyzed": [str(f) for f in analyzed],
    }
    return json.dumps(case)


def maker(plan: LogicalPlan, column: str | None) -> str | None:
    """What computes an output column: `the function coalesce`, else `the node Join`; None for no column."""
    at = next((c for c in plan.root.output if c.name == column), None)
    if at is None:
        return None
    for node in plan.root.walk():
        for expr in node.expressions:
            if isinstance(expr, Alias) and expr.id == at.id:
                return _outermost(expr.child) or f"the node {type(node).__name__}"
    return f"the node {_below(plan.root, at.id)}"


def _outermost(expr: Expr) -> str | None:
    return f"the function {expr.shown}" if isinstance(expr, Call) else None


def _below(root: Plan, column: int) -> str:
    """The innermost node that gives out the column."""
    holding = [node for node in root.walk() if any(c.id == column for c in node.output)]
    return type(holding[-1] if holding else root).__name__
