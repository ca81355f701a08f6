"""One publish of an Iceberg table under way: an open transaction, and how far it is."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from planproof.origin import AnalysisError
from planproof.publish.iceberg.left import Note, Notebook, earlier
from planproof.publish.materialize.materialization import Job
from planproof.publish.swaps import Ending
from planproof.publish.transaction.owner import Owner
from planproof.quoting import quoted
from planproof.session.protocol import Moved, SparkFailure, SparkPlanes, Transaction, Transactional
from planproof.session.store import decoded, store_of


@dataclass
class Stage:
    """What is known of a publish from outside. `staging` is the quoted name under which SQL reads the whole table as it
    will be; `step` the last one that began."""

    model: str
    target: str
    staging: str
    strategy: str
    step: str = "begin"


class Commit:
    """`materialization.Publishing` over a transaction. `planes` are those of the plan that wrote,
    where Spark tells it; `watched`: every row that Python gave was looked at as it was written."""

    can_be_kept = False
    way_on = "once its catalog answers, the table's history tells whether it was committed"

    def __init__(self, transaction: Transaction, entry: Stage, notebook: Notebook) -> None:
        self.transaction, self.entry, self.notebook = transaction, entry, notebook
        self.planes: SparkPlanes | None = None
        self.watched = False

    def set_apart(self) -> None:
        """What is written next can be told from other writers' files, and a note says where it lies."""
        run = self.notebook.note.owner.run
        self.notebook.write(folder=self.transaction.set_apart(f"planproof_{run}"), step=self.entry.step)

    def step(self, name: str, **changes: Any) -> None:
        self.entry.step = name

    def note(self, name: str, **changes: Any) -> None:
        self.entry.step = name
        if name == "audit":
            self.notebook.write(others=tuple(self.transaction.manifests()), step=name)

    def commit(self) -> None:
        self.step("commit")
        self.notebook.write(step="commit")
        try:
            self.transaction.commit()
        except Moved:
            self.step("refused")
            raise
        self.step("clean")
        self.notebook.delete()

    def keep(self) -> None:
        """Nothing outlives a transaction that is not committed."""

    def discard(self) -> None:
        self.transaction.discard()
        self.notebook.sweep()

    def close(self) -> None:
        self.notebook.end()
        with suppress(SparkFailure):  # A name that nobody uses again.
            self.transaction.close()

    def settle(self) -> Ending:
        """What became of a commit of which nobody knows is told by the table itself. Where it does not have it, the
        files stay: a catalog may still carry out what it was asked for."""
        step = self.entry.step
        ending: Ending = "undone"
        if step == "clean" or (step == "commit" and self.transaction.is_committed()):
            ending = "finished"
            self.notebook.delete()
        elif step != "commit":
            self.discard()
        self.close()
        return ending


def begun(job: Job, tables: Transactional, transaction: Transaction, strategy: str) -> Commit:
    """The publish of a job over a transaction that has just been opened."""
    store = store_of(job.session)
    names, model, target = job.names, job.model.name, quoted(job.names.target)
    root = job.root or None
    with suppress(SparkFailure, AnalysisError):
        root = root or tables.namespace_location(names.database)
    if root is not None:
        root = decoded(root)
        for report in earlier(job.session, store, root, names.slug):
            job.draft.add(report.findings)
    note = Note(
        model,
        target,
        names.slug,
        strategy,
        Owner.here(names.stamp),
        transaction.is_new,
        transaction.location,
    )
    stage = Stage(model, target, transaction.staged, strategy)
    return Commit(transaction, stage, Notebook(store, root, note))
