"""`incremental` on Iceberg: rows are added, overwritten or merged in a transaction, new columns with them.

What SQL reads under the staged name is the table as it will be. Keys are counted over all of it. What the contract says
of single rows is counted over the files that this change added.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

from planproof.contract import Contract
from planproof.judge.effect import Effect
from planproof.publish.audit.staged import decide
from planproof.publish.iceberg.commit import Commit, begun
from planproof.publish.iceberg.facts import as_kept, read, without_declared_lengths
from planproof.publish.iceberg.on_top import OnTop
from planproof.publish.iceberg.required import relax, restore
from planproof.publish.materialize.evolution import Evolution, evolution
from planproof.publish.materialize.incremental import assignments, changed, misfits
from planproof.publish.materialize.materialization import Job
from planproof.publish.materialize.table import plain
from planproof.publish.staged_version import StagedVersion
from planproof.publish.transaction.names import Refused
from planproof.session.protocol import Changing
from planproof_engine.quoting import quoted
from planproof_engine.schema import PhysicalSchema
from planproof_engine.texts import unterminated

_MODE = "spark.sql.sources.partitionOverwriteMode"


class Change:
    """`planproof.publish.materialize.materialization.Materialization` of a later run of an incremental model."""

    def __init__(self, tables: Changing) -> None:
        self._tables = tables
        self._evolution: Evolution | None = None

    def begin(self, job: Job) -> Commit | None:
        job = with_stored_columns(job)
        target, model = job.target, job.model
        assert target is not None
        if target.format != "iceberg":
            raise Refused(f"{model.name} is a {target.format or target.kind}, no Iceberg table; run with full_refresh")
        found = evolution(model, target, as_kept(job.examined.promised))
        change = self._evolution = replace(found, adds="planproof adds columns to an Iceberg table")
        fits = [replace(a.finding, origin=job.examined.locate(a.finding.field or "")) for a in assignments(job)]
        job.draft.add([*change.findings(job), *misfits(_as_kept(job), change), *fits])
        if job.draft.fails_already or change.is_refused:
            return None
        merges(job)
        transaction = self._tables.change(quoted(job.names.target))
        if change.columns and not transaction.alters:
            transaction.discard()
            kind = job.session.capabilities.kind
            raise Refused(
                f"{model.name} gets the column {change.columns[0][0]}, which a session of kind {kind} cannot add "
                "together with the rows. Run it once where Spark's driver is at hand (in dbt: method: session)"
            )
        return begun(job, self._tables, transaction, "change", Effect.CHANGES)

    def stage(self, job: Job, publication: Commit) -> str:
        change, produced = self._evolution, job.examined.planes.analyzed.names
        assert change is not None
        if change.columns:
            publication.transaction.add_columns(job.examined.planes, [name for name, _ in change.columns])
        known = {name.lower() for name in change.after.names}
        text = unterminated(job.examined.sql)
        # A merge's clauses say what is stored; they may ask for other columns, too.
        if job.model.incremental_strategy != "merge" and any(name.lower() not in known for name in produced):
            kept = ", ".join(quoted((name,)) for name in produced if name.lower() in known)
            text = f"SELECT {kept} FROM (\n{text}\n)"
        relax(job, publication)
        publication.set_apart()
        with self._mode(job):
            statement = _statement(job, publication.entry.staging, text)
            job.session.write(statement)
        return statement

    def audit(self, job: Job, publication: Commit) -> None:
        with publication.looking(job.draft):
            self._audit(job, publication)

    def _audit(self, job: Job, publication: Commit) -> None:
        examined = without_declared_lengths(job.examined)
        counted = replace(job, examined=examined._replace(checks=(*examined.checks, *changed(job))))
        facts = written = read(counted, publication, plain(publication.transaction.schema()), told=False)
        if job.model.incremental_strategy == "merge" and facts is not None:
            # What a merge writes anew holds old rows too: only where there is no null at all, the new ones hold none.
            facts = replace(facts, rows=None, nulls={path: n for path, n in facts.nulls.items() if not n})
        staged = StagedVersion(job, publication)
        decide(counted, facts, counted.examined, staged.new_rows, staged.rows_after)
        restore(job, publication, written)
        publication.on_top = OnTop(job, _how(job), staged)

    def written(self, job: Job, publication: Commit) -> PhysicalSchema:
        return publication.transaction.schema()

    def _mode(self, job: Job) -> AbstractContextManager[None]:
        """dbt asks for partitions to be replaced where the model names some, and leaves it to the session elsewhere."""
        model = job.model
        if model.incremental_strategy == "insert_overwrite" and model.partition_by:
            return job.session.settings({_MODE: "dynamic"})
        return nullcontext()


def with_stored_columns(job: Job) -> Job:
    """A merge whose columns are known (`adds` among the options: those that the table gets) stores no others: what its
    source has besides is for its clauses alone."""
    target, adds = job.target, job.model.options.get("adds")
    if target is None or adds is None:
        return job
    known = {name.lower() for name in (*target.schema.names, *adds)}

    def stored(schema: PhysicalSchema) -> PhysicalSchema:
        return PhysicalSchema(tuple(f for f in schema if f.name.lower() in known))

    planes = job.examined.planes
    declared = None if planes.declared is None else stored(planes.declared)
    examined = job.examined._replace(planes=replace(planes, analyzed=stored(planes.analyzed), declared=declared))
    options = {**job.model.options, "on_schema_change": "append_new_columns"}
    return replace(job, model=replace(job.model, options=options), examined=examined)


def _as_kept(job: Job) -> Job:
    """The job with its contract in the types that the table has for the promised ones."""
    contract = job.model.contract
    if contract is None:
        return job
    columns = [(f.name, f.type, f.nullable) for f in as_kept(contract.schema)]
    kept = Contract(columns, contract.constraints, contract.places, contract.unknown)
    return replace(job, model=replace(job.model, contract=kept))


def merges(job: Job) -> str:
    """The clauses of the model's MERGE, from ON: dbt's own where dbt has written them (`merge` among the options), else
    what dbt would write of the `unique_key`. Raises `Refused`."""
    options = job.model.options
    if job.model.incremental_strategy != "merge":
        return ""
    if options.get("merge"):
        return str(options["merge"])
    key = options.get("unique_key")
    keys = [key] if isinstance(key, str) else list(key or ())
    if not keys:
        raise Refused(f"{job.model.name} is merged, and has no unique_key by which rows are matched")
    same = " AND ".join(f"DBT_INTERNAL_SOURCE.{quoted((k,))} = DBT_INTERNAL_DEST.{quoted((k,))}" for k in keys)
    return f"ON {same} WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"


def _statement(job: Job, staging: str, text: str) -> str:
    strategy = job.model.incremental_strategy
    if strategy == "merge":
        clauses = unterminated(merges(job))
        return f"MERGE INTO {staging} AS DBT_INTERNAL_DEST USING (\n{text}\n) AS DBT_INTERNAL_SOURCE\n{clauses}"
    verb = "OVERWRITE" if strategy == "insert_overwrite" else "INTO"
    return f"INSERT {verb} {staging} BY NAME\n{text}"


def _how(job: Job) -> str:
    strategy = job.model.incremental_strategy
    return {"merge": "merge", "insert_overwrite": "overwrite"}.get(strategy or "", "append")
