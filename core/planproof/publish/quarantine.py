"""Rows that break a term are quarantined, and the others are published: once for all formats.

The model runs once: its rows are staged and audited as ever. Where the audit finds rows that break terms, a second
publish of the same target begins. It writes the bad rows where nobody sees them yet, and stages and audits the good
ones. The bad rows become visible just before the target changes. Whatever undoes that publish takes them back.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any, TypeVar

from planproof.contract import Model, quarantine_refusal
from planproof.invariants import count_queries
from planproof.invariants.count_queries import RowTerm, is_of_rows
from planproof.judge.draft import Draft
from planproof.publish.audit.python_claims import holds_unseen
from planproof.publish.bad_rows import (
    DATE,
    OWN,
    PARTITIONS,
    RUN,
    BadRows,
    Unquarantinable,
    format_name,
)
from planproof.publish.materialize.materialization import Job, Publication
from planproof.publish.materialize.table import relax_schema
from planproof.publish.protocol import Format, QuarantineTable, Steps
from planproof.publish.staged_write import StagedWrite
from planproof.publish.transaction import Names, Refused, Stopped, column_list, quarantine_of
from planproof.report.details import QuarantinedRows
from planproof.session import Session, SparkFailure, StoredTable
from planproof.settings import Settings
from planproof_engine import AnalysisError, Finding, Verdict, evolve, quote_literal, split_name
from planproof_engine.schema import ByColumn, ColumnNames, PhysicalField, PhysicalSchema, by_name
from planproof_engine.types import STRING, format_ddl, same_type

_RECOUNTED = ("PP507", "PP509", "PP510", "PP511", "PP512")
"""What the audit of the good rows finds anew."""
P = TypeVar("P", bound=Publication)


def refuse_setting(model: Model, settings: Settings) -> None:
    """Raises `Refused` where rows of the model cannot be quarantined, whatever they hold."""
    if settings.on_violation != "quarantine":
        return
    why = quarantine_refusal(model.name, model.materialized, model.incremental_strategy, model.file_format)
    if why is not None:
        raise Refused(f"{model.name}: on_violation: quarantine cannot be kept: {why}")


@dataclass(frozen=True, slots=True)
class Quarantining(Steps[P]):
    """The steps of the publish of the good rows: the bad ones are written before them, and become visible just before
    the good ones are committed, or not at all. `raw` is the publish that staged them all."""

    table: QuarantineTable[P]
    bad: BadRows
    raw: P

    @classmethod
    def begin(cls, steps: Steps[P], bad: BadRows, job: Job, raw: P) -> tuple[Quarantining[P], Job, P]:
        """Nothing is written yet. Raises `Refused`, or `Moved`, where the target has changed."""
        # No Python data enter here: they were looked at in the first staging.
        examined = job.examined._replace(
            sql=bad.good_rows,
            runs=job.session.analyze(bad.good_rows),
            planes=evolve(job.examined.planes, python_fed=False),
        )
        good = evolve(job, names=bad.names, examined=examined, after_quarantine=True)
        # The findings on the model were added in the first staging.
        silent = evolve(good, draft=Draft(job.draft.model, job.draft.settings))
        publication = steps.materialization.begin(silent)
        if publication is None:
            raise Refused(f"{job.model.name}: its table was changed while its rows were looked at", transient=True)
        table = steps.format.quarantine()
        table.attach(bad, raw, publication)
        publication.watched = raw.watched
        return cls(steps.format, steps.materialization, table, bad, raw), good, publication

    def stage(self, job: Job, publication: P) -> str:
        self.table.write(self.bad, job, publication)
        return self.materialization.stage(job, publication)

    def audit(self, job: Job, publication: P) -> None:
        job.draft.rows = None  # Facts of all rows, until those of the good ones are read.
        self.materialization.audit(job, publication)
        bad, good = self.table.count(job, publication)
        if bad + good != self.bad.rows:
            raise Refused(
                f"{job.model.name}: of {self.bad.rows:,} staged rows {good:,} keep the contract and {bad:,} do not, "
                "which does not add up: a check gives another answer each time. Nothing was published"
            )

    def commit(self, publication: P) -> None:
        self.table.publish(self.bad, publication)
        self.raw.discard()
        self.raw.close()
        self.format.commit(publication)


def find_bad_rows(job: Job, format: Format[P], raw: P, names: Names) -> BadRows | None:
    """The rows to quarantine, after an audit that failed; None where nothing is to be published, and the draft says why
    if it was asked for. `names` are those of the publish of the good rows."""
    draft, settings = job.draft, job.draft.settings
    if settings.on_violation != "quarantine" or job.after_quarantine or job.keys or not _is_broken_by_rows_alone(draft):
        return None
    try:
        if not raw.watched and holds_unseen(job):
            raise Unquarantinable("its NOT NULL columns hold what Python gave, and not every row could be looked at")
        table = format.quarantine()
        table.refuse(raw)
        bad = _count_bad_rows(job, format.staged(job, raw), names)
        _open(job.session, table, bad.table, bad.schema)
        if not bad.bad:
            raise Unquarantinable("no staged row breaks a term by itself")
        if not settings.quarantine.has_room_for(bad.bad, bad.rows):
            limit = f"quarantine.limit is {settings.quarantine}" if settings.quarantine else "no row would be left"
            raise Unquarantinable(f"{bad.bad:,} of {bad.rows:,} rows break a term, and {limit}")
    except (Unquarantinable, Refused, AnalysisError, KeyError) as reason:
        why = str(reason).splitlines()[0]
        message = f"no row was quarantined, and nothing is published: {why}"
        draft.add([Finding(Verdict.VIOLATED, "PP515", "files", promised="on_violation: quarantine", message=message)])
        return None
    return bad


@dataclass
class Outcome:
    """Whether the good rows were published."""

    published: bool = False


@contextmanager
def report_quarantine(job: Job, bad: BadRows) -> Iterator[Outcome]:
    """Within the block the draft names the rows that are quarantined in place of the violations. The violations come
    back where the good rows are not published."""
    draft, outcome = job.draft, Outcome()
    broken = [f for f in draft.findings if is_of_rows(f)]
    draft.findings = [f for f in draft.findings if not is_of_rows(f) and f.code not in _RECOUNTED]
    draft.add(_finding(job, bad, term) for term in bad.terms if bad.counts[term.said])
    try:
        yield outcome
    finally:
        if outcome.published:
            counts = {said: number for said, number in bad.counts.items() if number}
            draft.set_details(
                quarantine=QuarantinedRows(format_name(bad.table), bad.names.stamp, bad.bad, bad.rows, counts)
            )
        else:
            again = {(f.code, f.field, f.promised) for f in broken}
            kept = [f for f in draft.findings if (f.code, f.field, f.promised) not in again and f.code != "PP514"]
            draft.findings = [*kept, *broken]


@contextmanager
def excuse_rows(draft: Draft) -> Iterator[None]:
    """Where what passes by itself stops the block, the rows that were to be quarantined are told as warnings: the model
    is not to blame for it, and may be tried again."""
    try:
        yield
    except (Stopped, SparkFailure) as stop:
        if stop.transient:
            draft.findings = [
                evolve(f, verdict=Verdict.WARNING) if f.verdict is Verdict.VIOLATED and is_of_rows(f) else f
                for f in draft.findings
            ]
        raise


def tidy(job: Job, format: Format[Any]) -> None:
    """After a publish: the quarantine is there for whoever reads it, and without rows that are older than is asked."""
    settings = job.draft.settings
    if settings.on_violation != "quarantine":
        return
    oldest = (datetime.now(timezone.utc) - timedelta(days=settings.quarantine.days)).date().isoformat()
    try:
        name, table = quarantine_of(job.names.target).quoted, format.quarantine()
        table.expire(name, _open(job.session, table, name, relax_schema(job.examined.promised)), oldest)
    except (Unquarantinable, Refused, AnalysisError, SparkFailure) as error:
        message = f"{job.model.name} was published; its quarantine could not be tidied: {error}"
        job.draft.add([Finding(Verdict.WARNING, "PP515", "catalog", message=message)])


def _is_broken_by_rows_alone(draft: Draft) -> bool:
    """Whether nothing forbids the publish but rows, which can be told from the others."""
    alone = Draft(draft.model, draft.settings)
    alone.findings = [
        f
        for f in draft.findings
        if f.code not in _RECOUNTED[2:] and (not is_of_rows(f) or f.field in draft.uncountable)
    ]
    return not alone.fails and any(is_of_rows(f) for f in draft.findings)


def _finding(job: Job, bad: BadRows, term: RowTerm) -> Finding:
    number = bad.counts[term.said]
    rows = f"{number:,} row{'' if number == 1 else 's'}"
    message = (
        f"{term.said}: {rows} of {bad.rows:,} quarantined in {format_name(bad.table)} "
        f"({RUN} = '{bad.names.stamp}'); the others are published"
    )
    column = split_name(term.field)[0] if term.field and not term.key else None
    origin = job.examined.locate(column) if column else None
    return Finding(Verdict.WARNING, "PP514", "files", term.field, term.said, rows, message, origin)


def _count_bad_rows(job: Job, staged: StagedWrite, names: Names) -> BadRows:
    contract = job.model.contract
    assert contract is not None
    schema = _order_columns(staged.schema(), job.examined.promised)
    columns = tuple(f.name for f in schema)
    own = ColumnNames(columns) & {f.name for f in OWN}.union(PARTITIONS)
    if own:
        raise Unquarantinable(f"the model has a column {min(own)}, which the quarantine has of its own")
    terms = count_queries.row_terms(contract, schema, job.draft.settings)
    marked = count_queries.marked_rows_query(staged.new_rows(), staged.rows_after(), columns, terms)
    try:
        row = job.session.rows(count_queries.tally_query(marked, terms))[0]
    except SparkFailure as failure:
        if failure.outside:
            raise
        raise Unquarantinable(str(failure)) from failure
    rows, bad, *each = (int(number or 0) for number in row)
    counts = {term.said: number for term, number in zip(terms, each)}
    return BadRows(names, marked, columns, relax_schema(schema), tuple(terms), bad, rows, counts)


def _order_columns(staged: PhysicalSchema, model: PhysicalSchema) -> PhysicalSchema:
    """The staged columns in the model's order: a table has its partitions last."""
    at = ByColumn((name, i) for i, name in enumerate(model.names))
    return PhysicalSchema(tuple(sorted(staged, key=lambda f: at.get(f.name, len(at)))))


