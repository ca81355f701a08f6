"""What a report keeps of a disagreement with Spark: one case of `planproof derive`, and what computes the field."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from planproof_engine.conf import SETTINGS, Conf
from planproof_engine.plans import Alias, Call, Expr, Plan, Scan
from planproof_engine.types import DataType, parse_type

if TYPE_CHECKING:
    from planproof_engine import LogicalPlan
    from planproof_engine.schema import PhysicalSchema

_TIME_ZONE = "spark.sql.session.timeZone"


def reproducer(plan: LogicalPlan, analyzed: PhysicalSchema) -> str:
    """The case as one line of JSON, for `planproof derive`: the query, what it reads, and the settings.

    `derived` and `analyzed` are for people. It holds no row.
    """
    relations = {
        node.relation: [[c.name, _convert_type(c.type), c.nullable] for c in node.output]
        for node in plan.root.walk_everywhere()
        if isinstance(node, Scan) and not node.recursive
    }
    case = {
        "id": "PP201",
        "setup": _list_settings(plan.conf),
        "query": plan.text,
        "relations": relations,
        "ansi": plan.conf.ansi,
        "spark": plan.conf.spark,
        "derived": [str(f) for f in plan.physical_schema],
        "analyzed": [str(f) for f in analyzed],
    }
    return json.dumps(case)


def _convert_type(t: DataType) -> Any:
    """A type as `planproof derive` reads it back: Spark's JSON form where the text would lose a nested flag."""
    return t.simple if parse_type(t.simple) == t else t.json


def _list_settings(conf: Conf) -> list[str]:
    """The SET statements for what differs from the defaults of that Spark; ANSI mode has a key of its own. The time
    zone always stands: its default is that of the machine, and the case is read on another one."""
    usual = Conf.of(conf.spark)
    values = {key: getattr(conf, name) for key, name in SETTINGS.items() if name != "ansi"}
    differing = {
        key: value for key, value in values.items() if value != getattr(usual, SETTINGS[key]) or key == _TIME_ZONE
    }
    return [f"SET {key}={str(v).lower() if isinstance(v, bool) else v}" for key, v in differing.items()]


def maker(plan: LogicalPlan, column: str | None) -> str | None:
    """What computes an output column: `the function coalesce`, or `the node Join`. None where there is no such
    column."""
    at = next((c for c in plan.root.output if c.name == column), None)
    if at is None:
        return None
    for node in plan.root.walk():
        for expr in node.expressions:
            if isinstance(expr, Alias) and expr.id == at.id:
                return _describe_call(expr.child) or f"the node {type(node).__name__}"
    return f"the node {_find_node(plan.root, at.id)}"


def _describe_call(expr: Expr) -> str | None:
    return f"the function {expr.shown}" if isinstance(expr, Call) else None


def _find_node(root: Plan, column: int) -> str:
    holding = [node for node in root.walk() if any(c.id == column for c in node.output)]
    return type(holding[-1] if holding else root).__name__
