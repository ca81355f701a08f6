"""A template's loop over a list that the template itself writes out, as what it says for each item."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from jinja2 import nodes


class NotUnrolled(Exception):
    """Raised for a loop of which the template alone does not say what it does."""


_BEYOND = (nodes.For, nodes.Macro, nodes.CallBlock)
"""What has names of its own, which may hide those of the loop."""


class Uses(NamedTuple):
    """What a template does with names: `looped` are those that it only loops over, or hands to a filter, as anything
    else may change a list; `changing` those that it sets more than once."""

    looped: frozenset[str]
    changing: frozenset[str]

    @classmethod
    @lru_cache(maxsize=512)
    def of(cls, template: nodes.Node) -> Uses:
        loads, looks, stores = Counter[str](), Counter[str](), Counter[str]()
        for node in template.find_all(nodes.Node):
            if isinstance(node, nodes.Name):
                (stores if node.ctx == "store" else loads)[node.name] += 1
            looked = node.iter if isinstance(node, nodes.For) else node.node if isinstance(node, nodes.Filter) else None
            if isinstance(looked, nodes.Name):
                looks[looked.name] += 1
        looped = frozenset(name for name, many in loads.items() if many == looks[name])
        return cls(looped, frozenset(name for name, many in stores.items() if many > 1))


def unroll(
    loop: nodes.For, listed: nodes.Node | None, uses: Uses, count_nodes: Callable[[int], None]
) -> Iterator[list[nodes.Node]]:
    """The body for each item, with the item in the place of its name. `count_nodes` is told before each of at least as
    many nodes as it has."""
    if not isinstance(listed, (nodes.List, nodes.Tuple)) or not listed.items or loop.test or loop.else_:
        raise NotUnrolled
    if isinstance(loop.iter, nodes.Name) and loop.iter.name not in uses.looped:
        raise NotUnrolled
    body = list(_walk(loop.body))
    stored = {node.name for node in body if isinstance(node, nodes.Name) and node.ctx == "store"} | uses.changing
    # An item is written where it is used: what it names may be something else there.
    if any(isinstance(node, _BEYOND) for node in body) or any(n.name in stored for n in listed.find_all(nodes.Name)):
        raise NotUnrolled
    last = len(listed.items) - 1
    for at, item in enumerate(listed.items):
        count_nodes(len(body) * (1 + sum(1 for _ in item.find_all(nodes.Node))))
        told = {"first": at == 0, "last": at == last, "index": at + 1, "index0": at, "length": last + 1}
        yield _Places(_name_parts(loop.target, item), told).place_all(loop.body)


def _walk(body: Iterable[nodes.Node]) -> Iterator[nodes.Node]:
    for node in body:
        yield node
        yield from node.find_all(nodes.Node)


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
    if isinstance(listed, (nodes.List, nodes.Tuple)) and isinstance(place, int) and 0 <= place < len(listed.items):
        return listed.items[place]
    return node
