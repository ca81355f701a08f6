"""Rows that break a term are set aside, and the others are published.

The model runs once: its rows are staged and audited as ever. Where the audit finds that rows break terms, the staged
rows are parted: the bad ones are written as a partition of `<table>__quarantine` that its catalog does not know yet,
the rest is staged again, audited again, and published. The catalog learns of the partition by one call just before the
target changes; whatever undoes the publish takes it back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone

from planproof.arrow.footers import FooterError, Undecodable
from planproof.catalog import split_name
from planproof.claims import files
from planproof.contract import Model
from planproof.invariants import row_terms
from planproof.invariants.row_terms import TERMS, RowTerm, is_of_rows
from planproof.judge.draft import Draft
from planproof.origin import AnalysisError
from planproof.publish.audit.staged import audit_files
from planproof.publish.audit.target_rows import with_kept
from planproof.publish.formats import Parquet
from planproof.publish.materialize.materialization import Job, Materialization
from planproof.publish.materialize.table import plain
from planproof.publish.transaction.journal import Aside
from planproof.publish.transaction.names import Names, Refused, join, literal
from planproof.publish.transaction.partition import names as partition_names
from planproof.publish.transaction.partition import spec, values
from planproof.publish.transaction.publication import Publication, column_list
from planproof.quarantine import refusal
from planproof.quoting import backticked, quoted
from planproof.report.details import SetAside
from planproof.report.model import Finding, Verdict
from planproof.schema import PhysicalField, PhysicalSchema
from planproof.session.protocol import Session, SparkFailure, StoredTable
from planproof.session.store import Store, decoded, local
from planproof.settings import Settings
from planproof.types import STRING, TIMESTAMP, Array, same_type

SUFFIX = "__quarantine"
RUN, AT, DATE = "quarantine_run", "quarantine_at", "quarantine_date"
_OWN = (PhysicalField(TERMS, Array(STRING, True), True), PhysicalField(AT, TIMESTAMP, True))
_PARTITIONS = (DATE, RUN)
_RECOUNTED = ("PP507", "PP509", "PP510", "PP511", "PP512")
"""What the audit of the rest finds anew."""


def refuse_setting(model: Model, settings: Settings) -> None:
    """Raises `Refused` where rows of the model cannot be set aside, whatever they hold."""
    if settings.on_violation != "quarantine":
        return
    why = refusal(model.materialized, model.incremental_strategy, model.file_format)
    if why is not None:
        raise Refused(f"{model.name}: on_violation: quarantine cannot be kept: {why}")


class Impossible(Exception):
    """Why the rows stay where they are: nothing is published then."""


@dataclass(frozen=True, slots=True)
class Parting:
    """How the rows that were staged as `raw` are parted: `marked` is a query of them with the terms that each breaks.

    `names` are those of the second staging, which is the publish; `counts` are the bad rows by term.
    """

    raw: Publication
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
    def table(self) -> str:
        return quarantine_of(self.names)


def quarantine_of(names: Names) -> str:
    """The table that takes the bad rows of a target, quoted."""
    return quoted((*names.database, f"{names.table}{SUFFIX}"))


def parted(job: Job, raw: Publication, names: Names) -> Parting | None:
    """How the staged rows are to be parted, after an audit that failed; None where nothing is to be published, and the
    draft says why if it was asked for."""
    draft, settings = job.draft, job.draft.settings
    if settings.on_violation != "quarantine" or job.is_rest or job.keys or not _by_rows_alone(draft):
        return None
    if job.examined.planes.python_fed and not raw.watched:
        _not(draft, "its NOT NULL columns hold what Python gave, and not every row could be looked at")
        return None
    try:
        found = _counted(job, raw, names)
        _table(job.session, found.table, found.schema)
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
    """What is set aside stands in the draft in place of what broke the contract; that comes back, where the rest is not
    published within the block."""
    draft, outcome = job.draft, Told()
    broken = [f for f in draft.findings if is_of_rows(f)]
    draft.findings = [f for f in draft.findings if not is_of_rows(f) and f.code not in _RECOUNTED]
    draft.add(_said(job, parting, term) for term in parting.terms if parting.counts[term.said])
    try:
        yield outcome
    finally:
        if outcome.published:
            counts = {said: number for said, number in parting.counts.items() if number}
            aside = SetAside(_shown(parting.table), parting.names.stamp, parting.bad, parting.rows, counts)
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
        f"{term.said}: {rows} of {found.rows:,} set aside in {_shown(found.table)} "
        f"({RUN} = '{found.names.stamp}'); the others are published"
    )
    column = split_name(term.field)[0] if term.field and not term.key else None
    origin = job.examined.locate(column) if column else None
    return Finding(Verdict.WARNING, "PP514", "files", term.field, term.said, rows, message, origin)


def _shown(table: str) -> str:
    return ".".join(split_name(table))


def _counted(job: Job, raw: Publication, names: Names) -> Parting:
    contract = job.model.contract
    assert contract is not None
    raw.register()
    staged = raw.stored(raw.entry.staging)
    if staged is None:
        raise Impossible("the staged rows cannot be described")
    schema = _in_order(staged.schema, job.examined.promised)
    columns = tuple(f.name for f in schema)
    own = {name.lower() for name in columns} & {f.name for f in _OWN}.union(_PARTITIONS)
    if own:
        raise Impossible(f"the model has a column {min(own)}, which the quarantine has of its own")
    terms = row_terms.row_terms(contract, schema, job.draft.settings)
    marked = row_terms.marked(raw.entry.staging, with_kept(job, raw.entry.staging, raw.entry.columns), columns, terms)
    try:
        row = job.session.rows(row_terms.count_query(marked, terms))[0]
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


# --- the quarantine table -------------------------------------------------------------------------------------------


def _table(session: Session, name: str, schema: PhysicalSchema) -> StoredTable:
    """The quarantine with all columns of the schema: made, or given what it lacks. Raises `Impossible`."""
    table = session.registered(name)
    if table is None:
        return _create(session, name, schema)
    _refuse_another(table, name)
    known = {f.name.lower(): f for f in table.schema}
    for f in schema:
        held = known.get(f.name.lower())
        if held is not None and not same_type(held.type, f.type):
            raise Impossible(
                f"{_shown(name)} has {f.name} as {held.type.simple}, the model gives {f.type.simple}; rename or drop it"
            )
    added = [(f.name, f.type.sql) for f in schema.as_nullable() if f.name.lower() not in known]
    if added:
        session.rows(f"ALTER TABLE {name} ADD COLUMNS ({column_list(added)})")
    return table


def _create(session: Session, name: str, schema: PhysicalSchema) -> StoredTable:
    fields = [*schema.as_nullable(), *_OWN, PhysicalField(DATE, STRING, True), PhysicalField(RUN, STRING, True)]
    columns = column_list((f.name, "date" if f.name == DATE else f.type.sql) for f in fields)
    session.rows(
        f"CREATE TABLE IF NOT EXISTS {name} ({columns}) USING parquet PARTITIONED BY ({', '.join(_PARTITIONS)}) "
        f"COMMENT {literal('Rows that a publish set aside, with the terms that they break')}"
    )
    table = session.registered(name)
    if table is None:
        raise SparkFailure(f"{_shown(name)} was made, and the catalog does not show it")
    _refuse_another(table, name)
    return table


def _refuse_another(table: StoredTable, name: str) -> None:
    names = {f.name.lower() for f in table.schema}
    is_own = tuple(c.lower() for c in table.partition_by) == _PARTITIONS and {TERMS, AT} <= names
    if table.kind != "table" or table.format != "parquet" or not is_own:
        raise Impossible(f"{_shown(name)} exists and is no quarantine; rename it")
    if not table.tracked or not table.location:
        raise Impossible(f"the catalog does not hold the partitions of {_shown(name)}")


# --- the publish of the rest ----------------------------------------------------------------------------------------


def begin(parting: Parting, way: Materialization[Publication], job: Job) -> tuple[Job, Publication]:
    """The publish of the rest, as `way` would publish a model of that query; nothing is written yet."""
    planes = job.session.analyzed(parting.rest)
    # Nothing that Python gives enters here: it was looked at when it was staged.
    examined = job.examined._replace(
        sql=parting.rest, runs=planes, planes=replace(job.examined.planes, python_fed=False)
    )
    rest = replace(job, names=parting.names, examined=examined, is_rest=True)
    # What the way says of the model was said when it was staged first.
    publication = way.begin(replace(rest, draft=Draft(job.draft.model, job.draft.settings)))
    if publication is None:
        raise Refused(f"{job.model.name}: its table was changed while its rows were looked at", transient=True)
    table = job.session.registered(parting.table)
    if table is None or not table.location:
        raise SparkFailure(f"{_shown(parting.table)} is gone", transient=True)
    day = datetime.now(timezone.utc).date().isoformat()
    partition = f"{DATE}={day}/{RUN}={parting.names.stamp}"
    aside = Aside(parting.table, partition, join(decoded(table.location), partition))
    journal = publication.journal
    # The lock is held under the first staging's name.
    journal.entry = replace(journal.entry, aside=aside, owner=parting.raw.entry.owner)
    publication.watched = parting.raw.watched
    return rest, publication


class Rest:
    """How the rest is staged: the bad rows are written first."""

    def __init__(self, parting: Parting, way: Materialization[Publication]) -> None:
        self.parting, self.way = parting, way

    def begin(self, job: Job) -> Publication | None:
        return self.way.begin(job)

    def stage(self, job: Job, publication: Publication) -> str:
        parting, aside = self.parting, publication.entry.aside
        assert aside is not None
        columns = ", ".join(map(backticked, (*parting.columns, TERMS)))
        bad = f"FROM (\n{parting.marked}\n) AS marked WHERE size({TERMS}) > 0"
        publication.run(
            f"INSERT OVERWRITE DIRECTORY {literal(aside.location)} USING parquet\n"
            f"SELECT {columns}, current_timestamp() AS {AT} {bad}"
        )
        return self.way.stage(job, publication)

    def audit(self, job: Job, publication: Publication) -> None:
        parting, aside = self.parting, publication.entry.aside
        assert aside is not None
        audit_files(job, publication, plain(self.way.written(job, publication)), flags=False)
        bad, rest = _rows_below(job.session, aside.location), job.draft.rows
        if rest is None:
            publication.register()
            rest = _rows_of(job.session, publication.entry.staging)
        if bad + rest == parting.rows:
            return
        raise Refused(
            f"{job.model.name}: of {parting.rows:,} staged rows {rest:,} keep the contract and {bad:,} do not, which "
            "is another number together: a check gives another answer each time. Nothing was published"
        )

    def written(self, job: Job, publication: Publication) -> PhysicalSchema:
        return self.way.written(job, publication)


def _rows_below(session: Session, location: str) -> int:
    """By the footers, or by Spark's count where they are out of reach."""
    try:
        claim, _ = files.read(session.files(local(location) or location), session)
        known = claim.facts.rows
    except (FooterError, Undecodable, SparkFailure):
        known = None
    return _rows_of(session, f"parquet.{quoted((location,))}") if known is None else known


