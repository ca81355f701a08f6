"""Dataclasses that cost little: `record` to make an object by the thousand, and each of them to import."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any

__all__ = ["evolve", "reader_of", "record", "sealed", "slotted"]

if TYPE_CHECKING:
    from dataclasses import dataclass as record
    from dataclasses import dataclass as sealed
    from dataclasses import dataclass as slotted
    from dataclasses import replace as evolve
else:

    def record(*, frozen, slots):
        """`dataclass`, where only mypy enforces `frozen`. Objects compare and hash by value, as frozen ones do.

        A dataclass that is frozen sets its fields by `object.__setattr__`, and a node of twelve fields takes five times
        as long to make. And `dataclass` compiles a text for each method of each class, which took a fifth of the time
        of a small check: here `__init__` alone is compiled, when the first object is made. Most kinds of nodes stand in
        no small query.
        """
        return _record

    def sealed(*, frozen, slots):
        """`dataclass`, of which Python, too, refuses to change a field: for what users hold. It takes a third of the
        time to import."""
        return _sealed

    def _record(kind):
        made = slotted(kind)
        return _with_values(made) if "__init__" in vars(made) else made

    def _sealed(kind):
        return _with_values(_made(kind, is_frozen=True))

    def _made(kind, is_frozen):
        made = dataclasses.dataclass(frozen=is_frozen, slots=True, init=False, eq=False, repr=False)(kind)
        if "__init__" in vars(kind):
            return made

        def __init__(self, /, *given, **named):
            made.__init__ = _initializer(made, is_frozen)
            made.__init__(self, *given, **named)

        made.__init__ = __init__
        return made

    def _initializer(kind, is_frozen):
        """The `__init__` that `dataclass` writes for the fields of a class."""
        known = {"put": object.__setattr__, "absent": object()}
        by_place, by_name, lines = ["self"], ["*"], []
        for field in dataclasses.fields(kind):
            name, is_made = field.name, field.default_factory is not dataclasses.MISSING
            has_default = is_made or field.default is not dataclasses.MISSING
            known[f"default_{name}"] = field.default_factory if is_made else field.default
            value = f"default_{name}()" if is_made else f"default_{name}"
            if field.init:
                (by_name if field.kw_only else by_place).append(
                    f"{name}={'absent' if is_made else value}" if has_default else name
                )
                value = f"{value} if {name} is absent else {name}" if is_made else name
            if field.init or has_default:
                lines.append(f"put(self, {name!r}, {value})" if is_frozen else f"self.{name} = {value}")
        if hasattr(kind, "__post_init__"):
            lines.append("self.__post_init__()")
        given = ", ".join(by_place + by_name if len(by_name) > 1 else by_place)
        exec(f"def __init__({given}):\n {'; '.join(lines) or 'pass'}", known)  # noqa: S102  (as `dataclass` does)
        made = known["__init__"]
        made.__qualname__ = f"{kind.__qualname__}.__init__"
        return made

    def _with_values(made):
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
        own = vars(kind)
        if kind.__annotations__ or "__post_init__" in own or not dataclasses.is_dataclass(kind):
            return _made(kind, is_frozen=False)
        kept = {name: value for name, value in own.items() if name not in ("__dict__", "__weakref__")}
        return type(kind)(kind.__name__, kind.__bases__, {**kept, "__slots__": ()})

    def evolve(node, **changes):
        """`dataclasses.replace`, for dataclasses whose fields may be given by place, in a fraction of the time."""
        kind = type(node)
        read, places = _fields(kind)
        values = [*read(node)]
        try:
            for name in changes:
                values[places[name]] = changes[name]
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
