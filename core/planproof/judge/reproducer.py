"""Plane 3, the optimizer's rewriting of the logical plan, and whether its text may run. Where planproof and Spark
disagree, the report keeps one case of `planproof derive`, and what computes the field.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from planproof.judge.draft import Draft
from planproof_engine import Claim, Finding, Rewrite, Unknown, Verdict, evolve
from planproof_engine.conf import SETTINGS, Conf
from planproof_engine.plans import Alias, Call, Expr, Plan, Scan
from planproof_engine.types import DataType, parse_type

if TYPE_CHECKING:
    from planproof_engine import LogicalPlan, PhysicalSchema, Rewriting


def rewrite(draft: Draft, plan: LogicalPlan, refusal: Callable[[str], str | None] | None) -> str:
    """The text to run: the plan's own, or the rewritten one where the settings say so and `refusal` finds no reason
    against the new text. Without a `refusal` nothing runs, and no rewriting is applied."""
    sql = plan.text
    if draft.settings.rewrite == "off":
        draft.mark_absent("rewritten", "rewrite: off")
        draft.mark_not_enforced("I6", "rewrite: off")
        return sql
    found = _optimize(draft, plan)
    if found is None:
        return sql
    draft.add(found.findings)
    fired = f"{len(found.rules)} of them changed the plan" if found.rules else "none changed the plan"
    draft.mark_enforced("I6", f"after every rule of the optimizer; {fired}")
    if found.sql == sql:
        unchanged = "no rule fired: the compiled text runs byte for byte"
        draft.read(Claim("rewritten", plan.physical_schema, what=unchanged))
        return sql
    reason = refusal(found.sql) if refusal is not None else None
    if reason is not None:
        draft.mark_absent("rewritten", reason)
        draft.add([Finding(Verdict.WARNING, "PP202", "rewritten", found=", ".join(found.rules), message=reason)])
        draft.rewrites = _mark_applied(found.rewrites, False)
        return sql
    draft.read(Claim("rewritten", found.plan.physical_schema))
    applied = draft.settings.rewrite == "on" and refusal is not None
    draft.rewrites = _mark_applied(found.rewrites, applied)
    if draft.settings.rewrite == "suggest":
        draft.add(_suggestion(r, refusal is not None) for r in found.rewrites)
    return found.sql if applied else sql


def _optimize(draft: Draft, plan: LogicalPlan) -> Rewriting | None:
    """The rewriting; None where the optimizer gives none. A failure of the optimizer is a warning, as the compiled text
    can run."""
    try:
        from planproof_engine import optimize

        return optimize(plan)
    except (ImportError, Unknown) as reason:
        said = str(reason)
    except Exception as error:
        said = draft.add_own_error("rewritten", error)
    draft.mark_unreadable("rewritten", said)
    draft.mark_not_enforced("I6", said)
    return None


def _mark_applied(rewrites: tuple[Rewrite, ...], applied: bool) -> tuple[Rewrite, ...]:
    return tuple(evolve(r, applied=applied) for r in rewrites)


def _suggestion(rewrite: Rewrite, is_analyzed: bool) -> Finding:
    return Finding(
        Verdict.PROVED,
        "PP210",
        "rewritten",
        promised=rewrite.before,
        found=rewrite.after,
        message=f"{rewrite.rule} would rewrite this to the same result",
        origin=rewrite.origin,
        evidence="I6 and Spark's analyzed schema of the rewritten text" if is_analyzed else "I6",
    )


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
