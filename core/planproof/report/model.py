"""The words of a report: verdict, finding, how a plane was read, what was enforced."""

from __future__ import annotations

import enum
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from html import escape
from typing import Any

from planproof.codes import CODES
from planproof.origin import Origin
from planproof.records import record
from planproof.report.details import Details


class Verdict(str, enum.Enum):
    """What is known of a promise. The order of severity is proved < warning < unproved < violated."""

    PROVED = "proved"
    WARNING = "warning"
    UNPROVED = "unproved"
    VIOLATED = "violated"

    def __str__(self) -> str:
        return self.value


PLANES = (
    "contract",
    "logical",
    "rewritten",
    "analyzed",
    "optimized",
    "executed",
    "batches",
    "files",
    "catalog",
)
INVARIANTS = ("I1", "I2", "I3", "I4", "I5", "I6", "I7", "D1")


OF_ITSELF = "it reads itself"
"""How a finding says that the relation which is not there is the model's own."""

UNREAD = "planproof does not know the schema of "
"""How a finding begins that is about a relation which the model reads, and about nothing that the model says."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found out. `field` is a path such as `items.element.qty`; `evidence` says what proves it.

    `origin` is the place in the model's text, `promise` the one in the YAML that promises something else. `renamed` is
    the other name of a column that looks renamed: of a missing one what the model produces, of one that nobody promised
    what the contract names.
    """

    verdict: Verdict
    code: str
    plane: str
    field: str | None = None
    promised: str | None = None
    found: str | None = None
    message: str = ""
    origin: Origin | None = None
    evidence: str | None = None
    promise: Origin | None = None
    renamed: str | None = None

    def __post_init__(self) -> None:
        if self.code not in CODES:
            raise ValueError(f"no code {self.code}")

    @property
    def next_step(self) -> str:
        if self.code == "PP111" and self.message.startswith(UNREAD):
            return (
                "Make that schema known: `planproof freeze` tells a source's, and a seed's that `dbt seed` has loaded; "
                "a contract tells a model's."
            )
        if self.code == "PP111" and self.found == "TABLE_OR_VIEW_NOT_FOUND":
            if OF_ITSELF in self.message:
                return "Give the model a contract, which tells its columns, or compile with --full-refresh."
            return (
                "Read it by `ref` or `source`, so that dbt builds it first and its columns are known here; where only "
                "a macro names it, add `-- depends_on: {{ ref('its_name') }}`; `planproof freeze` tells a source's "
                "columns."
            )
        if self.code == "PP111" and self.found is not None:
            # Spark would reject the query as it is known here.
            return (
                "Correct the model, if it is as it seems; `planproof freeze` makes a source's columns known for sure, "
                "and a run asks Spark."
            )
        if self.renamed is None:
            return CODES[self.code].next_step
        # One step for both findings of a renaming: what each asks for alone contradicts the other.
        names = (self.field, self.renamed) if self.code == "PP501" else (self.renamed, self.field)
        return "Write {1} as {0} in the SELECT, or rename {0} to {1} in the contract.".format(*names)

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> Finding:
        """What `flat` wrote, with the verdict as its word; a next step follows from the rest."""
        known = {k: v for k, v in form.items() if k != "next_step"}
        places = {"origin": _origin(form.get("origin")), "promise": _origin(form.get("promise"))}
        return cls(**{**known, "verdict": Verdict(form["verdict"]), **places})

    def __str__(self) -> str:
        place = f" at {self.origin}" if self.origin else ""
        return f"{self.code} {self.verdict}: {self.message}{place}"


@dataclass(frozen=True, slots=True)
class PlaneReading:
    """How a plane came to its claim: `read`, `not present` or `unreadable`, with the reason for the last two.

    `looked_at` is `all`, `sample` or `none`, and `what` says, of a plane that was read, of what: row groups, files.
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
        return cls(
            form["plane"],
            form["status"],
            form.get("reason"),
            tuple((n, t, b) for n, t, b in schema) if schema is not None else None,
            form.get("looked_at", "none"),
            form.get("what"),
        )


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A rule that fired: the span's text before and after."""

    rule: str
    before: str
    after: str
    applied: bool
    origin: Origin | None = None

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> Rewrite:
        return cls(**{**form, "origin": _origin(form.get("origin"))})


@record(frozen=True, slots=True)
class Report:
    """What one model's check, publish or audit found out.

    `outcome` is `checked`, `published`, `rejected` (nothing was published; the target is as it was), `audited`,
    `compared` (with another compile), `failed` (could not run) or `skipped` (was not run); for the last two `error`
    says why.
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
        """violated, else unproved, else proved: a warning alone is proved."""
        verdicts = {f.verdict for f in self.findings} if self.findings else ()
        if Verdict.VIOLATED in verdicts:
            return Verdict.VIOLATED
        left = Verdict.UNPROVED in verdicts or self.outcome in ("failed", "skipped")
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
        if self.verdict is Verdict.PROVED and not self.has_contract:
            return "no contract"
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
            form[name] = [flat(part) for part in form[name]]
        return {**form, "details": self.details.to_dict(), "verdict": self.verdict.value}

    @property
    def is_healthy(self) -> bool:
        """Whether nothing is said of the model but what holds."""
        return self.verdict is Verdict.PROVED and all(f.verdict is Verdict.PROVED for f in self.findings)

    def to_brief(self) -> dict[str, Any]:
        """As `to_dict`, without the plan, the lineage, and a text that no finding quotes; of a healthy model also
        without what was read of each plane, and the invariants."""
        kept = self if not self.is_healthy else replace(self, planes=(), invariants=())
        form = replace(kept, details=replace(self.details, plan=None, lineage=None)).to_dict()
        quoted = any(f.origin is not None and f.origin.file is None for f in self.findings)
        return form if quoted else {**form, "sql": None}

    def to_json(self, indent: int | None = None) -> str:
        return json.dumps(self.to_dict(), indent=indent, default=str)

    @classmethod
    def from_json(cls, text: str) -> Report:
        """The report that `to_json` wrote."""
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
        return f"<pre>{escape(self.to_text())}</pre>"

    def to_text(self) -> str:
        """What the terminal shows, without colour."""
        return WRITERS["text"]([self])


WRITERS: dict[str, Callable[[Sequence[Report]], str]] = {}
"""The function that writes reports in a form. The package sets it, so that this module imports no form."""

_SEVERITY = {v.value: i for i, v in enumerate(Verdict)}


FIELDS = tuple(f.name for f in fields(Report))


def flat(part: Any) -> dict[str, Any]:
    """A part of a report; `asdict` would copy all that is in it, which takes longer than a model's judgement."""
    form: dict[str, Any] = {name: getattr(part, name) for name in part.__dataclass_fields__}
    for name in ("origin", "promise"):
        if form.get(name) is not None:
            form[name] = flat(form[name])
    return form


def _finding_dict(finding: Finding) -> dict[str, Any]:
    return {**flat(finding), "verdict": finding.verdict.value, "next_step": finding.next_step}


def _origin(form: Mapping[str, Any] | None) -> Origin | None:
    return Origin(**form) if form else None


def worst(reports: Iterable[Report]) -> Verdict:
    """The severest verdict among reports; proved where there are none."""
    return max((r.verdict for r in reports), key=lambda v: _SEVERITY[v.value], default=Verdict.PROVED)
