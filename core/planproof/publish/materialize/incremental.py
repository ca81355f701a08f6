"""`incremental`: the delta is staged in the target's own shape, audited, and added or put in its partitions' place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from planproof.arrow.footers import FooterError, Undecodable
from planproof.claims import files
from planproof.invariants import assigned, count_queries, drift
from planproof.invariants.contract import judge_counted_length
from planproof.invariants.sink import find_untyped
from planproof.publish.audit.staged import audit_files
from planproof.publish.materialize import stage
from planproof.publish.materialize.evolution import Evolution, name_repair, plan_evolution
from planproof.publish.materialize.materialization import Job
from planproof.publish.materialize.table import refuse_foreign, relax_schema
from planproof.publish.staged_write import as_subquery
from planproof.publish.transaction import JournaledPublication, Refused, begin_publication
from planproof.session import SparkFailure, StoredTable, decode_uri, local
from planproof.session.described import MANAGED_PARTITIONS
from planproof_engine import AnalysisError, Check, Finding, Verdict, evolve, quote_parts, split_name
from planproof_engine.claim import Path, join_path
from planproof_engine.schema import ByColumn, ColumnNames, PhysicalField, PhysicalSchema, by_name, fold_name
from planproof_engine.types import Char, Varchar, drop_lengths, same_type

LOOKED_AT = 200
"""Older files whose footers are read before rows are added; an audit reads all."""


class Increment:
    """A later run of an incremental model; the first one, and a full refresh, is a table."""

    def begin(self, job: Job) -> JournaledPublication | None:
        refuse_foreign(job)
        target = job.target
        assert target is not None
        _refuse_shape(job, target)
        change = plan_change(job, "Spark adds columns to a Parquet table")
        if job.model.incremental_strategy == "append":
            job.draft.add(_find_drift(job, target))
        if job.draft.fails_already or change.is_refused:
            return None
        strategy = _choose_strategy(job, target, change)
        options = dict(job.model.options)
        return begin_publication(
            job.session, job.names, target, strategy, job.root, options, job.lock, job.home, change.columns
        )

    def stage(self, job: Job, publication: JournaledPublication) -> str:
        assert job.target is not None
        produced = job.examined.planes.analyzed.names
        return stage.fill(publication, job.model, job.target, job.examined.sql, produced)

    def audit(self, job: Job, publication: JournaledPublication) -> None:
        written = relax_schema(self.published_schema(job, publication))
        audit_files(count_changed_values(job), publication, written, flags=False)

    def published_schema(self, job: Job, publication: JournaledPublication) -> PhysicalSchema:
        assert job.target is not None
        added = tuple(f for f in job.examined.promised if f.name in dict(publication.entry.columns))
        return PhysicalSchema((*job.target.schema, *added))


def plan_change(
    job: Job, adds: str, convert: Callable[[PhysicalSchema], PhysicalSchema] = lambda schema: schema
) -> Evolution:
    """How the delta changes the stored columns; where it does not fit them, the draft says so. `adds` is what can be
    done to the columns of such a table, `convert` gives a schema the types that the format keeps."""
    assert job.target is not None
    change = plan_evolution(job.model, job.target, convert(job.examined.promised), adds)
    fits = [evolve(a.finding, origin=job.examined.locate(a.finding.field or "")) for a in list_assignments(job)]
    promised = convert(job.model.contract.schema) if job.model.contract else ()
    untyped = find_untyped(PhysicalSchema(change.added), job.model.file_format) if change.columns else []
    job.draft.add([*change.findings(job), *_find_misfits(job, change, promised), *fits, *untyped])
    return change


_TOO_LONG = ("EXCEED_LIMIT_LENGTH", "DELTA_EXCEED_CHAR_VARCHAR_LIMIT")
"""What Spark, and Delta, say of a text that is longer than its column."""


def list_assignments(job: Job) -> list[assigned.Assignment]:
    """What becomes of the delta's columns in the stored table's types."""
    assert job.target is not None
    policy = str(job.session.setting("spark.sql.storeAssignmentPolicy")).upper() == "ANSI"
    stored, produced = relax_schema(job.target.schema), relax_schema(job.examined.promised)
    if job.model.incremental_strategy == "merge":
        # MERGE goes by name, in bare dbt too: dbt gives a snapshot's columns in another order than it has stored them.
        at = ByColumn((name, number) for number, name in enumerate(stored.names))
        produced = PhysicalSchema(tuple(sorted(produced, key=lambda f: at.get(f.name, len(at)))))
    return assigned.check(job.model.name, stored, produced, policy, name_repair(job.model))


def find_overflow(job: Job, failure: SparkFailure) -> bool:
    """After a write that failed: whether a value was too large, or too long, for its stored column, which is then
    violated."""
    if failure.condition in _TOO_LONG:
        return _find_too_long(job)
    if failure.condition != "CAST_OVERFLOW_IN_TABLE_INSERT":
        return False
    findings = job.draft.findings
    at = [
        i
        for i, f in enumerate(findings)
        if f.code == "PP133" and quote_parts(split_name(f.field or "")) in str(failure)
    ]
    for i in at:
        known = findings[i]
        message = f"{known.message}; a value of this delta is beyond it"
        findings[i] = evolve(known, verdict=Verdict.VIOLATED, plane="executed", message=message)
    return bool(at)


def _find_too_long(job: Job) -> bool:
    """Spark's error names no column: the delta's texts are counted."""
    if job.target is None:
        return False
    made = ColumnNames(job.examined.planes.analyzed.names)
    limited: dict[Path, Char | Varchar] = {
        (made.find_spelling(f.name),): f.type
        for f in job.target.schema
        if isinstance(f.type, (Char, Varchar)) and f.name in made
    }
    terms = [count_queries.Term(path, t.length) for path, t in limited.items()]
    try:
        facts = count_queries.count_terms(job.session, as_subquery(job.examined.sql), terms)
    except (AnalysisError, SparkFailure):
        return False
    for path, number in facts.too_long.items():
        if number:
            found = judge_counted_length(join_path(path), limited[path].simple, number, facts)
            message = f"{found.message}; {job.model.name} stores {limited[path].simple}"
            job.draft.add([evolve(found, plane="executed", message=message, origin=job.examined.locate(path[0]))])
    return any(facts.too_long.values())


def count_changed_values(job: Job) -> Job:
    """The job, whose counts tell of values, too, that are stored as other ones."""
    return evolve(job, examined=job.examined._replace(checks=(*job.examined.checks, *_list_changed_values(job))))


def _list_changed_values(job: Job) -> list[Check]:
    """The counts, over the model's query, of values that are stored as other ones: of all rows, once."""
    if job.after_quarantine:
        return []
    query = as_subquery(job.examined.sql)
    return [
        Check(a.finding, f"SELECT count_if({a.changed}) FROM {query}", "rows hold another value than is stored")
        for a in list_assignments(job)
        if a.changed is not None
    ]


