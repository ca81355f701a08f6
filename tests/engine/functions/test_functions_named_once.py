"""What is known of Spark's functions stands in `functions/`: no other module has sets of their names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from planproof_engine.functions.families.operators import CASTS
from planproof_engine.functions.names import SPARK_FUNCTIONS
from planproof_engine.functions.registry import builtin

CORE = Path(__file__).parents[3] / "core" / "planproof_engine"
NAMES = SPARK_FUNCTIONS | builtin().functions.keys()
OTHER_WORDS = {
    "types/nodes.py": [["day", "hour", "minute", "second"]],
    "analysis/expressions/intervals.py": [["day", "hour", "minute"]],
    "hazards/increments/units.py": [
        *(["day", "month", "quarter", "year"], ["month", "quarter", "year"]),
        ["year", "month", "day", "hour"],
    ],
}
"""Names of functions that mean something else there: the fields of an interval, units of time."""
LEAST = 3


def collections_of_names(source: str) -> Iterator[list[str]]:
    """The collections of texts in a module that are all names of Spark's functions, at least `LEAST` of them.

    A dict from names to functions of its own module is how these are handled there: code, which no trait can say. Names
    of types alone are types.
    """
    for node in ast.walk(ast.parse(source)):
        found = _texts(node)
        if len(found) >= LEAST and NAMES.issuperset(found) and not CASTS.issuperset(found):
            yield found


def _texts(node: ast.AST) -> list[str]:
    if isinstance(node, (ast.Set, ast.Tuple, ast.List)):
        return _constants(node.elts)
    if isinstance(node, ast.Dict) and all(isinstance(value, (ast.Constant, ast.Tuple)) for value in node.values):
        return _constants([key for key in node.keys if key is not None])
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "split":
        words = _constants([node.func.value])
        return words[0].split() if words else []
    return []


def _constants(nodes: list[ast.expr]) -> list[str]:
    """The texts, where all are texts."""
    values = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return values if len(values) == len(nodes) else []


def test_no_module_outside_functions_has_a_set_of_function_names() -> None:
    found = {}
    for path in CORE.rglob("*.py"):
        place = path.relative_to(CORE)
        if place.parts[0] != "functions":
            sets = [s for s in collections_of_names(path.read_text()) if s not in OTHER_WORDS.get(str(place), [])]
            if sets:
                found[str(place)] = sets
    assert found == {}, "say it as a trait of the functions (core/planproof_engine/expr/traits.py), and ask that"


@pytest.mark.parametrize(
    "source",
    [
        'LAZY = frozenset(("if", "when", "coalesce"))',
        'LAZY = {"if": 1, "when": 1, "coalesce": 1}',
        'LAZY = frozenset("if when coalesce".split())',
        'ok = call.function.name in ["+", "-", "*"]',
    ],
)
def test_a_set_of_names_is_found(source: str) -> None:
    assert list(collections_of_names(source))


@pytest.mark.parametrize(
    "source",
    [
        'PAIR = ("if", "when")',
        'TYPES = ("int", "bigint", "date")',
        'WORDS = ("if", "when", "never")',
        'HOW = {"+": add, "-": subtract, "*": multiply}',
    ],
)
def test_other_texts_are_let_through(source: str) -> None:
    assert not list(collections_of_names(source))
