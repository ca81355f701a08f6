"""The statement of a later run of an incremental model on a table with a log: rows are added, overwritten or merged."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

from planproof.publish.materialize.materialization import Job
from planproof.publish.transaction import Refused
from planproof_engine import ColumnNames, Facts, PhysicalSchema, drop_terminators, evolve, quote_parts


def write(job: Job, staging: str, columns: PhysicalSchema) -> str:
    """Runs the statement on what is staged under a name, and returns it. `columns` are those of the table by then."""
    if job.model.incremental_strategy == "merge":
        # The clauses say what is stored; they may ask for other columns, too.
        clauses = drop_terminators(write_merge_clauses(job))
        using = f"USING (\n{drop_terminators(job.examined.sql)}\n) AS DBT_INTERNAL_SOURCE"
        statement = f"MERGE INTO {staging} AS DBT_INTERNAL_DEST {using}\n{clauses}"
    else:
        verb = "OVERWRITE" if job.model.incremental_strategy == "insert_overwrite" else "INTO"
        statement = insert_statement(job, staging, columns, verb)
    with _set_overwrite_mode(job):
        job.session.write(statement)
    return statement


def insert_statement(job: Job, into: str, columns: PhysicalSchema, verb: str) -> str:
    """INSERT INTO or INSERT OVERWRITE, by `verb`, of those of the model's columns that the table has by then."""
    known, produced = ColumnNames(columns.names), job.examined.planes.analyzed.names
    text = drop_terminators(job.examined.sql)
    if any(name not in known for name in produced):
        kept = ", ".join(quote_parts((name,)) for name in produced if name in known)
        text = f"SELECT {kept} FROM (\n{text}\n)"
    return f"INSERT {verb} {into} BY NAME\n{text}"


def _set_overwrite_mode(job: Job) -> AbstractContextManager[None]:
    """dbt asks for partitions to be replaced where the model names some, and leaves it to the session elsewhere."""
    if job.model.incremental_strategy == "insert_overwrite" and job.model.partition_by:
        return job.session.change_settings({"spark.sql.sources.partitionOverwriteMode": "dynamic"})
    return nullcontext()


def refuse_other_partitions(job: Job, missing: Sequence[str], held: Sequence[str]) -> None:
    """Raises `Refused` where an overwrite names partitions that the table does not have: other rows than those that the
    model means would be replaced. Spark refuses dbt's statement for it, INSERT OVERWRITE .. PARTITION
    (`NON_PARTITION_COLUMN`)."""
    if job.model.incremental_strategy == "insert_overwrite" and missing:
        raise Refused(
            f"{job.model.name} is stored with the partitions ({', '.join(held) or 'none'}), and the model also says "
            f"({', '.join(missing)}); run it with full_refresh=True"
        )


def write_merge_clauses(job: Job) -> str:
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
        raise Refused(f"{job.model.name} is merged, and has no unique_key to match rows by")
    same = " AND ".join(
        f"DBT_INTERNAL_SOURCE.{quote_parts((k,))} = DBT_INTERNAL_DEST.{quote_parts((k,))}" for k in keys
    )
    return f"ON {same} WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"


def drop_rows_rewritten(job: Job, facts: Facts | None) -> Facts | None:
    """What a merge writes anew holds old rows too: only where there is no null at all, the new ones hold none."""
    if facts is None or job.model.incremental_strategy != "merge":
        return facts
    return evolve(facts, rows=None, nulls={path: n for path, n in facts.nulls.items() if not n})


def refuse_other(job: Job, format: str, spoken: str) -> None:
    """Raises `Refused` for a target that is there and is no table of the format: none of its commits replaces one."""
    target = job.target
    if target is None or (target.kind == "table" and target.format == format):
        return
    what = target.kind if target.kind != "table" else f"{target.format or 'foreign'} table"
    article = "an" if what[0] in "aeiou" else "a"
    raise Refused(
        f"{job.model.name} exists as {article} {what}, which no {spoken} commit replaces; nothing was changed. Drop or "
        "rename it first"
    )


def limit_to_stored_columns(job: Job) -> Job:
    """A merge whose columns are known (`adds` among the options: those that the table gets) stores no others: what its
    source has besides is for its clauses alone."""
    target, adds = job.target, job.model.options.get("adds")
    if target is None or adds is None:
        return job
    known = ColumnNames((*target.schema.names, *adds))

    def stored(schema: PhysicalSchema) -> PhysicalSchema:
        return PhysicalSchema(tuple(f for f in schema if f.name in known))

    planes = job.examined.planes
    declared = None if planes.declared is None else stored(planes.declared)
    examined = job.examined._replace(planes=evolve(planes, analyzed=stored(planes.analyzed), declared=declared))
    options = {**job.model.options, "on_schema_change": "append_new_columns"}
    return evolve(job, model=evolve(job.model, options=options), examined=examined)
