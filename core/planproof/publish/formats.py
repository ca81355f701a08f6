"""The seam between the guard and a table format: a way to stage, to read facts, and to commit.

There are two formats. A Parquet table is swapped in steps, under a lock and with a journal (`swaps`). An Iceberg table
is committed by Iceberg itself (`iceberg`): there is no journal. Another format needs one more room of that kind.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

from planproof.contract import Model
from planproof.publish.iceberg import Iceberg
from planproof.publish.materialize.incremental import Delta
from planproof.publish.materialize.materialization import Job, Materialization, Publishing, is_delta
from planproof.publish.materialize.stage import describe
from planproof.publish.materialize.table import Table
from planproof.publish.materialize.view import View
from planproof.publish.staged_write import StagedWrite
from planproof.publish.swaps import STRATEGIES, Ending, settle
from planproof.publish.swaps.staged import StagedFiles
from planproof.publish.transaction.names import Names
from planproof.publish.transaction.publication import Publication
from planproof.session.protocol import Session, StoredTable
from planproof_engine.finding import Finding, Verdict
from planproof_engine.quoting import quoted

P = TypeVar("P", bound=Publishing)


class Format(Protocol[P]):
    """How the tables of one format are published. `is_journaled`: a publish is made of steps, which a lock keeps others
    out of and `recover` finishes or undoes."""

    is_journaled: bool

    def names(self, model: Model, run: str, attempt: int) -> Names:
        """Raises `Refused` for a target that this format cannot be published to."""

    def target(self, names: Names) -> StoredTable | None:
        """The relation that stands there now."""

    def way(self, job: Job, full_refresh: bool) -> Materialization[P]:
        """How the model is staged and audited. Raises `Refused`."""

    def staged(self, job: Job, publication: P) -> StagedWrite:
        """What was staged, for whoever looks at it."""

    def commit(self, publication: P) -> list[Finding]:
        """Puts what was staged and audited in the target's place; says what became of others' rows. Raises `Moved`, or
        a transient `Refused`, where the target has changed."""

    def refuse_changed(self, publication: P) -> None:
        """Raises a transient `Refused` where the target is not the relation any more that the publish found."""

    def stands(self, publication: P) -> bool:
        """Whether the target holds what was staged."""

    def describe(self, job: Job) -> None:
        """Gives a table that has just been published what the publish itself could not: comment and properties."""

    def settle(self, publication: P) -> Ending:
        """Finishes or undoes a publish that failed on its way."""


class Parquet:
    """Parquet tables of Spark's own catalog, and views, also of Iceberg's catalogs."""

    is_journaled = True

    def __init__(self, session: Session) -> None:
        self._session = session

    def names(self, model: Model, run: str, attempt: int) -> Names:
        tables = self._session.transactions() if model.materialized == "view" else None
        elsewhere = None if tables is None else tables.of_view(model.name)
        if elsewhere is not None:
            return Names.complete(elsewhere, run, attempt)
        return Names.of(model.name, self._session.namespace, run, attempt)

    def target(self, names: Names) -> StoredTable | None:
        return self._session.registered(quoted(names.target))

    def way(self, job: Job, full_refresh: bool) -> Materialization[Publication]:
        if job.model.materialized == "view":
            return View()
        return Delta() if is_delta(job, full_refresh) else Table()

    def staged(self, job: Job, publication: Publication) -> StagedFiles:
        return StagedFiles(job, publication)

    def commit(self, publication: Publication) -> list[Finding]:
        publication.refuse_changed()
        publication.note_content()
        others = publication.came_between()
        STRATEGIES[publication.entry.strategy].swap(publication)
        replaced = publication.are_replaced(others)
        return [_replaced(publication, replaced)] if replaced else []

    def refuse_changed(self, publication: Publication) -> None:
        publication.refuse_changed()

    def stands(self, publication: Publication) -> bool:
        return publication.stands()

    def describe(self, job: Job) -> None:
        if job.draft.strategy == "location" and job.target is not None:
            describe(job.session, job.model, job.target, quoted(job.names.target))

    def settle(self, publication: Publication) -> Ending:
        return settle(publication)


def _replaced(publication: Publication, others: int) -> Finding:
    files = f"{others} file{'' if others == 1 else 's'}"
    message = (
        f"another writer put {files} into {publication.entry.model} while its new rows were staged: the publish "
        f"replaced "
        "them, as INSERT OVERWRITE would. Write to it through its model alone, or add those rows again"
    )
    return Finding(Verdict.WARNING, "PP621", "catalog", found=files, message=message)


def format_of(session: Session, model: Model) -> Format[Any]:
    """The room of the model's format. Raises `Refused`."""
    if model.file_format == "iceberg" and model.materialized != "view":
        return Iceberg.over(session, model)
    return Parquet(session)
