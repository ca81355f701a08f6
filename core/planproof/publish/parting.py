"""Rows that break a term are set aside, and the others are published: the part that is the same for every format.

The model runs once: its rows are staged and audited as ever. Where the audit finds rows that break terms, the staged
rows are parted. The bad rows are written where nobody sees them yet. The rest is staged again, audited again, and
published. The bad rows become visible just before the target changes. Whatever undoes the publish takes them back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from planproof.invariants import row_terms
from planproof.invariants.row_terms import TERMS, RowTerm, is_of_rows
from planproof.judge.draft import Draft
from planproof.publish.audit.python_claims import holds_unseen
from planproof.publish.formats import Format
from planproof.publish.materialize.materialization import Job, Materialization, Publishing
from planproof.publish.materialize.table import plain
from planproof.publish.staged_write import StagedWrite
from planproof.publish.transaction.names import Names, Refused, literal
from planproof.publish.transaction.publication import column_list
from planproof.report.details import QuarantinedRows
from planproof.session.protocol import SparkFailure
from planproof_engine.catalog import split_name
from planproof_engine.finding import Finding, Verdict
from planproof_engine.origin import AnalysisError
from planproof_engine.quoting import backticked, quoted
from planproof_engine.schema import PhysicalField, PhysicalSchema
from planproof_engine.types import STRING, TIMESTAMP, Array, as_ddl, same_type

SUFFIX = "__quarantine"
RUN, AT, DATE = "quarantine_run", "quarantine_at", "quarantine_date"
OWN = (PhysicalField(TERMS, Array(STRING, True), True), PhysicalField(AT, TIMESTAMP, True))
PARTITIONS = (DATE, RUN)
_RECOUNTED = ("PP507", "PP509", "PP510", "PP511", "PP512")
"""What the audit of the rest finds anew."""
P = TypeVar("P", bound=Publishing)


class Impossible(Exception):
    """Raised with the reason why rows cannot be set aside. Nothing is published then."""


@dataclass(frozen=True, slots=True)
class Parting:
    """How the rows that were staged as `raw` are parted: `marked` is a query of them with the terms that each breaks.

    `names` are those of the second staging, which is the publish; `counts` are the bad rows by term.
    """

    raw: Publishing
    names: Names
    marked: str
    columns: tuple[str, ...]
    schema: PhysicalSchema
    terms: tuple[RowTerm, ...]
    bad: int
    rows: int
    counts: Mapping[str, int]

    @property
    def rest(self) -> str:
        """The query of the rows that keep every term."""
        columns = ", ".join(map(backticked, self.columns))
        return f"SELECT {columns} FROM (\n{self.marked}\n) AS marked WHERE size({TERMS}) = 0"

    @property
    def bad_rows(self) -> str:
        """What follows the columns in a query of the rows that break terms, which are named in `TERMS`."""
        return f"FROM (\n{self.marked}\n) AS marked WHERE size({TERMS}) > 0"

    @property
    def table(self) -> str:
        return quarantine_of(self.names)


def quarantine_of(names: Names) -> str:
    """The table that takes the bad rows of a target, quoted."""
    return quoted((*names.database, f"{names.table}{SUFFIX}"))


class QuarantineFormat(Protocol[P]):
    """How one format sets rows aside."""

    def refuse(self, raw: P) -> None:
        """Raises `Impossible` where rows of this publish cannot be set aside."""

    def open(self, name: str, schema: PhysicalSchema) -> None:
        """Makes the quarantine with all columns of the schema, or gives it what it lacks. Raises `Impossible`."""

    def begin(self, parting: Parting, way: Materialization[P], job: Job) -> tuple[Job, P]:
        """The publish of the rest, as `way` would publish a model of that query; nothing is written yet."""

    def room(self, parting: Parting) -> Format[P]:
        """Where the rest is published: the bad rows become visible just before it, or not at all."""

    def way(self, parting: Parting, way: Materialization[P]) -> Materialization[P]:
        """How the rest is staged: the bad rows are written first."""

    def tidied(self, job: Job, name: str, oldest: str) -> None:
        """After a publish: the quarantine is there for whoever reads it, without the rows of days before `oldest`.
        Raises `Impossible`."""


def parted(
    job: Job, aside: QuarantineFormat[Any], raw: Publishing, staged: StagedWrite, names: Names
) -> Parting | None:
    """How the staged rows are to be parted, after an audit that failed; None where nothing is to be published, and the
    draft says why if it was asked for."""
    draft, settings = job.draft, job.draft.settings
    if settings.on_violation != "quarantine" or job.is_rest or job.keys or not _by_rows_alone(draft):
        return None
    try:
        if not raw.watched and holds_unseen(job):
            _not(draft, "its NOT NULL columns hold what Python gave, and not every row could be looked at")
            return None
        aside.refuse(raw)
        found = _counted(job, staged, raw, names)
        aside.open(found.table, found.schema)
    except (Impossible, Refused, AnalysisError, KeyError) as reason:
        _not(draft, str(reason).splitlines()[0])
        return None
    if not found.bad:
        _not(draft, "no staged row breaks a term by itself")
        return None
    if not settings.quarantine.allows(found.bad, found.rows):
        limit = f"quarantine.limit is {settings.quarantine}" if settings.quarantine else "no row would be left"
        _not(draft, f"{found.bad:,} of {found.rows:,} rows break a term, and {limit}")
        return None
    return found


@dataclass
class Told:
    """Whether the rest was published."""

    published: bool = False


@contextmanager
def told(job: Job, parting: Parting) -> Iterator[Told]:
    """Within the block the draft names the rows that are set aside in place of the violations. The violations come back
    where the rest is not published."""
    draft, outcome = job.draft, Told()
    broken = [f for f in draft.findings if is_of_rows(f)]
    draft.findings = [f for f in draft.findings if not is_of_rows(f) and f.code not in _RECOUNTED]
    draft.add(_said(job, parting, term) for term in parting.terms if parting.counts[term.said])
    try:
        yield outcome
    finally:
        if outcome.published:
            counts = {said: number for said, number in parting.counts.items() if number}
            aside = QuarantinedRows(shown(parting.table), parting.names.stamp, parting.bad, parting.rows, counts)
            draft.tell(quarantine=aside)
        else:
            again = {(f.code, f.field, f.promised) for f in broken}
            kept = [f for f in draft.findings if (f.code, f.field, f.promised) not in again and f.code != "PP514"]
            draft.findings = [*kept, *broken]


def _by_rows_alone(draft: Draft) -> bool:
    """Whether nothing forbids the publish but rows, which can be told from the others."""
    alone = Draft(draft.model, draft.settings)
    alone.findings = [
        f
        for f in draft.findings
        if f.code not in _RECOUNTED[2:] and (not is_of_rows(f) or f.field in draft.uncountable)
    ]
    return not alone.fails and any(is_of_rows(f) for f in draft.findings)


def _not(draft: Draft, why: str) -> None:
    message = f"no row was set aside, and nothing is published: {why}"
    draft.add([Finding(Verdict.VIOLATED, "PP515", "files", promised="on_violation: quarantine", message=message)])


def _said(job: Job, found: Parting, term: RowTerm) -> Finding:
    number = found.counts[term.said]
    rows = f"{number:,} row{'' if number == 1 else 's'}"
    message = (
        f"{term.said}: {rows} of {found.rows:,} set aside in {shown(found.table)} "
        f"({RUN} = '{found.names.stamp}'); the others are published"
    )
    column = split_name(term.field)[0] if term.field and not term.key else None
    origin = job.examined.locate(column) if column else None
    return Finding(Verdict.WARNING, "PP514", "files", term.field, term.said, rows, message, origin)


def shown(table: str) -> str:
    """The table's name as people read it: its parts with dots, without quotes."""
    return ".".join(split_name(table))


