"""Partitions of an Iceberg table in one spelling: a model may write them in several, Spark describes them in one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from planproof_engine import fold_name, split_name

_CALL = re.compile(r"(\w+)\s*\((.*)\)", re.S)
_ARGUMENT = re.compile(r"(?:`(?:[^`]|``)*`|[^`,])+")
_IDENTITY = "identity"
_SAME = {"year": "years", "month": "months", "day": "days", "date": "days", "hour": "hours", "date_hour": "hours"}
"""Iceberg's other names of its transforms (`Spark3Util.toIcebergTerm`)."""


class Partition(NamedTuple):
    """A transform of a column. `widths` are its numbers, `columns` the parts of each column's name in lower case."""

    transform: str
    widths: tuple[int, ...]
    columns: tuple[tuple[str, ...], ...]


def parse_partition(text: str) -> Partition:
    """What a model, or Spark's description of a table, says of one partition.

    >>> parse_partition("day(`At`)") == parse_partition("days( at )")
    True
    >>> parse_partition("truncate(`odd col`, 2)") == parse_partition("TRUNCATE(2, odd col)")
    True
    >>> parse_partition("bucket(4, id)") == parse_partition("bucket(8, id)")
    False
    """
    call = _CALL.fullmatch(text.strip())
    if call is None:
        return Partition(_IDENTITY, (), (_parse_column(text),))
    name, arguments = call[1].lower(), [found.strip() for found in _ARGUMENT.findall(call[2])]
    widths = tuple(int(argument) for argument in arguments if argument.isdecimal())
    columns = tuple(_parse_column(argument) for argument in arguments if not argument.isdecimal())
    return Partition(_SAME.get(name, name), widths, columns)


def is_same(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two lists of partitions are the same, in the same order."""
    return [parse_partition(text) for text in one] == [parse_partition(text) for text in other]


def list_unknown(asked: Sequence[str], held: Sequence[str]) -> list[str]:
    """Those of a model's partitions that are not among a table's."""
    known = {parse_partition(text) for text in held}
    return [text for text in asked if parse_partition(text) not in known]


def _parse_column(text: str) -> tuple[str, ...]:
    return tuple(fold_name(part.strip()) for part in split_name(text.strip()))
