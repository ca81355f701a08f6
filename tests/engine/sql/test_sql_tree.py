"""The node classes: what each declares, and what a walk over them yields."""

from __future__ import annotations

import ast
from dataclasses import fields
from pathlib import Path

import pytest

from planproof_engine.sql import commands, parse
from planproof_engine.sql import nodes as q

ROOMS = [Path(commands.__file__).parent, Path(commands.__file__).parents[1] / "analysis"]


def kinds() -> list[type[q.Node]]:
    found = {kind for module in (q, commands) for kind in vars(module).values() if isinstance(kind, type)}
    return sorted((kind for kind in found if issubclass(kind, q.Node)), key=lambda kind: kind.__name__)


def test_every_class_declares_its_fields_with_types_and_slots() -> None:
    found = kinds()
    assert {commands.Insert, q.Select, q.PipeDrop, q.Literal} <= set(found)
    for kind in found:
        assert "__slots__" in vars(kind), kind
        assert kind.__dictoffset__ == 0, kind
        assert [f.name for f in fields(kind) if "Any" in str(f.type) or f.type == "object"] == [], kind
        assert not str(kind.__doc__).startswith(f"{kind.__name__}("), kind


def test_what_a_class_does_not_declare_is_no_part_of_its_nodes() -> None:
    node = q.Null()
    with pytest.raises(AttributeError):
        node.operand = node  # type: ignore[attr-defined]
    with pytest.raises(TypeError):
        q.Paren(this=node)  # type: ignore[call-arg]


def test_children_come_in_the_order_of_the_fields_and_the_clauses_of_a_query_last() -> None:
    tree = parse("WITH c AS (SELECT 1) SELECT a, b FROM t WHERE d ORDER BY e LIMIT 1")
    assert [type(n).__name__ for n in tree.children] == [
        "Column",
        "Column",
        "From",
        "Where",
        "Ordering",
        "Limit",
        "With",
    ]
    case = q.Case(None, [q.When(q.Boolean(True), q.Null())], None)
    assert [type(n).__name__ for n in case.walk()] == ["Case", "When", "Boolean", "Null"]
    assert [type(n).__name__ for n in tree.walk(without=tree.with_)][-1] == "Literal"


def test_a_node_shows_what_the_text_has() -> None:
    assert repr(parse("SELECT DISTINCT `a`")) == (
        "Select(distinct=True, items=[Column(parts=[Identifier(text='a', quoted=True)])])"
    )


@pytest.mark.parametrize("path", [p for room in ROOMS for p in sorted(room.rglob("*.py"))], ids=lambda p: p.stem)
def test_no_field_of_a_node_is_read_by_a_string(path: Path) -> None:
    """So that mypy sees each access: neither `args["this"]` nor a computed `getattr`, but in the tree itself."""
    keyed = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("getattr", "setattr"):
            keyed += [] if isinstance(node.args[1], ast.Constant) else [node.lineno]
        of_args = node.value if isinstance(node, (ast.Subscript, ast.Attribute)) else None
        if isinstance(of_args, ast.Attribute) and of_args.attr == "args":
            by_name = isinstance(node, ast.Subscript) and isinstance(getattr(node.slice, "value", None), str)
            keyed += [node.lineno] if by_name or getattr(node, "attr", "") == "get" else []
    assert path.name == "tree.py" or keyed == []
