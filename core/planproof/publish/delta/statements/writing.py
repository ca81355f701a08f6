"""How a model's rows are staged for a statement that publishes them: a whole table, or a change of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from planproof.publish.delta.audit import Audited, audit_change, audit_whole
from planproof.publish.delta.change import begin_change
from planproof.publish.delta.refusals import refuse_replacement, refused_rows
from planproof.publish.delta.statements.left import LEFT
from planproof.publish.delta.statements.publication import AFTER, StatementPublication, find_home
from planproof.publish.delta.table import describe_table, find_place, list_partitions
from planproof.publish.materialize.evolution import Evolution
from planproof.publish.materialize.incremental import overwrites_partitions
from planproof.publish.materialize.logged_change import write
from planproof.publish.materialize.materialization import Job
from planproof.publish.notes import sweep_earlier
from planproof.publish.staged_version import StagedVersion
from planproof.publish.staged_write import unite_rows
from planproof.publish.transaction import Refused, column_list
from planproof.session.delta.statements import DeltaStatements
from planproof_engine import ColumnNames, drop_terminators, evolve, quote_literal, quote_parts
from planproof_engine.types import Char, String, Varchar

_MODE = "delta.columnMapping.mode"
_TEXTS = (String, Char, Varchar)


class StagedRows(StagedVersion):
    """Also of a merge the staged rows are the new ones: its source is staged, and not its result."""

    def new_rows(self) -> str:
        return self.publication.new_rows()


class Replacement(Audited):
    """`planproof.publish.materialize.materialization.Materialization` of a whole table: the statement is a `create or
    replace`, and a plain `create` where there is no table."""

    def __init__(self, tables: DeltaStatements) -> None:
        self._tables = tables

    def begin(self, job: Job) -> StatementPublication:
        stored, wanted = find_place(job)
        name = job.names.target.quoted
        base = self._tables.state(stored or wanted or self._tables.place(name))
        refuse_replacement(job, base, wanted, maps=True)
        _refuse_options(job)
        sweep_earlier(LEFT, job, find_home(job))
        publication = StatementPublication(job, self._tables, base, "replace")
        # All rows are new: others' do not matter, unless the query, or a limit, looks at them.
        reads = self._tables.is_read(name, base.location, job.examined.sql)
        publication.exact = reads or bool(job.draft.settings.limits)
        return publication

    def stage(self, job: Job, publication: StatementPublication) -> str:
        base, target = publication.base, job.target
        # A plain CREATE fails where others were faster, and where the folder holds what is no table.
        is_free = base.version < 0 and not publication.notebook.store.names(base.location)
        verb = "CREATE TABLE" if is_free else "CREATE OR REPLACE TABLE"
        clauses = describe_table(job.model)
        if job.model.options.get("location_root") or (target is not None and not target.managed):
            clauses.append(f"LOCATION {quote_literal(base.location)}")
        begin, rows = f"{verb} {publication.entry.target}", f"SELECT * FROM {publication.rows}"
        statement = "\n".join([begin, *clauses, "AS", rows])
        publication.commits = lambda: job.session.rows(statement)
        properties: Mapping[str, Any] = job.model.options.get("tblproperties") or {}
        return _stage_rows(job, publication, list_partitions(job.model), str(properties.get(_MODE, "none")))

    def audit(self, job: Job, publication: StatementPublication) -> None:
        audit_whole(job, publication, StagedRows(job, publication))


_OPTIONS = {
    "path": "set location_root instead, which says where the table lies",
    "usermetadata": "set spark.databricks.delta.commitInfo.userMetadata in the session instead",
}
"""Options that the statement must not get from the model, and what to do."""


def _refuse_options(job: Job) -> None:
    for name in job.model.options.get("options") or {}:
        if str(name).lower() in _OPTIONS:
            raise Refused(
                f"{job.model.name}: planproof cannot pass on the table option {name} over Thrift or Connect; "
                f"{_OPTIONS[str(name).lower()]}"
            )


@dataclass
class Change(Audited):
    """`planproof.publish.materialize.materialization.Materialization` of a later run of an incremental model: its own
    INSERT or MERGE, fed with the staged rows."""

    tables: DeltaStatements
    evolution: Evolution | None = None

    def begin(self, job: Job) -> StatementPublication | None:
        job, base, self.evolution = begin_change(job, self.tables.state)
        if self.evolution is None:
            return None
        sweep_earlier(LEFT, job, find_home(job))
        publication = StatementPublication(job, self.tables, base, "change")
        if job.model.incremental_strategy != "merge":
            # `max(id) + 1` would be given twice. What is merged is matched with the rows of that moment.
            reads = self.tables.is_read(job.names.target.quoted, base.location, job.examined.sql)
            publication.exact = publication.exact or reads
        return publication

    def stage(self, job: Job, publication: StatementPublication) -> str:
        change, base = self.evolution, publication.base
        assert change is not None
        fed = evolve(job, examined=job.examined._replace(sql=f"SELECT * FROM {publication.rows}"))
        publication.commits = lambda: write(fed, publication.target, change.after)
        publication.prepares = _add_columns(publication.target, change)
        publication.operations = ("MERGE",) if job.model.incremental_strategy == "merge" else ("WRITE",)
        partition_by = _find_partitions(job, publication)
        statement = _stage_rows(job, publication, partition_by, str(base.properties.get(_MODE, "none")))
        self._describe_rows_after(job, fed, publication, change)
        return statement

    def _describe_rows_after(self, job: Job, fed: Job, publication: StatementPublication, change: Evolution) -> None:
        strategy, base = job.model.incremental_strategy, publication.base
        by_partition = overwrites_partitions(job, base.partition_by)
        publication.replaces_all = strategy == "insert_overwrite" and not by_partition
        if not publication.exact or publication.replaces_all:
            return
        if strategy == "merge" or _is_stored_otherwise(job):
            publication.after = _write_a_copy(fed, publication, change)
        else:
            publication.after = _add_kept_rows(job, publication, change, strategy == "insert_overwrite")

    def audit(self, job: Job, publication: StatementPublication) -> None:
        audit_change(job, publication, StagedRows(job, publication))


def _stage_rows(job: Job, publication: StatementPublication, partition_by: tuple[str, ...], mode: str) -> str:
    """Writes the model's rows to a table of their own, with the target's partitions: a partition column holds an empty
    text as NULL."""
    clauses = ["USING delta"]
    clauses += [f"TBLPROPERTIES ({quote_literal(_MODE)} = {quote_literal(mode)})"] if mode != "none" else []
    if partition_by:
        clauses.append(f"PARTITIONED BY ({', '.join(quote_parts((name,)) for name in partition_by)})")
    query = drop_terminators(job.examined.sql)
    statement = "\n".join([f"CREATE TABLE {publication.rows}", *clauses, "AS", query])
    with publication.ask():
        job.session.write(statement)
    return statement


def _add_columns(table: str, change: Evolution) -> tuple[str, ...]:
    """A commit of its own, as in dbt: a setting that lets the other statement add them holds for all threads."""
    return (f"ALTER TABLE {table} ADD COLUMNS ({column_list(change.columns)})",) if change.columns else ()


def _find_partitions(job: Job, publication: StatementPublication) -> tuple[str, ...]:
    """The partitions in which the rows are staged. What is merged stays as it is for the clauses: they may ask for an
    empty text."""
    produced, partition_by = ColumnNames(job.examined.planes.analyzed.names), publication.base.partition_by
    if not all(name in produced for name in partition_by):
        return ()
    if job.model.incremental_strategy != "merge":
        return partition_by
    own = ColumnNames(partition_by)
    texts = ColumnNames(f.name for f in job.examined.planes.analyzed if f.name in own and isinstance(f.type, _TEXTS))
    if texts:
        names = job.examined.planes.analyzed.names
        quoted = [(name, quote_parts((name,))) for name in names]
        columns = ", ".join(f"nullif({q}, '') AS {q}" if name in texts else q for name, q in quoted)
        publication.reads_as_stored = f"(SELECT {columns} FROM {publication.rows})"
    return ()


def _add_kept_rows(job: Job, publication: StatementPublication, change: Evolution, by_partition: bool) -> str:
    """The new rows with those that stay, of the version that the publish began on."""
    assert job.target is not None
    before = f"{publication.target} VERSION AS OF {publication.base.version}"
    replaced = publication.base.partition_by if by_partition else ()
    return unite_rows(before, publication.rows, job.target.schema.names, change.columns, replaced)


def _is_stored_otherwise(job: Job) -> bool:
    """Whether the table stores another text than it is given: Spark pads a CHAR."""
    assert job.target is not None
    return any(isinstance(f.type, Char) for f in job.target.schema)


def _write_a_copy(job: Job, publication: StatementPublication, change: Evolution) -> str:
    """A copy of the table, changed as the table will be: keys, limits and data tests look at it."""
    copy = quote_parts(("delta", publication.folder + AFTER))
    version = f"{publication.target} VERSION AS OF {publication.base.version}"
    job.session.rows(f"CREATE TABLE {copy} SHALLOW CLONE {version}")
    with refused_rows(job), publication.ask():
        for statement in _add_columns(copy, change):
            job.session.rows(statement)
        write(job, copy, change.after)
    return copy
