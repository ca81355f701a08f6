"""Record batches against their own schema (I2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from planproof.arrow.leaves import is_list, stored_type
from planproof_engine.claim import Path


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a batch: at a path (None: the batch as a whole), with the null count where nulls are it.

    `text`: only bytes that are no UTF-8, which Spark's strings may hold.
    """

    path: Path | None
    message: str
    nulls: int = 0
    text: bool = False


def find_faults(batch: Any) -> list[Fault]:
    """Where a RecordBatch or Table is not what its schema says: broken buffers, nulls under a NOT NULL flag."""
    try:
        batch.validate(full=True)
    except pa.ArrowInvalid as error:
        found = [Fault(None, str(error), text=_is_text(batch, error))]
    else:
        found = []
    if found and not found[0].text:
        return found
    for record in batch.to_batches() if isinstance(batch, pa.Table) else (batch,):
        for f, column in zip(record.schema, record.columns):
            found += _find_null_faults(f, column, (f.name,))
    return _sum_faults(found)


def _is_text(batch: Any, error: Exception) -> bool:
    """Whether the structure is sound and only a string's bytes are not."""
    if "UTF8" not in str(error):
        return False
    try:
        batch.validate()
    except pa.ArrowInvalid:
        return False
    return True


def _find_null_faults(f: pa.Field, array: Any, path: Path) -> Iterator[Fault]:
    """`array` holds only the places whose parents are there."""
    if not f.nullable and array.null_count:
        yield Fault(path, "null under a NOT NULL flag", array.null_count)
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if isinstance(array, pa.DictionaryArray):
        array = array.dictionary_decode()
    t = stored_type(f.type)
    if is_list(t):
        yield from _find_null_faults(t.value_field, array.flatten(), (*path, "element"))
    elif pa.types.is_map(t):
        present = array.drop_null()
        first, last = (present.offsets[0].as_py(), present.offsets[-1].as_py()) if len(present) else (0, 0)
        yield from _find_null_faults(t.key_field, present.keys.slice(first, last - first), (*path, "key"))
        yield from _find_null_faults(t.item_field, present.items.slice(first, last - first), (*path, "value"))
    elif pa.types.is_struct(t):
        present = array.drop_null()
        for i in range(t.num_fields):
            yield from _find_null_faults(t.field(i), present.field(i), (*path, t.field(i).name))


def _sum_faults(found: list[Fault]) -> list[Fault]:
    totals: dict[tuple[Path | None, str, bool], int] = {}
    for fault in found:
        key = fault.path, fault.message, fault.text
        totals[key] = totals.get(key, 0) + fault.nulls
    return [Fault(path, message, nulls, text) for (path, message, text), nulls in totals.items()]