def _rows_of(session: Session, relation: str) -> int:
    return int(session.rows(f"SELECT count(*) FROM {relation}")[0][0])


class Parted(Parquet):
    """The room in which the rest is published: the bad rows become visible just before it, or not at all."""

    def __init__(self, session: Session, parting: Parting) -> None:
        super().__init__(session)
        self.parting = parting

    def commit(self, publication: Publication) -> None:
        aside = publication.entry.aside
        assert aside is not None
        publication.step("quarantine")
        publication.run(f"ALTER TABLE {aside.table} ADD IF NOT EXISTS PARTITION ({spec(aside.partition)})")
        self.parting.raw.discard()
        self.parting.raw.close()
        super().commit(publication)


def tidied(job: Job, store: Store) -> None:
    """After a publish: the quarantine is there for whoever reads it, and without rows that are older than is asked."""
    settings, name = job.draft.settings, quarantine_of(job.names)
    if settings.on_violation != "quarantine":
        return
    try:
        table = _table(job.session, name, plain(job.examined.promised))
        oldest = (datetime.now(timezone.utc) - timedelta(days=settings.quarantine.days)).date().isoformat()
        for partition in partition_names(job.session, name):
            day = dict(values(partition)).get(DATE)
            if day is not None and day < oldest:
                job.session.rows(f"ALTER TABLE {name} DROP IF EXISTS PARTITION ({spec(partition)})")
                store.delete(join(decoded(table.location or ""), partition))
    except (Impossible, Refused, AnalysisError, SparkFailure) as error:
        message = f"{job.model.name} was published; its quarantine could not be tidied: {error}"
        job.draft.add([Finding(Verdict.WARNING, "PP515", "catalog", message=message)])