def _choose_strategy(job: Job, target: StoredTable, change: Evolution) -> str:
    """The strategy that does safely what INSERT INTO or INSERT OVERWRITE would do to the target."""
    if job.model.incremental_strategy == "append":
        return "append"
    if overwrites_partitions(job, target.partition_by):
        return "partitions"
    # The whole table is replaced. For a table without partitions whose columns stay, a new location is enough.
    return "rename" if target.partition_by or change.columns else "location"


def overwrites_partitions(job: Job, partition_by: Sequence[str]) -> bool:
    """Whether INSERT OVERWRITE of a table with those partition columns replaces only the partitions that it writes: dbt
    asks for it where the model names its partitions, and leaves it to the session elsewhere."""
    is_dynamic = str(job.session.setting("spark.sql.sources.partitionOverwriteMode")).upper() == "DYNAMIC"
    return bool(partition_by) and (bool(job.model.partition_by) or is_dynamic)


def _refuse_shape(job: Job, target: StoredTable) -> None:
    if target.kind != "table":
        raise Refused(f"{job.model.name} is a {target.kind}, not a table; run it with full_refresh=True")
    if not target.is_plain_parquet:
        raise Refused(
            f"{job.model.name} is stored as {target.format}; planproof adds to parquet tables, "
            "run it with full_refresh=True"
        )
    if target.partition_by and not target.tracked:
        raise Refused(
            f"the catalog does not hold the partitions of {job.model.name}: the session sets {MANAGED_PARTITIONS} "
            "to false, or the table was written that way. Set it to true, then run MSCK REPAIR TABLE or "
            "use full_refresh=True"
        )
    wanted, found = (list(map(fold_name, names)) for names in (job.model.partition_by, target.partition_by))
    # Rows are added by name, whatever the partitions; only what is overwritten depends on them.
    if job.model.incremental_strategy == "insert_overwrite" and wanted and wanted != found:
        raise Refused(
            f"{job.model.name} is stored with the partitions ({', '.join(found) or 'none'}), the model says "
            f"({', '.join(wanted)}); run it with full_refresh=True"
        )


