"""A set operation that puts a column under another column's name.

UNION, INTERSECT and EXCEPT match columns by position. Where a name stands at one place on the left and at another on
the right, values land in the wrong column, and no schema shows it as long as the types agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from planproof.conf import Conf
from planproof.expr.nodes import Column
from planproof.hazards.lineage import Lineage
from planproof.hazards.suspicion import Count, Suspicion, warning
from planproof.plan.nodes import SetOperation


def swapped_columns(lineage: Lineage, conf: Conf) -> Iterator[Suspicion]:
    """One warning for each set operation that swaps columns whose names match elsewhere.

    Rows of the right side whose values differ show it, unless both sides read the same column of one source: a pair
    that is meant both ways, such as an edge and its reverse, swaps on purpose.
    """
    for node in lineage.nodes:
        if isinstance(node, SetOperation):
            for at, side in enumerate(node.inputs[1:], 1):
                pairs = list(swapped([c.name for c in node.inputs[0].output], [c.name for c in side.output]))
                if pairs:
                    span = node.spans[at] if at < len(node.spans) else None
                    yield _suspicion(node, side.output, pairs, span, lineage)


def swapped(wanted: Sequence[str], given: Sequence[str]) -> Iterator[tuple[int, int]]:
    """(place, place in `given` of the name that is wanted there), where the name given there is wanted elsewhere."""
    mine, theirs = [n.lower() for n in wanted], [n.lower() for n in given]
    for at, (name, other) in enumerate(zip(mine, theirs)):
        if name != other and other in mine and name in theirs:
            yield at, theirs.index(name)


def differ(pairs: Iterable[tuple[int, int]]) -> str:
    """The condition for which a swap of these columns changes a row."""
    return " OR ".join(f"NOT (CAST(c{a} AS STRING) <=> CAST(c{b} AS STRING))" for a, b in pairs)


def _suspicion(
    node: SetOperation,
    given: Sequence[Column],
    pairs: list[tuple[int, int]],
    span: tuple[int, int] | None,
    lineage: Lineage,
) -> Suspicion:
    wanted = node.inputs[0].output
    said = ", ".join(f"{given[at].name} under {wanted[at].name}" for at, _ in pairs)
    message = f"the {node.kind} matches columns by position and puts {said}"
    first = wanted[pairs[0][0]].name
    finding = warning("PP120", first, first, given[pairs[0][0]].name, message)
    what = "rows hold a value under another column's name"
    mirrored = all(_same_source(wanted[at], given[other], lineage) for at, other in pairs)
    count = None if span is None or mirrored else Count(span, differ(pairs), what, len(given))
    return Suspicion(finding, span, count)


def _same_source(a: Column, b: Column, lineage: Lineage) -> bool:
    one, other = lineage.source(a), lineage.source(b)
    return one is not None and other is not None and one.relation.lower() == other.relation.lower()
