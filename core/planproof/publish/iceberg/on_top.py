"""What has to hold for a staged change to be committed on top of what others have committed meanwhile.

Rows that were staged stay as they are, and what was counted over them alone still holds. What looks at the whole table
(keys, limits, data tests) is counted again. A query that reads its own target would read other rows now: its model is
staged anew.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from planproof.judge.draft import Draft
from planproof.publish.audit import limits
from planproof.publish.audit.constraints import OF_THE_WHOLE, checks, judge_constraints, list_declared
from planproof.publish.data_tests.trial import try_tests
from planproof.publish.materialize.materialization import Job
from planproof.publish.staged_write import StagedWrite
from planproof.session import Moved, SparkFailure, Transaction
from planproof_engine import AnalysisError, evolve


@dataclass(frozen=True, slots=True)
class OnTop:
    """`how` the rows were written: append, overwrite or merge."""

    job: Job
    how: str
    staged: StagedWrite

    def rebase(self, transaction: Transaction) -> int | None:
        """Puts the change on top of the table as it is now, if what the audit found holds there, too. Returns how many
        rows it replaces that others have added; None where the model has to be staged anew."""
        if self._reads_itself():
            return None
        try:
            replaced = transaction.rebase(self.how)
        except Moved:
            return None
        return replaced if self._holds() else None

    def is_in_place_of_others(self, transaction: Transaction) -> bool:
        """Of a model that is staged anew: whether it has read no rows that others have added since, and will put its
        own in their place."""
        if self.how != "overwrite" or self._reads_itself():
            return False
        with suppress(SparkFailure, AnalysisError):
            return transaction.has_rows_of_others()
        return False

    def _reads_itself(self) -> bool:
        tables, job = self.job.session.transactions(), self.job
        return tables is None or tables.is_read(job.names.target.quoted, job.examined.runs)

    def _holds(self) -> bool:
        """Whether nothing that looks at the whole table is broken by what others have added. Where something is, the
        report comes from another staging."""
        job = self.job
        model, settings = job.model, job.draft.settings
        again, whole = Draft(model, settings), self.staged.rows_after()
        again.effect = job.draft.effect
        if list_declared(model, *OF_THE_WHOLE):
            # Checks look at single rows: they were counted.
            counted = [0] * len(checks(model))
            again.add(judge_constraints(job.session, model, whole, self.staged.new_rows(), counted))
        if settings.limits:
            judged = evolve(job, draft=again)
            again.add(limits.judge_limits(judged, settings.limits, None, self.staged.new_rows, lambda: whole))
        if job.tests is not None and not again.fails:
            try_tests(evolve(job, draft=again), self.staged, job.tests)
        return not again.fails
