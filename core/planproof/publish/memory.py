"""What earlier publishes of this guard proved: evidence that flags, which a V1 table forgets, cannot carry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from planproof.catalog import Catalog, Relation, split_name
from planproof.claims.model import dotted
from planproof.publish.materialization import Job
from planproof.publish.names import quoted
from planproof.report.model import Verdict
from planproof.schema import LogicalSchema
from planproof.session.protocol import Session


class Memory:
    """Columns that hold no null, per relation; and the catalog that says so to the logical plane."""

    def __init__(self, session: Session, given: Catalog | None = None) -> None:
        self._session, self._given = session, given
        self._known: dict[tuple[str, ...], tuple[str, Mapping[str, str]]] = {}

    def catalog(self) -> Catalog:
        """Spark's catalog as it is now, below the one that the user gave."""
        from planproof.session.sources import live_catalog

        live = live_catalog(self._session)

        def ask(parts: tuple[str, ...]) -> Relation | None:
            found = self._given.find(parts) if self._given is not None else None
            found = found or live.find(parts)
            return None if found is None else self._with_evidence(parts, found)

        return Catalog(source=ask, namespace=live.namespace, catalog=live.catalog)

    def learn(self, job: Job) -> None:
        """Remembers the contract's NOT NULL columns of a relation that was just published."""
        key, proved = self._key(job.names.target), _proved(job)
        kind = "view" if job.draft.strategy == "view" else "table"
        if job.draft.strategy in ("append", "partitions"):
            # The rows that were there before are not audited again: both must be known to hold none.
            _, before = self._known.get(key, (kind, {}))
            proved = {column: why for column, why in proved.items() if column in before}
        _, known = self._known.get(key, ("", {}))
        if known.keys() - proved.keys():
            self._forget_views()
        self._known[key] = (kind, proved)

    def drop(self, target: tuple[str, ...]) -> None:
        """Drops what is known of one relation, and of the views that may read it."""
        if self._known.pop(self._key(target), None) is not None:
            self._forget_views()

    def _forget_views(self) -> None:
        """A view holds no rows of its own: what was proved of it leans on what it reads."""
        self._known = {key: known for key, known in list(self._known.items()) if known[0] != "view"}

    def forget(self, statement: str) -> None:
        """Drops what is known of every relation that a statement names; it may have written other rows to them."""
        text = statement.lower()
        named = [key for key in list(self._known) if key[-1] in text]
        for key in named:
            self.drop(key)

    def evidence(self, name: str) -> Mapping[str, str]:
        """Why columns of a published relation hold no null, by name."""
        return self._known.get(self._key(split_name(name)), ("", {}))[1]

    def _key(self, parts: tuple[str, ...]) -> tuple[str, ...]:
        full = parts if len(parts) > 1 else (*self._session.namespace[1:], *parts)
        return tuple(p.lower() for p in full[-2:])

    def _with_evidence(self, parts: tuple[str, ...], found: Relation) -> Relation:
        kind, known = self._known.get(self._key(parts), ("", {}))
        if not known or kind != found.kind or (kind == "view" and self._is_hidden(parts)):
            return found
        fields = tuple(replace(f, evidence=f.evidence or known.get(f.name)) for f in found.schema)
        return replace(found, schema=LogicalSchema(fields))

    def _is_hidden(self, parts: tuple[str, ...]) -> bool:
        """Whether a temporary view of this session stands in front of a published view of the same name."""
        stored = self._session.table(quoted(parts)) if len(parts) == 1 else None
        return stored is not None and stored.kind == "temporary view"


def _proved(job: Job) -> dict[str, str]:
    """Only what a finding says in so many words: a promise that nobody judged is not proved."""
    contract = job.model.contract
    if contract is None:
        return {}
    proved = {f.field for f in job.draft.findings if f.code == "PP505" and f.verdict is Verdict.PROVED}
    columns = [f.name for f in contract.schema if not f.nullable and dotted((f.name,)) in proved]
    if job.draft.strategy == "view":
        # A count over a view holds for its sources of today; only what the plan proves lasts.
        columns = [c for c in columns if dotted((c,)) in job.examined.evidence]
    return dict.fromkeys(columns, f"proved when {job.model.name} was published")
