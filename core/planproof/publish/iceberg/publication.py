"""One publish of an Iceberg table under way: an open transaction, and how far it is."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from planproof.judge.draft import Draft, Effect
from planproof.publish.iceberg.left import LEFT
from planproof.publish.iceberg.on_top import OnTop
from planproof.publish.materialize.materialization import Job
from planproof.publish.notes import Note, Notebook, NotedPublication, Stage, sweep_earlier
from planproof.publish.transaction import STATES, Ending, Target
from planproof.publish.transaction.names import Refused, refuse_unspeakable
from planproof.session import Changing, Moved, SparkFailure, Transaction, decode_uri, store_of
from planproof.session.snapshots import DataFile
from planproof_engine import AnalysisError, PhysicalSchema, evolve, quote_literal

LISTED = 500
"""So many of the added files one list names, which picks out their rows; more stand in several lists."""


PATIENCE = 60.0
"""For so many seconds a commit is tried on top of what others commit."""


class IcebergPublication(NotedPublication):
    """A publish over a transaction."""

    def __init__(self, transaction: Transaction, entry: Stage, notebook: Notebook) -> None:
        super().__init__(entry, notebook)
        self.transaction = transaction
        self.on_top: OnTop | None = None
        self._is_rebased = False

    @property
    def is_on_top(self) -> bool:
        return self._is_rebased

    @property
    def base(self) -> object:
        return self.transaction.base

    def count(self) -> int:
        return self.transaction.rows()

    def schema(self) -> PhysicalSchema:
        return self.transaction.schema()

    def new_rows(self) -> str:
        """The rows of the files that were added, and no others, for a FROM clause."""
        staging = self.entry.staging
        if self.entry.effect is not Effect.CHANGES:
            return staging
        files = self.transaction.files()
        if not files:
            return f"(SELECT * FROM {staging} LIMIT 0)"
        lists = (", ".join(map(quote_literal, files[at : at + LISTED])) for at in range(0, len(files), LISTED))
        return f"(SELECT * FROM {staging} WHERE {' OR '.join(f'_file IN ({names})' for names in lists)})"

    def list_before(self, most: int) -> Sequence[DataFile]:
        return self.transaction.list_before(most)

    def list_after(self, most: int) -> Sequence[DataFile]:
        return self.transaction.list_after(most)

    def set_apart(self) -> None:
        """What is written next can be told from other writers' files, and a note says where it lies."""
        run = self.notebook.note.owner.run
        self.stop_if_evicted()
        if self.transaction.branch is not None:  # A branch is noted before it is made.
            self.notebook.write(step=self.entry.step)
        self.notebook.write(folder=self.transaction.place_files(f"planproof_{run}"), step=self.entry.step)

    def note(self, name: str, **changes: Any) -> None:
        self.entry.step = name
        self.stop_if_evicted()
        if name == "audit":
            others, snapshot = tuple(self.transaction.manifests()), self.transaction.branch_snapshot()
            self.notebook.write(others=others, snapshot=snapshot, step=name)

    def commit(self) -> None:
        self.step("commit")
        if self.bad_rows is None:  # Else the note says already that what follows may be carried out late.
            self.notebook.write(step="commit")
        try:
            self._commit_on_top()
        except (Moved, Refused) as refused:
            self.step("refused")
            if isinstance(refused, Moved) and self.on_top is not None:
                refused.replaces = self.on_top.is_in_place_of_others(self.transaction)
            raise
        self.step("clean")
        self.notebook.delete()

    def _commit_on_top(self) -> None:
        """Commits, and where others were faster, on top of what they have left, again and again: on a table that is
        busy each try may come too late. Raises `Moved` where the model has to be staged anew."""
        until = time.monotonic() + PATIENCE
        while True:
            # Only now: who evicts this publish has the table refuse what was opened before that.
            self.stop_if_evicted()
            try:
                return self.transaction.commit()
            except Moved as moved:
                self.stop_if_evicted()
                self._refuse_gone()
                if self.on_top is None or time.monotonic() > until:
                    raise
                last = moved
            replaced = self.on_top.rebase(self.transaction)
            if replaced is None:
                raise last
            self.replaced, self._is_rebased = replaced, True
            self.notebook.write(others=tuple(self.transaction.manifests()))

    @contextmanager
    def guard_reads(self, draft: Draft) -> Iterator[None]:
        """While what was written is looked at. Raises `Moved` where it fails, or is refused, for files that somebody
        has deleted: no model is blamed for that."""
        try:
            yield
        except (SparkFailure, AnalysisError) as failure:
            if not isinstance(failure, Moved):
                self._refuse_lost(failure)
            raise
        if draft.fails:
            self._refuse_lost()

    def _refuse_lost(self, failure: Exception | None = None) -> None:
        if self.transaction.is_lost():
            self.stop_if_evicted()
            self._refuse_gone()
            raise Moved(f"{self.entry.model}: files were deleted while they were looked at") from failure

    def _refuse_gone(self) -> None:
        """Raises `Refused` for a change of a table that is not there any more: its rows are no table's beginning."""
        if self.entry.effect is Effect.CHANGES and self.transaction.is_gone:
            raise Refused(
                f"{self.entry.model} was dropped or renamed while its rows were staged. Nothing was published; run the "
                "model again",
                transient=True,
            )

    def is_alone(self) -> bool:
        return self.transaction.is_alone()

    def find_undoing(self) -> str | None:
        snapshot = self.transaction.find_undoing()
        return snapshot and f"snapshot {snapshot}"

    def delete_staged(self) -> None:
        self.transaction.discard()
        super().delete_staged()
        if self.transaction.branch is None and self.transaction.is_gone:
            with suppress(SparkFailure):  # Else empty folders would stand where the table was.
                self.notebook.store.prune(self.notebook.note.location)

    def close(self) -> None:
        super().close()
        with suppress(SparkFailure):  # A name that nobody uses again.
            self.transaction.close()

    def settle(self) -> Ending:
        """Finds out from the table what became of a commit whose answer was lost.

        Where the table does not have it, the files stay: the catalog may still carry the commit out, but for that of a
        branch, which is gone by then.
        """
        target = STATES[self.entry.step].target
        ending: Ending = "undone"
        if target is Target.NEW or (target is Target.EITHER and self.transaction.is_committed()):
            ending = "finished"
            self.notebook.delete()
        elif target is Target.OLD or self.transaction.branch is not None:
            self.stop_if_seen_evicted()
            self.discard()
        self.close()
        return ending


