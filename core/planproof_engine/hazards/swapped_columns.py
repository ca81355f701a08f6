"""A set operation that puts a column, or a field of a struct, under another one's name.

UNION, INTERSECT and EXCEPT match columns by position; so does `(a, b) IN (query)`, and a union takes the fields of
structs so, too. Where a name stands at one place on the left and at another on the right, values land in the wrong
column, and no schema shows it as long as the types agree.
"""

from __future__ import annotations

from collections.abc import Iterator

from planproof_engine.conf import Conf
from planproof_engine.expr.nodes import Column, InSubquery, Span
from planproof_engine.hazards.definitions import Definitions
from planproof_engine.hazards.positions import differ, fields_differ, swapped, swapped_fields
from planproof_engine.hazards.suspicion import Count, Suspicion, warning
from planproof_engine.logical.nodes import Plan, SetOperation

_WHAT = "rows hold a value under another column's name"


def swapped_columns(definitions: Definitions, conf: Conf) -> Iterator[Suspicion]:
    """One warning for each side of a set operation that swaps columns whose names match elsewhere, and for each column
    whose fields it swaps.

    Rows of the right side whose values differ show it, unless both sides read the same column of one source: a pair
    that is meant both ways, such as an edge and its reverse, swaps on purpose.
    """
    for node in definitions.nodes:
        if isinstance(node, SetOperation):
            for at, side in enumerate(node.inputs[1:], 1):
                span = node.spans[at] if at < len(node.spans) else None
                yield from _columns(node, side, span, definitions)
                for place, (ours, theirs) in enumerate(zip(node.inputs[0].output, side.output)):
                    yield from _fields(node, ours, theirs, span, (place, len(side.output)))
    for _, expr in definitions.operations:
        if isinstance(expr, InSubquery):
            yield from _compared(expr)


def _compared(expr: InSubquery) -> Iterator[Suspicion]:
    """Columns swapped in `(a, b) IN (query)`: nothing is counted, for the rows do not show which pair was meant."""
    wanted = [value.name if isinstance(value, Column) else "" for value in expr.values]
    given = [c.name for c in expr.plan.output]
    pairs = list(swapped(wanted, given))
    if pairs:
        said = ", ".join(f"{wanted[at]} with {given[at]}" for at, _ in pairs)
        first = pairs[0][0]
        message = f"IN (query) matches columns by position and compares {said}"
        yield Suspicion(warning("PP120", wanted[first], wanted[first], given[first], message))


def _columns(node: SetOperation, side: Plan, span: Span | None, definitions: Definitions) -> Iterator[Suspicion]:
    wanted, given = node.inputs[0].output, side.output
    pairs = list(swapped([c.name for c in wanted], [c.name for c in given]))
    if not pairs:
        return
    said = ", ".join(f"{given[at].name} under {wanted[at].name}" for at, _ in pairs)
    message = f"the {node.kind} matches columns by position and puts {said}"
    first = wanted[pairs[0][0]].name
    finding = warning("PP120", first, first, given[pairs[0][0]].name, message)
    mirrored = all(_same_source(wanted[at], given[other], definitions) for at, other in pairs)
    condition = " OR ".join(differ(f"c{a}", f"c{b}") for a, b in pairs)
    yield Suspicion(finding, span, None if span is None or mirrored else Count(span, condition, _WHAT, len(given)))


def _fields(
    node: SetOperation, ours: Column, theirs: Column, span: Span | None, place: tuple[int, int]
) -> Iterator[Suspicion]:
    """`place` is the column's, and how many there are."""
    found = list(swapped_fields(theirs.type, ours.type, (ours.name,)))
    if not found:
        return
    said = ", ".join(f"{old} under {'.'.join(path)}" for path, old in found)
    message = f"the {node.kind} matches struct fields by position and puts {said}"
    path, old = found[0]
    condition = " OR ".join(fields_differ(f"c{place[0]}", theirs.type, ours.type))
    count = None if span is None else Count(span, condition, _WHAT, place[1])
    yield Suspicion(warning("PP120", ".".join(path), path[-1], old, message), span, count)


def _same_source(a: Column, b: Column, definitions: Definitions) -> bool:
    one, other = definitions.source(a), definitions.source(b)
    return one is not None and other is not None and one.relation.lower() == other.relation.lower()
