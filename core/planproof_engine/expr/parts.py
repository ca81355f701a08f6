"""The parts of a node: the fields that hold nodes, found by their declared types.

A field declared as a node, as a node or None, or as a tuple of nodes is a part. A class says of each other field that
holds nodes that it is none: `field(metadata=NO_PART)`. So no kind of node can be forgotten by a walk or a rewriting.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Iterator
from operator import is_not
from typing import Any, TypeVar

from planproof_engine.records import evolve, reader_of

Node = TypeVar("Node")
Shape = tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]

NO_PART = {"is_part": False}
"""The metadata of a field that holds nodes which a walk does not visit: what binds a name, what is constant, what a
node gives out."""

_SHAPES: dict[tuple[type, type], Shape] = {}


def name_parts(kind: type, **properties: type) -> None:
    """Gives a class of nodes one property for each family of its parts: `children=Expr`."""
    for name, family in properties.items():
        setattr(kind, name, _Parts(name, family))


def changed_parts(node: object, family: type[Node], change: Callable[[Node], Node]) -> dict[str, Any]:
    """The fields of `node` in which `change` puts another node in place of a part, with their new values."""
    names, read = shape_of(type(node), family)
    if not names:
        return {}
    found: dict[str, Any] = {}
    for name, old in zip(names, read(node)):
        if type(old) is tuple:
            new = change_each(old, change)
            if new is not old:
                found[name] = new
        elif old is not None:
            changed = change(old)
            if changed is not old:
                found[name] = changed
    return found


def change_each(nodes: tuple[Node, ...], change: Callable[[Node], Node]) -> tuple[Node, ...]:
    """The nodes with `change` applied to each; the same tuple where none of them changes."""
    if not nodes:
        return nodes
    new = [change(node) for node in nodes]
    return tuple(new) if any(map(is_not, new, nodes)) else nodes


def replace_parts(node: Node, family: type[Any], change: Callable[[Any], Any]) -> Node:
    """The node with `change` applied to its parts; itself where none of them changes."""
    changed = changed_parts(node, family, change)
    return evolve(node, **changed) if changed else node  # type: ignore[type-var]  # each kind of node is a record


def shape_of(kind: type, family: type) -> Shape:
    """The names of the fields of a class that hold nodes of `family`, and a function that reads them all at once.

    Raises TypeError for a field that holds such nodes in a form that no walk knows.
    """
    found = _SHAPES.get((kind, family))
    if found is None:
        names = tuple(_part_names(kind, family))
        found = _SHAPES[kind, family] = names, reader_of(names)
    return found


class _Parts:
    """A property that reads the parts of a node. It looks at the class's fields when it is first asked."""

    def __init__(self, name: str, family: type) -> None:
        self.name, self.family = name, family

    def __get__(self, node: Any, kind: type) -> Any:
        if node is None:
            return self
        read = _collector(*shape_of(kind, self.family))
        setattr(kind, self.name, property(read))
        return read(node)


def _part_names(kind: type, family: type) -> Iterator[str]:
    hints = typing.get_type_hints(kind)
    for field in dataclasses.fields(kind):
        if field.init and field.metadata.get("is_part", True) and _mentions(hints[field.name], family):
            if not _is_walked(hints[field.name], family):
                raise TypeError(f"{kind.__name__}.{field.name} holds nodes in a form that no walk knows: {field.type}")
            yield field.name


def _mentions(hint: Any, family: type) -> bool:
    return _is_node(hint, family) or any(_mentions(arg, family) for arg in typing.get_args(hint))


def _is_walked(hint: Any, family: type) -> bool:
    form, args = typing.get_origin(hint), typing.get_args(hint)
    if form is tuple:
        return len(args) == 2 and args[1] is Ellipsis and _is_node(args[0], family)
    if form in (typing.Union, types.UnionType):
        return all(arg is type(None) or _is_node(arg, family) for arg in args)
    return _is_node(hint, family)


def _is_node(hint: Any, family: type) -> bool:
    return typing.get_origin(hint) is None and isinstance(hint, type) and issubclass(hint, family)


def _collector(names: tuple[str, ...], read: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any], tuple[Any, ...]]:
    """What puts all parts of a node into one tuple."""

    def collect(node: Any) -> tuple[Any, ...]:
        first, *others = read(node)
        if type(first) is tuple and not any(others):
            return first
        found: list[Any] = []
        for value in (first, *others):
            if type(value) is tuple:
                found += value
            elif value is not None:
                found.append(value)
        return tuple(found)

    return collect if names else read
