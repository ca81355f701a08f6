"""What no plane shows and a plan does: one hazard per file."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from planproof.hazards.swapped_columns import swapped_columns
from planproof.plan.nodes import Plan
from planproof.report.model import Finding

HAZARDS: tuple[Callable[[Plan], Iterator[Finding]], ...] = (swapped_columns,)


def hazards(root: Plan) -> list[Finding]:
    """The warnings of every hazard, in the order of the table."""
    return [finding for hazard in HAZARDS for finding in hazard(root)]


__all__ = ["HAZARDS", "hazards"]
