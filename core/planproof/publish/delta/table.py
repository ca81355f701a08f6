"""`table` on Delta, a first run and a full refresh: all rows are new, columns, partitions and properties with them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from planproof.contract import Model
from planproof.publish.delta.audit import Audited, audit_whole
from planproof.publish.delta.left import list_left
from planproof.publish.delta.publication import DeltaPublication
from planproof.publish.delta.refusals import refuse_replacement
from planproof.publish.materialize.logged_change import refuse_other
from planproof.publish.materialize.materialization import Job
from planproof.publish.materialize.stage import format_properties
from planproof.publish.notes import sweep_earlier
from planproof.publish.staged_version import StagedVersion
from planproof.publish.transaction import database_root
from planproof.publish.transaction.names import Refused, join
from planproof.session import decode_uri
from planproof.session.delta.protocol import DeltaTables, LogState, NewTable
from planproof_engine import AnalysisError, drop_terminators, quote_literal, quote_parts


class Replacement(Audited):
    """`planproof.publish.materialize.materialization.Materialization` of a whole table, as `create or replace` has it:
    the history stays, properties and constraints are the model's."""

    def __init__(self, tables: DeltaTables) -> None:
        self._tables = tables

    def begin(self, job: Job) -> DeltaPublication:
        stored, wanted = find_place(job)
        base = self._tables.state(stored or wanted or self._tables.place(job.names.target.quoted))
        refuse_replacement(job, base, wanted)
        home = job.root or database_root(job.session, job.names.target.namespace)
        sweep_earlier(list_left(wanted), job, home)
        publication = DeltaPublication(job, self._tables, base, "replace", managed=wanted is None)
        publication.reads = self._tables.is_read(job.names.target.quoted, base.location, job.examined.runs.execution)
        return publication

    def stage(self, job: Job, publication: DeltaPublication) -> str:
        model, query = job.model, drop_terminators(job.examined.sql)
        options, properties = (dict(model.options.get(name) or {}) for name in ("options", "tblproperties"))
        described = describe_table(model)
        statement = "\n".join([f"CREATE OR REPLACE TABLE {publication.entry.target}", *described, "AS", query])
        partition_by = list_partitions(model)
        publication.staged.create(NewTable(statement, query, partition_by, options, properties, model.comment))
        _refuse_defaults(publication.state(), publication.base)
        return statement

    def audit(self, job: Job, publication: DeltaPublication) -> None:
        audit_whole(job, publication, StagedVersion(job, publication))


_DEFAULTS = "allowColumnDefaults"


def _refuse_defaults(made: LogState, base: LogState) -> None:
    """Raises `AnalysisError` where columns have brought the defaults of their source along, and the table lacks the
    feature: what fills an absent column then, and Delta refuses to change such a column. Its `create or replace` fails
    in this way (`ColumnWithDefaultExprUtils`)."""
    columns = json.loads(made.metadata["schemaString"])["fields"]
    if any("CURRENT_DEFAULT" in c["metadata"] for c in columns) and _DEFAULTS not in made.features | base.features:
        raise AnalysisError(
            "WRONG_COLUMN_DEFAULTS_FOR_DELTA_FEATURE_NOT_ENABLED",
            "a column is handed on with the DEFAULT that its source has; make it an expression (`coalesce(c)`), or set "
            f"delta.feature.{_DEFAULTS} to supported in tblproperties",
        )


def list_partitions(model: Model) -> tuple[str, ...]:
    """The model's partition columns, without backticks."""
    return tuple(name.strip("`") for name in model.partition_by)


def describe_table(model: Model) -> list[str]:
    """What a CREATE TABLE says of the model's table, as clauses."""
    options, properties = (dict(model.options.get(name) or {}) for name in ("options", "tblproperties"))
    clauses = ["USING delta"]
    clauses += [f"OPTIONS ({format_properties(options)})"] if options else []
    clauses += [f"TBLPROPERTIES ({format_properties(properties)})"] if properties else []
    if model.partition_by:
        clauses.append(f"PARTITIONED BY ({', '.join(quote_parts((name,)) for name in list_partitions(model))})")
    if model.comment is not None:
        clauses.append(f"COMMENT {quote_literal(model.comment)}")
    return clauses


def find_place(job: Job) -> tuple[str | None, str | None]:
    """Where the target lies, None without one; and where the model asks it to lie, if it names a place.

    Raises `Refused` for what no commit replaces.
    """
    refuse_other(job, "delta", "Delta")
    options: Mapping[str, Any] = job.model.options
    if options.get("buckets"):
        raise Refused(f"{job.model.name} asks for buckets (clustered_by), which Delta does not have")
    root, stored = options.get("location_root"), job.target.location if job.target is not None else None
    return decode_uri(stored) if stored else None, join(str(root), job.names.target.last) if root else None
