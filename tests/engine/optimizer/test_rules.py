"""Every rule shows what it does, and declares each of its conditions."""

from __future__ import annotations

import doctest
import inspect
import re
import sys
from types import ModuleType
from typing import Any

import pytest
from conditions import CONDITIONS, Condition

from planproof_engine.optimizer.rules import RULES

FORMS = {
    "_is_one",
    "_compares",
    "_is_hashed",
    "_is_worth_it",
    "_is_movable",
    "_is_not_folded",
    "_may_stand_outside",
    "_is_certain",
    "_has_loop",
    "_holds_structs",
    "_scans_structs",
}
"""What decides whether a call has the form that a rule is about, or whether it pays: no result depends on it."""

by_name = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)


def module(rule: Any) -> ModuleType:
    return sys.modules[rule.__module__]


def condition_module(rule: Any, condition: Condition) -> ModuleType:
    return sys.modules[condition.module or rule.__module__]


@by_name
def test_the_examples_of_a_rule_hold(rule: Any) -> None:
    found = doctest.testmod(module(rule))
    assert found.attempted >= 2
    assert found.failed == 0


@by_name
def test_each_condition_is_declared_with_the_function_that_decides_it(rule: Any) -> None:
    lines = re.findall(r"^ +- (.+(?:\n {6,}(?!- ).+)*)", rule.__doc__, re.M)
    conditions = CONDITIONS[rule.__name__]
    assert len(lines) == len(conditions)
    for line, condition in zip(lines, conditions):
        assert condition.says in re.sub(r"\s+", " ", line)
        assert callable(getattr(condition_module(rule, condition), condition.test))
        assert condition.dropped in (True, False, [])


def test_each_predicate_of_a_rule_is_a_condition_or_a_matter_of_form() -> None:
    found = set()
    for rule in RULES:
        conditions = {c.test for c in CONDITIONS[rule.__name__]}
        for name, value in vars(module(rule)).items():
            own = inspect.isfunction(value) and value.__module__ == rule.__module__
            if own and value.__annotations__.get("return") == "bool":
                assert (name in conditions) != (name in FORMS), f"{rule.__name__}: {name}"
                found.add(name)
    assert found >= FORMS
