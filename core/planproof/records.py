"""Dataclasses that are made by the thousand: immutable for mypy, and at no price when they are made."""

from __future__ import annotations

import dataclasses
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any

__all__ = ["evolve", "record"]

if TYPE_CHECKING:
    from dataclasses import dataclass as record
    from dataclasses import replace as evolve
else:

    def record(*, frozen, slots):
        """`dataclass`, whose `frozen` only mypy holds code to: objects compare and hash by value, as frozen ones do.

        A dataclass that is frozen sets its fields by `object.__setattr__`, and a node of twelve fields takes five times
        as long to make.
        """
        return dataclasses.dataclass(slots=slots, unsafe_hash=frozen)

    def evolve(node, **changes):
        """`dataclasses.replace`, for dataclasses whose fields may be given by place, in a third of the time."""
        kind = type(node)
        read, places = _fields(kind)
        values = [*read(node)]
        for name, value in changes.items():
            if name not in places:
                raise TypeError(f"{kind.__name__} is not made of a field {name}")
            values[places[name]] = value
        return kind(*values)


@cache
def _fields(kind: type) -> tuple[Any, dict[str, int]]:
    """What reads the fields that a dataclass is made of, all at once, and the place of each among them."""
    names = [f.name for f in dataclasses.fields(kind) if f.init]
    read = attrgetter(*names)
    return (read if len(names) > 1 else lambda node: (read(node),)), {name: place for place, name in enumerate(names)}
