"""What earlier publishes of this guard proved: evidence that a V1 table cannot carry, because it forgets its flags.

Others may write a relation between two publishes. What was proved counts only while the relation's files and definition
are unchanged, and for a view those of the known relations that it names.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from planproof.judge.draft import Effect
from planproof.publish.data_tests.evidence import Plans
from planproof.publish.fingerprint import compute_fingerprint
from planproof.publish.materialize.materialization import Job
from planproof.session import Session, StoredTable
from planproof_engine import Catalog, Relation, RelationName, Verdict, evolve, join_path, quote_parts
from planproof_engine.schema import LogicalSchema


@dataclass(frozen=True, slots=True)
class _Known:
    """Why columns hold no null, and the relation's state in which that was proved; `text` is a view's query."""

    kind: str
    columns: Mapping[str, str]
    state: str | None
    text: str = ""


class Memory:
    """Columns that hold no null, per relation; and the catalog that says so to the logical plane. `plans` is what else
    the plans of published relations prove."""

    def __init__(self, session: Session, given: Catalog | None = None) -> None:
        self._session, self._given = session, given
        self._known: dict[RelationName, _Known] = {}
        self.plans = Plans()

    def catalog(self, seen: dict[str, StoredTable] | None = None) -> Catalog:
        """Spark's catalog as it is now, below the one that the user gave. `seen` collects what Spark said of each
        relation that was asked for, by its name in backticks."""
        from planproof.session.sources import live_catalog

        seen = {} if seen is None else seen
        live = live_catalog(self._session, seen)

        def ask(parts: tuple[str, ...]) -> Relation | None:
            found = self._given.find(parts) if self._given is not None else None
            found = found or live.find(parts)
            return None if found is None else self._add_evidence(parts, found, seen.get(found.name))

        return Catalog(source=ask, namespace=live.namespace, catalog=live.catalog)

    def learn(
        self, job: Job, before: Mapping[str, str], now: StoredTable | None, is_alone: Callable[[str | None], bool]
    ) -> None:
        """Remembers the contract's NOT NULL columns of a relation that was just published and stands there `now`;
        `before` is its evidence before that. `is_alone` tells whether nobody else has written since it had a
        fingerprint: it is asked last, so that what is remembered is known to be the publish's own."""
        self.plans.learn(job, now)
        key, proved = job.names.target, _list_proved(job)
        effect = job.draft.effect
        kind = "view" if effect is Effect.DEFINES else "table"
        if effect is not None and effect.keeps_rows:
            # The rows that were there before are not audited again: both must be known to hold none.
            proved = {column: why for column, why in proved.items() if column in before}
        text = job.model.sql.lower() if kind == "view" else ""
        earlier = self._known.pop(key, None)
        if proved:
            self._known[key] = _Known(kind, proved, self._state(key, text, stored=now), text)
        if (proved or self.plans.has(key)) and not is_alone(earlier.state if earlier is not None else None):
            self.drop(key)

    def drop(self, target: RelationName) -> None:
        """Drops what is known of one relation, by its whole name; a view that names it is not fresh any more."""
        self._known.pop(target, None)
        self.plans.drop(target)

    def forget(self, statement: str) -> None:
        """Drops what is known of every relation that a statement names; it may have written other rows to them."""
        text = statement.lower()
        for key in [key for key in list(self._known) if key.key[-1] in text]:
            self.drop(key)

    def evidence(self, name: str, stored: StoredTable | None = None) -> Mapping[str, str]:
        """Why columns of a published relation hold no null, by name; nothing where others have written it since.

        `stored` is the relation as it stands there now, where that is known.
        """
        return self._find_valid_evidence(RelationName.parse(name).within(self._session.namespace), (), stored)

    def _find_valid_evidence(
        self, key: RelationName, asked: tuple[RelationName, ...], stored: StoredTable | None = None
    ) -> Mapping[str, str]:
        known = self._known.get(key)
        if known is None or known.state is None:
            return {}
        if known.state != self._state(key, known.text, asked, stored):
            self._known.pop(key, None)
            return {}
        return known.columns

    def _state(
        self, key: RelationName, text: str, asked: tuple[RelationName, ...] = (), stored: StoredTable | None = None
    ) -> str | None:
        """The relation's fingerprint; a view's with those of the known relations that its text names."""
        own = compute_fingerprint(self._session, key.quoted, stored)
        if own is None or not text:
            return own
        asked = (*asked, key)
        known = (other for other in list(self._known) if other not in asked and other.key[-1] in text)
        named = sorted(known, key=lambda other: other.key)
        parts = [
            own,
            *(
                f"{other.key} {sorted(self._find_valid_evidence(other, asked))} {self._remembered(other)}"
                for other in named
            ),
        ]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def _remembered(self, key: RelationName) -> str | None:
        known = self._known.get(key)
        return known.state if known else None

    def _add_evidence(self, parts: tuple[str, ...], found: Relation, stored: StoredTable | None) -> Relation:
        key = RelationName(parts).within(self._session.namespace)
        kind = self._known[key].kind if key in self._known else ""
        if kind != found.kind or (kind == "view" and self._is_hidden(parts)):
            return found
        known = self._find_valid_evidence(key, (), stored)
        fields = tuple(evolve(f, evidence=f.evidence or known.get(f.name)) for f in found.schema)
        return evolve(found, schema=LogicalSchema(fields)) if known else found

    def _is_hidden(self, parts: tuple[str, ...]) -> bool:
        """Whether a temporary view of this session stands in front of a published view of the same name."""
        stored = self._session.table(quote_parts(parts)) if len(parts) == 1 else None
        return stored is not None and stored.kind == "temporary view"


def _list_proved(job: Job) -> dict[str, str]:
    """The columns of which a finding says that they hold no null. A promise that was not judged is not proved."""
    contract = job.model.contract
    if contract is None:
        return {}
    proved = {f.field for f in job.draft.findings if f.code == "PP505" and f.verdict is Verdict.PROVED}
    columns = [f.name for f in contract.schema if not f.nullable and join_path((f.name,)) in proved]
    if job.draft.effect is Effect.DEFINES:
        # A count over a view holds only for today's rows of its sources. What the plan proves lasts.
        columns = [c for c in columns if join_path((c,)) in job.examined.evidence]
    return dict.fromkeys(columns, f"proved when {job.model.name} was published")