def _counted(job: Job, staged: StagedWrite, raw: Publishing, names: Names) -> Parting:
    contract = job.model.contract
    assert contract is not None
    schema = _in_order(staged.schema(), job.examined.promised)
    columns = tuple(f.name for f in schema)
    own = {name.lower() for name in columns} & {f.name for f in OWN}.union(PARTITIONS)
    if own:
        raise Impossible(f"the model has a column {min(own)}, which the quarantine has of its own")
    terms = row_terms.row_terms(contract, schema, job.draft.settings)
    marked = row_terms.marked(staged.new_rows(), staged.rows_after(), columns, terms)
    try:
        row = job.session.rows(row_terms.tally_query(marked, terms))[0]
    except SparkFailure as failure:
        if failure.transient:
            raise
        raise Impossible(str(failure)) from failure
    rows, bad, *each = (int(number or 0) for number in row)
    counts = {term.said: number for term, number in zip(terms, each)}
    return Parting(raw, names, marked, columns, plain(schema), tuple(terms), bad, rows, counts)


def _in_order(staged: PhysicalSchema, model: PhysicalSchema) -> PhysicalSchema:
    """The staged columns in the model's order: a table has its partitions last."""
    at = {name.lower(): i for i, name in enumerate(model.names)}
    return PhysicalSchema(tuple(sorted(staged, key=lambda f: at.get(f.name.lower(), len(at)))))


