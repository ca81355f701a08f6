"""A column list that gives a query's columns each other's names.

`WITH c(b, a) AS (SELECT a, b ...)`, `(SELECT a, b ...) AS t(b, a)`: the list names columns by position.
"""

from __future__ import annotations

from collections.abc import Iterator

from planproof.conf import Conf
from planproof.hazards.lineage import Lineage
from planproof.hazards.positions import swapped
from planproof.hazards.suspicion import Suspicion, warning
from planproof.plan.nodes import Named


def column_lists(lineage: Lineage, conf: Conf) -> Iterator[Suspicion]:
    for node in lineage.nodes:
        if isinstance(node, Named):
            before, after = [c.name for c in node.child.output], [c.name for c in node.output]
            pairs = list(swapped(after, before))
            if pairs:
                said = ", ".join(f"{before[at]} the name {after[at]}" for at, _ in pairs)
                first = pairs[0][0]
                message = f"the column list of {'.'.join(node.name)} goes by position and gives {said}"
                yield Suspicion(warning("PP121", after[first], after[first], before[first], message))
