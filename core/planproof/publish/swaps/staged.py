"""What was staged of a Parquet table, or of a view: `publish.staged_write.StagedWrite` over files, or a query."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from planproof.judge.draft import Effect
from planproof.publish.data_tests.decided import Stored, find_stored, find_stored_below
from planproof.publish.materialize.materialization import Job
from planproof.publish.staged_write import Tested, as_subquery, unite_rows
from planproof.publish.swaps.view import column_names
from planproof.publish.transaction import JournaledPublication, column_list
from planproof.publish.transaction.names import PREFIX
from planproof.session import SparkFailure
from planproof_engine import AnalysisError, PhysicalSchema, drop_terminators, quote_literal
from planproof_engine.types import format_ddl

_GLOB = frozenset("*?[]{}\\")
"""Characters that make a path a pattern for Spark's reader. Its catalog takes such a path literally."""


@dataclass(frozen=True, slots=True)
class StagedFiles:
    """The rows that lie in a staging table, or in files over which no table stands yet."""

    job: Job
    publication: JournaledPublication

    @property
    def effect(self) -> Effect:
        return self.publication.entry.effect

    def schema(self) -> PhysicalSchema:
        if self._is_view:
            return self.job.examined.promised
        self.publication.register()
        staged = self.publication.stored(self.publication.entry.staging)
        if staged is None:
            raise SparkFailure("the staged rows cannot be described")
        return staged.schema

    def new_rows(self) -> str:
        if self._is_view:
            return as_subquery(self.job.examined.sql)
        self.publication.register()
        return self.publication.entry.staging

    def rows_after(self) -> str:
        return self.new_rows() if self._is_view else self._add_kept_rows(self.new_rows())

    def new_rows_later(self) -> str | None:
        """The table that is kept, else the model's own query."""
        if self.job.draft.settings.keep_rejected and not self._is_view:
            return self.publication.entry.staging
        return as_subquery(self.job.model.sql) if self.job.model.sql else None

    def rows_after_later(self) -> str | None:
        later = self.new_rows_later()
        return later if later is None or self._is_view else self._add_kept_rows(later)

    @contextmanager
    def tested(self) -> Iterator[Tested]:
        job, publication = self.job, self.publication
        entry, later, files = publication.entry, self._name_to_test_later(), self._files()
        name = f"`{PREFIX}_staged_{uuid.uuid4().hex}`"
        if self._is_view:
            names = column_names(job.model.options.get("columns") or ())
            definition = f"{name}{names} AS\n{drop_terminators(job.examined.sql)}"
        elif publication.unregistered is not None and job.target is not None and not _GLOB & set(entry.stage_location):
            columns = column_list((f.name, format_ddl(f.type)) for f in job.target.schema)
            definition = f"{name} ({columns}) USING parquet OPTIONS (path {quote_literal(entry.stage_location)})"
        else:
            after = self.rows_after()
            if after == entry.staging:
                yield Tested(after, later, files)
                return
            definition = f"{name} AS SELECT * FROM {after}"
        try:
            job.session.rows(f"CREATE TEMPORARY VIEW {definition}")
        except (AnalysisError, SparkFailure):
            if publication.unregistered is None:
                raise
            yield Tested(self.new_rows(), later, files)
            return
        try:
            yield Tested(name, later, files)
        finally:
            with suppress(AnalysisError, SparkFailure):
                job.session.rows(f"DROP VIEW IF EXISTS {name}")

    @property
    def _is_view(self) -> bool:
        return self.effect is Effect.DEFINES

    def _name_to_test_later(self) -> str | None:
        if self.job.draft.settings.keep_rejected and not self._is_view:
            return self._add_kept_rows(self.publication.entry.staging)
        return None if self.effect.is_partial else as_subquery(self.job.examined.sql)

    def _files(self) -> Stored | None:
        entry, target = self.publication.entry, self.job.target
        if self.effect is not Effect.REPLACES:
            return None
        if self.publication.unregistered is not None and target is not None:
            return find_stored_below(self.job.session, [entry.stage_location], target.schema)
        return find_stored(self.job.session, self.publication.stored(entry.staging))

    def _add_kept_rows(self, staged: str) -> str:
        """What was staged with the rows that stay, where only some of the table is written. Older rows hold NULL in a
        column that the table gets with the new ones."""
        target = self.job.target
        if not self.effect.is_partial or target is None:
            return staged
        replaced = target.partition_by if self.effect is Effect.REPLACES_PARTITIONS else ()
        columns = self.publication.entry.columns
        return unite_rows(self.job.names.target.quoted, staged, target.schema.names, columns, replaced)
