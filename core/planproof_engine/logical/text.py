"""The text form of a plan: one line per node, indented, with its schema."""

from __future__ import annotations

from planproof_engine.expr.pretty import print_as_written
from planproof_engine.logical import nodes as p

_DEEPEST = 100
"""Levels that are indented: the text of a union of thousands would be blanks."""


def show(root: p.Plan) -> str:
    """The plan as text, the root first."""
    lines = []
    ahead = [(root, 0)]
    while ahead:
        node, depth = ahead.pop()
        lines.append(f"{'  ' * min(depth, _DEEPEST)}{_print_node(node)}  {node.schema}")
        ahead += [(child, depth + 1) for child in reversed(node.children)]
    return "\n".join(lines)


def _print_node(node: p.Plan) -> str:
    name = type(node).__name__
    return f"{name} {what}" if (what := detail(node)) else name


def detail(node: p.Plan) -> str:
    """What tells a node from others of its kind: its relation, its condition, its expressions."""
    if isinstance(node, p.Scan):
        return node.relation
    if isinstance(node, p.Recursion):
        return node.itself.relation
    if isinstance(node, p.Named):
        return ".".join(node.name)
    if isinstance(node, p.SetOperation):
        return f"{node.kind}{' all' if node.all else ''}"
    if isinstance(node, p.Join):
        return node.kind + (f" on {print_as_written(node.condition)}" if node.condition is not None else "")
    if isinstance(node, p.Limit):
        return node.what
    return ", ".join(print_as_written(e) for e in node.expressions)
