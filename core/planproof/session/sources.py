"""Spark's catalog as a registry of data sources."""

from __future__ import annotations

from planproof.session.protocol import Session, StoredTable
from planproof_engine import Catalog, Relation, quote_parts
from planproof_engine.schema import LogicalField, LogicalSchema


def live_catalog(session: Session, seen: dict[str, StoredTable] | None = None) -> Catalog:
    """A catalog that asks Spark, once per name, for tables, views and temporary views.

    Fields carry Spark's own flags. A temporary view's NOT NULL is no evidence: Python data may feed it. Names are
    resolved by Spark in its current catalog and database; make a new catalog after `USE`. `seen` collects what Spark
    said of each, by the relation's name. Types keep char and varchar lengths; what a query sees of them is the plan's
    to say.
    """
    catalog, *namespace = session.namespace

    def ask(parts: tuple[str, ...]) -> Relation | None:
        name = quote_parts(parts)
        found = session.table(name)
        if found is None:
            return None
        if seen is not None:
            seen[name] = found
        flags_are_evidence = found.kind != "temporary view"
        fields = tuple(
            LogicalField(
                parts[-1],
                f.name,
                f.type,
                f.nullable,
                "the source's flag" if flags_are_evidence and not f.nullable else None,
            )
            for f in found.schema
        )
        kind = "table" if found.kind == "table" else "view"
        return Relation(name, LogicalSchema(fields), kind)

    return Catalog(source=ask, namespace=tuple(namespace), catalog=catalog)
