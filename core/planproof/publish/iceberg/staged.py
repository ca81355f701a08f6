"""What was staged in a transaction: `publish.staged_write.StagedWrite` over a version of the whole table."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from planproof.judge.effect import Effect
from planproof.publish.iceberg.commit import Commit
from planproof.publish.materialize.materialization import Job
from planproof.publish.staged_write import Tested
from planproof_engine.schema import PhysicalSchema
from planproof_engine.sql.ending import unterminated


@dataclass(frozen=True, slots=True)
class StagedVersion:
    """The version of the table that stands in an open transaction, or on a branch. A rejection leaves nothing of it."""

    job: Job
    publication: Commit

    @property
    def effect(self) -> Effect:
        return self.publication.entry.effect

    def schema(self) -> PhysicalSchema:
        return self.publication.transaction.schema()

    def new_rows(self) -> str:
        """Those of the files that were added; of a merge, which writes old rows anew, its source's."""
        if self.effect is Effect.CHANGES and self.job.model.incremental_strategy == "merge":
            return f"(\n{unterminated(self.job.examined.sql)}\n)"
        return self.publication.new_rows()

    def rows_after(self) -> str:
        return self.publication.entry.staging

    def new_rows_later(self) -> str | None:
        """The model's own query."""
        return f"(\n{unterminated(self.job.model.sql)}\n)" if self.job.model.sql else None

    def rows_after_later(self) -> str | None:
        return self.new_rows_later()

    @contextmanager
    def tested(self) -> Iterator[Tested]:
        later = f"(\n{unterminated(self.job.examined.sql)}\n)" if self.effect is Effect.REPLACES else None
        yield Tested(self.rows_after(), later)
