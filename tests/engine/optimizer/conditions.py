"""What each rewriting rule needs to keep the result, by the function that decides it: the lines of its "Only when"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planproof_engine.expr import Expr


@dataclass(frozen=True)
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

CONDITIONS: Mapping[str, Sequence[Condition]] = {
    "count_to_exists": (
        CANNOT_RAISE,
        DETERMINISTIC,
        Condition("a null of the test keeps nothing", "_may_be_null", False),
        FLAGS_KEPT,
    ),
    "entries_to_sides": (
        Condition("uses one side alone", "_uses_one_side", True),
        FLAGS_KEPT,
        VARIABLES_KEPT,
        NAMES_KEPT,
    ),
    "exists_to_contains": (
        Condition("is never null", "_is_never_null", True),
        CANNOT_RAISE,
        DETERMINISTIC,
        INDEPENDENT,
    ),
    "exists_to_overlap": (
        Condition("may be null", "_may_be_null", False),
        CANNOT_RAISE,
        DETERMINISTIC,
        INDEPENDENT,
    ),
    "filter_to_slice": (
        Condition("is not negative", "_is_not_negative", True),
        Condition("is below the greatest int", "_fits_an_int", True),
        CANNOT_RAISE,
        Condition("is deterministic", "_is_deterministic", True),
        Condition("uses none of the variables", "_is_independent", True),
    ),
    "fuse_exists": (
        CANNOT_RAISE,
        DETERMINISTIC,
        NAMES_KEPT,
    ),
    "hoist_invariants": (
        Condition("uses none of the variables", "_is_reached", False),
        CANNOT_RAISE,
        Condition("evaluates first of all", "nulls_before", []),
        Condition("holds nothing that raises below", "may_raise_below", False),
        Condition("stands in no branch behind", "_is_in_branch", False, "planproof_engine.optimizer.laws"),
        Condition("stands nowhere else", "_is_there_alone", True),
        DETERMINISTIC,
        NAMES_KEPT,
        PLAIN_STRINGS,
        FLAGS_KEPT,
    ),
    "prune_fields": (
        Condition("through its fields alone", "_uses_fields_alone", True),
        FLAGS_KEPT,
        VARIABLES_KEPT,
        Condition("the names of the fields differ", "_differ", True),
        NAMES_KEPT,
        PLAIN_STRINGS,
    ),
    "share_loops": (
        CANNOT_RAISE,
        DETERMINISTIC,
        FLAGS_KEPT,
        NAMES_KEPT,
        PLAIN_STRINGS,
    ),
    "spell_out": (
        CANNOT_RAISE,
        Condition("evaluates first of all", "_is_evaluated_first", True),
        FLAGS_KEPT,
    ),
    "transform_fewer": (
        CANNOT_RAISE,
        DETERMINISTIC,
        Condition("does not use the index", "_is_without_index", True),
    ),
}
"""By rule."""
