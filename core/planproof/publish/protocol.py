"""The seam between the guard and a table format: a way to stage, to read facts, to commit, and to quarantine.

`formats` says which formats there are. `kernel` drives a publish through this protocol, and `StagedWrite` is what
audits, limits, data tests and samples ask. Neither knows how a format does it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from planproof.contract import Model
from planproof.publish.bad_rows import BadRows
from planproof.publish.materialize.materialization import Job, Materialization, Publication
from planproof.publish.staged_write import StagedWrite
from planproof.publish.transaction import Ending, Names
from planproof.session import StoredTable
from planproof_engine import Finding, PhysicalSchema

P = TypeVar("P", bound=Publication)
Q = TypeVar("Q", bound=Publication, contravariant=True)


class Format(Protocol[P]):
    """How the tables of one format are published. `is_journaled`: a publish is made of steps, which a lock keeps others
    out of and `recover` finishes or undoes."""

    is_journaled: bool

    def names(self, model: Model, run: str, attempt: int) -> Names:
        """What the target and its staged rows are called in this try (`attempt`) of a `run`. Raises `Refused` for a
        target that this format cannot be published to."""

    def target(self, names: Names) -> StoredTable | None:
        """The relation that stands there now."""

    def materialization(self, job: Job, full_refresh: bool) -> Materialization[P]:
        """How the model is staged and audited. Raises `Refused`."""

    def staged(self, job: Job, publication: P) -> StagedWrite:
        """What was staged, for whoever looks at it."""

    def quarantine(self) -> QuarantineTable[P]:
        """What takes bad rows. Raises `Unquarantinable` where this session cannot write them."""

    def commit(self, publication: P) -> None:
        """Puts what was staged and audited in the target's place. Raises `Moved`, or a transient `Refused`, where the
        target has changed."""

    def tell_of_others(self, publication: P) -> Iterable[Finding]:
        """What became of others' rows, once the target holds what was staged. Whatever it raises is told as unseen."""

    def refuse_changed(self, publication: P) -> None:
        """Raises a transient `Refused` where the target is not the relation any more that the publish found."""

    def is_published(self, publication: P) -> bool:
        """Whether the target holds all that an evicted publish has staged, and nobody is about to take it back."""

    def find_late_rows(self, publication: P) -> str:
        """Where the target holds some of an evicted publish's rows, or all that somebody may take back; empty for
        nowhere."""

    def describe(self, job: Job, publication: P) -> None:
        """Gives a table that has just been published what the publish itself could not: comment and properties."""

    def is_exchanged(self, publication: P) -> bool:
        """Whether others have put another relation in the place of the published one, as far as this can be told."""

    def is_alone(self, publication: P, before: str | None) -> bool:
        """Whether the target holds what was published, and what it held when the publish began, and nothing of others;
        False where that cannot be told. `before` is the target's fingerprint of then, if that is known."""

    def settle(self, publication: P) -> Ending:
        """Finishes or undoes a publish that failed on its way."""


class QuarantineTable(Protocol[Q]):
    """The table that takes the bad rows of a target, in the target's own format. Rows that are written to it become
    visible with `publish`, just before the good rows are committed; whatever undoes that publish takes them back."""

    stored_as: str
    """What stands after USING."""

    def refuse(self, raw: Q) -> None:
        """Raises `Unquarantinable` where rows of this publish cannot be told apart, or could not be taken back."""

    def find(self, name: str) -> StoredTable | None:
        """The relation that stands there now. Raises `Unquarantinable` where rows cannot be added to it."""

    def convert_types(self, schema: PhysicalSchema) -> PhysicalSchema:
        """The columns in the types that the format keeps."""

    def attach(self, bad: BadRows, raw: Q, publication: Q) -> None:
        """Ties the bad rows to the publish of the good ones, before either is written. `raw` is the first publish,
        which staged all rows; `publication` the second, of the good rows alone. Raises `Moved` where the target has
        changed in between."""

    def write(self, bad: BadRows, job: Job, publication: Q) -> None:
        """Writes the bad rows where nobody sees them."""

    def count(self, job: Job, publication: Q) -> tuple[int, int]:
        """How many bad rows and how many good rows were written, once both are audited."""

    def publish(self, bad: BadRows, publication: Q) -> None:
        """Makes the bad rows visible: one call."""

    def expire(self, name: str, table: StoredTable, oldest: str) -> None:
        """Deletes the rows of days before `oldest`, a date."""


@dataclass(frozen=True, slots=True)
class Steps(Generic[P]):
    """The steps of one publish after it has begun, in a format and by a materialization; a decorator adds to some."""

    format: Format[P]
    materialization: Materialization[P]

    def stage(self, job: Job, publication: P) -> str:
        return self.materialization.stage(job, publication)

    def audit(self, job: Job, publication: P) -> None:
        self.materialization.audit(job, publication)

    def commit(self, publication: P) -> None:
        self.format.commit(publication)
