"""`table` on Iceberg where SQL is all that reaches it: all rows are replaced, and nothing else of the table changes."""

from __future__ import annotations

from planproof.publish.iceberg.commit import Commit, begun
from planproof.publish.iceberg.facts import as_kept
from planproof.publish.iceberg.table import Whole, partitions, properties, refuse_others
from planproof.publish.materialize.materialization import Job
from planproof.publish.transaction.names import Refused
from planproof.quoting import quoted
from planproof.session.protocol import Changing
from planproof.sql.ending import unterminated
from planproof.types import same_type, without_lengths

_MODE = "spark.sql.sources.partitionOverwriteMode"


class RowsReplaced(Whole):
    """A `materialization.Materialization` of a whole table whose columns, partitions and properties stay."""

    def __init__(self, tables: Changing) -> None:
        self._tables = tables

    def begin(self, job: Job) -> Commit:
        refuse_others(job)
        changes = _changes(job)
        if changes:
            kind = job.session.capabilities.kind
            raise Refused(
                f"{job.model.name}: {changes}, which a session of kind {kind} cannot change together with the rows. "
                "Run it once where Spark's driver is at hand (in dbt: method: session)"
            )
        return begun(job, self._tables, self._tables.change(quoted(job.names.target)), "replace")

    def stage(self, job: Job, publication: Commit) -> str:
        publication.set_apart()
        statement = f"INSERT OVERWRITE {publication.entry.staging} BY NAME\n{unterminated(job.examined.sql)}"
        with job.session.settings({_MODE: "static"}):
            job.session.write(statement)
        return statement


def _changes(job: Job) -> str | None:
    """What the model asks for that the table is not."""
    target = job.target
    if target is None:
        return "there is no such table yet"
    wanted, stored = as_kept(job.examined.promised), target.schema
    same = len(wanted) == len(stored) and all(
        new.name.lower() == old.name.lower() and same_type(without_lengths(new.type), without_lengths(old.type))
        for new, old in zip(wanted.as_nullable(), stored.as_nullable())
    )
    if not same:
        return "its columns are others than the table's"
    if [p.lower() for p in partitions(job)] != [p.lower() for p in target.partition_by]:
        return "its partitions are others than the table's"
    asked = {key: value for key, value in properties(job).items() if key not in ("location", "comment")}
    if any(target.properties.get(key) != value for key, value in asked.items()):
        return "its properties are others than the table's"
    return None
