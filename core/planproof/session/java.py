"""Scala's and Java's collections, over py4j."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from py4j.java_collections import JavaList


def items(sequence: Any) -> list[Any]:
    """A Scala sequence as a Python list."""
    return [sequence.apply(i) for i in range(sequence.size())]


def iterate(iterable: Any) -> Iterator[Any]:
    """What a Java collection holds. py4j's own loop ends with an exception of the JVM, which pyspark asks sixty
    questions about."""
    if isinstance(iterable, JavaList):
        for at in range(iterable.size()):
            yield iterable.get(at)
        return
    left = iterable.iterator()
    while left.hasNext():
        yield left.next()


def option_text(found: Any) -> str | None:
    """The text of what an Option holds, or None. One call is enough: `Some(None)` and `None` print differently."""
    text = str(found.toString())
    return None if text == "None" else text.removeprefix("Some(")[:-1]


def split_texts(sequence: Any) -> list[str] | None:
    """The texts of a collection, by two calls: joined, and how many; None where the joined text cannot be split
    again."""
    size, joined = int(sequence.size()), str(sequence.mkString("\0"))
    found = joined.split("\0") if size else []
    return found if len(found) == size else None


def text_map(mapping: Any) -> dict[str, str]:
    """A map of texts; a call for each part only where a text holds a NUL."""
    keys, values = split_texts(mapping.keys()), split_texts(mapping.values())
    if keys is not None and values is not None:
        return dict(zip(keys, values))
    return {str(pair._1()): str(pair._2()) for pair in items(mapping.toSeq())}
