"""What earlier publishes of this guard proved: evidence that flags, which a V1 table forgets, cannot carry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from planproof.catalog import Catalog, Relation, split_name
from planproof.publish.materialization import Job
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
        self._known[key] = (kind, proved)

    def forget(self, statement: str) -> None:
        """Drops what is known of every relation that a statement names; it may have written other rows to them."""
        text = statement.lower()
        for key in list(self._known):
            if key[-1] in text:
                self._known.pop(key, None)

    def evidence(self, name: str) -> Mapping[str, str]:
        """Why columns of a published relation hold no null, by lower-case name."""
        return self._known.get(self._key(split_name(name)), ("", {}))[1]

    def _key(self, parts: tuple[str, ...]) -> tuple[str, ...]:
        full = parts if len(parts) > 1 else (*self._session.namespace[1:], *parts)
        return tuple(p.lower() for p in full[-2:])

    def _with_evidence(self, parts: tuple[str, ...], found: Relation) -> Relation:
        kind, known = self._known.get(self._key(parts), ("", {}))
        if not known or kind != found.kind:
            return found
        fields = tuple(replace(f, evidence=f.evidence or known.get(f.name.lower())) for f in found.schema)
        return replace(found, schema=LogicalSchema(fields))


def _proved(job: Job) -> dict[str, str]:
    contract = job.model.contract
    if contract is None or "nullability" not in job.draft.settings.enforce:
        return {}
    doubted = {f.field.lower() for f in job.draft.findings if f.field and f.code in ("PP505", "PP506") and _open(f)}
    columns = [f.name.lower() for f in contract.schema if not f.nullable and f.name.lower() not in doubted]
    if job.draft.strategy == "view":
        # A count over a view holds for its sources of today; only what the plan proves lasts.
        columns = [c for c in columns if c in {name.lower() for name in job.examined.evidence}]
    return dict.fromkeys(columns, f"proved when {job.model.name} was published")


def _open(finding: object) -> bool:
    return str(getattr(finding, "verdict", "")) != "proved"
