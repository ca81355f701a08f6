"""A set operation that puts a column under another column's name.

UNION, INTERSECT and EXCEPT match columns by position. Where a name stands at one place on the left and at another on
the right, values land in the wrong column, and no schema shows it as long as the types agree.
"""

from __future__ import annotations

from collections.abc import Iterator

from planproof.plan.nodes import Plan, SetOperation
from planproof.report.model import Finding, Verdict


def swapped_columns(root: Plan) -> Iterator[Finding]:
    """One warning for each set operation that swaps columns whose names match elsewhere."""
    for node in root.walk():
        if isinstance(node, SetOperation):
            for side in node.inputs[1:]:
                swapped = list(_swapped(node.inputs[0], side))
                if swapped:
                    yield _finding(node.kind, swapped)


def _swapped(left: Plan, right: Plan) -> Iterator[tuple[str, str]]:
    """(name on the left, name on the right) at places where the right side's name stands elsewhere on the left."""
    mine = [c.name.lower() for c in left.output]
    theirs = [c.name.lower() for c in right.output]
    for a, b, name, other in zip(left.output, right.output, mine, theirs):
        if name != other and other in mine and name in theirs:
            yield a.name, b.name


def _finding(kind: str, swapped: list[tuple[str, str]]) -> Finding:
    pairs = ", ".join(f"{b} under {a}" for a, b in swapped)
    message = f"the {kind} matches columns by position and puts {pairs}"
    return Finding(Verdict.WARNING, "PP120", "logical", swapped[0][0], swapped[0][0], swapped[0][1], message)
