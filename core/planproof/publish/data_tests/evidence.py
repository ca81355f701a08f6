"""What the plan of a published model proves of its rows: a data test that asks for that needs no query.

A plan that groups by `id` proves the test `unique` of `id`. A filter `id is not null` proves `not_null`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from planproof.arrow.column_counts import is_comparable
from planproof.judge.draft import Effect
from planproof.publish.fingerprint import compute_fingerprint
from planproof.publish.materialize.materialization import Job
from planproof.session import Session, SparkFailure, StoredTable
from planproof_engine import AnalysisError, ColumnNames, RelationName, Verdict, deeply, evolve, fold_name, join_path
from planproof_engine.plans import StoredColumn, rows_of
from planproof_engine.types import STRING, Char, DataType, Varchar

_OF_THE_TEXT = ("a filter on ", "a join key on ")


@dataclass(frozen=True, slots=True)
class Part:
    """A column whose values are those of a relation's column of a type, as `plan.rows.StoredColumn` has it."""

    relation: RelationName
    column: str
    type: DataType
    once: bool
    padded: bool
    whole: bool


@dataclass(frozen=True, slots=True)
class Shown:
    """By the names of columns, in lower case: `keys` with why they are; `parts` of a view, which reads them anew each
    time; why columns hold no null (`filled`); why no value of a column stands twice (`counted`).

    A column is left out where storing it changes values: a char is padded, an empty text that partitions a table
    becomes NULL.
    """

    keys: Mapping[frozenset[str], str]
    parts: Mapping[str, Part]
    filled: Mapping[str, str]
    counted: Mapping[str, str]


def show_target(job: Job) -> Shown | None:
    """None where the plan is not known, or says nothing of all rows of the target."""
    plan = job.examined.plan
    if plan is None or job.draft.effect not in (Effect.REPLACES, Effect.DEFINES) or plan.conf.case_sensitive:
        return None
    named = [name for name, _ in job.model.options.get("columns") or ()] if job.draft.effect is Effect.DEFINES else []
    output = plan.root.output
    names = [fold_name(str(name)) for name in named or [c.name for c in output]]
    if len(names) != len(output) or len(set(names)) != len(names):
        return None
    promised, evidence = job.examined.promised, _collect_evidence(job)
    partitions = ColumnNames(job.model.partition_by)
    kept = {
        c.id: name
        for name, c, f in zip(names, output, promised)
        if not (isinstance(f.type, (Char, Varchar)) or (name in partitions and f.type == STRING))
    }
    compared = {c.id: kept[c.id] for c, f in zip(output, promised) if c.id in kept and is_comparable(f.type)}
    filled = {
        kept[c.id]: evidence[join_path((c.name,))] for c in output if c.id in kept and join_path((c.name,)) in evidence
    }
    found = deeply(lambda: rows_of(plan.root))
    keys = {frozenset(compared[i] for i in key): why for key, why in found.keys.items() if key <= compared.keys()}
    types = {c.id: c.type for c in output}
    live = found.stored.items() if job.draft.effect is Effect.DEFINES else ()
    named_parts = ((compared[i], _part(s, types[i], job.session.namespace)) for i, s in live if i in compared)
    parts = {name: part for name, part in named_parts if part is not None}
    return Shown(keys, parts, filled, _list_promised_keys(job, set(compared.values())))


def _list_promised_keys(job: Job, known: set[str]) -> dict[str, str]:
    """The keys of one column that the contract promises, and that were counted over the rows of a table."""
    contract = job.model.contract
    if contract is None or job.draft.effect is Effect.DEFINES:
        return {}
    proved = {f.promised for f in job.draft.findings if f.code == "PP507" and f.verdict is Verdict.PROVED}
    keys = [c for c in contract.constraints if c.kind in ("unique", "primary_key") and str(c) in proved]
    names = [fold_name(c.columns[0]) for c in keys if len(c.columns) == 1]
    return {name: f"the contract's key {name}, counted before the publish" for name in names if name in known}


def _collect_evidence(job: Job) -> dict[str, str]:
    """Why columns hold no null; of a view, whose sources may change, what its own text says."""
    found = job.examined.evidence
    if job.draft.effect is not Effect.DEFINES:
        return dict(found)
    return {column: why for column, why in job.examined.derived.items() if why.startswith(_OF_THE_TEXT)}


def _part(stored: StoredColumn, t: DataType, namespace: tuple[str, ...]) -> Part | None:
    relation = _complete_name(stored.relation, namespace)
    return Part(relation, stored.column, t, stored.once, stored.padded, stored.whole) if relation is not None else None


def _complete_name(relation: str, namespace: tuple[str, ...]) -> RelationName | None:
    """A relation of Spark's own catalog, where the text names its database; None for any other."""
    named = RelationName.parse(relation)
    whole = named.within(namespace)
    return whole if len(named.parts) > 1 and len(whole.parts) == 2 else None


@dataclass(frozen=True, slots=True)
class _Held:
    """What a plan proves of a relation as it was registered; `state` is that of a table's files."""

    shown: Shown
    table: StoredTable
    state: str | None


class Plans:
    """What the plans of published relations prove. Threads may share one object."""

    def __init__(self) -> None:
        self._held: dict[RelationName, _Held] = {}

    def learn(self, job: Job, now: StoredTable | None) -> None:
        """The job was published, and its target stands there `now`."""
        name = job.names.target
        self.drop(name)
        found = show_target(job) if now is not None and job.draft.settings.tests != "after" else None
        if now is None or found is None or not (found.keys or found.parts or found.filled or found.counted):
            return
        state = compute_fingerprint(job.session, name.quoted, now) if now.kind == "table" else None
        if now.kind == "view" or state is not None:
            self._held[name] = _Held(found, _drop_name(now), state)

    def has(self, name: RelationName) -> bool:
        """Whether something is remembered of a relation."""
        return name in self._held

    def drop(self, name: RelationName) -> None:
        """Forgets a relation."""
        self._held.pop(name, None)

    def find(self, session: Session, name: RelationName, table: StoredTable) -> Shown | None:
        """What holds of a relation that stands there as `table`; None where it is not what was published."""
        held = self._held.get(name.within(session.namespace))
        if held is None or held.table != _drop_name(table):
            return None
        try:
            same = held.state is None or compute_fingerprint(session, name.quoted, table) == held.state
        except (AnalysisError, SparkFailure):
            return None
        return held.shown if same else None


def _drop_name(table: StoredTable) -> StoredTable:
    return evolve(table, name="")