def sweep_dead(job: Job, tables: Changing) -> str | None:
    """Sweeps what dead publishes of the target have left, and says so. Returns where notes lie, None for nowhere."""
    root = job.root or None
    with suppress(SparkFailure, AnalysisError):
        root = root or tables.namespace_location(job.names.target.namespace)
    if root is None:
        return None
    root = decode_uri(root)
    sweep_earlier(LEFT, job, root)
    return root


def refuse_redirected(table: str, tables: Changing, transaction: Transaction) -> None:
    """Raises `Refused` where a setting of the session leads rows to another branch, or stages them: of a table that
    heeds such settings (SparkWriteConf.wapEnabled)."""
    heeds = str(transaction.read_property("write.wap.enabled")).lower() == "true"
    reason = tables.refusal() if heeds else None
    if reason is not None:
        transaction.discard()
        raise Refused(f"{table}: {reason}")


def open_change(job: Job, tables: Changing) -> Transaction:
    """An open change of the job's table. Raises `Refused` where others have taken the table away since it was looked
    at: the model is not to blame."""
    name = job.names.target.quoted
    try:
        return tables.change(name)
    except (AnalysisError, SparkFailure) as failure:
        if tables.table(name) is not None:
            raise
        raise Refused(
            f"{job.model.name} was dropped or renamed since this publish looked at it. Nothing was published; run the "
            "model again",
            transient=True,
        ) from failure


def begin_publication(
    job: Job, tables: Changing, transaction: Transaction, strategy: str, effect: Effect = Effect.REPLACES
) -> IcebergPublication:
    """The publish of a job over a transaction that has just been opened."""
    store = store_of(job.session)
    names, model, target = job.names, job.model.name, job.names.target.quoted
    refuse_redirected(model, tables, transaction)
    refuse_unspeakable(job.session, [transaction.location], f"the folder of {model}")
    root = sweep_dead(job, tables)
    note = Note.begin(names, model, strategy, transaction.location, transaction.is_new)
    note = evolve(note, branch=transaction.branch, created=transaction.created)
    stage = Stage(model, target, transaction.staged, strategy, effect)
    return IcebergPublication(transaction, stage, Notebook(store, root, note))
