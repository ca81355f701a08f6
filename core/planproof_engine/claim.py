"""What a plane that was read hands over: an ordered schema, facts, and how much of the plane was looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from planproof_engine.records import record
from planproof_engine.schema import PhysicalSchema
from planproof_engine.types import quoted_if_needed

Path = tuple[str, ...]
"""A place in a schema: field names, with `element`, `key` and `value` for the levels of arrays and maps."""


def dotted(path: Path) -> str:
    """The path as findings and evidence spell it.

    >>> dotted(("items", "element", "unit price"))
    'items.element.`unit price`'
    """
    return ".".join(quoted_if_needed(part) for part in path)


@record(frozen=True, slots=True)
class Facts:
    """Counted over all rows: `rows`, and nulls per place where known. `source` says where the counts come from.

    A count at a nested path counts the nulls inside parents that are there. `too_long` counts values beyond the length
    that a char or varchar promises.
    """

    rows: int | None = None
    nulls: Mapping[Path, int] = field(default_factory=dict)
    files: int | None = None
    source: str = ""
    too_long: Mapping[Path, int] = field(default_factory=dict)


ALL, SAMPLE, PART = "all", "sample", "part"


@record(frozen=True, slots=True)
class Claim:
    """What one plane claims. `looked_at` is `all`, `sample` or `part` (the rest could not be read), `what` says of
    what, for people.

    `facts` hold only what was counted over all rows; what a sample counts is no fact.
    """

    plane: str
    schema: PhysicalSchema
    facts: Facts = field(default_factory=Facts)
    looked_at: str = ALL
    what: str = "the schema, nested places included"
