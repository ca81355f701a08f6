"""What is public says what it is: every module, and every class and function of a module whose name is not private.

Methods are left to their classes: one that fills in a protocol's method means what the protocol says.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def undocumented(module: ast.Module) -> Iterator[str]:
    if ast.get_docstring(module) is None:
        yield "the module"
    for node in module.body:
        named = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        if named and not node.name.startswith("_") and ast.get_docstring(node) is None:
            yield node.name


@pytest.mark.parametrize("folder", ["core", "dbt_plugin", "operators"])
def test_every_public_definition_has_a_docstring(folder: str) -> None:
    paths = sorted((ROOT / folder).rglob("*.py"))
    assert paths
    found = {path.relative_to(ROOT).as_posix(): [*undocumented(ast.parse(path.read_text("utf-8")))] for path in paths}
    assert {path: names for path, names in found.items() if names} == {}


def test_a_missing_docstring_is_seen() -> None:
    text = 'class A:\n    """Said."""\ndef f(): ...\ndef _own(): ...\nasync def g(): ...\nclass B: ...\n'
    assert list(undocumented(ast.parse(text))) == ["the module", "f", "g", "B"]
