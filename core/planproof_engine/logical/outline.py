"""A plan for readers: as text, a line per node, indented, with its schema; and as plain data, for a picture of it, with
which outputs each column reaches.
"""

from __future__ import annotations

from typing import Any

from planproof_engine.depth import deeply
from planproof_engine.expr.pretty import print_as_written
from planproof_engine.logical import nodes as p
from planproof_engine.logical.lineage import Trace, feeds, lineage

MOST_NODES, MOST_COLUMNS, MOST_TEXT, MOST_SOURCES = 120, 60, 120, 10_000


def outline(root: p.Plan, walked: Trace | None = None) -> dict[str, Any]:
    """JSON's form of a plan: `{"nodes": [...], "left_out": n}`, the root first.

    A node is `{"kind", "what", "columns", "more", "inputs"}`: `what` is its condition or name, `columns` are `[name,
    type, nullable, [positions of the output columns that it reaches]]`, columns that reach no output are only counted,
    in `more`; `inputs` are `[position in the list, the name under which it is read]`. A plan that is read twice stands
    in the list once. No value of a row appears; literals of the query do.
    """
    reached = feeds(root, walked)
    order: dict[int, p.Plan] = {}
    _collect(_skip_names(root)[0], order)
    kept = list(order.values())[:MOST_NODES]
    places = {id(node): i for i, node in enumerate(kept)}
    return {"nodes": [_form(node, reached, places) for node in kept], "left_out": len(order) - len(kept)}


def plan_details(plan: Any) -> dict[str, Any]:
    """What a report keeps of a model's `LogicalPlan`: its outline as `plan`, and `lineage` unless it is huge. A plan
    that is nested too deeply gives neither."""
    try:
        return deeply(lambda: _details(plan))
    except RecursionError:
        return {}


def _details(plan: Any) -> dict[str, Any]:
    walked = Trace.of(plan.root)
    kept: dict[str, Any] = {"plan": outline(plan.root, walked)}
    found = lineage(plan.root, walked)
    if sum(len(sources) for _, sources in found.columns) <= MOST_SOURCES:
        kept["lineage"] = found.to_dict()
    return kept


def _collect(node: p.Plan, order: dict[int, p.Plan]) -> None:
    """Breadth first, so that what is left out of a large plan is what lies deepest."""
    waiting = [node]
    while waiting:
        node = waiting.pop(0)
        if id(node) not in order:
            order[id(node)] = node
            waiting += [_skip_names(child)[0] for child in node.children]


def _skip_names(node: p.Plan) -> tuple[p.Plan, list[str]]:
    """The node that a chain of names stands for, and the names, outermost first."""
    names: list[str] = []
    while isinstance(node, p.Named):
        names.append(".".join(node.name))
        node = node.child
    return node, names


def _form(node: p.Plan, reached: dict[int, set[int]], places: dict[int, int]) -> dict[str, Any]:
    used = [c for c in node.output if c.id in reached]
    inputs = []
    for child in node.children:
        behind, names = _skip_names(child)
        if id(behind) in places:
            inputs.append([places[id(behind)], _cut(names[0]) if names else ""])
    return {
        "kind": type(node).__name__,
        "what": _cut(detail(node)),
        "columns": [
            [_cut(c.name), _cut(c.type.simple), c.nullable, sorted(reached[c.id])] for c in used[:MOST_COLUMNS]
        ],
        "more": len(node.output) - min(len(used), MOST_COLUMNS),
        "inputs": inputs,
    }


def _cut(text: str) -> str:
    return text if len(text) <= MOST_TEXT else f"{text[: MOST_TEXT - 1]}…"


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
