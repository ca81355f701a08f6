"""What a publish does to the rows of its target, whatever the format and whatever its steps are called."""

from __future__ import annotations

from enum import Enum


class Effect(Enum):
    """`REPLACES`: all rows are new. `REPLACES_PARTITIONS`: those of the partitions that were staged. `ADDS`: rows come
    to those that are there. `CHANGES`: rows are added, replaced or merged by the format, and what was staged is a
    version of the whole table. `DEFINES`: a view, of which no row is stored."""

    REPLACES = "replaces"
    REPLACES_PARTITIONS = "replaces partitions"
    ADDS = "adds"
    CHANGES = "changes"
    DEFINES = "defines"

    @property
    def keeps_rows(self) -> bool:
        """Whether rows that were published before stay."""
        return self in (Effect.REPLACES_PARTITIONS, Effect.ADDS, Effect.CHANGES)

    @property
    def is_partial(self) -> bool:
        """Whether the staged rows are a part of those that the target will hold."""
        return self in (Effect.REPLACES_PARTITIONS, Effect.ADDS)
