"""Dataclasses that are made by the thousand: mypy holds them to be immutable, and making them costs nothing more."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any

__all__ = ["evolve", "reader_of", "record", "slotted"]

if TYPE_CHECKING:
    from dataclasses import dataclass as record
    from dataclasses import dataclass as slotted
    from dataclasses import replace as evolve
else:

    def record(*, frozen, slots):
        """`dataclass`, where only mypy enforces `frozen`. Objects compare and hash by value, as frozen ones do.

        A dataclass that is frozen sets its fields by `object.__setattr__`, and a node of twelve fields takes five times
        as long to make. And `dataclass` compiles a text for each method of each class, which took a fifth of the time
        of a small check: here `__init__` alone is compiled, where the first object is made. Most nodes of the grammar
        stand in no text of a small project.
        """
        return _record

    def _record(kind):
        made = slotted(kind)
        if "__init__" not in vars(made):
            return made
        own, compared = vars(made), reader_of([f.name for f in dataclasses.fields(made) if f.compare])

        def is_equal(one, other):
            return compared(one) == compared(other) if type(one) is type(other) else NotImplemented

        if "__eq__" not in own:
            made.__eq__ = is_equal
        if own.get("__hash__") is None:
            made.__hash__ = lambda node: hash(compared(node))
        if "__repr__" not in own:
            made.__repr__ = _show
        return made

    def _show(node):
        fields = (f"{f.name}={getattr(node, f.name)!r}" for f in dataclasses.fields(node) if f.repr)
        return f"{type(node).__qualname__}({', '.join(fields)})"

    def slotted(kind):
        """The class with slots and an `__init__` for its fields; one that declares no field has those of its parent."""
        own = dict(vars(kind))
        if not (kind.__annotations__ or "__post_init__" in own or not dataclasses.is_dataclass(kind)):
            kept = {name: value for name, value in own.items() if name not in ("__dict__", "__weakref__")}
            return type(kind)(kind.__name__, kind.__bases__, {**kept, "__slots__": ()})
        made = dataclasses.dataclass(slots=True, init=False, eq=False, repr=False)(kind)

        def __init__(self, *given, **named):
            whole = type(kind)(kind.__name__, kind.__bases__, own)
            made.__init__ = dataclasses.dataclass(slots=True, eq=False, repr=False)(whole).__init__
            made.__init__(self, *given, **named)

        if "__init__" not in own:
            made.__init__ = __init__
        return made

    def evolve(node, **changes):
        """`dataclasses.replace`, for dataclasses whose fields may be given by place, in a third of the time."""
        kind = type(node)
        read, places = _fields(kind)
        values = [*read(node)]
        try:
            for name, value in changes.items():
                values[places[name]] = value
        except KeyError as unknown:
            raise TypeError(f"{kind.__name__} is not made of a field {unknown.args[0]}") from None
        return kind(*values)


@cache
def _fields(kind: type) -> tuple[Any, dict[str, int]]:
    """A function that reads all fields of a dataclass at once, and the place of each field among them."""
    names = [f.name for f in dataclasses.fields(kind) if f.init]
    return reader_of(names), {name: place for place, name in enumerate(names)}


def reader_of(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    """A function that reads the fields of these names at once."""
    if not names:
        return lambda node: ()
    read = attrgetter(*names)
    return read if len(names) > 1 else lambda node: (read(node),)