def _open(session: Session, table: QuarantineTable[Any], name: str, schema: PhysicalSchema) -> StoredTable:
    """The quarantine with all columns of the schema: made, or given what it lacks. Raises `Unquarantinable`."""
    schema, stored = table.convert_types(schema), table.find(name)
    if stored is None:
        session.rows(_create_statement(name, schema, table.stored_as))
        stored = table.find(name)
        if stored is None:
            raise SparkFailure(f"{format_name(name)} was made, and the catalog does not show it")
    names = ColumnNames(stored.schema.names)
    is_own = tuple(ColumnNames(stored.partition_by)) == PARTITIONS and {f.name for f in OWN} <= names
    if stored.kind != "table" or stored.format != table.stored_as or not is_own:
        raise Unquarantinable(f"{format_name(name)} exists and is no quarantine; rename it")
    lacks = _list_missing_columns(name, stored.schema, schema)
    if lacks:
        session.rows(f"ALTER TABLE {name} ADD COLUMNS ({column_list(lacks)})")
    return stored


def _list_missing_columns(name: str, held: PhysicalSchema, schema: PhysicalSchema) -> list[tuple[str, str]]:
    """The columns, name and type, that a quarantine lacks. Raises `Unquarantinable` where it has one in another
    type."""
    known = by_name(held)
    for f in schema:
        has = known.get(f.name)
        if has is not None and not same_type(has.type, f.type):
            raise Unquarantinable(
                f"{format_name(name)} has {f.name} as {has.type.simple}, the model gives {f.type.simple}; "
                "rename or drop it"
            )
    return [(f.name, format_ddl(f.type)) for f in schema.as_nullable() if f.name not in known]


def _create_statement(name: str, schema: PhysicalSchema, stored_as: str) -> str:
    fields = [*schema.as_nullable(), *OWN, PhysicalField(DATE, STRING, True), PhysicalField(RUN, STRING, True)]
    columns = column_list((f.name, "date" if f.name == DATE else format_ddl(f.type)) for f in fields)
    return (
        f"CREATE TABLE IF NOT EXISTS {name} ({columns}) USING {stored_as} PARTITIONED BY ({', '.join(PARTITIONS)}) "
        f"COMMENT {quote_literal('Rows that a publish quarantined, with the terms that they break')}"
    )
