"""What the offline check found out about one model, as a report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from planproof.claims.model import dotted
from planproof.contract import Contract
from planproof.hazards import concerns
from planproof.origin import AnalysisError, Origin, Unknown
from planproof.plan.outline import plan_details
from planproof.project.manifest import ProjectNode
from planproof.project.nodes import custom_constraints
from planproof.report.model import PLANES, Enforcement, Finding, PlaneReading, Report, Rewrite, Verdict
from planproof.schema import LogicalSchema, PhysicalSchema
from planproof.settings import Settings

if TYPE_CHECKING:
    from planproof.api import LogicalPlan

OFFLINE = "the offline check reads planes 1 to 3"
_STORED = ("table", "incremental", "view")
_WIDTH = ("PP501", "PP502")


@dataclass(slots=True)
class Reading:
    """Collects one model's planes and findings. `inputs` says where the schema of each relation read is from."""

    node: ProjectNode
    contract: Contract | None
    settings: Settings
    inputs: Mapping[str, str] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    planes: dict[str, PlaneReading] = field(default_factory=dict)
    invariants: dict[str, Enforcement] = field(default_factory=dict)
    rewrites: tuple[Rewrite, ...] = ()
    error: str | None = None
    details: dict[str, Any] = field(default_factory=dict)

    def planned(self, plan: LogicalPlan, incomplete: str | None) -> None:
        """The logical plane was read. `incomplete` names a source that may have columns beyond those declared."""
        schema: LogicalSchema = plan.schema
        self._read_plane("logical", schema.strip())
        self.details |= plan_details(plan)
        self._enforce("I1", True, "at every node of the logical plan")
        kind, promised = self.node.materialized, self.contract is not None
        self.findings += [f for f in plan.findings if concerns(f, kind, promised)]
        self.findings += self._sink(schema.strip())
        self.findings += [_unsure(f, incomplete) for f in self._judge(plan, schema)]
        self._rewritten(plan)

    def unproved(self, construct: str, origin: Origin | None = None) -> None:
        self._unreadable(f"planproof does not know {construct}", origin)

    def rejected(self, error: AnalysisError, doubt: str | None) -> None:
        """Spark rejects the query; with `doubt`, it may know something that is not known here."""
        said = f"[{error.condition}] {error.message}"
        if doubt is not None:
            return self._unreadable(f"{said}; {doubt}", error.origin)
        self.planes["logical"] = PlaneReading("logical", "unreadable", said)
        self.findings.append(Finding(Verdict.VIOLATED, "PP110", "logical", message=said, origin=error.origin))
        return None

    def failed(self, error: Exception) -> None:
        self.error = f"internal error in planproof: {type(error).__name__}: {error}"
        self.findings.append(Finding(Verdict.UNPROVED, "PP901", "logical", message=self.error))
        self.planes["logical"] = PlaneReading("logical", "unreadable", self.error)

    def report(self) -> Report:
        details: dict[str, Any] = {
            "unique_id": self.node.unique_id,
            "name": self.node.name,
            "file": self.node.file,
            "materialized": self.node.materialized,
            "fail_on": self.settings.fail_on,
            "contract": self.contract is not None,
            "inputs": dict(self.inputs),
            **self.details,
        }
        return Report(
            self.node.relation,
            "failed" if self.error else "checked",
            tuple(self._allowed(f) for f in self.findings),
            tuple(self._plane(plane) for plane in PLANES),
            tuple(self.invariants.get(i) or Enforcement(i, False, OFFLINE) for i in ("I1", "I4", "I6", "I7", "D1")),
            self.rewrites,
            sql=self.node.sql,
            error=self.error,
            details=details,
        )

    def _allowed(self, finding: Finding) -> Finding:
        if finding.code not in self.settings.allow or finding.verdict in (Verdict.PROVED, Verdict.WARNING):
            return finding
        return replace(finding, verdict=Verdict.WARNING, evidence="allowed by the model's settings")

    # --- the planes -------------------------------------------------------------------------------------------------

    def _plane(self, plane: str) -> PlaneReading:
        if plane in self.planes:
            return self.planes[plane]
        if plane != "contract":
            return PlaneReading(plane, "not present", OFFLINE if PLANES.index(plane) > 2 else "nothing was planned")
        if self.contract is None:
            return PlaneReading("contract", "not present", "the model has no enforced contract")
        return PlaneReading("contract", "read", None, _form(self.contract.schema))

    def _read_plane(self, plane: str, schema: PhysicalSchema, reason: str | None = None) -> None:
        self.planes[plane] = PlaneReading(plane, "read", reason, _form(schema))

    def _unreadable(self, reason: str, origin: Origin | None = None) -> None:
        self.planes["logical"] = PlaneReading("logical", "unreadable", reason)
        self.findings.append(Finding(Verdict.UNPROVED, "PP111", "logical", message=reason, origin=origin))

    def _enforce(self, invariant: str, enforced: bool, how: str) -> None:
        self.invariants[invariant] = Enforcement(invariant, enforced, how)

    def _rewritten(self, plan: LogicalPlan) -> None:
        if self.settings.rewrite == "off":
            self.planes["rewritten"] = PlaneReading("rewritten", "not present", "rewrite is off")
            return
        from planproof.api import optimize

        try:
            rewriting = optimize(plan)
        except Unknown as unknown:
            self.planes["rewritten"] = PlaneReading("rewritten", "unreadable", str(unknown))
            return
        self.findings += rewriting.findings
        # Nothing runs here, so that nothing was applied.
        self.rewrites = tuple(replace(rewrite, applied=False) for rewrite in rewriting.rewrites)
        self._read_plane("rewritten", rewriting.plan.schema.strip(), None if self.rewrites else "no rule fired")
        self._enforce("I6", True, "after every rule that fired")

    # --- the judgement ----------------------------------------------------------------------------------------------

    def _sink(self, schema: PhysicalSchema) -> list[Finding]:
        """D1: no sink stores two columns of one name, and Spark refuses a view with them."""
        if self.node.materialized not in _STORED:
            return []
        from planproof.invariants import sink

        self._enforce("D1", True, "the names of the output")
        found = sink.check(schema, "view" if self.node.materialized == "view" else "parquet")
        return [replace(finding, plane="logical") for finding in found]

    def _judge(self, plan: LogicalPlan, schema: LogicalSchema) -> list[Finding]:
        if self.contract is None:
            return []
        from planproof.invariants import contract as terms

        at = {f.name.lower(): i for i, f in enumerate(schema)}
        origins = plan.origins

        def locate(path: str) -> Origin | None:
            index = at.get(path.lower(), at.get(path.split(".")[0].lower()))
            return origins[index] if index is not None and index < len(origins) else None

        evidence = {dotted((f.name,)): f.evidence for f in schema if f.evidence}
        doubts = {f.name: f.doubt for f in schema if f.doubt}
        found = terms.check(self.contract, schema.strip(), evidence, None, self.settings, "logical", locate, doubts)
        return [*found, *(_uncounted(custom) for custom in custom_constraints(self.node.raw))]


def _uncounted(custom: str) -> Finding:
    message = f"the constraint {custom!r} is of a kind that nobody but the database knows; it is not checked"
    return Finding(Verdict.WARNING, "PP508", "contract", promised=custom, message=message)


def _unsure(finding: Finding, incomplete: str | None) -> Finding:
    """A column may only seem missing where a source's declared columns are not all that it has."""
    if incomplete is None or finding.code not in _WIDTH or finding.verdict is not Verdict.VIOLATED:
        return finding
    message = f"{finding.message}; {incomplete} may have more columns than the manifest declares"
    return replace(finding, verdict=Verdict.UNPROVED, message=message)


def _form(schema: PhysicalSchema) -> tuple[tuple[str, str, bool], ...]:
    return tuple((f.name, f.type.simple, f.nullable) for f in schema)
