"""The words of a report: how a plane was read, what was enforced, what one model's check or publish found out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, fields
from typing import Any

from planproof.report.details import Details
from planproof_engine import Finding, Rewrite, Verdict, evolve, record

PLANES = ("contract", "logical", "rewritten", "analyzed", "optimized", "executed", "batches", "files", "catalog")
INVARIANTS = ("I1", "I2", "I3", "I4", "I5", "I6", "I7", "D1")


@record(frozen=True, slots=True)
class PlaneReading:
    """How a plane came to its claim: `read`, `not present` or `unreadable`, with the reason for the last two.

    `looked_at` is `all`, `sample`, `part` (the rest could not be read) or `none`. Of a plane that was read, `what` says
    of what: row groups, files.
    """

    plane: str
    status: str
    reason: str | None = None
    schema: tuple[tuple[str, str, bool], ...] | None = None
    looked_at: str = "none"
    what: str | None = None

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> PlaneReading:
        schema = form.get("schema")
        return cls(**{**form, "schema": None if schema is None else tuple(map(tuple, schema))})


@record(frozen=True, slots=True)
class Enforcement:
    """Whether an invariant was enforced in this run; `how` says by what, or why not. `sampled`: on a sample alone."""

    invariant: str
    enforced: bool
    how: str
    sampled: bool = False

    @property
    def status(self) -> str:
        if not self.enforced:
            return "not enforced"
        return "enforced on a sample" if self.sampled else "enforced"


@record(frozen=True, slots=True)
class Report:
    """What one model's check, publish or audit found out.

    `outcome` is `checked`, `published`, `rejected` (nothing was published; the target is as it was), `audited`,
    `compared` (with another compile), `moved` (its files lie where dbt would put them), `failed` (could not run) or
    `skipped` (was not run); for the last two `error` says why.
    """

    model: str
    outcome: str
    findings: tuple[Finding, ...] = ()
    planes: tuple[PlaneReading, ...] = ()
    invariants: tuple[Enforcement, ...] = ()
    rewrites: tuple[Rewrite, ...] = ()
    sql: str | None = None
    executed_sql: str | None = None
    rows: int | None = None
    seconds: float | None = None
    strategy: str | None = None
    error: str | None = None
    details: Details = field(default_factory=Details)

    @property
    def verdict(self) -> Verdict:
        """violated, else unproved, else proved: a warning alone is proved. What a baseline names is not, unless it is a
        warning, too."""
        verdicts = {f.verdict for f in self.findings} if self.findings else ()
        if Verdict.VIOLATED in verdicts:
            return Verdict.VIOLATED
        known = any(not k.partition(" ")[2].startswith(f"{Verdict.WARNING}:") for k in self.details.known or ())
        left = Verdict.UNPROVED in verdicts or self.outcome in ("failed", "skipped") or known
        return Verdict.UNPROVED if left else Verdict.PROVED

    @property
    def samples(self) -> tuple[str, ...]:
        """The planes of which a sample was looked at, each with what was seen of it: what is proved rests on that."""
        return tuple(f"{p.plane}: {p.what}" for p in self.planes if p.looked_at == "sample")

    @property
    def has_contract(self) -> bool:
        """False where the report says that the model has none: nothing of it can be proved then."""
        absent = any(p.plane == "contract" and p.status == "not present" for p in self.planes)
        return not absent if self.details.contract is None else self.details.contract

    def word(self, finding: Finding) -> str:
        """The finding's verdict in the words that people read; see `said`."""
        if finding.verdict is not Verdict.PROVED or self.has_contract:
            return finding.verdict.value
        return "counted" if finding.plane in ("batches", "files") else "derived"

    @property
    def said(self) -> str:
        """The verdict in the words that people read: nothing is called proved of a model that promises nothing."""
        if self.outcome == "compared":
            return "breaking" if self.verdict is Verdict.VIOLATED else "safe"
        if self.outcome == "skipped":
            return "not judged"
        if self.verdict is Verdict.PROVED and not self.has_contract:
            return "no contract"
        is_left = bool(self.of(Verdict.VIOLATED, Verdict.UNPROVED))
        if self.verdict is Verdict.UNPROVED and self.details.known and not is_left:
            return IN_BASELINE
        return self.verdict.value

    def fails(self, fail_on: str = "violated") -> bool:
        """True where a finding is at or above `fail_on`."""
        if fail_on == "never":
            return False
        least = _SEVERITY[fail_on]
        return any(_SEVERITY[f.verdict.value] >= least for f in self.findings)

    def of(self, *verdicts: Verdict) -> list[Finding]:
        return [f for f in self.findings if f.verdict in verdicts]

    def to_dict(self) -> dict[str, Any]:
        """The report in JSON's types. Its parts are not copied."""
        form = {name: getattr(self, name) for name in FIELDS}
        form["findings"] = [_finding_dict(f) for f in self.findings]
        for name in ("planes", "invariants", "rewrites"):
            form[name] = [flatten(part) for part in form[name]]
        return {**form, "details": self.details.to_dict(), "verdict": self.verdict.value}

    @property
    def is_healthy(self) -> bool:
        """Whether nothing is said of the model but what holds."""
        return self.verdict is Verdict.PROVED and all(f.verdict is Verdict.PROVED for f in self.findings)

    def to_brief(self) -> dict[str, Any]:
        """As `to_dict`, without the plan, the lineage, and texts that no finding quotes; of a healthy model also
        without what was read of each plane, and the invariants."""
        kept = self if not self.is_healthy else evolve(self, planes=(), invariants=())
        form = evolve(kept, details=evolve(self.details, plan=None, lineage=None)).to_dict()
        quoted = any(f.origin is not None and f.origin.file is None for f in self.findings)
        return form if quoted else {**form, "sql": None, "executed_sql": None}

    def to_json(self, indent: int | None = None) -> str:
        return json.dumps(self.to_dict(), indent=indent, default=str)

    @classmethod
    def from_json(cls, text: str) -> Report:
        return cls.from_dict(json.loads(text))

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> Report:
        known = {k: v for k, v in form.items() if k != "verdict"}
        known["findings"] = tuple(map(Finding.from_dict, form.get("findings", ())))
        known["planes"] = tuple(map(PlaneReading.from_dict, form.get("planes", ())))
        known["invariants"] = tuple(Enforcement(**e) for e in form.get("invariants", ()))
        known["rewrites"] = tuple(map(Rewrite.from_dict, form.get("rewrites", ())))
        known["details"] = Details.from_dict(form.get("details") or {})
        return cls(**known)

    def to_html(self) -> str:
        """A page of its own, without any row of data."""
        return WRITERS["html"]([self])

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        """What a notebook shows: the text."""
        from html import escape

        return f"<pre>{escape(self.to_text())}</pre>"

    def to_text(self) -> str:
        """What the terminal shows, without colour."""
        return WRITERS["text"]([self])


WRITERS: dict[str, Callable[[Sequence[Report]], str]] = {}
"""The function that writes reports in a form. The package sets it, so that this module imports no form."""

IN_BASELINE = "in the baseline"
"""What is said of a model of which a baseline names all that is not proved."""

_SEVERITY = {v.value: i for i, v in enumerate(Verdict)}


FIELDS = tuple(f.name for f in fields(Report))


def flatten(part: Any) -> dict[str, Any]:
    """A part of a report; `asdict` would copy all that is in it, which takes longer than a model's judgement."""
    form: dict[str, Any] = {name: getattr(part, name) for name in part.__dataclass_fields__}
    for name in ("origin", "promise"):
        if form.get(name) is not None:
            form[name] = flatten(form[name])
    return form


def _finding_dict(finding: Finding) -> dict[str, Any]:
    return {**flatten(finding), "verdict": finding.verdict.value, "next_step": finding.next_step}


def find_worst(reports: Iterable[Report]) -> Verdict:
    """The severest verdict among reports; unproved where there are none: nothing was looked at."""
    return max((r.verdict for r in reports), key=lambda v: _SEVERITY[v.value], default=Verdict.UNPROVED)
