"""Recursive common table expressions. Source: `ResolveWithCTE`, `UnionLoop`."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from planproof.analysis.context import Cte, Environment
from planproof.analysis.scope import Scope
from planproof.analysis.setops import cast_to, widened
from planproof.expr import Column, fresh_id
from planproof.plan.nodes import Named, Plan, Scan


def recursive_cte(cte: exp.CTE, name: str, names: list[str], env: Environment, outer: Scope | None) -> Plan:
    """`anchor UNION ALL step`: the anchor gives names and types; any column may be null, as the step may make it so."""
    query = cte.args["this"]
    while isinstance(query, exp.Subquery) and query.args.get("alias") is None:
        query = query.args["this"]
    if not isinstance(query, exp.Union):
        raise env.rejected(
            "INVALID_RECURSIVE_CTE", "A recursive definition must be a UNION of an anchor and a recursive step.", cte
        )
    if query.args.get("distinct", True):
        raise env.rejected(
            "UNION_NOT_SUPPORTED_IN_RECURSIVE_CTE", "UNION in recursive CTE is not supported; use UNION ALL.", cte
        )
    if query.args.get("with_") is not None:
        raise env.unknown("WITH inside a recursive CTE", cte)
    anchor = env.bind_query(query.args["this"], env, outer)
    if names and len(names) != len(anchor.output):
        raise env.rejected(
            "ASSIGNMENT_ARITY_MISMATCH", f"{len(names)} names for {len(anchor.output)} columns of `{name}`.", cte
        )
    output = tuple(_loosened(c, names[i] if names else c.name, name) for i, c in enumerate(anchor.output))
    inner = env.with_ctes({name.lower(): Cte(name, Scan(name, output, recursive=True), recursive=True)})
    step = env.bind_query(query.args["expression"], inner, outer)
    types = [c.type for c in anchor.output]
    if len(step.output) == len(types):
        widened("union", anchor, step, True, env, cte)
        step = cast_to(step, types, env)
    both = widened("union", anchor, step, True, env, cte)
    return Named((name,), both, tuple(replace(c, id=fresh_id()) for c in output))


def _loosened(column: Column, name: str, relation: str) -> Column:
    return Column(fresh_id(), name, column.type, True, (relation,))
