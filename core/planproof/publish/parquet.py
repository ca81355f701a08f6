"""Parquet tables of Spark's own catalog, and views, also of Iceberg's catalogs: published in steps (`swaps`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from planproof.contract import Model
from planproof.judge.draft import Effect
from planproof.publish.materialize.incremental import Increment
from planproof.publish.materialize.materialization import Job, Materialization, is_incremental_run
from planproof.publish.materialize.stage import describe
from planproof.publish.materialize.table import Table
from planproof.publish.materialize.view import View
from planproof.publish.swaps import STRATEGIES, settle, tell_found
from planproof.publish.swaps.intact import is_alone, is_intact
from planproof.publish.swaps.partitions import list_switched
from planproof.publish.swaps.quarantine import QuarantinePartitions
from planproof.publish.swaps.staged import StagedFiles
from planproof.publish.swaps.strays import count_strays
from planproof.publish.transaction import STATES, Ending, JournaledPublication, Names, Refused, Target
from planproof.publish.undoing import tell_of_undoing
from planproof.session import Session, SparkFailure, StoredTable
from planproof_engine import AnalysisError, Finding, RelationName, Verdict


class Parquet:
    """See `planproof.publish.protocol.Format`."""

    is_journaled = True

    def __init__(self, session: Session) -> None:
        self._session = session

    def names(self, model: Model, run: str, attempt: int) -> Names:
        tables = self._session.transactions() if model.materialized == "view" else None
        elsewhere = None if tables is None else tables.resolve_view(model.name)
        if elsewhere is not None:
            return Names.complete(RelationName(elsewhere), run, attempt)
        return Names.of(model.name, self._session.namespace, run, attempt)

    def target(self, names: Names) -> StoredTable | None:
        return self._session.registered_table(names.target.quoted)

    def materialization(self, job: Job, full_refresh: bool) -> Materialization[JournaledPublication]:
        if job.model.materialized == "view":
            return View()
        return Increment() if is_incremental_run(job, full_refresh) else Table()

    def staged(self, job: Job, publication: JournaledPublication) -> StagedFiles:
        return StagedFiles(job, publication)

    def quarantine(self) -> QuarantinePartitions:
        return QuarantinePartitions(self._session)

    def commit(self, publication: JournaledPublication) -> None:
        publication.refuse_changed()
        publication.refuse_incomplete()
        STRATEGIES[publication.entry.strategy].swap(publication)

    def tell_of_others(self, publication: JournaledPublication) -> Iterator[Finding]:
        if publication.others:
            yield _report_replaced(publication)
        yield from _report_strays(publication)
        if not is_intact(publication):
            yield tell_of_undoing(publication.entry.model)

    def refuse_changed(self, publication: JournaledPublication) -> None:
        publication.refuse_changed()

    def is_published(self, publication: JournaledPublication) -> bool:
        """Once rows may stand, whoever has taken the table over decides what becomes of them: that is waited for."""
        is_closed = publication.journal.is_closed
        may_stand = STATES[publication.entry.step].target is not Target.OLD
        is_settled = publication.lock.wait_for(is_closed) if may_stand else is_closed()
        return is_settled and _has_bad_rows(publication) and _is_there(publication)

    def find_late_rows(self, publication: JournaledPublication) -> str:
        with suppress(SparkFailure, AnalysisError):  # The table may be gone.
            if _is_there(publication):
                return "there"
            return ", ".join(f"in the partition {name}" for name in list_switched(publication))
        return ""

    def describe(self, job: Job, publication: JournaledPublication) -> None:
        if publication.entry.effect is Effect.REPLACES and publication.entry.swap.repoints and job.target is not None:
            describe(job.session, job.model, job.target, job.names.target.quoted)

    def is_exchanged(self, publication: JournaledPublication) -> bool:
        return not (STRATEGIES[publication.entry.strategy].is_swapped(publication) and is_intact(publication))

    def is_alone(self, publication: JournaledPublication, before: str | None) -> bool:
        return is_alone(publication, before)

    def settle(self, publication: JournaledPublication) -> Ending:
        ending = settle(publication)
        found = tell_found(publication) if ending == "undone" else ""
        if found:
            raise Refused(
                f"{publication.entry.model} was not published; {found}, and run the model again", transient=True
            )
        return ending


def _is_there(publication: JournaledPublication) -> bool:
    """Whether the target holds all that was staged."""
    entry = publication.entry
    with suppress(SparkFailure, AnalysisError):  # The table may be gone.
        is_open = STATES[entry.step].target is Target.EITHER
        return publication.is_committed() or (is_open and STRATEGIES[entry.strategy].is_swapped(publication))
    return False


def _has_bad_rows(publication: JournaledPublication) -> bool:
    """Whether the rows that it has set apart stand: whoever undoes a publish deletes them."""
    bad_rows = publication.entry.quarantine
    return bad_rows is None or publication.store.exists(bad_rows.location)


def _report_replaced(publication: JournaledPublication) -> Finding:
    files = f"{publication.others} file{'' if publication.others == 1 else 's'}"
    message = (
        f"another writer put {files} into {publication.entry.model} while its new rows were staged: the publish "
        "replaced them, as INSERT OVERWRITE would. Write to it through its model alone, or add those rows again"
    )
    return Finding(Verdict.WARNING, "PP621", "catalog", found=files, message=message)


def _report_strays(publication: JournaledPublication) -> Iterator[Finding]:
    for location, count in sorted(count_strays(publication).items()):
        files = f"{count} file{'' if count == 1 else 's'}"
        message = (
            f"another writer put {files} into {location} after {publication.entry.model} had left that folder, "
            "most likely by a statement that was under way or from a session that had not refreshed the table. No "
            "table reads these rows, and planproof does not delete them: add them to the table, and delete the folder"
        )
        yield Finding(Verdict.WARNING, "PP621", "catalog", found=files, message=message)
