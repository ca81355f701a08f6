"""Runs the rules to a fixed point and holds each of them to I6: a rule never changes the schema."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from planproof_engine.expr import Call, Expr, Lambda
from planproof_engine.functions.registry import Registry
from planproof_engine.ground import Conf, record
from planproof_engine.logical.duplicates import list_repeated_names
from planproof_engine.logical.nodes import Plan
from planproof_engine.optimizer import laws
from planproof_engine.optimizer.rules import AT_ONCE, LAMBDA, OVER, RULES, Calls, Rule
from planproof_engine.schema import LogicalSchema

_PASSES = 50
"""How often a rule may change one plan, and all of them together, besides once for each of its expressions."""


class RewriteCycle(RuntimeError):
    """Raised where rules undo each other without end: a defect of the rules, never of the query."""


@record(frozen=True, slots=True)
class Fired:
    """One application of a rule that changed the plan."""

    rule: str
    before: Plan
    after: Plan


@record(frozen=True, slots=True)
class RefusedRule:
    """A rule whose result had another schema (I6), or repeated a (relation, name) that no node repeated before (I1):
    the rule is named, and its result thrown away."""

    rule: str
    promised: LogicalSchema
    found: LogicalSchema
    repeated: tuple[str, ...] = ()


@record(frozen=True, slots=True)
class Optimized:
    """The plan after all rules, which of them fired, and which were refused for breaking I6."""

    plan: Plan
    fired: tuple[Fired, ...]
    refused: tuple[RefusedRule, ...]


FORMS = ("ordered", "set")
"""I6's two forms: the same vector of fields, or the same multiset."""


def has_same_schema(before: Plan, after: Plan, form: str | None = None) -> bool:
    """I6, types, flags and relations included. Unless a `form` is named, a projected plan is compared in order."""
    ordered = before.projected or after.projected if form is None else form == "ordered"
    return before.schema == after.schema if ordered else before.schema.same_fields(after.schema)


def _collect_calls(expressions: Iterable[Expr]) -> Calls:
    found: set[str | tuple[str, str]] = set()
    for expr in expressions:
        if not isinstance(expr, Call):
            continue
        name = expr.function.name
        found.add(name)
        for arg in expr.args:
            inner = arg
            if isinstance(arg, Lambda):
                found.add(LAMBDA)
                inner = arg.body
            if isinstance(inner, Call):
                found.add((name, inner.function.name))
    return frozenset(found)


@dataclass(slots=True)
class _Run:
    """One plan's way through the rules. `settled` holds, for each rule, the last plan in which it found nothing to
    do."""

    conf: Conf
    registry: Registry
    plan: Plan
    called: Calls
    passes: int
    form: str | None = None
    fired: list[Fired] = field(default_factory=list)
    refused: dict[str, RefusedRule] = field(default_factory=dict)
    settled: dict[str, Plan] = field(default_factory=dict)

    def apply(self, rule: Rule) -> None:
        """Applies one rule until it changes nothing more. No other rule runs between its steps."""
        for _ in range(self.passes):
            if not self._step(rule):
                return
        raise self.make_cycle_error()

    def _step(self, rule: Rule) -> bool:
        name = rule.__name__
        before = self.plan
        if name in self.refused or self.settled.get(name) is before:
            return False
        if rule in OVER and self.called.isdisjoint(OVER[rule]):
            return False
        after = rule(before, self.conf, self.registry)
        if after is before:
            self.settled[name] = before
            return False
        if not has_same_schema(before, after, self.form):
            self.refused[name] = RefusedRule(name, before.schema, after.schema)
            return False
        new = list_repeated_names(after, self.conf.case_sensitive) - list_repeated_names(
            before, self.conf.case_sensitive
        )
        if new:
            said = sorted(".".join(part for part in key if part) for key in new)
            self.refused[name] = RefusedRule(name, before.schema, after.schema, tuple(said))
            return False
        self.fired.append(Fired(name, before, after))
        self.plan, self.called = after, _collect_calls(after.all_expressions())
        if rule in AT_ONCE:
            self.settled[name] = after
        return True

    def make_cycle_error(self) -> RewriteCycle:
        return RewriteCycle(f"the rules {', '.join(dict.fromkeys(f.rule for f in self.fired))} do not come to an end")


def run(
    plan: Plan, conf: Conf, registry: Registry, rules: Sequence[Rule] = RULES, form: str | None = None
) -> Optimized:
    """Applies the rules in order until none changes the plan, each held to I6 in its `form` (`has_same_schema`). Raises
    `RewriteCycle` where that never happens.

    A plan that computes with collated strings stays as it is.
    """
    expressions = [*plan.all_expressions()]
    if not laws.has_plain_strings(expressions):
        return Optimized(plan, (), ())
    made = _Run(conf, registry, plan, _collect_calls(expressions), _PASSES + len(expressions), form)
    seen = [plan]
    for _ in range(made.passes):
        start = made.plan
        for rule in rules:
            made.apply(rule)
        if made.plan is start:
            return Optimized(made.plan, tuple(made.fired), tuple(made.refused.values()))
        if made.plan in seen:
            break
        seen.append(made.plan)
    raise made.make_cycle_error()
