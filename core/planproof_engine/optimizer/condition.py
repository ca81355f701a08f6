"""What a rule needs to keep the result: each condition names the function of the rule's module that decides it."""

from __future__ import annotations

from planproof_engine.expr import Expr
from planproof_engine.records import record


@record(frozen=True, slots=True)
class Condition:
    """One line of a rule's "Only when".

    `says` is a part of that line, `test` the name under which the rule's module (or `module`) has the function that
    decides it, `dropped` what this would answer if the condition did not exist. The conformance tests drop each in
    turn, and demand a difference.
    """

    says: str
    test: str
    dropped: bool | list[Expr]
    module: str | None = None


CANNOT_RAISE = Condition("cannot raise", "may_raise", False)
DETERMINISTIC = Condition("is deterministic", "is_deterministic", True)
INDEPENDENT = Condition("does not use the element", "is_independent", True)
FLAGS_KEPT = Condition("no flag changes", "fits", True)
"""Conditions that rules ask of `laws` and of `retype`, by functions that they import under their own names."""

NAMES_KEPT = Condition("no struct names a field after it", "keeps_names", True, "planproof_engine.optimizer.retype")
"""The condition of all rules that put a variable in the place of another expression."""

PLAIN_STRINGS = Condition("no string has a collation", "has_plain_strings", True, "planproof_engine.optimizer.laws")
"""The condition that the driver tests for all rules."""

VARIABLES_KEPT = Condition("nor one of a lambda inside", "keeps_variables", True, "planproof_engine.optimizer.retype")
"""The condition of rules that loosen a flag within a body."""
