"""A test run says what each folder took, and which took longer than it may."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import yaml

TESTS = Path(__file__).parent
_SPEC = importlib.util.spec_from_file_location("conftest_of_all", TESTS / "conftest.py")
assert _SPEC is not None
assert _SPEC.loader is not None
conftest = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(conftest)


def test_each_folder_that_has_a_budget_is_there() -> None:
    budget = yaml.safe_load(conftest.SECONDS.read_text())
    assert [name for name in budget["folders"] if not (TESTS / name).is_dir()] == []


def test_each_file_that_is_to_be_first_is_there() -> None:
    first = yaml.safe_load(conftest.SECONDS.read_text())["first"]
    assert [name for name in first if not (TESTS / name).is_file()] == []


def test_what_took_too_long_is_said() -> None:
    assert conftest.over_budget({"a": 12.4, "b": 41.0, "c": 3.0}, {"a": 12, "b": 50}, 5, 1.25) == [
        "b                 41 s of 50",
        "a                 12 s of 12  OVER: look at --durations (load 1.2 per core)",
        "c                  3 s of 5",
        "all               56 s",
    ]
