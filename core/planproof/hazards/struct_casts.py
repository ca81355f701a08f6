"""A cast between structs that matches fields by position.

`CAST(s AS STRUCT<b: INT, a: INT>)` over `STRUCT<a: INT, b: INT>` puts a's value under b: Spark never looks at names.
"""

from __future__ import annotations

from collections.abc import Iterator

from planproof.conf import Conf
from planproof.expr.nodes import Cast
from planproof.expr.pretty import pretty
from planproof.hazards.lineage import Lineage
from planproof.hazards.suspicion import Suspicion, warning
from planproof.hazards.swapped_columns import swapped
from planproof.types import Array, DataType, Map, Struct


def struct_casts(lineage: Lineage, conf: Conf) -> Iterator[Suspicion]:
    for column, expr in lineage.expressions:
        if isinstance(expr, Cast):
            pairs = list(_swapped(expr.child.type, expr.type, (column or pretty(expr.child),)))
            if pairs:
                said = ", ".join(f"{old} under {'.'.join(place)}" for place, old in pairs)
                message = f"a cast matches struct fields by position and puts {said}"
                place, old = pairs[0]
                yield Suspicion(warning("PP122", ".".join(place), place[-1], old, message), expr.span)


def _swapped(source: DataType, target: DataType, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """(path of a field, the field whose value it gets)."""
    if isinstance(source, Struct) and isinstance(target, Struct):
        for at, _ in swapped(target.names, source.names):
            yield (*path, target.names[at]), source.names[at]
        for old, new in zip(source.fields, target.fields):
            yield from _swapped(old.type, new.type, (*path, new.name))
    elif isinstance(source, Array) and isinstance(target, Array):
        yield from _swapped(source.element, target.element, (*path, "element"))
    elif isinstance(source, Map) and isinstance(target, Map):
        yield from _swapped(source.key, target.key, (*path, "key"))
        yield from _swapped(source.value, target.value, (*path, "value"))
