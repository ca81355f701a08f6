"""The struct that Spark's own tables of files offer beside their columns: a name reaches it, a star does not.

Source: `FileFormat.METADATA_NAME`, `SubqueryAlias.metadataOutput`.
"""

from __future__ import annotations

from collections.abc import Sequence

from planproof_engine import types as dt
from planproof_engine.analysis.expressions import Environment
from planproof_engine.analysis.names.scope import METADATA
from planproof_engine.expr import Column, fresh_id
from planproof_engine.logical.nodes import Limit, Named, Plan, Scan

_OF_FILES = (
    dt.StructField("file_path", dt.STRING, False),
    dt.StructField("file_name", dt.STRING, False),
    dt.StructField("file_size", dt.LONG, False),
    dt.StructField("file_block_start", dt.LONG, False),
    dt.StructField("file_block_length", dt.LONG, False),
    dt.StructField("file_modification_time", dt.TIMESTAMP, False),
)
_TYPES = {
    "parquet": dt.Struct((*_OF_FILES, dt.StructField("row_index", dt.LONG, False))),
    **dict.fromkeys(("csv", "json", "orc", "text"), dt.Struct(_OF_FILES)),
}


def list_metadata(table: str, columns: Sequence[Column], env: Environment) -> tuple[Column, ...]:
    """The struct of a table that a script made. A catalog does not tell which tables are files."""
    stored = env.tables.get(table)
    if stored is None or not stored.written or METADATA not in env.text.lower():
        return ()
    found = _TYPES.get(stored.provider)
    if found is None or any(c.name.lower() == METADATA for c in columns):
        return ()
    return (Column(fresh_id(), METADATA, found, False, columns[0].qualifier if columns else ()),)


def split_metadata(plan: Plan) -> tuple[tuple[Column, ...], tuple[Column, ...]]:
    """The columns of a relation, and the struct that a table of files offers beside them."""
    scan = plan
    while isinstance(scan, (Limit, Named)):
        scan = scan.child
    shown = len(plan.output) - int(isinstance(scan, Scan) and scan.metadata)
    return plan.output[:shown], plan.output[shown:]
