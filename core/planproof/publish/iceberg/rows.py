"""`table` on Iceberg where SQL is all that reaches it: all rows are replaced, and nothing else of the table changes."""

from __future__ import annotations

from collections.abc import Sequence

from planproof.publish.iceberg.facts import convert_types
from planproof.publish.iceberg.partitioning import is_same
from planproof.publish.iceberg.publication import IcebergPublication, begin_publication
from planproof.publish.iceberg.table import Whole, collect_properties, list_partitions
from planproof.publish.materialize.logged_change import refuse_other
from planproof.publish.materialize.materialization import Job
from planproof.publish.transaction.names import Refused
from planproof.session.protocol import Changing
from planproof_engine.schema import PhysicalSchema, by_name
from planproof_engine.texts import drop_terminators
from planproof_engine.types import drop_lengths, same_type

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
        return begin_publication(job, self._tables, self._tables.change(job.names.target.quoted), "replace")

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
