"""A view gets its query by one call. A table of the same name steps aside first and is dropped last, and so does a view
that Iceberg keeps in the session's own catalog: Iceberg 1.10 replaces its text, and Spark goes on to read the old one.

ALTER VIEW AS is one call to the metastore; CREATE OR REPLACE VIEW drops the view and creates it (CreateViewCommand), so
that other sessions see a gap. The latter is for a new view, and for one whose columns, comment or properties change.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from planproof.contract import Model
from planproof.publish.materialize.stage import format_properties, own_properties
from planproof.publish.transaction import Evicted, JournaledPublication
from planproof.publish.transaction.states import UNDO
from planproof.publish.transaction.versions import drop_prior
from planproof.session import StoredTable
from planproof_engine import drop_terminators, quote_literal, quote_parts


class View:
    """The view gets its query, and what stood there under its name steps aside."""

    def swap(self, publication: JournaledPublication) -> None:
        entry, statement = publication.entry, publication.statement
        assert statement is not None
        if entry.prior is not None and entry.prior.kind != "view":
            publication.step("away")
            publication.rename(entry.target, entry.away, entry.prior.kind)
        try:
            publication.step("swap")
            publication.define(statement)
        except Evicted:
            publication.bring_back()
            raise
        self.finish(publication)

    def is_here(self, publication: JournaledPublication) -> bool:
        entry, prior = publication.entry, publication.entry.prior
        if prior is None or prior.kind == "view" or entry.step == "clean":
            return True
        if publication.stored(entry.away) is not None:
            return True
        target = publication.stored(entry.target)
        if target is None or (target.kind == "table") != (prior.kind == "table"):
            return False
        return entry.step == UNDO or publication.location(entry.target) == prior.location

    def is_swapped(self, publication: JournaledPublication) -> bool:
        entry, prior = publication.entry, publication.entry.prior
        if prior is None or prior.kind == "view":
            return entry.step == "clean" or has_query(publication)
        found = publication.stored(entry.target)
        if found is None or found.kind != "view":
            return False
        if entry.step == "clean":
            return True
        # Somebody else may have taken the name: only the new view has what stood aside dropped.
        is_new = found.text is None or has_query(publication)
        # An old view of Iceberg's and the new one look the same: it is the new one once the old one is aside.
        return is_new and (prior.kind == "table" or publication.stored(entry.away) is not None)

    def undo(self, publication: JournaledPublication) -> None:
        entry, prior = publication.entry, publication.entry.prior
        if prior is None or prior.kind == "view":
            return
        publication.return_old_directory()
        if publication.stored(entry.target) is not None:
            return
        if publication.stored(entry.away) is not None:
            publication.rename(entry.away, entry.target, prior.kind)
            moved = prior.location is not None and publication.location(entry.target) != prior.location
            if prior.location is not None and moved and publication.store.exists(prior.location):
                publication.set_location(entry.target, prior.location)

    def finish(self, publication: JournaledPublication) -> None:
        prior = publication.entry.prior
        if prior is not None and prior.kind != "view":
            publication.step("clean")
            drop_prior(publication)


def has_query(publication: JournaledPublication) -> bool:
    """Whether the view has the query by now. No statement is run again that was read from a file."""
    found = publication.stored(publication.entry.target)
    is_told = found is not None and found.kind == "view" and found.text is not None
    return is_told and digest_of(found.text) == publication.entry.view_text  # type: ignore[union-attr, arg-type]


def digest_of(query: str) -> str:
    """A digest of a view's query, as the statement gives it and the catalog tells it."""
    return hashlib.sha256(drop_terminators(query).strip().encode()).hexdigest()


def statement_of(name: str, model: Model, sql: str, target: StoredTable | None = None) -> str:
    """What gives the model's query to the view that stands there as `target`, or to a new one."""
    if target is not None and _keeps_all_but_its_query(target, model):
        return f"ALTER VIEW {name} AS\n{drop_terminators(sql)}"
    clauses = [f"CREATE OR REPLACE VIEW {name}{column_names(model.options.get('columns') or ())}"]
    if model.comment is not None:
        clauses.append(f"COMMENT {quote_literal(model.comment)}")
    properties: Mapping[str, Any] = model.options.get("tblproperties") or {}
    if properties:
        clauses.append(f"TBLPROPERTIES ({format_properties(properties)})")
    return "\n".join([*clauses, "AS", drop_terminators(sql)])


def _keeps_all_but_its_query(target: StoredTable, model: Model) -> bool:
    if target.kind != "view" or model.options.get("columns"):
        return False
    properties = {str(k): str(v) for k, v in (model.options.get("tblproperties") or {}).items()}
    return (target.comment or None) == (model.comment or None) and own_properties(target) == properties


def column_names(columns: Iterable[tuple[str, str | None]]) -> str:
    """The columns of a view as its statement lists them, with their comments; an empty text for none."""
    named = [
        f"{quote_parts((name,))}{f' COMMENT {quote_literal(comment)}' if comment is not None else ''}"
        for name, comment in columns
    ]
    return f" ({', '.join(named)})" if named else ""
