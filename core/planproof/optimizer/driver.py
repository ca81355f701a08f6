"""Runs the rules to a fixed point and holds each of them to I6: a rule never changes the schema."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planproof.conf import Conf
from planproof.expr import Call
from planproof.functions.registry import Registry
from planproof.optimizer import laws
from planproof.optimizer.rules import OVER, RULES, Rule
from planproof.plan.nodes import Plan
from planproof.schema import LogicalSchema

_PASSES = 50


class RewriteCycle(RuntimeError):
    """Rules that undo each other: a defect of the rules, never of the query."""


@dataclass(frozen=True, slots=True)
class Fired:
    """One application of a rule that changed the plan."""

    rule: str
    before: Plan
    after: Plan


@dataclass(frozen=True, slots=True)
class Refused:
    """A rule whose result had another schema: the rule is named, and its result thrown away."""

    rule: str
    promised: LogicalSchema
    found: LogicalSchema


@dataclass(frozen=True, slots=True)
class Optimized:
    plan: Plan
    fired: tuple[Fired, ...]
    refused: tuple[Refused, ...]


def same_schema(before: Plan, after: Plan) -> bool:
    """I6: ordered and exact for projected plans, as multisets for others; types, flags and relations included."""
    if before.projected or after.projected:
        return before.schema == after.schema
    return before.schema.same_fields(after.schema)


def _called(plan: Plan) -> frozenset[str]:
    """The names of the functions that the plan calls."""
    return frozenset(e.function.name for e in plan.all_expressions() if isinstance(e, Call))


def run(plan: Plan, conf: Conf, registry: Registry, rules: Sequence[Rule] = RULES) -> Optimized:
    """Applies the rules in order until none changes the plan. Raises `RewriteCycle` where that never happens.

    A plan that computes with collated strings stays as it is.
    """
    if not laws.plain_strings(plan):
        return Optimized(plan, (), ())
    fired: list[Fired] = []
    refused: dict[str, Refused] = {}
    seen = [plan]
    called = _called(plan)
    for _ in range(_PASSES):
        start = plan
        for rule in rules:
            name = rule.__name__
            if name in refused or (rule in OVER and called.isdisjoint(OVER[rule])):
                continue
            after = rule(plan, conf, registry)
            if after is plan:
                continue
            if not same_schema(plan, after):
                refused[name] = Refused(name, plan.schema, after.schema)
                continue
            fired.append(Fired(name, plan, after))
            plan = after
            called = _called(plan)
        if plan is start:
            return Optimized(plan, tuple(fired), tuple(refused.values()))
        if plan in seen:
            break
        seen.append(plan)
    raise RewriteCycle(f"the rules {', '.join(dict.fromkeys(f.rule for f in fired))} do not come to an end")
