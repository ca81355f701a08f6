"""One publish of a Delta table under way: a staged table in the target's folder, and how far it is."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, Literal

from planproof.judge.draft import Effect
from planproof.publish.audit.constraints import looks_at_all
from planproof.publish.delta.actions import LOG, UnknownAction, count_for_history, count_rows, list_changes, read
from planproof.publish.delta.staging import StagedTable, read_commits_since
from planproof.publish.delta.written import WrittenTable
from planproof.publish.materialize.materialization import Job
from planproof.publish.notes import Note, Notebook, Stage
from planproof.publish.notes.believed import is_same_location
from planproof.publish.transaction import STATES, Ending, Target, database_root
from planproof.publish.transaction.names import Refused, join
from planproof.session import Moved, SparkFailure, decode_uri, store_of
from planproof.session.delta.protocol import DeltaTables, LogState, NewVersion, Operation
from planproof.session.snapshots import DataFile, Unlisted
from planproof_engine import PhysicalSchema, by_name, evolve, quote_parts
from planproof_engine.types import DATE, String, is_integral

Overwritten = Literal["all", "partitions"]
"""All files of the target, or those of the partitions in which new rows lie."""
PATIENCE = 60.0
"""For so many seconds a replacement is tried on top of what others commit."""


class DeltaPublication(WrittenTable):
    """A publish over a staged Delta table. `managed`: who drops the target has its files deleted.

    `whole`: something was counted over all rows that the table will hold, so that nobody may have added any since.
    `reads`: what was staged depends on what the target held. `forbidden`: it was staged without terms that the target
    keeps by itself, and never becomes the target's; what there is to say of it. `needs_rows_after`: a query reads all
    rows that the table will hold. `overwrites`: which files of the target give way to the new ones, where the staged
    log does not say it.
    """

    next_step = "once its files can be read, the table's history tells whether it was committed"

    def __init__(self, job: Job, tables: DeltaTables, base: LogState, strategy: str, managed: bool) -> None:
        names, store, target = job.names, store_of(job.session), job.names.target.quoted
        self.tables, self.managed = tables, managed
        self.staged = StagedTable(tables, store, base, names.stamp)
        effect = Effect.REPLACES if strategy == "replace" else Effect.CHANGES
        entry = Stage(job.model.name, target, self.staged.relation, strategy, effect)
        note = Note.begin(names, job.model.name, strategy, base.location, base.version < 0)
        note = evolve(note, folder=self.staged.location, format="delta", base=base.version)
        super().__init__(entry, Notebook(store, job.root or database_root(job.session, names.target.namespace), note))
        self.whole = self.needs_rows_after = looks_at_all(job)
        self.reads = True
        self.overwrites: Overwritten | None = None
        self.forbidden: str | None = None
        self._session, self._is_registered = job.session, job.target is not None or _has_name(job, base)
        self._overwrites = job.model.incremental_strategy == "insert_overwrite" and strategy == "change"
        self._operation = _name_operation(strategy, job.model.incremental_strategy)
        # What a limit compares with is the table as it was looked at. Of partitions that are overwritten, keys are
        # counted beside those that stay; by which rule others' rows are, only the model's own partitions tell.
        by_rule = bool(job.model.partition_by) or not base.partition_by
        overwrites = self._overwrites and by_rule and not self.whole
        self._goes_on_top = (strategy == "replace" or overwrites) and not job.draft.settings.limits
        self._taken: list[str] = []
        self._version: int | None = None
        self._is_interrupted = False
        self._lost: str | None = None
        if self.notebook.write() and base.version < 0 and not managed:
            self.staged.say(self.notebook.location)

    @property
    def base(self) -> LogState:
        return self.staged.base

    def count(self) -> int:
        return self.staged.count(self._session)

    def state(self) -> LogState:
        return self.staged.state

    def schema(self) -> PhysicalSchema:
        return self.state().schema

    def list_paths(self) -> list[str]:
        return self.staged.paths()

    def new_rows(self) -> str:
        return self.staged.new_rows()

    def rows_after(self) -> str:
        self.staged.open()
        return self.entry.staging

    def list_before(self, most: int) -> list[DataFile]:
        return self._locate(self._files_of_base)

    def list_after(self, most: int) -> list[DataFile]:
        written, own = self.staged.written, self.staged.written.files
        if self.overwrites == "all" or self.entry.strategy == "replace":
            return self._locate(own)
        base = self._files_of_base
        replaced = self._keep_own_partitions(base) if self.overwrites == "partitions" else []
        if self.overwrites == "partitions" and not self._has_one_spelling():
            raise Unlisted("values of its partitions may be spelt in several ways")
        gone = {*written.removed, *(form["path"] for form in replaced)}
        return self._locate([*(form for form in base if form["path"] not in gone), *own])

    def _has_one_spelling(self) -> bool:
        """Whether the log spells each value of the partitions in one way."""
        columns = by_name(self.base.schema)
        types = [columns[name].type for name in self.base.partition_by]
        return all(isinstance(kind, String) or kind == DATE or is_integral(kind) for kind in types)

    @cached_property
    def _files_of_base(self) -> list[dict[str, Any]]:
        found = self.tables.files(self.base)
        if found is None:
            raise Unlisted("it has many files, which its log does not list beside the last commit")
        return [dict(form) for form in found]

    def _locate(self, files: Sequence[Mapping[str, Any]]) -> list[DataFile]:
        """Raises `Unlisted` where a file holds other rows or columns than the table."""
        if self.base.is_mapped or self.state().is_mapped:
            raise Unlisted("it maps its columns, and its files name them otherwise")
        if any(form.get("deletionVector") for form in files):
            raise Unlisted("some of its files hold rows that were deleted")
        return [
            DataFile(self.staged.locate(form["path"]), tuple((form.get("partitionValues") or {}).items()))
            for form in files
        ]

    def note(self, name: str, **changes: Any) -> None:
        self.entry.step = name
        self.stop_if_evicted()
        self.notebook.write(step=name)

    def commit(self) -> None:
        """One commit of the target's log, and where the table is new its name. Raises `Moved`, `SparkFailure`, and a
        transient `Refused` where files that were audited are gone."""
        if self.forbidden is not None:
            raise Refused(self.forbidden)
        self.note("commit")
        try:
            self._commit_on_top()
        except Moved as moved:
            if not self.is_committed():
                self.step("refused")
                self.stop_if_evicted()
                moved.replaces = self._is_in_place_of_others()
                raise
        except BaseException as error:
            self._is_interrupted = not isinstance(error, Exception)
            raise
        self._take_back_what_is_gone()
        if not self._is_registered:
            self.tables.register(self.entry.target, self.base.location, self.managed)
        self.step("clean")
        self._tidy()
        with suppress(SparkFailure):
            self.tables.refresh(self.entry.target)

    def _commit_on_top(self) -> None:
        """A replacement, and an overwrite of partitions, does not depend on rows that others have added meanwhile, and
        takes their place."""
        base, until = self.base, time.monotonic() + PATIENCE
        while True:
            self._refuse_gone()
            try:
                self._version = self.tables.commit(self._change(base), self.entry.target, self.staged.folder)
                return
            except Moved:
                self.stop_if_evicted()
                if not self._goes_on_top or self.reads or self.is_committed() or time.monotonic() > until:
                    raise
                # Before the state: it has them all.
                taken, now = self._list_added_by_others(), self.tables.state(base.location)
                rows = None if taken is None else count_rows(taken)
                if rows is None or (now.metadata, now.protocol) != (base.metadata, base.protocol):
                    raise
            self.replaced, base = rows, now
            self._taken = [] if self.overwrites else [form["path"] for form in taken or ()]

    def _change(self, base: LogState) -> NewVersion:
        written, replaces = self.staged.written, self.entry.strategy == "replace"
        removals = [action for action in written.removals if "deletionVector" not in action["remove"]]
        return NewVersion(
            self._operation,
            base,
            self.base.version,
            added=written.added,
            removed=None if replaces or self.overwrites == "all" else (*written.removed, *self._taken),
            metadata=self._make_metadata(),
            reads=self.reads or self._overwrites or replaces,
            exact=self.whole or replaces,
            replaces=replaces,
            overwrites=self.overwrites == "partitions",
            removals=() if self._taken else removals,
            merge=written.merge and written.merge.clauses,
            counts=count_for_history(written),
        )

    def _list_added_by_others(self) -> list[dict[str, Any]] | None:
        """The files that others have added since this was staged where its own rows belong; None where that is not all
        they did, or the log does not say it."""
        said = read_commits_since(self.tables, self.staged.store, self.base.location, self.base.version)
        commits = [commit for _, commit in said]
        if None in commits:
            return None
        try:
            theirs = read(filter(None, commits), "", self.base.location)
        except UnknownAction:
            return None
        if theirs.metadata is not None or theirs.removed:
            return None
        return self._keep_own_partitions(theirs.files)

    def _keep_own_partitions(self, theirs: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Those of others' files that lie where this puts its own."""
        if not (self._overwrites and self.base.partition_by):
            return theirs
        own = [form["partitionValues"] for form in self.staged.written.files]
        return [form for form in theirs if form.get("partitionValues") in own]

    def _is_in_place_of_others(self) -> bool:
        """Whether others have changed rows since this was staged where it would put its own, and has read none."""
        if self.reads or not (self._overwrites or self.entry.strategy == "replace"):
            return False
        said = read_commits_since(self.tables, self.staged.store, self.base.location, self.base.version)
        theirs = [form for _, commit in said for _, form in list_changes(commit or "")]
        return bool(self._keep_own_partitions(theirs))

    def _refuse_gone(self) -> None:
        gone, files = self.staged.count_gone()
        if gone:
            self.step("refused")
            self.stop_if_evicted()
            raise Refused(self._describe_gone(gone, files), transient=True)

    def _describe_gone(self, gone: int, files: int) -> str:
        return (
            f"{self.entry.model}: {gone} of {files} files that were staged are gone or changed, as by VACUUM without "
            "a retention or a forced recovery; nothing was published. Run the model again"
        )

    def _take_back_what_is_gone(self) -> None:
        """Files may be deleted at the moment of their commit, and Delta does not ask: nobody could read the table.

        Raises a transient `Refused` once the table is what it was before, else `SparkFailure`."""
        gone, files = self.staged.count_gone()
        if not gone:
            return
        now = self.tables.state(self.base.location)
        if now.version < 0 or not self.tables.has_files_in(now, self.staged.folder):
            return  # Others have dropped or replaced it since.
        version = self.staged.find_committed_version()
        if not version or now.version != version or not self._restore(version - 1):
            raise SparkFailure(
                f"{gone} of {files} files of {self.entry.model} were deleted while they were committed as version "
                f"{version}, and rows cannot be read: run the model with full_refresh, or RESTORE TABLE "
                f"{self.entry.target} to an older version"
            )
        said = self._describe_gone(gone, files)
        # RESTORE compares nothing: it takes the table as it is by then.
        if self.tables.state(self.base.location).version > version + 1:
            said += f". RESTORE took back what others have committed since version {version}, too: add those rows again"
        self.step("refused")
        raise Refused(said, transient=True)

    def _settle_what_is_gone(self) -> None:
        try:
            self._take_back_what_is_gone()
        except Refused:
            self.discard()
            self.close()
            raise

    def _restore(self, version: int) -> bool:
        table = quote_parts(("delta", self.base.location))
        with suppress(SparkFailure):
            self._session.rows(f"RESTORE TABLE {table} TO VERSION AS OF {version}")
            return True
        return False

    def refuse_another(self) -> None:
        """Raises a transient `Refused` where the table that this began on was dropped, renamed or made anew, and where
        others have deleted files that were written for it: no model is blamed for either."""
        base = self.base
        if base.version >= 0 and not self.tables.state(base.location).is_successor_of(base):
            raise Refused(
                f"{self.entry.model} was dropped, renamed or made anew while its rows were staged. Nothing was "
                "published; run the model again",
                transient=True,
            )
        if not self._is_discarded:
            self._refuse_gone()
        elif self._lost is not None:
            raise Refused(self._lost, transient=True)

    def discard(self) -> None:
        if not self._is_discarded:
            with suppress(Refused, SparkFailure):  # What was not written to its end has no files to look for.
                gone, files = self.staged.count_gone()
                self._lost = self._describe_gone(gone, files) if gone else None
        super().discard()

    def _make_metadata(self) -> dict[str, Any] | None:
        """The target's new metadata; None where they stay."""
        made = self.staged.written.metadata
        if self.entry.strategy == "replace" or made is None:
            return made
        kept = {**self.base.properties, **(made.get("configuration") or {})}
        return {**self.base.metadata, "schemaString": made["schemaString"], "configuration": kept}

    def is_committed(self) -> bool:
        return self.staged.is_committed()

    @property
    def is_on_top(self) -> bool:
        if self._version == self.base.version + 1:
            return False
        try:
            return self.staged.follows_others()
        except SparkFailure:
            return True

    def is_alone(self) -> bool:
        version = self.tables.state(self.base.location).version
        return version == self._version == self.base.version + 1

    def find_undoing(self) -> str | None:
        is_last = self.tables.state(self.base.location).version == self._version
        if not self.is_committed():
            return ""
        version = None if is_last else self.staged.find_undoing()
        return None if version is None else f"version {version}"

    def _tidy(self) -> None:
        self.staged.forget_log()
        self.notebook.delete()

    def settle(self) -> Ending:
        """Finds out from the log what became of a commit whose answer was lost. Raises a transient `Refused` where it
        was taken back, `Evicted`, and `SparkFailure` where nobody can read the table."""
        ending: Ending = "undone"
        target = STATES[self.entry.step].target
        if target is Target.NEW or (target is Target.EITHER and self.is_committed()):
            if target is Target.EITHER:
                self._settle_what_is_gone()
            if not self._is_registered and target is Target.EITHER:
                self.tables.register(self.entry.target, self.base.location, self.managed)
            self._tidy()
            ending = "finished"
        else:
            if self._is_interrupted:
                return self._settle_interrupted()
            self.stop_if_seen_evicted()
            self.discard()
        self.close()
        return ending

    def _settle_interrupted(self) -> Ending:
        """The JVM goes on with a commit whose caller was interrupted: without its files nobody could read the table.
        From here on the log refuses it, or has it."""
        self._is_interrupted = False
        if not self.staged.store.exists(join(self.base.location, LOG)):
            raise SparkFailure(f"Delta may still make {self.entry.model}, whose publish was interrupted", outside=True)
        self.tables.fence(self.base.location, self.staged.folder)
        return self.settle()


def _has_name(job: Job, base: LogState) -> bool:
    """Whether the catalog has a name for the log by now: a publish that died before it gave it one was settled since
    the target was looked for."""
    table = job.session.registered_table(job.names.target.quoted) if base.version >= 0 else None
    stored = table.location if table is not None else None
    return stored is not None and is_same_location(decode_uri(stored), base.location)


def _name_operation(strategy: str, incremental_strategy: str) -> Operation:
    if strategy == "replace" or incremental_strategy == "insert_overwrite":
        return "overwrite"
    return "update" if incremental_strategy == "merge" else "append"
