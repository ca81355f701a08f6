"""One publish, in the order that is the same for all formats: begin, stage, audit, commit, settle.

Only the commit touches the target. Whatever fails on the way, the target goes back to the old state or on to the new
one. A process that dies leaves what its format keeps of the publish, which `recover` settles.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from planproof.invariants.sink import find_untyped
from planproof.judge.draft import Effect
from planproof.judge.planes import ARRAYS_UNSEEN
from planproof.publish import quarantine
from planproof.publish.audit.batch_schemas import compare_batches, find_mismatch, find_uncompared_batches
from planproof.publish.audit.comparison import compare
from planproof.publish.audit.constraints import judge_keys
from planproof.publish.audit.python_claims import find_broken_claims, watch_claims
from planproof.publish.audit.refusals import find_met_null
from planproof.publish.audit.samples import sample_broken_rows
from planproof.publish.audit.staged import look
from planproof.publish.data_tests.trial import try_tests
from planproof.publish.functions import feed_rows
from planproof.publish.materialize.incremental import find_overflow
from planproof.publish.materialize.materialization import Job, Publication, Standing, is_incremental_run
from planproof.publish.protocol import Format, Steps
from planproof.publish.staged_write import StagedWrite
from planproof.publish.transaction import Evicted, Names, Refused
from planproof.publish.transaction.states import STATES, Stopped, Target, tell
from planproof.publish.undoing import tell_unseen
from planproof.session import SparkFailure, StoredTable
from planproof_engine import AnalysisError, Finding, Verdict, evolve

P = TypeVar("P", bound=Publication)


class Unsettled(Stopped):
    """A publish failed, and so did bringing its target back: the journal entry and the lock stay."""

    end = "unsettled"

    def __init__(
        self, entry: Standing, error: BaseException, second: Exception, next_step: str, is_transient: bool
    ) -> None:
        super().__init__(
            f"the publish of {entry.model} failed ({error}), and so did bringing it back from step "
            f"{entry.step!r} ({second}). Nothing else is done to it: {next_step}"
        )
        self.transient = is_transient


@dataclass(frozen=True, slots=True)
class Publish(Generic[P]):
    """One publish that has begun. `again` gives the names of another try of it."""

    job: Job
    steps: Steps[P]
    publication: P
    again: Callable[[], Names]

    def run(self) -> bool:
        """Whether the publish came to its end; False where the audit forbids it. Raises `Evicted`, `Unsettled`, and
        what stopped it otherwise. Who is evicted and whose rows stand for good has published: what is left to do,
        another does, and a run that is told to fail would add its rows once more."""
        try:
            return self._carry_out_or_settle()
        except Evicted as eviction:
            is_through = STATES[self.publication.entry.step].target is Target.NEW
            if is_through or self.steps.format.is_published(self.publication):
                self.tell_of_eviction(eviction)
                return True
            late = self.steps.format.find_late_rows(self.publication)
            if late:
                raise Evicted(
                    f"{self.job.model.name} (its new rows stand {late}, by a call that was under way)"
                ) from eviction
            self._give_way()
            raise

    def tell_of_eviction(self, eviction: Evicted) -> None:
        """Who was evicted once its rows stand finds that out at each further look at its lock."""
        told = tell("finished", f"{self.job.model.name} was published, and then {eviction}")
        self.job.draft.add(finding for finding in told if finding not in self.job.draft.findings)

    def look(self) -> StoredTable | None:
        """The relation as the catalog has it after the publish, against what was written."""
        steps, job = self.steps, self.job
        written = steps.materialization.published_schema(job, self.publication)
        format, publication = steps.format, self.publication
        return look(job, written, lambda: format.describe(job, publication), lambda: format.is_exchanged(publication))

    def _carry_out_or_settle(self) -> bool:
        try:
            return self._carry_out()
        except Evicted:
            raise
        except (Exception, KeyboardInterrupt, SystemExit) as error:
            if not self._settle(error) or not isinstance(error, Exception):
                raise
            message = f"{self.job.model.name} was published, and its clean-up failed at first: {error}"
            self.job.draft.add(tell("finished", message))
            return True

    def _carry_out(self) -> bool:
        job = self.job
        if not self._stage():
            return self._reject(keep=False)
        self._audit()
        if job.draft.fails:
            self._refuse_changed()
            return self._publish_good_rows() or self._reject_bad_rows()
        if job.keys:
            if job.target is not None:
                job.draft.set_details(comparison=compare(job, job.keys, self._staged_write().rows_after()))
            return self._reject(keep=False)
        self._commit()
        return True

    def _stage(self) -> bool:
        """Writes the new rows beside the target. False where the write itself breaks the contract."""
        job, draft, publication = self.job, self.job.draft, self.publication
        # Nothing is written beside a view.
        (publication.note if draft.effect is Effect.DEFINES else publication.step)("stage")
        try:
            with compare_batches(job), feed_rows(job.session, draft.lowered), watch_claims(job, publication) as watched:
                statement = self.steps.stage(watched, publication)
        except SparkFailure as failure:
            found = find_mismatch(failure)
            draft.add([found] if found else [])
            if found or find_overflow(job, failure) or find_met_null(job, failure) or find_broken_claims(job, failure):
                return False
            raise
        if not job.after_quarantine:
            draft.add(find_uncompared_batches(job))
            draft.executed_sql = statement.replace(watched.examined.sql, job.examined.sql)
            _tell_of_arrays(job)
        return True

    def _audit(self) -> None:
        job, publication = self.job, self.publication
        publication.note("audit")
        self.steps.audit(job, publication)
        if job.tests is not None and not job.draft.fails:
            try_tests(job, self._staged_write(), job.tests)

    def _commit(self) -> None:
        self.steps.commit(self.publication)
        self._tell_of_others()
        self.publication.close()

    def _tell_of_others(self) -> None:
        """The target holds what was staged by now, and no failure here undoes that."""
        try:
            if self.publication.is_on_top:
                self._count_again()
            for finding in self.steps.format.tell_of_others(self.publication):
                self.job.draft.add([finding])
        except Exception as error:
            self.job.draft.set_details(traceback=traceback.format_exc())
            self.job.draft.add([tell_unseen(self.job.model.name, error)])

    def _count_again(self) -> None:
        """Others have committed since the table was looked at: what was said of all of its rows does not stand any
        more, and keys are counted as they are now."""
        job, is_stale = self.job, self.publication.is_stale
        job.draft.forget_rows_after(is_stale)
        keys = judge_keys(job.session, job.model, job.names.target.quoted) if is_stale else []
        counted = {finding.promised for finding in keys}
        job.draft.findings = [f for f in job.draft.findings if f.code != "PP507" or f.promised not in counted]
        job.draft.add(keys)

    def _settle(self, error: BaseException) -> bool:
        """Finishes or undoes a publish that failed; True where it is finished. Raises `Unsettled` where that fails,
        too."""
        draft, format, publication = self.job.draft, self.steps.format, self.publication
        try:
            if format.settle(publication) == "finished":
                if not format.is_journaled:
                    # The commit ended with an error, and the target has it all the same.
                    self._tell_of_others()
                return True
            if isinstance(error, (AnalysisError, SparkFailure)):
                format.refuse_changed(publication)
            return False
        except (Evicted, Refused) as better:
            if not isinstance(error, Exception):
                raise error from better
            raise better from error
        except Exception as second:
            is_transient = bool(getattr(second, "transient", False))
            draft.set_details(unsettled=True, transient=is_transient)
            if not isinstance(error, Exception):
                raise error from second
            raise Unsettled(publication.entry, error, second, publication.next_step, is_transient) from error

    def _give_way(self) -> None:
        """An evicted publish removes what it has staged: whoever took the table over may have looked for it too
        early."""
        if STATES[self.publication.entry.step].target is Target.OLD:
            with suppress(SparkFailure, AnalysisError):
                self.publication.discard()

    def _staged_write(self) -> StagedWrite:
        return self.steps.format.staged(self.job, self.publication)

    def _refuse_changed(self) -> None:
        """After an audit that failed: a staging of a table that somebody altered meanwhile says nothing of the
        model."""
        try:
            self.steps.format.refuse_changed(self.publication)
        except Refused:
            self.job.draft.forget_violations()
            raise

    def _publish_good_rows(self) -> bool:
        """Publishes the rows that keep the contract, where the model asks for that and rows are all that breaks it.
        False where nothing was published."""
        job, format, raw = self.job, self.steps.format, self.publication
        if job.after_quarantine or job.draft.settings.on_violation != "quarantine":
            return False
        with quarantine.excuse_rows(job.draft):
            bad = quarantine.find_bad_rows(job, format, raw, self.again())
            if bad is None:
                return False
            steps, good, publication = quarantine.Quarantining.begin(self.steps, bad, job, raw)
            with quarantine.report_quarantine(job, bad) as outcome:
                outcome.published = Publish(good, steps, publication, self.again).run()
            return outcome.published

    def _reject_bad_rows(self) -> bool:
        if self.job.after_quarantine:
            self.publication.step("reject")
            self.steps.format.settle(self.publication)
            return False
        sample_broken_rows(self.job, self._staged_write())
        return self._reject(self.job.draft.settings.keep_rejected)

    def _reject(self, keep: bool) -> bool:
        draft, publication = self.job.draft, self.publication
        publication.step("reject")
        if keep and publication.can_be_kept:
            publication.keep()
            draft.set_details(rejected=publication.entry.staging)
        else:
            publication.discard()
            # For a view nothing was staged that could be kept.
            if keep and draft.effect is not Effect.DEFINES:
                message = "keep_rejected keeps nothing here: what is not committed does not outlive its transaction"
                draft.add([Finding(Verdict.WARNING, "PP611", "catalog", message=message)])
        publication.close()
        return False


def begin(job: Job, format: Format[Any], full_refresh: bool, again: Callable[[], Names]) -> Publish[Any] | None:
    """The publish of a job, of which nothing is written yet; None where the findings of the job's draft say why its
    target's schema forbids it. Raises `Refused`."""
    way = format.materialization(job, full_refresh)
    if job.model.materialized == "incremental" and not is_incremental_run(job, full_refresh):
        # What a later run adds becomes of the table's types; here the table is made.
        found = find_untyped(job.examined.promised, job.model.file_format)
        job.draft.add(evolve(f, origin=job.examined.locate(f.field or "")) for f in found)
        if found:
            return None
    publication = way.begin(job)
    if publication is None:
        return None
    job.draft.strategy, job.draft.effect = publication.entry.strategy, publication.entry.effect
    return Publish(job, Steps(format, way), publication, again)


def _tell_of_arrays(job: Job) -> None:
    """I3: which functions' arrays were checked in the run that has ended. Spark's own functions show no arrays."""
    if job.draft.lowered is not None:
        job.draft.mark_enforced("I3", "each batch that a Python function gave in a lambda: type, length and nulls")
    elif job.compare_batches and job.examined.planes.python_fed:
        compared = (
            "Spark compares the schema of each Arrow batch that a Python function gives; it does not tell of which"
        )
        job.draft.mark_not_enforced("I3", compared)
    else:
        job.draft.mark_not_enforced("I3", ARRAYS_UNSEEN)
