"""`table` on Iceberg: a replacement, or a new table, is written to a transaction, audited there, and committed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from planproof.judge.planes import examine_plans
from planproof.publish.audit.changes import change_of_log
from planproof.publish.audit.staged import decide
from planproof.publish.iceberg.facts import convert_types, drop_declared_lengths, read
from planproof.publish.iceberg.on_top import OnTop
from planproof.publish.iceberg.partitioning import is_same
from planproof.publish.iceberg.publication import IcebergPublication, begin_publication, open_change
from planproof.publish.iceberg.required import require
from planproof.publish.materialize.logged_change import refuse_other
from planproof.publish.materialize.materialization import Job
from planproof.publish.staged_version import StagedVersion
from planproof.publish.transaction.names import Refused, join
from planproof.session.protocol import Changing, Transactional
from planproof_engine import PhysicalSchema, by_name, drop_terminators, evolve, quote_parts
from planproof_engine.types import drop_lengths, same_type


class Whole:
    """What is said of a table whose rows are all new."""

    def audit(self, job: Job, publication: IcebergPublication) -> None:
        with publication.guard_reads(job.draft):
            self._audit(job, publication)

    def _audit(self, job: Job, publication: IcebergPublication) -> None:
        examined = job.examined
        if not job.after_quarantine:  # The plan of the good rows is planproof's own.
            planes = publication.planes or job.session.add_plans(examined.runs)
            examined = examine_plans(job.draft, job.session, examined, planes)
            if publication.planes is not None:
                job.draft.mark_enforced(
                    "I7", "the optimized plan and the final plan of the write against the analyzed one"
                )
        seen = evolve(job, examined=drop_declared_lengths(examined))
        facts = read(seen, publication, publication.transaction.schema(), says_types=not job.after_quarantine)
        staged = StagedVersion(job, publication)
        decide(seen, facts, seen.examined, staged, lambda: change_of_log(job, publication))
        require(job, publication, facts)
        publication.on_top = OnTop(job, "overwrite", staged)

    def published_schema(self, job: Job, publication: IcebergPublication) -> PhysicalSchema:
        return publication.transaction.schema()


class Replacement(Whole):
    """A `materialization.Materialization` of a whole table. Schema, partitions and rows change in one
    commit; what people gave to the old table stays: properties, comments, branches, tags and older snapshots."""

    def __init__(self, tables: Transactional) -> None:
        self._tables = tables

    def begin(self, job: Job) -> IcebergPublication:
        refuse_other(job, "iceberg", "Iceberg")
        target = job.names.target.quoted
        transaction = self._tables.replace(target, job.examined.runs, list_partitions(job), collect_properties(job))
        return begin_publication(job, self._tables, transaction, "replace")

    def stage(self, job: Job, publication: IcebergPublication) -> str:
        publication.set_apart()
        statement = f"INSERT INTO {publication.entry.staging}\n{drop_terminators(job.examined.sql)}"
        written = job.session.write(statement)
        # A query that Python feeds is written with a watch in it: its plans are not the query's alone.
        if written is not None and not job.examined.planes.python_fed:
            publication.planes = written.as_planned(job.examined.runs)
        return statement


def list_partitions(job: Job) -> list[str]:
    """The model's partitions, columns or transforms of one; dbt's buckets are Iceberg's transform of that name."""
    options, found = job.model.options, list(job.model.partition_by)
    columns, buckets = options.get("clustered_by"), options.get("buckets")
    names = [columns] if isinstance(columns, str) else list(columns or ())
    if not names or not buckets:
        return found
    if len(names) > 1:
        raise Refused(f"{job.model.name} is clustered by {', '.join(names)}; Iceberg makes buckets of one column")
    return [*found, f"bucket({int(buckets)}, {quote_parts((names[0],))})"]


def collect_properties(job: Job) -> dict[str, str]:
    """What the model says of its table besides columns and partitions, as Iceberg's properties."""
    options: dict[str, Any] = dict(job.model.options)
    found = {str(k): str(v) for part in ("options", "tblproperties") for k, v in (options.get(part) or {}).items()}
    if options.get("location_root"):
        found["location"] = join(str(options["location_root"]), job.names.target.last)
    if job.model.comment is not None:
        found["comment"] = job.model.comment
    return found


_MODE = "spark.sql.sources.partitionOverwriteMode"


class RowsReplaced(Whole):
    """A `materialization.Materialization` of a whole table whose columns, partitions and properties stay."""

    def __init__(self, tables: Changing) -> None:
        self._tables = tables

    def begin(self, job: Job) -> IcebergPublication:
        refuse_other(job, "iceberg", "Iceberg")
        changes = _describe_changes(job)
        if changes:
            kind = job.session.capabilities.kind
            raise Refused(
                f"{job.model.name}: {changes}, which a session of kind {kind} cannot change together with the rows. "
                "Run it once where Spark's driver is at hand (in dbt: method: session)"
            )
        return begin_publication(job, self._tables, open_change(job, self._tables), "replace")

    def stage(self, job: Job, publication: IcebergPublication) -> str:
        publication.set_apart()
        statement = f"INSERT OVERWRITE {publication.entry.staging} BY NAME\n{drop_terminators(job.examined.sql)}"
        with job.session.change_settings({_MODE: "static"}):
            job.session.write(statement)
        return statement


def _describe_changes(job: Job) -> str | None:
    """What the model asks for that the table is not."""
    target = job.target
    if target is None:
        return "there is no such table yet"
    columns = _describe_other_columns(convert_types(job.examined.promised).as_nullable(), target.schema.as_nullable())
    if columns:
        return f"its columns are others than the table's ({columns})"
    given, held = list_partitions(job), target.partition_by
    if not is_same(given, held):
        return f"its partitions are others than the table's ({_join_names(given)}; the table has {_join_names(held)})"
    asked = {key: value for key, value in collect_properties(job).items() if key not in ("location", "comment")}
    others = [
        f"{key} is {value}, the table's {found}"
        for key, value in asked.items()
        if (found := target.properties.get(key, "not set")) != value
    ]
    return f"its properties are others than the table's ({'; '.join(others)})" if others else None


def _describe_other_columns(wanted: PhysicalSchema, stored: PhysicalSchema) -> str:
    """How the columns differ: which are more, which are missing, which have another type, or else their order."""
    new, old = (by_name(schema) for schema in (wanted, stored))
    said = [f"{field.name} is new" for name, field in new.items() if name not in old]
    said += [f"{field.name} is missing" for name, field in old.items() if name not in new]
    said += [
        f"{field.name} is {field.type.simple}, the table's {old[name].type.simple}"
        for name, field in new.items()
        if name in old and not same_type(drop_lengths(field.type), drop_lengths(old[name].type))
    ]
    if not said and list(new) != list(old):
        said = [f"in the order {', '.join(wanted.names)}; the table has {', '.join(stored.names)}"]
    return "; ".join(said)


def _join_names(partitions: Sequence[str]) -> str:
    return ", ".join(partitions) or "none"
