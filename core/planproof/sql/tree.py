"""What all nodes of a text's tree share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

Span = tuple[int, int]
Kind = TypeVar("Kind", bound="Node")

_NOWHERE: Span = (-1, -1)


class Node:
    """One construct of a text: its arguments by name, the node that it is an argument of, and where it stands.

    `args` hold nodes, lists of nodes and plain values; of what is absent they hold None, or nothing. `parent` is the
    last one of several (the SELECTs behind one FROM), and None of the root. `span` is (start, stop) in characters of
    the text, stop exclusive, and (-1, -1) of a node that the parser did not place.
    """

    __slots__ = ("args", "parent", "span")

    def __init__(self, **args: Any) -> None:
        self.args = args
        self.parent: Node | None = None
        self.span = _NOWHERE
        for value in args.values():
            if isinstance(value, Node):
                value.parent = self
            elif type(value) is list:
                for member in value:
                    if isinstance(member, Node):
                        member.parent = self

    def __repr__(self) -> str:
        given = (f"{key}={value!r}" for key, value in self.args.items() if value is not None)
        return f"{type(self).__name__}({', '.join(given)})"

    @property
    def this(self) -> Any:
        return self.args.get("this")

    @property
    def expression(self) -> Any:
        return self.args.get("expression")

    @property
    def expressions(self) -> list[Any]:
        return self.args.get("expressions") or []

    @property
    def name(self) -> str:
        """The text that `this` is, or that it is called by; an empty one where there is none."""
        this = self.args.get("this")
        return this.name if isinstance(this, Node) else this if isinstance(this, str) else ""

    @property
    def children(self) -> Iterator[Node]:
        """The nodes among the arguments, in the order in which the arguments were given."""
        for value in self.args.values():
            if isinstance(value, Node):
                yield value
            elif type(value) is list:
                for member in value:
                    if isinstance(member, Node):
                        yield member

    def walk(self, without: Node | None = None) -> Iterator[Node]:
        """This node and all below it, outermost first, each with all below it before the next; not into `without`."""
        pending: list[Node] = [self]
        while pending:
            node = pending.pop()
            if node is not without:
                yield node
                pending += [*node.children][::-1]

    def find_all(self, *kinds: type[Kind]) -> Iterator[Kind]:
        """Those of the kinds among `walk`."""
        for node in self.walk():
            if isinstance(node, kinds):
                yield node

    def put(self, key: str, value: Node | list[Any]) -> None:
        """Sets an argument."""
        self.args[key] = value
        for node in value if isinstance(value, list) else (value,):
            if isinstance(node, Node):
                node.parent = self
