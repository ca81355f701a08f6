"""The rows that a target will hold once its publish is done."""

from __future__ import annotations

from collections.abc import Iterable

from planproof.publish.materialize.materialization import Job, Publishing
from planproof.publish.transaction.publication import Publication
from planproof.quoting import quoted
from planproof.sql.ending import unterminated


def rows_after(job: Job, publication: Publishing) -> str:
    """As a relation, which is registered where it has to be."""
    if not isinstance(publication, Publication):
        return publication.entry.staging  # A version of the whole table.
    if publication.entry.strategy == "view":
        return f"(\n{unterminated(job.model.sql)}\n)"
    publication.register()
    return with_kept(job, publication.entry.staging, publication.entry.columns)


def with_kept(job: Job, staging: str, added: Iterable[tuple[str, str]] = ()) -> str:
    """As a relation: what was staged, with the rows that stay where only some of the table is written.

    `added` are columns (name, type) that the table gets with the delta; its older rows hold NULL there.
    """
    target = job.target
    if job.draft.strategy not in ("append", "partitions") or target is None:
        return staging
    names, new = quoted(job.names.target), dict(added)
    old = [quoted((c,)) for c in target.schema.names]
    columns = ", ".join([*old, *(quoted((c,)) for c in new)])
    filled = ", ".join([*old, *(f"CAST(NULL AS {kind}) AS {quoted((c,))}" for c, kind in new.items())])
    kept = f"SELECT {filled} FROM {names}"
    if job.draft.strategy == "partitions":
        same = " AND ".join(f"old.{quoted((c,))} <=> new.{quoted((c,))}" for c in target.partition_by)
        kept = f"SELECT {filled} FROM {names} AS old LEFT ANTI JOIN {staging} AS new ON {same}"
    return f"({kept} UNION ALL SELECT {columns} FROM {staging})"
