"""The rules, in the order in which they run. One rule per file."""

from __future__ import annotations

from collections.abc import Callable

from planproof.conf import Conf
from planproof.functions.registry import Registry
from planproof.optimizer.rules.hoist_invariants import hoist_invariants
from planproof.plan.nodes import Plan

Rule = Callable[[Plan, Conf, Registry], Plan]

RULES: tuple[Rule, ...] = (hoist_invariants,)

__all__ = ["RULES", "Rule"]
