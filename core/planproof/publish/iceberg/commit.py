"""One publish of an Iceberg table under way: an open transaction, and how far it is."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from planproof.publish.strategies import Ending
from planproof.session.protocol import Moved, SparkFailure, SparkPlanes, Transaction


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
    """`planproof.publish.materialization.Publishing` over a transaction. `planes` are those of the plan that wrote,
    where Spark tells it; `watched`: every row that Python gave was looked at as it was written."""

    can_be_kept = False
    way_on = "once its catalog answers, the table's history tells whether it was committed"

    def __init__(self, transaction: Transaction, model: str, target: str, strategy: str) -> None:
        self.transaction = transaction
        self.entry = Stage(model, target, transaction.staged, strategy)
        self.planes: SparkPlanes | None = None
        self.watched = False

    def step(self, name: str, **changes: Any) -> None:
        self.entry.step = name

    def note(self, name: str, **changes: Any) -> None:
        self.entry.step = name

    def commit(self) -> None:
        self.step("commit")
        try:
            self.transaction.commit()
        except Moved:
            self.step("refused")
            raise
        self.step("clean")

    def keep(self) -> None:
        """Nothing outlives a transaction that is not committed."""

    def discard(self) -> None:
        self.transaction.discard()

    def close(self) -> None:
        with suppress(SparkFailure):  # A name that nobody uses again.
            self.transaction.close()

    def settle(self) -> Ending:
        """What became of a commit of which nobody knows is told by the table itself. Where it does not have it, the
        files stay: a catalog may still carry out what it was asked for."""
        step = self.entry.step
        ending: Ending = "undone"
        if step == "clean" or (step == "commit" and self.transaction.is_committed()):
            ending = "finished"
        elif step != "commit":
            self.discard()
        self.close()
        return ending
