"""NOT NULL in an Iceberg table's own schema: written with the rows that the audit has proved, and never before.

Iceberg's writers fail at a null in such a column, and do not say which row holds it. So a change of the table has its
promised columns nullable until the audit has found the nulls. Rows with nulls can then be shown, or quarantined.
Identifier fields stay NOT NULL throughout, as Iceberg demands. A null in one fails the write: see
`planproof.publish.audit.refusals`.

A property of the table names the columns that planproof has made NOT NULL. They become nullable again where the model
promises NOT NULL no more. What others have made NOT NULL stays so.
"""

from __future__ import annotations

import json

from planproof.publish.audit.refusals import describe_forbidden_null
from planproof.publish.iceberg.publication import IcebergPublication
from planproof.publish.materialize.materialization import Job
from planproof.publish.transaction import Refused
from planproof_engine import ColumnNames, Facts, Verdict, fold_name, join_path, quote_parts
from planproof_engine.types import Array, Map, Struct

OWN = "planproof-not-null"
"""The property: a JSON list of columns; or `off`, with which planproof makes none NOT NULL."""


def require(job: Job, publication: IcebergPublication, facts: Facts | None) -> None:
    """Of a table whose rows are all new: the columns that hold no null, by the footers of all its files."""
    transaction = publication.transaction
    noted = transaction.read_property(OWN)
    if job.draft.fails or noted == "off" or not transaction.alters:
        return
    proved, nulls = _list_proved(job), {} if facts is None else facts.nulls
    columns = [f for f in transaction.schema() if f.nullable and not isinstance(f.type, (Struct, Array, Map))]
    names = [f.name for f in columns if f.name in proved and nulls.get((f.name,)) == 0]
    # An audit counts nulls by the manifests: Spark itself counts none in a column that is NOT NULL.
    names = list(transaction.select_counted(names))
    if names:
        transaction.require(names)
    _note(publication, noted, names)


def relax(job: Job, publication: IcebergPublication) -> None:
    """Before a change is written."""
    names = _list_relaxed(job, publication)
    if names:
        publication.transaction.require(names, False)


def restore(job: Job, publication: IcebergPublication, written: Facts | None) -> None:
    """After its audit: the older rows hold no null there, for the table said so. `written` are the facts of all files
    that were added. Raises `Refused` for a null that others forbid, or that a merge's clauses have written against the
    contract."""
    names = [] if job.draft.fails else _list_relaxed(job, publication)
    if not names:
        return
    own, proved, kept = _list_own(job), _list_proved(job), []
    wanted = set(
        publication.transaction.select_counted([name for name in names if name in own and _is_promised(job, name)])
    )
    for name in (name for name in names if name in wanted or name not in own):
        if not _holds_null(job, publication, name, written):
            kept.append(name)
        elif name not in own or name in proved:
            raise Refused(describe_forbidden_null(job, (name,)))
    if kept:
        publication.transaction.require(kept)
    if own:
        still = [f.name for f in job.target.schema if f.name in own and f.name not in names] if job.target else []
        _note(
            publication, publication.transaction.read_property(OWN), [*still, *(name for name in kept if name in own)]
        )


def _note(publication: IcebergPublication, noted: str | None, names: list[str]) -> None:
    text = json.dumps(names) if names else None
    if text != noted:
        publication.transaction.set_property(OWN, text)


def _holds_null(job: Job, publication: IcebergPublication, name: str, written: Facts | None) -> bool:
    """Whether the table as it will be holds a null there."""
    if written is not None and (written.rows == 0 or written.nulls.get((name,)) == 0):
        return False
    return bool(
        job.session.rows(f"SELECT 1 FROM {publication.entry.staging} WHERE {quote_parts((name,))} IS NULL LIMIT 1")
    )


def _list_relaxed(job: Job, publication: IcebergPublication) -> list[str]:
    """Of the table's NOT NULL columns, as it names them, those that planproof made so, and those that the contract
    promises; none that holds an identifier field."""
    own, fields = _list_own(job), job.target.schema if job.target else ()
    names = [f.name for f in fields if not f.nullable and (f.name in own or _is_promised(job, f.name))]
    if not names or not publication.transaction.alters:
        return []
    identifying = publication.transaction.identifier_columns()
    return [name for name in names if name not in identifying]


def _list_own(job: Job) -> set[str]:
    """The columns that planproof has made NOT NULL."""
    noted = job.target.properties.get(OWN) if job.target else None
    try:
        found = json.loads(noted or "[]")
    except (ValueError, RecursionError):  # `off`, or not ours.
        return set()
    return {name for name in found if isinstance(name, str)} if isinstance(found, list) else set()


def _is_promised(job: Job, name: str) -> bool:
    contract = job.model.contract
    fields = contract.schema if contract else ()
    return any(not f.nullable and fold_name(f.name) == fold_name(name) for f in fields)


def _list_proved(job: Job) -> ColumnNames:
    """The contract's NOT NULL columns that are proved to hold no null."""
    contract = job.model.contract
    proved = {f.field for f in job.draft.findings if f.code == "PP505" and f.verdict is Verdict.PROVED}
    fields = contract.schema if contract else ()
    return ColumnNames(f.name for f in fields if not f.nullable and join_path((f.name,)) in proved)