def _find_misfits(job: Job, change: Evolution, contract: Iterable[PhysicalField]) -> list[Finding]:
    """Where the delta, or its contract, does not fit the columns that the table will have."""
    will = by_name(change.after)
    produced = by_name(job.examined.promised)
    findings = [_report_missing(job, f) for name, f in will.items() if name not in produced]
    findings += [_report_left_out(job, f) for name, f in produced.items() if name not in will]
    for promised in contract:
        held = will.get(promised.name)
        if held is None:
            findings.append(_report_unkept(job, promised, "no such column", "does not have it"))
        elif not same_type(drop_lengths(held.type), drop_lengths(promised.type)):
            found = held.type.simple
            findings.append(_report_unkept(job, promised, found, f"has it as {found}"))
    return findings


def _find_drift(job: Job, target: StoredTable) -> list[Finding]:
    """Compares what the table's older files store with the table to which rows are appended. Only clashes are reported,
    from at most `LOOKED_AT` files: the first, the last and some evenly between. An overwrite is not judged: it may mend
    them.
    """
    if not target.location:
        return []
    root = decode_uri(target.location)
    try:
        paths = job.session.files(local(root) or root)
        step = max(1, -(-len(paths) // LOOKED_AT))
        _, footers = files.read(list(dict.fromkeys([*paths[::step], *paths[-1:]])), job.session)
    except (FooterError, Undecodable, SparkFailure):
        return []  # The delta is not at fault. `planproof audit` says what is wrong with the files.
    is_exact = job.session.conf.case_sensitive
    found = drift.check(relax_schema(target.schema), footers, target.partition_by, is_exact, target.filled)
    return [evolve(f, message=f"{job.model.name}: {f.message}") for f in found if f.verdict is Verdict.VIOLATED]


def _report_missing(job: Job, field: PhysicalField) -> Finding:
    lost = "" if job.model.incremental_strategy == "merge" else "; new rows would silently hold NULL there"
    message = (
        f"{job.model.name} has the column {field.name}, which the model does not produce any more{lost}. Add it to the "
        f"SELECT, or {name_repair(job.model)}"
    )
    return Finding(Verdict.VIOLATED, "PP402", "catalog", field.name, field.type.simple, "no such column", message)


def _report_left_out(job: Job, field: PhysicalField) -> Finding:
    message = f"{job.model.name} does not have the column {field.name}; its values are left out until a full refresh"
    found, origin = field.type.simple, job.examined.locate(field.name)
    return Finding(Verdict.WARNING, "PP402", "catalog", field.name, "no such column", found, message, origin)


def _report_unkept(job: Job, field: PhysicalField, found: str, what: str) -> Finding:
    column, promised = field.name, field.type.simple
    message = (
        f"the contract promises {column} {promised}, and the stored table {job.model.name} {what}; "
        f"{name_repair(job.model)}, or change the contract"
    )
    origin = job.examined.locate(column)
    return Finding(Verdict.VIOLATED, "PP402", "catalog", column, promised, found, message, origin)
