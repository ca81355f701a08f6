"""What formats share whose tables decide by their own log whether a publish is committed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, TypeVar

from planproof.publish.materialize.materialization import Job
from planproof.publish.notes.publication import NotedPublication
from planproof.publish.staged_version import StagedVersion
from planproof.publish.transaction import Ending
from planproof_engine import Finding

C = TypeVar("C", bound=NotedPublication)


class NotedFormat(Generic[C]):
    """The part of `publish.protocol.Format` that the publication itself carries out."""

    is_journaled = False

    def staged(self, job: Job, publication: C) -> StagedVersion:
        return StagedVersion(job, publication)

    def describe(self, job: Job, publication: C) -> None:
        """Nothing: what is said of a table is committed with its rows."""

    def commit(self, publication: C) -> None:
        publication.commit()

    def tell_of_others(self, publication: C) -> Iterable[Finding]:
        return publication.tell_of_others()

    def is_alone(self, publication: C, before: str | None) -> bool:
        return publication.is_alone()

    def settle(self, publication: C) -> Ending:
        return publication.settle()
