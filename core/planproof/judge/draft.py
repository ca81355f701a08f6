"""A report while it is being written: findings, how each plane was read, what was enforced; and what a publish does to
the rows of its target, whatever the format and whatever its steps are called.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol

from planproof.contract import Contract
from planproof.invariants.contract import COUNTABLE
from planproof.judge.allowed import allow, has_unpublishable
from planproof.own_errors import describe
from planproof.report.details import Details, TableVersion
from planproof.report.model import INVARIANTS, PLANES, Enforcement, PlaneReading, Report
from planproof.session import StoredTable
from planproof.settings import Settings
from planproof_engine import Claim, Finding, OverBudget, Rewrite, Verdict, evolve

if TYPE_CHECKING:
    from planproof_engine.python_functions import Lowered


class Effect(Enum):
    """`REPLACES`: all rows are new. `REPLACES_PARTITIONS`: those of the partitions that were staged. `ADDS`: rows come
    to those that are there. `CHANGES`: rows are added, replaced or merged by the format, and what was staged is a
    version of the whole table. `DEFINES`: a view, of which no row is stored."""

    REPLACES = "replaces"
    REPLACES_PARTITIONS = "replaces partitions"
    ADDS = "adds"
    CHANGES = "changes"
    DEFINES = "defines"

    @property
    def keeps_rows(self) -> bool:
        """Whether rows that were published before stay."""
        return self in (Effect.REPLACES_PARTITIONS, Effect.ADDS, Effect.CHANGES)

    @property
    def is_partial(self) -> bool:
        """Whether the staged rows are a part of those that the target will hold."""
        return self in (Effect.REPLACES_PARTITIONS, Effect.ADDS)


TOO_LARGE = "PP113"
_ON_TOP = (
    "others changed, or may have changed, the table after planproof read it, and this publish was committed on top of "
    "it"
)
_OF_THE_WHOLE = ("PP507", "PP510", "PP511", "PP512", "PP513")
_COMPARED_BY = {"files": "I5", "batches": "I2"}
"""The planes of what is stored, each with the invariant over it."""


class Judged(Protocol):
    """What is judged: a `Model`, or a node of a project that nobody could run. `file` places findings."""

    @property
    def name(self) -> str: ...
    @property
    def sql(self) -> str: ...
    @property
    def contract(self) -> Contract | None: ...
    @property
    def materialized(self) -> str: ...
    @property
    def file_format(self) -> str: ...
    @property
    def file(self) -> str | None: ...


class Draft:
    """Collects what one check, publish or audit finds out about `model`.

    `beyond` is the reason for every plane of which nothing was said: `not reached` until the judgement comes to it.
    `is_brief`: the report is to have neither the plan's outline nor the lineage.
    """

    def __init__(
        self, model: Judged, settings: Settings, beyond: str = "not reached", *, is_brief: bool = False
    ) -> None:
        self.model, self.settings, self.is_brief = model, settings.in_force, is_brief
        self.findings: list[Finding] = []
        self.rewrites: tuple[Rewrite, ...] = ()
        self.executed_sql: str | None = None
        self.rows: int | None = None
        self.strategy: str | None = None
        self.effect: Effect | None = None
        left_out = settings.unenforced if model.contract is not None else ()
        self.details = Details(guard="watch" if settings.guard == "watch" else None, unenforced=left_out or None)
        self.uncountable: frozenset[str] = frozenset()
        self.sources: dict[str, StoredTable] = {}
        self.lowered: Lowered | None = None
        self._planes = {plane: PlaneReading(plane, "not present", beyond) for plane in PLANES}
        self._enforced = {name: Enforcement(name, False, beyond) for name in INVARIANTS}
        self._began = time.monotonic()

    def add(self, findings: Iterable[Finding]) -> None:
        self.findings += [allow(f, self.settings) for f in findings]

    def set_details(self, **known: Any) -> None:
        """Sets fields of the report's `details`."""
        self.details = evolve(self.details, **known)

    def forget_rows_after(self, is_stale: bool = False) -> None:
        """Takes back what the report says of the table after the publish: it was read before others changed it.
        `is_stale`: so were the terms that all of its rows have to keep."""
        if is_stale:
            self.findings = [_doubt(f) if f.code in _OF_THE_WHOLE else f for f in self.findings]
        change = self.details.change
        if change is not None and self.effect is not Effect.REPLACES:
            self.set_details(change=evolve(change, after=TableVersion(None, (), _ON_TOP)))

    def replace(self, codes: str | tuple[str, ...], findings: Iterable[Finding]) -> None:
        """Replaces the earlier findings whose codes begin with `codes` by later ones."""
        self.findings = [f for f in self.findings if not f.code.startswith(codes)]
        self.add(findings)

    def read(self, claim: Claim) -> None:
        fields = tuple((f.name, f.type.simple, f.nullable) for f in claim.schema)
        self._planes[claim.plane] = PlaneReading(claim.plane, "read", None, fields, claim.looked_at, claim.what)

    def mark_absent(self, plane: str, reason: str) -> None:
        self._planes[plane] = PlaneReading(plane, "not present", reason)

    def mark_unreadable(self, plane: str, reason: str) -> None:
        self._planes[plane] = PlaneReading(plane, "unreadable", reason)

    def mark_data_unread(self, reason: str, *planes: str, absent: bool = False) -> None:
        """Of planes of what is stored, all unless some are named: what is not read is not compared."""
        for plane in planes or _COMPARED_BY:
            (self.mark_absent if absent else self.mark_unreadable)(plane, reason)
            self.mark_not_enforced(_COMPARED_BY[plane], reason)

    def mark_enforced(self, invariant: str, how: str, *, sampled: bool = False) -> None:
        self._enforced[invariant] = Enforcement(invariant, True, how, sampled)

    def mark_not_enforced(self, invariant: str, why: str) -> None:
        self._enforced[invariant] = Enforcement(invariant, False, why)

    def add_own_error(self, plane: str, error: Exception) -> str:
        """A failure of planproof's own code on one of its planes, in words. The other planes still judge the model;
        under `planning: strict` the failure is raised."""
        if self.settings.planning == "strict" and self.settings.guard != "watch":
            raise error
        self.set_details(traceback=traceback.format_exc())
        said = describe(error)
        message = f"{said}; the other planes judge the model"
        self.add([Finding(Verdict.WARNING, "PP901", plane, found=type(error).__name__, message=message)])
        return said

    def add_too_large(self, over: OverBudget, verdict: Verdict) -> str:
        """That the model's query costs more to plan than one model may, in words."""
        said = f"it costs more than the budget for one model allows: {over}"
        self.add([Finding(verdict, TOO_LARGE, "logical", message=said)])
        return said

    @property
    def fails(self) -> bool:
        """True where what was found forbids to publish."""
        return self._is_forbidden(self.findings)

    @property
    def fails_already(self) -> bool:
        """True where what was found forbids to publish, whatever the audit will count."""
        return self._is_forbidden(f for f in self.findings if not _is_left_to_audit(f))

    def _is_forbidden(self, findings: Iterable[Finding]) -> bool:
        found = tuple(findings)
        return Report(self.model.name, "checked", found).fails(self.settings.fail_on) or has_unpublishable(found)

    def forget_violations(self) -> None:
        """Of a table that others have changed meanwhile, or taken away: they say nothing of the model."""
        self.findings = [f for f in self.findings if f.verdict is not Verdict.VIOLATED]

    def has_violation(self) -> bool:
        return any(f.verdict is Verdict.VIOLATED for f in self.findings)

    def report(self, outcome: str, error: str | None = None) -> Report:
        return Report(
            self.model.name,
            outcome,
            tuple(_drop_repeats(self.findings)),
            tuple(self._planes.values()),
            tuple(self._enforced.values()),
            self.rewrites,
            self.model.sql or None,
            self.executed_sql,
            self.rows,
            round(time.monotonic() - self._began, 3),
            self.strategy,
            error,
            self.details,
        )


def _drop_repeats(findings: Sequence[Finding]) -> list[Finding]:
    """Where a file cannot hold two columns of one name (PP102), the warning of the repeated name (PP101) says nothing
    new."""
    twice = {f.field for f in findings if f.code == "PP102" and f.verdict is Verdict.VIOLATED}
    return [f for f in findings if f.code != "PP101" or f.verdict is not Verdict.WARNING or f.field not in twice]


def _is_left_to_audit(finding: Finding) -> bool:
    """Whether the audit may still decide the finding: a declared term that can be counted, or a flag that Spark's
    optimizer loosened."""
    if finding.code in COUNTABLE:
        return finding.verdict is Verdict.UNPROVED
    return finding.code == "PP204" and finding.verdict is Verdict.WARNING


def _doubt(finding: Finding) -> Finding:
    """A term of the whole table, as nobody has counted it since others' commit. A check looks at single rows."""
    if finding.verdict is not Verdict.PROVED or (finding.promised or "").startswith("check("):
        return finding
    message = f"{finding.message}; {_ON_TOP}, so it may no longer hold: run the model again"
    return evolve(finding, verdict=Verdict.UNPROVED, evidence=None, message=message)
