"""A report while it is being written: findings, how each plane was read, what was enforced."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from planproof.contract import Model
from planproof.invariants.contract import COUNTABLE
from planproof.report.model import (
    INVARIANTS,
    PLANES,
    Enforcement,
    Finding,
    PlaneReading,
    Report,
    Rewrite,
    Verdict,
)
from planproof.schema import PhysicalSchema
from planproof.session.protocol import StoredTable
from planproof.settings import Settings

if TYPE_CHECKING:
    from planproof.optimizer.lowering import Lowered


class Draft:
    """Collects what one check, publish or audit finds out about `model`."""

    def __init__(self, model: Model, settings: Settings) -> None:
        self.model, self.settings = model, settings
        self.findings: list[Finding] = []
        self.rewrites: tuple[Rewrite, ...] = ()
        self.executed_sql: str | None = None
        self.rows: int | None = None
        self.strategy: str | None = None
        self.details: dict[str, Any] = {}
        self.uncountable: frozenset[str] = frozenset()
        self.sources: dict[str, StoredTable] = {}
        self.lowered: Lowered | None = None
        self._planes = {plane: PlaneReading(plane, "not present", "not reached") for plane in PLANES}
        self._enforced = {name: Enforcement(name, False, "not reached") for name in INVARIANTS}
        self._began = time.monotonic()

    def add(self, findings: Iterable[Finding]) -> None:
        self.findings += [self._allowed(f) for f in findings]

    def replace(self, codes: str | tuple[str, ...], findings: Iterable[Finding]) -> None:
        """Puts later findings in the place of the earlier ones whose codes begin with `codes`."""
        self.findings = [f for f in self.findings if not f.code.startswith(codes)]
        self.add(findings)

    def _allowed(self, finding: Finding) -> Finding:
        if finding.code not in self.settings.allow or finding.verdict in (Verdict.PROVED, Verdict.WARNING):
            return finding
        if finding.code in UNPUBLISHABLE and finding.verdict is Verdict.VIOLATED:
            said = f"{finding.message} (no setting can allow it: it would harm the table)"
            return replace(finding, message=said)
        return replace(finding, verdict=Verdict.WARNING, evidence="allowed by the model's settings")

    def read(self, plane: str, schema: PhysicalSchema) -> None:
        fields = tuple((f.name, f.type.simple, f.nullable) for f in schema)
        self._planes[plane] = PlaneReading(plane, "read", None, fields)

    def absent(self, plane: str, reason: str) -> None:
        self._planes[plane] = PlaneReading(plane, "not present", reason)

    def unreadable(self, plane: str, reason: str) -> None:
        self._planes[plane] = PlaneReading(plane, "unreadable", reason)

    def enforced(self, invariant: str, how: str) -> None:
        self._enforced[invariant] = Enforcement(invariant, True, how)

    def not_enforced(self, invariant: str, why: str) -> None:
        self._enforced[invariant] = Enforcement(invariant, False, why)

    @property
    def fails(self) -> bool:
        """True where what was found forbids to publish."""
        return self._forbidden(self.findings)

    @property
    def fails_already(self) -> bool:
        """True where what was found forbids to publish, whatever the audit will count."""
        return self._forbidden(f for f in self.findings if not _decided_by_the_audit(f))

    def _forbidden(self, findings: Iterable[Finding]) -> bool:
        found = tuple(findings)
        return Report(self.model.name, "checked", found).fails(self.settings.fail_on) or any(
            f.verdict is Verdict.VIOLATED and f.code in UNPUBLISHABLE for f in found
        )

    def violated(self) -> bool:
        return any(f.verdict is Verdict.VIOLATED for f in self.findings)

    def report(self, outcome: str, error: str | None = None) -> Report:
        return Report(
            self.model.name,
            outcome,
            tuple(self.findings),
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


def _decided_by_the_audit(finding: Finding) -> bool:
    """A declared term that can be counted, or a flag that Spark's optimizer loosened."""
    if finding.code in COUNTABLE:
        return finding.verdict is Verdict.UNPROVED
    return finding.code == "PP204" and finding.verdict is Verdict.WARNING


UNPUBLISHABLE = ("PP102", "PP103", "PP110", "PP301", "PP401", "PP601")
"""What no setting can let through: Spark itself could not do it, or the files would be damaged."""
