"""Scala's collections, over py4j."""

from __future__ import annotations

from typing import Any


def items(sequence: Any) -> list[Any]:
    return [sequence.apply(i) for i in range(sequence.size())]


def option(found: Any) -> Any:
    """What an Option holds, or None."""
    return found.get() if found.isDefined() else None
