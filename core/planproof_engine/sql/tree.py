"""What all nodes of a text's tree share."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from planproof_engine.records import reader_of, slotted

__all__ = ["Node", "Span", "node"]

Span = tuple[int, int]
Kind = TypeVar("Kind", bound="Node")

_NOWHERE: Span = (-1, -1)

if TYPE_CHECKING:
    from dataclasses import dataclass as node
else:

    def node(kind):
        """A class of nodes: a dataclass with slots, whose nodes are equal only to themselves and may be changed."""
        return slotted(kind)


@node
class Node:
    """One construct of a text: its parts in fields of their own names and types, and where it stands.

    A field holds a node, a sequence of nodes or a plain value. What the text does not have is None, an empty sequence
    or False. `span` is (start, stop) in characters of the text, stop exclusive, and (-1, -1) of a node that the parser
    did not place. A node does not know what stands around it. Code that needs to know it walks down from the node
    around.
    """

    span: Span = dataclasses.field(default=_NOWHERE, init=False)

    def __repr__(self) -> str:
        given = (f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self) if _is_given(self, f))
        return f"{type(self).__name__}({', '.join(given)})"

    @property
    def children(self) -> Iterator[Node]:
        """The nodes in its fields, in the order in which the fields are declared."""
        for value in _build_reader(type(self))(self):
            if isinstance(value, Node):
                yield value
            elif type(value) is list:
                for member in value:
                    if isinstance(member, Node):
                        yield member

    def walk(self, without: Node | None = None, outside: tuple[type[Node], ...] = ()) -> Iterator[Node]:
        """This node and all below it, outermost first, each with all below it before the next; not into `without`, nor
        into a node of the kinds `outside`."""
        pending: list[Node] = [self]
        while pending:
            node = pending.pop()
            if node is not without and not isinstance(node, outside):
                yield node
                pending += [*node.children][::-1]

    def find_all(self, *kinds: type[Kind], outside: tuple[type[Node], ...] = ()) -> Iterator[Kind]:
        """Those of the kinds among `walk`."""
        for node in self.walk(outside=outside):
            if isinstance(node, kinds):
                yield node

    def find_outermost(self, *kinds: type[Kind]) -> Iterator[Kind]:
        """Those of the kinds that stand in no other one."""
        if isinstance(self, kinds):
            yield self
        else:
            for child in self.children:
                yield from child.find_outermost(*kinds)

    def holds(self, *kinds: type[Node]) -> bool:
        """Whether this node or one below it is of one of the kinds."""
        return any(isinstance(node, kinds) for node in self.walk())


def _is_given(node: Node, field: dataclasses.Field[Any]) -> bool:
    """Whether the field holds something, and not only says that something is absent."""
    value = getattr(node, field.name)
    return field.init and value not in (None, False, (), [])


_PLAIN = frozenset(("str", "str | None", "bool", "bool | None", "DataType", "tuple[str, ...] | None", "Span"))
"""The declared types of fields that hold no node."""


_READERS: dict[type, Callable[[Node], tuple[Any, ...]]] = {}


def _build_reader(kind: type[Node]) -> Callable[[Node], tuple[Any, ...]]:
    """What reads the fields of a class that can hold nodes; those that are given by keyword only come last."""
    found = _READERS.get(kind)
    if found is None:
        fields = [f for f in dataclasses.fields(kind) if f.type not in _PLAIN]
        names = [f.name for f in sorted(fields, key=lambda f: f.kw_only is True)]
        found = _READERS[kind] = reader_of(names)
    return found
