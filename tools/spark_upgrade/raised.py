"""The error conditions that planproof's code names: the texts in it that are one in some Spark."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

from spark_upgrade.facts import read_known
from spark_upgrade.sparks import ROOT

ROOMS = ("sql", "analysis", "functions", "types", "logical")
"""The rooms that refuse what Spark refuses."""

_FORM = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+(\.[A-Z][A-Z0-9_]*)?")
_SHORT = "DATATYPE_MISMATCH."
"""What `Mismatch` puts before a condition that is no whole one."""


@cache
def list_written() -> dict[str, str]:
    """Every text of the form of a condition in the rooms that refuse, with a file that has it."""
    found: dict[str, str] = {}
    for room in ROOMS:
        for path in sorted((ROOT / "core" / "planproof_engine" / room).rglob("*.py")):
            for text in _texts(path.read_text()):
                found.setdefault(text, path.relative_to(ROOT).as_posix())
    return found


def _texts(source: str) -> Iterator[str]:
    tree = ast.parse(source)
    # A part of a text that is put together names no condition by itself.
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) and id(node) not in parts else None
        if isinstance(text, str) and _FORM.fullmatch(text):
            yield text


def find_meant(text: str) -> frozenset[str]:
    """The conditions of all Sparks that a text in the code may stand for: itself, a mismatch, or a class's subclass."""
    return frozenset(n for n in _all() if n in (text, _SHORT + text) or n.endswith(f".{text}"))


@cache
def _all() -> frozenset[str]:
    return frozenset(name for facts in read_known().values() for name in facts.conditions)


@cache
def names() -> frozenset[str]:
    """The conditions that planproof may raise."""
    return frozenset(name for text in list_written() for name in find_meant(text))
