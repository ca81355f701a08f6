"""What a plane that was read hands over: an ordered schema and facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from planproof.schema import PhysicalSchema

Path = tuple[str, ...]
"""A leaf: field names, with `element`, `key` and `value` for the levels of arrays and maps."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Counted over all rows: `rows`, and nulls per leaf where known. `source` says where the counts come from."""

    rows: int | None = None
    nulls: Mapping[Path, int] = field(default_factory=dict)
    files: int | None = None
    source: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    plane: str
    schema: PhysicalSchema
    facts: Facts = field(default_factory=Facts)
