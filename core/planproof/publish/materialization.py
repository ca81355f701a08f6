"""What the materializations have in common: a way to check, stage and audit a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from planproof.contract import Model
from planproof.judge.draft import Draft
from planproof.judge.planes import Examined
from planproof.publish.names import Names
from planproof.publish.publication import Publication
from planproof.schema import PhysicalSchema
from planproof.session.protocol import Session, StoredTable


@dataclass(frozen=True, slots=True)
class Job:
    """One model on its way to one target; `target` is None where it does not exist yet.

    `root` is where journal and locks lie, `home` the location of the target's database. `compare_batches`: Spark holds
    the batches of Python functions against their declared schemas.
    """

    session: Session
    names: Names
    model: Model
    draft: Draft
    examined: Examined
    target: StoredTable | None
    root: str
    home: str
    compare_batches: bool = True


class Materialization(Protocol):
    def begin(self, job: Job) -> Publication | None:
        """The publication, by the strategy that is safe for this target; nothing is written yet.

        None where the target's schema forbids it: the findings say why. Raises `Refused`.
        """

    def stage(self, job: Job, publication: Publication) -> str:
        """Writes what has to be written beside the target; returns the statement."""

    def audit(self, job: Job, publication: Publication) -> None:
        """Adds to the job's draft what the staged data show."""

    def written(self, job: Job, publication: Publication) -> PhysicalSchema:
        """The schema that the target's files now have, whatever the query's is."""
