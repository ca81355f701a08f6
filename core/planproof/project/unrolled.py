"""A template's loop over a list that the template itself writes out, as what it says for each item."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from jinja2 import nodes


class NotUnrolled(Exception):
    """Raised for a loop of which the template alone does not say what it does."""


_BEYOND = (nodes.For, nodes.Macro, nodes.CallBlock)
"""What has names of its own, which may hide those of the loop."""


def unroll(loop: nodes.For, listed: nodes.Node | None) -> Iterator[list[nodes.Node]]:
    """The body for each item, with the item in the place of its name."""
    if not isinstance(listed, (nodes.List, nodes.Tuple)) or not listed.items or loop.test or loop.else_:
        raise NotUnrolled
    if any(True for one in loop.body for _ in ([one] if isinstance(one, _BEYOND) else one.find_all(_BEYOND))):
        raise NotUnrolled
    last = len(listed.items) - 1
    for at, item in enumerate(listed.items):
        told = {"first": at == 0, "last": at == last, "index": at + 1, "index0": at, "length": last + 1}
        yield _Places(_name_parts(loop.target, item), told).place_all(loop.body)


def _name_parts(target: nodes.Node, item: nodes.Expr) -> dict[str, nodes.Expr]:
    if isinstance(target, nodes.Name):
        return {target.name: item}
    names = [one.name for one in target.items if isinstance(one, nodes.Name)] if isinstance(target, nodes.Tuple) else []
    if not names or not isinstance(item, (nodes.List, nodes.Tuple)) or len(item.items) != len(names):
        raise NotUnrolled
    return dict(zip(names, item.items))


@dataclass(frozen=True)
class _Places:
    """Writes a node anew, with what names are in their place: `told` is what `loop` says."""

    names: Mapping[str, nodes.Expr]
    told: Mapping[str, object]

    def place_all(self, body: list[nodes.Node]) -> list[nodes.Node]:
        return [placed for node in body for placed in self._place_statement(node)]

    def _place_statement(self, node: nodes.Node) -> list[nodes.Node]:
        """A node; of a condition that is now told, what it lets stand."""
        placed = self._place(node)
        if not isinstance(placed, nodes.If) or placed.elif_:
            return [placed]
        test = placed.test.node if isinstance(placed.test, nodes.Not) else placed.test
        if not isinstance(test, nodes.Const):
            return [placed]
        return placed.body if bool(test.value) is not isinstance(placed.test, nodes.Not) else placed.else_

    def _place(self, node: nodes.Node) -> nodes.Node:
        if isinstance(node, nodes.Getattr) and isinstance(node.node, nodes.Name) and node.node.name == "loop":
            if node.attr not in self.told:
                raise NotUnrolled
            return nodes.Const(self.told[node.attr])
        if isinstance(node, nodes.Name) and (node.name in self.names or node.name == "loop"):
            if node.name not in self.names or node.ctx != "load":
                raise NotUnrolled
            return self.names[node.name]
        made = type(node)(*(self._place_field(getattr(node, name)) for name in node.fields), lineno=node.lineno)
        return _take_item(made) if isinstance(made, nodes.Getitem) else made

    def _place_field(self, value: object) -> object:
        if isinstance(value, nodes.Node):
            return self._place(value)
        if isinstance(value, list):
            return [placed for one in value for placed in self._place_each(one)]
        return value

    def _place_each(self, one: object) -> list[object]:
        return [*self._place_statement(one)] if isinstance(one, nodes.Node) else [one]


def _take_item(node: nodes.Getitem) -> nodes.Node:
    """`pair[0]` of a pair that stands there."""
    listed, place = node.node, node.arg.value if isinstance(node.arg, nodes.Const) else None
    if isinstance(listed, (nodes.List, nodes.Tuple)) and isinstance(place, int) and place < len(listed.items):
        return listed.items[place]
    return node
