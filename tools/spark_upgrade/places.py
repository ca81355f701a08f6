"""Where planproof answers for each rule of Spark's grammar: grammar.yml, and what of it does not hold."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from spark_upgrade.sparks import ROOT

_MAP = Path(__file__).parent / "grammar.yml"
_CODE = ROOT / "core" / "planproof_engine"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a rule is answered for: dotted names of core/planproof. `why` says why it is not read, where it is not."""

    names: tuple[str, ...]
    why: str | None = None

    def __str__(self) -> str:
        shown = ", ".join(f"`{name}`" for name in self.names)
        return f"not read ({self.why}): {shown}" if self.why else shown


@cache
def places() -> dict[str, Place]:
    """Each rule's place. Raises ValueError where a rule is named twice."""
    form, found = yaml.safe_load(_MAP.read_text()), {}
    read = [(rule, Place(tuple(names.split(", ")))) for rule, names in form["read"].items()]
    unread = [
        (rule, Place(tuple(part["at"].split(", ")), part["why"]))
        for part in form["unread"]
        for rule in part["rules"].split()
    ]
    for rule, place in (*read, *unread):
        if rule in found:
            raise ValueError(f"{_MAP.name} names {rule} twice")
        found[rule] = place
    return found


def find_missing(names: Iterator[str]) -> list[str]:
    """Which of the dotted names stand for nothing in core/planproof."""
    return sorted({name for name in names if not _is_defined(name)})


def _is_defined(name: str) -> bool:
    """Whether `room.module.Class.method` (or `.function`, `.TABLE`) is defined."""
    parts = name.split(".")
    for length in range(len(parts) - 1, 0, -1):
        path = _CODE.joinpath(*parts[:length]).with_suffix(".py")
        if path.is_file():
            return ".".join(parts[length:]) in _list_defined(path)
    return False


@cache
def _list_defined(path: Path) -> frozenset[str]:
    return frozenset(_names(ast.parse(path.read_text()).body, ""))


def _names(body: list[ast.stmt], prefix: str) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield prefix + node.name
            yield from _names(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, ast.FunctionDef):
            yield prefix + node.name
        elif isinstance(node, ast.Assign):
            yield from (prefix + target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield prefix + node.target.id
