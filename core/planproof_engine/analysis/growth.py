"""How large a plan becomes: counted while it is made, as whoever reads a plan walks it.

A CTE's nodes count once for each place that reads it: twenty CTEs each of which reads the one before twice make a
million nodes of a thousand characters.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from planproof_engine.ground import Unknown

MOST_NODES = 100_000
"""Relations and query blocks of one plan. Those of large models of public projects have a few hundred."""
MOST_COLUMNS = 2_000_000
"""Columns of all of them."""
MOST_SETS = 65_536
"""Grouping sets of one GROUP BY: a CUBE of sixteen columns."""
MOST_PARTS = 10_000
"""Parts of one expression, once aliases on its left stand for what they name."""
MOST_LIST_PARTS = 200_000
"""Parts of all expressions of one SELECT list, counted so."""
MOST_LETTERS = 4_000_000
"""Characters of the names of a query's columns: who reads it by a star has them all again."""

MOST_PROBED = 10_000
"""Nodes of the text that are bound anew, after an error, to find one that Spark reports before it."""

Size = tuple[int, int]
"""Nodes, and columns of them all."""


@dataclass(slots=True)
class Growth:
    """What was made so far of one query's plan."""

    nodes: int = 0
    columns: int = 0
    probed: int = 0

    def add(self, nodes: int, columns: int) -> None:
        """Counts what is made, before it is made. Raises `Unknown`."""
        self.nodes += nodes
        self.columns += columns
        if self.nodes > MOST_NODES:
            raise Unknown(f"a query whose plan has more than {MOST_NODES:,} nodes, a CTE's counted wherever it is read")
        if self.columns > MOST_COLUMNS:
            raise Unknown(f"a query whose plan has more than {MOST_COLUMNS:,} columns in its nodes")

    def may_probe(self, nodes: int) -> bool:
        """Counts nodes that are to be bound anew; False where that would be too many, and a known error stands."""
        self.probed += nodes
        return self.probed <= MOST_PROBED

    def begin(self) -> Size:
        """What was made before the definition of a CTE, which is no part of the plan until something reads it."""
        return self.nodes, self.columns

    def end(self, before: Size) -> Size:
        """The size of what was defined since."""
        made = self.nodes - before[0] + 1, self.columns - before[1]
        self.nodes, self.columns = before
        return made


def refuse_many_sets(count: int) -> None:
    """Raises `Unknown` for more grouping sets than planproof looks at."""
    if count > MOST_SETS:
        raise Unknown(f"a GROUP BY of more than {MOST_SETS:,} grouping sets")


def refuse_long(parts: int, of_list: int) -> None:
    """Raises `Unknown` for a select item that becomes longer than planproof looks at, or a list of them (`of_list`)."""
    counted = "parts, an alias on its left counted as what it names"
    if parts > MOST_PARTS:
        raise Unknown(f"an expression of more than {MOST_PARTS:,} {counted}")
    if of_list > MOST_LIST_PARTS:
        raise Unknown(f"a SELECT list of more than {MOST_LIST_PARTS:,} {counted}")


def refuse_long_names(names: Iterable[str]) -> None:
    """Raises `Unknown` for columns whose names have more characters than planproof tells."""
    if sum(map(len, names)) > MOST_LETTERS:
        raise Unknown(f"a query whose columns have names of more than {MOST_LETTERS:,} characters together")
