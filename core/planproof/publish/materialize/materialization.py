"""The protocol of all materializations: a way to check, stage and audit a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from planproof.contract import Model
from planproof.judge.draft import Draft, Effect
from planproof.judge.planes import Examined
from planproof.publish.transaction import Lock, Names, Refused
from planproof.report import DataTestResult
from planproof.session import Session, SparkPlanes, StoredTable
from planproof_engine import PhysicalSchema


@dataclass(frozen=True, slots=True)
class Job:
    """One model on its way to one target; `target` is None where it does not exist yet.

    `root` is where journal and locks lie, `lock` is the target's (None where the format needs none), `home` the
    location of the target's database. `compare_batches`: Spark compares the batches of Python functions with their
    declared schemas. `keys`: the staged rows are compared with the stored ones by these columns, and not published.
    `tests` run over the staged rows. `after_quarantine`: the staged rows are the good ones of those that another
    publish has staged."""

    session: Session
    names: Names
    model: Model
    draft: Draft
    examined: Examined
    target: StoredTable | None
    root: str
    home: str
    lock: Lock | None
    compare_batches: bool = True
    keys: tuple[str, ...] = ()
    tests: Callable[[Any], Sequence[DataTestResult]] | None = None
    after_quarantine: bool = False


class Standing(Protocol):
    """What the kernel and reports know of a publish. Names are quoted; SQL can read `staging` once rows are staged."""

    @property
    def model(self) -> str: ...
    @property
    def staging(self) -> str: ...
    @property
    def strategy(self) -> str: ...
    @property
    def effect(self) -> Effect: ...
    @property
    def step(self) -> str: ...


class Publication(Protocol):
    """One publish under way, whatever its format. `planes` are those of the plan that wrote, where Spark tells it;
    `watched`: every row that Python gave was looked at as it was written. `can_be_kept`: what was staged can stay after
    a rejection. `is_on_top`: others had changed the table since it was looked at, and it was committed on top of it."""

    planes: SparkPlanes | None
    watched: bool

    @property
    def is_on_top(self) -> bool: ...

    @property
    def is_stale(self) -> bool:
        """Whether it depends on rows of the table that others have changed below it."""

    @property
    def next_step(self) -> str:
        """What to do where it could neither be finished nor undone."""

    @property
    def can_be_kept(self) -> bool: ...

    @property
    def entry(self) -> Standing: ...

    def step(self, name: str, **changes: Any) -> None:
        """Writes down that a step begins, where the format keeps a journal."""

    def note(self, name: str, **changes: Any) -> None:
        """The same for a step of which a recovery need not know."""

    def keep(self) -> None:
        """Leaves what was staged to be looked at, in place of what was kept before."""

    def discard(self) -> None:
        """Removes what was staged."""

    def close(self) -> None:
        """Ends the publish; nothing of it is under way any more."""


P = TypeVar("P", bound=Publication)


class Materialization(Protocol[P]):
    """The steps of one materialization: begin, stage, audit. The commit is the format's."""

    def begin(self, job: Job) -> P | None:
        """The publication, by the strategy that is safe for this target; nothing is written yet.

        None where the target's schema forbids it: the findings say why. Raises `Refused`.
        """

    def stage(self, job: Job, publication: P) -> str:
        """Writes what has to be written beside the target; returns the statement."""

    def audit(self, job: Job, publication: P) -> None:
        """Adds to the job's draft what the staged data show."""

    def published_schema(self, job: Job, publication: P) -> PhysicalSchema:
        """The schema that the published files have; the query's may differ (flags, column order)."""


def is_incremental_run(job: Job, full_refresh: bool) -> bool:
    """Whether an incremental's rows are added; its first run, and a full refresh, is a table. Raises `Refused`."""
    if job.model.materialized not in ("table", "incremental"):
        raise Refused(f"{job.model.name} is {job.model.materialized}: planproof publishes table, view and incremental")
    return job.model.materialized == "incremental" and job.target is not None and not full_refresh
