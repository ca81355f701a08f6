"""Where planproof answers for each rule of Spark's grammar: grammar.yml."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

_MAP = Path(__file__).parent / "grammar.yml"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a rule is answered for: dotted names of core/planproof. `why` says why it is not read, where it is not."""

    names: tuple[str, ...]
    why: str | None = None

    def __str__(self) -> str:
        shown = ", ".join(f"`{name}`" for name in self.names)
        return f"not read ({self.why}): {shown}" if self.why else shown


@cache
def places() -> dict[str, Place]:
    """Each rule's place. Raises ValueError where a rule is named twice."""
    form, found = yaml.safe_load(_MAP.read_text()), {}
    read = [(rule, Place(tuple(names.split(", ")))) for rule, names in form["read"].items()]
    unread = [
        (rule, Place(tuple(part["at"].split(", ")), part["why"]))
        for part in form["unread"]
        for rule in part["rules"].split()
    ]
    for rule, place in (*read, *unread):
        if rule in found:
            raise ValueError(f"{_MAP.name} names {rule} twice")
        found[rule] = place
    return found