def rest_of(parting: Parting, job: Job) -> Job:
    """The job whose query is the rest of the rows."""
    # No Python data enter here: they were looked at in the first staging.
    examined = job.examined._replace(
        sql=parting.rest,
        runs=job.session.analyzed(parting.rest),
        planes=replace(job.examined.planes, python_fed=False),
    )
    return replace(job, names=parting.names, examined=examined, is_rest=True)


def begun(job: Job, rest: Job, way: Materialization[P]) -> P:
    """The publish of the rest, as `way` begins it. Raises `Refused` where the target has changed."""
    # The findings on the model were added in the first staging.
    publication = way.begin(replace(rest, draft=Draft(job.draft.model, job.draft.settings)))
    if publication is None:
        raise Refused(f"{job.model.name}: its table was changed while its rows were looked at", transient=True)
    return publication


def refuse_other_sums(job: Job, parting: Parting, bad: int, rest: int) -> None:
    """Raises `Refused` where the rows that were written, aside and beside, are not those that were staged."""
    if bad + rest == parting.rows:
        return
    raise Refused(
        f"{job.model.name}: of {parting.rows:,} staged rows {rest:,} keep the contract and {bad:,} do not, which "
        "is another number together: a check gives another answer each time. Nothing was published"
    )


def refuse_retyped(name: str, held: PhysicalSchema, schema: PhysicalSchema) -> list[tuple[str, str]]:
    """The columns, name and type, that a quarantine lacks. Raises `Impossible` where it has one in another type."""
    known = {f.name.lower(): f for f in held}
    for f in schema:
        has = known.get(f.name.lower())
        if has is not None and not same_type(has.type, f.type):
            raise Impossible(
                f"{shown(name)} has {f.name} as {has.type.simple}, the model gives {f.type.simple}; rename or drop it"
            )
    return [(f.name, as_ddl(f.type)) for f in schema.as_nullable() if f.name.lower() not in known]


def create_quarantine(name: str, schema: PhysicalSchema, stored_as: str) -> str:
    """The statement that makes a quarantine of such rows."""
    fields = [*schema.as_nullable(), *OWN, PhysicalField(DATE, STRING, True), PhysicalField(RUN, STRING, True)]
    columns = column_list((f.name, "date" if f.name == DATE else as_ddl(f.type)) for f in fields)
    return (
        f"CREATE TABLE IF NOT EXISTS {name} ({columns}) USING {stored_as} PARTITIONED BY ({', '.join(PARTITIONS)}) "
        f"COMMENT {literal('Rows that a publish set aside, with the terms that they break')}"
    )
