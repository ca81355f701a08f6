"""What is refused of functions that tell the file of a row. Source: `PreReadCheck`."""

from __future__ import annotations

from planproof_engine.analysis.expressions import Environment
from planproof_engine.expr import Call
from planproof_engine.ground import Unknown
from planproof_engine.logical.nodes import Join, Plan, Scan, SetOperation
from planproof_engine.sql import nodes as q

_MANY = 2


def refuse_many_sources(plan: Plan, node: q.Node, env: Environment) -> None:
    """Refuses `input_file_name()` and its like over several tables of files at once. Raises `Unknown` where it is not
    known whether the relations are such tables."""
    if "input_file_" not in env.text.lower():
        return
    for operator in plan.walk_everywhere():
        for call in (e for root in operator.expressions for e in root.walk() if isinstance(e, Call)):
            if not call.function.name.startswith("input_file_"):
                continue
            least, most = count_sources(operator, env)
            if least >= _MANY:
                text = f"The expression `{call.function.name}` does not support more than one source."
                raise env.make_error_at("MULTI_SOURCES_UNSUPPORTED_FOR_EXPRESSION", text, call.span, node)
            if most >= _MANY:
                raise Unknown(f"the function {call.function.name} over several relations")


def count_sources(plan: Plan, env: Environment) -> tuple[int, int]:
    """How many tables of files an operator reads, at least and at most."""
    if isinstance(plan, Scan):
        if plan.relation in env.views:
            sources: tuple[int, int] = env.views[plan.relation].sources
            return sources
        stored = env.tables.get(plan.relation)
        least = int(stored is not None and stored.is_of_files)
        return least, least if stored is not None else 1
    # Spark keeps a lateral join's right side as a subquery's plan, which it does not look into (`LateralJoin`).
    read = plan.children[:1] if isinstance(plan, Join) and plan.lateral else plan.children
    below = [count_sources(child, env) for child in read]
    if isinstance(plan, SetOperation) and plan.kind == "union":
        return max((n for n, _ in below), default=0), max((n for _, n in below), default=0)
    return sum(n for n, _ in below), sum(n for _, n in below)
