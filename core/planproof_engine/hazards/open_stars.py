"""`SELECT *` from a table to the end: a column that is added there changes what the model produces.

A contract says so by itself, so that models with one are left alone (`planproof_engine.hazards.concerns`), and so are
views that only give a relation another name.
"""

from __future__ import annotations

from collections.abc import Iterator

from planproof_engine.conf import Conf
from planproof_engine.expr.nodes import Column
from planproof_engine.hazards.definitions import Definitions
from planproof_engine.hazards.suspicion import Suspicion, make_warning
from planproof_engine.logical.nodes import Filter, Join, Named, PassThrough, Plan, Project, Scan, SetOperation


def open_stars(definitions: Definitions, conf: Conf) -> Iterator[Suspicion]:
    """One warning for all sources whose columns reach the output through nothing but stars."""
    root = definitions.nodes[0]
    found: dict[str, str] = {}
    first = None
    places: Places = {}
    for at, column in enumerate(root.output):
        for scan, across in _find_starred(root, at, "", places):
            first = first or column.name
            found[scan.relation] = found.get(scan.relation) or across
    if first is not None:
        across = next(filter(None, found.values()), "")
        have = "has" if len(found) == 1 else "have"
        message = (
            f"`*` hands on whatever columns {' and '.join(found)} {have}: one that is added there changes this model's "
            "width"
        )
        yield Suspicion(make_warning("PP129", first, "columns that are named", f"*{across}", message))


Places = dict[int, dict[int, int]]
"""Where a column stands in what a projection reads: by the projection's `id`, then the column's."""


def _find_starred(node: Plan, at: int, across: str, places: Places) -> Iterator[tuple[Scan, str]]:
    """The sources from which the column at a place comes, where nothing in the text names it, and across what."""
    if isinstance(node, Scan):
        yield node, across
    elif isinstance(node, (Named, PassThrough, Filter)):
        yield from _find_starred(node.child, at, across, places)
    elif isinstance(node, SetOperation):
        for side in node.inputs:
            yield from _find_starred(side, at, f" in a {node.kind}", places)
    elif isinstance(node, Join):
        left, over = len(node.left.output), " over a join"
        side, there = (node.left, at) if at < left else (node.right, at - left)
        yield from _find_starred(side, there, over, places)
    elif isinstance(node, Project):
        item = node.items[at]
        if isinstance(item, Column) and item.span is None:
            if id(node) not in places:
                # The first of several counts.
                places[id(node)] = {c.id: i for i, c in reversed([*enumerate(node.child.output)])}
            below = places[id(node)].get(item.id)
            if below is not None:
                yield from _find_starred(node.child, below, across, places)
