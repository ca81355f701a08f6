"""What ephemeral models stand for: dbt writes them into those that read them, so their parents are read in their place.

A manifest that names each parent once can stand for a product: a thousand models that read one which reads a thousand.
The sets are numbers here, a bit for each relation, so that they can be counted before anything is made of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, Protocol, TypeVar

from planproof_engine import OverBudget

MOST = 50
"""Relations that a model reads by way of ephemeral ones, on average over all nodes of a project."""


class OverReach(OverBudget):
    """Raised for a model that reads more by way of ephemeral ones than is looked at."""

    budget = f"relations that are read by way of ephemeral models, {MOST} for each node of the project"


class Node(Protocol):
    """What is asked of a project's node."""

    @property
    def materialized(self) -> str: ...
    @property
    def parents(self) -> tuple[str, ...]: ...


N = TypeVar("N", bound=Node)


class Behind(Generic[N]):
    """The relations that each ephemeral model stands for, parents before children; each is looked at once."""

    def __init__(self, nodes: Mapping[str, N]) -> None:
        self._nodes = nodes
        self._numbers: dict[str, int] = {}
        self._stored: list[N] = []
        self._sets: dict[str, int] = {}
        for key, node in nodes.items():
            if node.materialized == "ephemeral":
                self._sets[key] = self._join(node)

    def _join(self, node: N) -> int:
        found = 0
        for key in node.parents:
            if key in self._sets:
                found |= self._sets[key]
                continue
            if key not in self._numbers:
                self._numbers[key] = len(self._stored)
                self._stored.append(self._nodes[key])
            found |= 1 << self._numbers[key]
        return found

    def list_stored(self, key: str) -> list[N]:
        """The relations that an ephemeral model stands for."""
        # Its digits, so that few of many are found at once.
        found: list[N] = []
        digits, at = f"{self._sets[key]:b}"[::-1], -1
        while (at := digits.find("1", at + 1)) >= 0:
            found.append(self._stored[at])
        return found

    def find_overreaching(self) -> frozenset[str]:
        """The models that read most this way, where all together read more than `MOST` for each node."""
        counts = {key: found for key, node in self._nodes.items() if (found := self._count(node))}
        left = MOST * len(self._nodes)
        for count in sorted(counts.values()):
            left -= count
            if left < 0:
                return frozenset(key for key, found in counts.items() if found >= count)
        return frozenset()

    def _count(self, node: N) -> int:
        found = 0
        for key in node.parents:
            found |= self._sets.get(key, 0)
        return bin(found).count("1")
