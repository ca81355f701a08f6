"""Modules, definitions and files of this project that a page, a docstring or a comment names are there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import planproof
import planproof_engine

ROOT = Path(__file__).parents[2]
HOMES = {
    "planproof": "core",
    "planproof_engine": "core",
    "dbt_planproof": "dbt_plugin",
    "airflow_planproof": "operators",
}
_NAME = re.compile(rf"(?<![\w./-])((?:{'|'.join(HOMES)})(?:\.\w+)+)")
_FILE = re.compile(r"(?<![\w./:{-])(\w+(?:/\w+)+\.py)\b")
DOCS = sorted(
    {*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("core/*/*.md"), ROOT / "docs/support.yml"}
    - {ROOT / "CHANGELOG.md"}
)
CODE = sorted(path for home in {*HOMES.values(), "tools"} for path in (ROOT / home).rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
NOT_PYTHON = {"planproof.sarif", "planproof.command", "planproof.__file__"}
"""A report's file, a setting of the editor, and what each module has."""


@cache
def defined(module: Path) -> frozenset[str]:
    """What a module defines, imports or assigns, methods and fields of its classes too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.alias):
            found.add(node.asname or node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return frozenset(found)


def resolves(name: str) -> bool:
    """Whether a dotted name is a package, a module, or a definition of one of them."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        place = (ROOT / HOMES[parts[0]]).joinpath(*parts[:length])
        for module in (place / "__init__.py", place.with_suffix(".py")):
            if module.is_file():
                return set(parts[length:]) <= defined(module) | lazy(module)
    return False


@cache
def lazy(module: Path) -> frozenset[str]:
    """What `import planproof` gives by name when it is first asked for, with what these classes define."""
    packages = {ROOT / "core" / package.__name__ / "__init__.py": package for package in (planproof, planproof_engine)}
    package = packages.get(module)
    if package is None:
        return frozenset()
    own = {attribute for name in package.__all__ for attribute in dir(getattr(package, name))}
    return frozenset({*package.__all__, *own})


def is_there(file: str) -> bool:
    """Whether a path, from the top or from within a room, is that of a file."""
    top, _, rest = file.partition("/")
    return (ROOT / file).is_file() or any((room / rest).is_file() for room in rooms().get(top, ()))


@cache
def rooms() -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    for home in (*HOMES.values(), "tools", "tests", "dags_examples"):
        for folder in (ROOT / home).rglob("*"):
            if folder.is_dir() and "__pycache__" not in folder.parts:
                found.setdefault(folder.name, []).append(folder)
    return found


def unresolved(text: str) -> Iterator[str]:
    yield from (name for name in _NAME.findall(text) if name not in NOT_PYTHON and not resolves(name))
    yield from (file for file in _FILE.findall(text) if not is_there(file))


@pytest.mark.parametrize("paths", [DOCS, CODE], ids=["docs", "code"])
def test_what_is_named_is_there(paths: list[Path]) -> None:
    assert len(paths) > 20
    found = {path.relative_to(ROOT).as_posix(): [*unresolved(path.read_text("utf-8"))] for path in paths}
    assert {path: names for path, names in found.items() if names} == {}


def test_what_the_tests_name_is_there() -> None:
    """In their own words: the projects that they write have files of their own."""
    assert len(TESTS) > 100
    found = {}
    for path in TESTS:
        tree = ast.parse(path.read_text("utf-8"))
        said = [ast.get_docstring(node) for node in ast.walk(tree) if isinstance(node, (ast.Module, ast.FunctionDef))]
        found[path.name] = [name for text in said if text for name in unresolved(text)]
    assert {name: names for name, names in found.items() if names} == {}


def test_what_was_moved_away_is_seen() -> None:
    """Names as they were before a move, beside those that stand."""
    text = (
        "`planproof.publish.journal`, `planproof.publish.transaction.journal`, `planproof.Guard.publish`,"
        " `planproof.Missing`, publish/stored.py, publish/audit/staged.py, core/planproof/guard.py, "
        "core/planproof/gone.py"
    )
    gone = ["planproof.publish.journal", "planproof.Missing", "publish/stored.py", "core/planproof/gone.py"]
    assert list(unresolved(text)) == gone
