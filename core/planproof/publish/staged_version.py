"""What was staged as a version of the whole table, by formats that have a log: a `StagedWrite` over that version."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from planproof.judge.draft import Effect
from planproof.publish.materialize.materialization import Job
from planproof.publish.notes.publication import NotedPublication
from planproof.publish.staged_write import Tested, as_subquery
from planproof_engine import PhysicalSchema


@dataclass(frozen=True, slots=True)
class StagedVersion:
    """A rejection leaves nothing of it, so that the model's own query stands for its rows later."""

    job: Job
    publication: NotedPublication

    @property
    def effect(self) -> Effect:
        return self.publication.entry.effect

    def schema(self) -> PhysicalSchema:
        return self.publication.schema()

    def new_rows(self) -> str:
        """Those of the files that were written; of a merge, which writes old rows anew, its source's."""
        if self.effect is Effect.CHANGES and self.job.model.incremental_strategy == "merge":
            return as_subquery(self.job.examined.sql)
        return self.publication.new_rows()

    def rows_after(self) -> str:
        return self.publication.rows_after()

    def new_rows_later(self) -> str | None:
        return as_subquery(self.job.model.sql) if self.job.model.sql else None

    def rows_after_later(self) -> str | None:
        return self.new_rows_later()

    @contextmanager
    def tested(self) -> Iterator[Tested]:
        later = as_subquery(self.job.examined.sql) if self.effect is Effect.REPLACES else None
        yield Tested(self.rows_after(), later)
