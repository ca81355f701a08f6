"""The parts of a node: the fields that hold nodes, found by their declared types.

A field declared as a node, as a node or None, or as a tuple of nodes is a part. A class says of each other field that
holds nodes that it is none: `field(metadata=NO_PART)`. So no kind of node can be forgotten by a walk or a rewriting.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Iterator
from functools import cache
from itertools import chain
from operator import attrgetter, is_not
from typing import Any, TypeVar

from planproof_engine.records import evolve, reader_of

Node = TypeVar("Node")
Reader = Callable[[Any], tuple[Any, ...]]

NO_PART = {"is_part": False}
"""The metadata of a field that holds nodes which a walk does not visit: what binds a name, what is constant, what a
node gives out."""


def name_parts(kind: type, **properties: type) -> None:
    """Gives a class of nodes one property for each family of its parts: `children=Expr`."""
    for name, family in properties.items():
        setattr(kind, name, _Parts(name, family))


def change_parts(node: object, family: type[Node], change: Callable[[Node], Node]) -> dict[str, Any]:
    """The fields of `node` in which `change` puts another node in place of a part, with their new values."""
    found: dict[str, Any] = {}
    names, read = shape_of(type(node), family)  # type: ignore[arg-type]  # mypy takes type[Node] for unhashable
    for name, old in zip(names, read(node)) if names else ():
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
    changed = change_parts(node, family, change)
    return evolve(node, **changed) if changed else node  # type: ignore[type-var]  # each kind of node is a record


@cache
def shape_of(kind: type, family: type) -> tuple[tuple[str, ...], Reader]:
    """The names of the fields of a class that hold nodes of `family`, and a function that reads them all at once.

    Raises TypeError for a field that holds such nodes in a form that no walk knows.
    """
    names = tuple(name for name, _ in _parts_of(kind, family))
    return names, reader_of(names)


class _Parts:
    """The parts of a node. It looks at the class's fields when it is first asked, and puts what it found in its place:
    for a class without parts the empty tuple, else a property that reads the fields."""

    def __init__(self, name: str, family: type) -> None:
        self.name, self.family = name, family

    def __get__(self, node: Any, kind: type) -> Any:
        if node is None:
            return self
        parts = dict(_parts_of(kind, self.family))
        setattr(kind, self.name, property(_make_reader(parts)) if parts else ())
        return getattr(node, self.name)


def _parts_of(kind: type, family: type) -> Iterator[tuple[str, Any]]:
    """The fields that are parts, each with its declared type."""
    hints = _read_hints(kind)
    for field in dataclasses.fields(kind):
        hint = hints[field.name]
        if field.init and field.metadata.get("is_part", True) and _mentions(hint, family):
            if not _is_walked(hint, family):
                raise TypeError(f"{kind.__name__}.{field.name} holds nodes in a form that no walk knows: {field.type}")
            yield field.name, hint


_read_hints = cache(typing.get_type_hints)
"""A class is asked for each family of its parts."""


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


def _make_reader(parts: dict[str, Any]) -> Reader:
    """What reads all parts of a node into one tuple. Walks do little else, so that the usual cases are one look."""
    read = reader_of(tuple(parts))
    forms = [typing.get_origin(hint) for hint in parts.values()]
    if not any(forms):  # Each field holds one node.
        return read
    if forms == [tuple]:
        return attrgetter(*parts)
    nothing_else = tuple(() if form is tuple else None for form in forms[1:])

    def collect(node: Any) -> tuple[Any, ...]:
        found = read(node)
        first = found[0]
        if type(first) is tuple and found[1:] == nothing_else:
            return first
        return tuple(chain.from_iterable(v if type(v) is tuple else (v,) for v in found if v is not None))

    return collect
