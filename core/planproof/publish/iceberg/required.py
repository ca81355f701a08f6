"""NOT NULL in an Iceberg table's own schema: written with the rows that the audit has proved, and never before.

Iceberg's writers fail at a null in such a column, and do not say where it is. So a change of the table has its promised
columns nullable until the audit has told where nulls are; rows with some can then be shown, or set aside.
"""

from __future__ import annotations

from planproof.claim import Facts, dotted
from planproof.publish.iceberg.commit import Commit
from planproof.publish.materialize.materialization import Job
from planproof.publish.transaction.names import Refused
from planproof.quoting import quoted
from planproof.report.model import Verdict


def require(job: Job, publication: Commit) -> None:
    """Of a table whose rows are all new: the columns in which the audit has proved that there is no null."""
    if job.draft.fails:
        return
    proved = _proved(job)
    names = [f.name for f in publication.transaction.schema() if f.nullable and f.name.lower() in proved]
    if names:
        publication.transaction.require(names)


def relax(job: Job, publication: Commit) -> None:
    """Before a change is written."""
    names = _promised_by_both(job)
    if names:
        publication.transaction.require(names, False)


def restore(job: Job, publication: Commit, written: Facts | None) -> None:
    """After its audit: the older rows hold no null there, for the table said so. `written` are the facts of all files
    that were added. Raises `Refused` where nulls are allowed by the settings and not by the table."""
    names = _promised_by_both(job)
    if not names or job.draft.fails:
        return
    proved = _proved(job)
    for name in names:
        # A clause of a merge may write what its source does not hold.
        is_merge = job.model.incremental_strategy == "merge"
        if name.lower() not in proved or (is_merge and _holds_null(job, publication, name, written)):
            raise Refused(
                f"{job.model.name} says NOT NULL of {name} in its own schema, and that was not proved of what would be "
                f"written; nothing was published. Or make it nullable: ALTER TABLE {quoted(job.names.target)} ALTER "
                f"COLUMN {quoted((name,))} DROP NOT NULL"
            )
    publication.transaction.require(names)


def _holds_null(job: Job, publication: Commit, name: str, written: Facts | None) -> bool:
    if written is not None and written.nulls.get((name,)) == 0:
        return False
    return bool(job.session.rows(f"SELECT 1 FROM {publication.entry.staging} WHERE {quoted((name,))} IS NULL LIMIT 1"))


def _promised_by_both(job: Job) -> list[str]:
    """The columns that are NOT NULL in the table, as it names them, and in the contract."""
    contract, target = job.model.contract, job.target
    promised = {f.name.lower() for f in contract.schema if not f.nullable} if contract else set()
    return [f.name for f in target.schema if not f.nullable and f.name.lower() in promised] if target else []


def _proved(job: Job) -> set[str]:
    """The contract's NOT NULL columns that hold no null, in lower case."""
    contract = job.model.contract
    proved = {f.field for f in job.draft.findings if f.code == "PP505" and f.verdict is Verdict.PROVED}
    fields = contract.schema if contract else ()
    return {f.name.lower() for f in fields if not f.nullable and dotted((f.name,)) in proved}
