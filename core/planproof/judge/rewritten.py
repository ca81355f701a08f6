"""Plane 3: the optimizer's rewriting of the logical plan, and whether its text may run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from planproof.judge.draft import Draft
from planproof_engine.claim import Claim
from planproof_engine.finding import Finding, Rewrite, Verdict
from planproof_engine.origin import Unknown

if TYPE_CHECKING:
    from planproof_engine import LogicalPlan, Rewriting


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
    return tuple(replace(r, applied=applied) for r in rewrites)


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
