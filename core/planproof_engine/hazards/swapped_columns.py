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
from planproof_engine.hazards.positions import (
    find_swapped,
    find_swapped_fields,
    list_difference_conditions,
    make_difference_condition,
)
from planproof_engine.hazards.suspicion import Count, Suspicion, make_warning
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
                yield from _suspect_columns(node, side, span, definitions)
                for place, (ours, theirs) in enumerate(zip(node.inputs[0].output, side.output)):
                    yield from _suspect_fields(node, ours, theirs, span, (place, len(side.output)))
    for _, expr in definitions.operations:
        if isinstance(expr, InSubquery):
            yield from _suspect_in_subquery(expr)


def _suspect_in_subquery(expr: InSubquery) -> Iterator[Suspicion]:
    """Columns swapped in `(a, b) IN (query)`: nothing is counted, for the rows do not show which pair was meant."""
    wanted = [value.name if isinstance(value, Column) else "" for value in expr.values]
    given = [c.name for c in expr.plan.output]
    pairs = list(find_swapped(wanted, given))
    if pairs:
        said = ", ".join(f"{wanted[at]} with {given[at]}" for at, _ in pairs)
        first = pairs[0][0]
        message = f"IN (query) matches columns by position and compares {said}"
        yield Suspicion(make_warning("PP120", wanted[first], wanted[first], given[first], message))


def _suspect_columns(
    node: SetOperation, side: Plan, span: Span | None, definitions: Definitions
) -> Iterator[Suspicion]:
    wanted, given = node.inputs[0].output, side.output
    pairs = list(find_swapped([c.name for c in wanted], [c.name for c in given]))
    if not pairs:
        return
    said = ", ".join(f"{given[at].name} under {wanted[at].name}" for at, _ in pairs)
    message = f"the {node.kind} matches columns by position and puts {said}"
    first = wanted[pairs[0][0]].name
    finding = make_warning("PP120", first, first, given[pairs[0][0]].name, message)
    mirrored = all(_has_same_source(wanted[at], given[other], definitions) for at, other in pairs)
    condition = " OR ".join(make_difference_condition(f"c{a}", f"c{b}") for a, b in pairs)
    yield Suspicion(finding, span, None if span is None or mirrored else Count(span, condition, _WHAT, len(given)))


def _suspect_fields(
    node: SetOperation, ours: Column, theirs: Column, span: Span | None, place: tuple[int, int]
) -> Iterator[Suspicion]:
    """`place` is the column's, and how many there are."""
    found = list(find_swapped_fields(theirs.type, ours.type, (ours.name,)))
    if not found:
        return
    said = ", ".join(f"{old} under {'.'.join(path)}" for path, old in found)
    message = f"the {node.kind} matches struct fields by position and puts {said}"
    path, old = found[0]
    condition = " OR ".join(list_difference_conditions(f"c{place[0]}", theirs.type, ours.type))
    count = None if span is None else Count(span, condition, _WHAT, place[1])
    yield Suspicion(make_warning("PP120", ".".join(path), path[-1], old, message), span, count)


def _has_same_source(a: Column, b: Column, definitions: Definitions) -> bool:
    one, other = definitions.find_source(a), definitions.find_source(b)
    return one is not None and other is not None and one.relation.lower() == other.relation.lower()
