"""What an open transaction holds: its schema against the query's, and facts from the files that were added."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from planproof.invariants import registered
from planproof.judge.planes import Examined
from planproof.publish.audit.python_claims import keep_trusted
from planproof.publish.audit.staged import read_paths
from planproof.publish.iceberg.publication import IcebergPublication
from planproof.publish.materialize.materialization import Job
from planproof.session import SparkFailure, Transaction, local
from planproof_engine import Claim, Facts, PhysicalField, PhysicalSchema, evolve, nested_fields
from planproof_engine.types import BYTE, INT, SHORT, Array, DataType, Map, Struct, StructField

_LINEAGE = ("_row_id", "_last_updated_sequence_number")
"""What a file keeps of rows that were in another one before (Iceberg's specification, version 3: Row Lineage)."""
_FAR = "Iceberg's files lie where only Spark reads them; what the contract promises is counted"
_UNREAD = "Iceberg wrote {0} files, whose footers are not read; what the contract promises is counted"


def read(job: Job, publication: IcebergPublication, schema: PhysicalSchema, says_types: bool) -> Facts | None:
    """Reads the planes `catalog` and `files` of what was staged. The facts are those of the added files; None where no
    footer tells. `says_types`: a column that is kept in another type than the query's is said."""
    draft, transaction = job.draft, publication.transaction
    draft.read(Claim("catalog", schema))
    draft.add(registered.check(schema, job.examined.promised.drop_lengths()) if says_types else [])
    # Iceberg's paths are locations, in which nothing is encoded: `d=a%2Fb` is a folder's name.
    paths = [local(path) or path for path in transaction.files()]
    others = sorted({path.rpartition(".")[2] for path in paths if not path.endswith(".parquet")})
    if others or not (transaction.alters or all(map(os.path.isfile, paths))):
        draft.mark_data_unread(_UNREAD.format(" and ".join(others)) if others else _FAR)
        return None
    filed = convert_names(schema)
    is_far = any(local(path) is None for path in paths)
    by: Any = _ByTable(transaction) if is_far else job.session
    try:
        # The table's flags bind its writers; a file says what the query knew, which may be more.
        facts = read_paths(draft, paths, filed.as_nullable(), (), by, of_format=_LINEAGE, flags=False)
    except SparkFailure as failure:
        draft.mark_data_unread(f"{_FAR}: {failure}")
        return None
    return keep_trusted(job, publication, None if facts is None else _restore_names(facts, schema, filed))


class _ByTable:
    """Reads footers as the table's own files are read: Hadoop's client may not know the file system, or lack the
    credentials that the catalog hands out."""

    def __init__(self, transaction: Transaction) -> None:
        self.footer = transaction.footer

    def local_path(self, uri: str) -> None:
        """None: no file is looked for on this machine."""


def drop_declared_lengths(examined: Examined) -> Examined:
    """Iceberg keeps no length of a char or varchar, so that none is promised by the type: values are counted."""
    return examined._replace(planes=evolve(examined.planes, declared=None))


def convert_types(schema: PhysicalSchema) -> PhysicalSchema:
    """The schema with the types that Iceberg keeps in place of Spark's: an int for a tinyint and a smallint."""
    return PhysicalSchema(tuple(evolve(f, type=_map_type(f.type, _convert_leaf, str)) for f in schema))


def _convert_leaf(t: DataType) -> DataType:
    return INT if t in (BYTE, SHORT) else t


def convert_names(schema: PhysicalSchema) -> PhysicalSchema:
    """The schema with the names that columns bear in Iceberg's Parquet files (`AvroSchemaUtil.makeCompatibleName`)."""
    return PhysicalSchema(
        tuple(
            PhysicalField(
                make_compatible_name(f.name), _map_type(f.type, lambda t: t, make_compatible_name), f.nullable
            )
            for f in schema
        )
    )


def _map_type(t: DataType, leaf: Callable[[DataType], DataType], name: Callable[[str], str]) -> DataType:
    """A type with its leaves and the names of its fields changed."""
    if isinstance(t, Array):
        return evolve(t, element=_map_type(t.element, leaf, name))
    if isinstance(t, Map):
        return evolve(t, key=_map_type(t.key, leaf, name), value=_map_type(t.value, leaf, name))
    if isinstance(t, Struct):
        return Struct(tuple(StructField(name(f.name), _map_type(f.type, leaf, name), f.nullable) for f in t.fields))
    return leaf(t)


def make_compatible_name(name: str) -> str:
    """A name of letters, digits and underscores that begins with no digit; other characters are spelt out.

    >>> make_compatible_name("order id"), make_compatible_name("2nd"), make_compatible_name("net_amount")
    ('order_x20id', '_2nd', 'net_amount')
    """
    start = name[:1] if name[:1].isalpha() or name[:1] == "_" else _spell_out(name[:1])
    return start + "".join(c if c.isalnum() or c == "_" else _spell_out(c) for c in name[1:])


def _spell_out(character: str) -> str:
    if character.isdigit():
        return f"_{character}"
    units = character.encode("utf-16-be")
    return "".join(f"_x{int.from_bytes(units[at : at + 2], 'big'):X}" for at in range(0, len(units), 2))


def _restore_names(facts: Facts, schema: PhysicalSchema, filed: PhysicalSchema) -> Facts:
    """The facts under the table's names; those of names that come to one in a file are not known."""
    names = [(there.path, here.path) for here, there in zip(nested_fields(schema), nested_fields(filed))]
    seen = [path for path, _ in names]
    return evolve(facts, nulls={own: facts.nulls[p] for p, own in names if p in facts.nulls and seen.count(p) == 1})
