"""A NATURAL join whose keys its author does not see.

The keys are all columns that the two sides share. Where a side is a table, a column that is added to it later becomes
a key, and rows are lost without a word; without a shared column the join is a cross join.
"""

from __future__ import annotations

from collections.abc import Iterator

from planproof_engine.conf import Conf
from planproof_engine.hazards.definitions import Definitions
from planproof_engine.hazards.suspicion import Suspicion, make_warning
from planproof_engine.logical.nodes import Join, Named, PassThrough, Plan, Project, Scan


def natural_keys(definitions: Definitions, conf: Conf) -> Iterator[Suspicion]:
    """PP123: a NATURAL join by no column, or by columns that the query does not name."""
    for node in definitions.nodes:
        if not isinstance(node, Join) or node.natural is None:
            continue
        if not node.natural:
            message = "the NATURAL join's sides share no column: every row meets every row"
            yield Suspicion(make_warning("PP123", None, "a shared column", "none", message))
        elif _is_unseen(node.left) or _is_unseen(node.right):
            keys = ", ".join(node.natural)
            message = f"the NATURAL join's keys are whatever columns its tables share, today {keys}"
            yield Suspicion(make_warning("PP123", node.natural[0], "keys that the query names", keys, message))


def _is_unseen(side: Plan) -> bool:
    """Whether the side's columns are those of a table, named nowhere in the query."""
    while True:
        is_star = isinstance(side, Project) and all(getattr(i, "span", None) is None for i in side.items)
        if not is_star and not isinstance(side, (Named, PassThrough)):
            return isinstance(side, Scan)
        [side] = side.children
