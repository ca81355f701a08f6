"""What was staged in a Delta table of its own: `publish.staged_write.StagedWrite` over the table as it will be."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from planproof.judge.effect import Effect
from planproof.publish.delta.publication import DeltaPublication
from planproof.publish.materialize.materialization import Job
from planproof.publish.staged_write import Tested
from planproof_engine.schema import PhysicalSchema
from planproof_engine.sql.ending import unterminated


@dataclass(frozen=True, slots=True)
class StagedTable:
    """A rejection leaves nothing of it, so that the model's own query stands for its rows later."""

    job: Job
    publication: DeltaPublication

    @property
    def effect(self) -> Effect:
        return self.publication.entry.effect

    def schema(self) -> PhysicalSchema:
        return self.publication.schema()

    def new_rows(self) -> str:
        """Those of the files that were written; of a merge, which writes old rows anew, its source's."""
        if self.effect is Effect.CHANGES and self.job.model.incremental_strategy == "merge":
            return f"(\n{unterminated(self.job.examined.sql)}\n)"
        return self.publication.new_rows()

    def rows_after(self) -> str:
        return self.publication.entry.staging

    def new_rows_later(self) -> str | None:
        return f"(\n{unterminated(self.job.model.sql)}\n)" if self.job.model.sql else None

    def rows_after_later(self) -> str | None:
        return self.new_rows_later()

    @contextmanager
    def tested(self) -> Iterator[Tested]:
        later = f"(\n{unterminated(self.job.examined.sql)}\n)" if self.effect is Effect.REPLACES else None
        yield Tested(self.rows_after(), later)
