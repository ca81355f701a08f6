"""A finding: what was found out of one promise, with its verdict, its place and the one next step."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any

from planproof_engine.codes import CODES
from planproof_engine.ground import Origin, record


class Verdict(str, enum.Enum):
    """What is known of a promise. The order of severity is proved < warning < unproved < violated."""

    PROVED = "proved"
    WARNING = "warning"
    UNPROVED = "unproved"
    VIOLATED = "violated"

    def __str__(self) -> str:
        return self.value


PRINTED = ("which prints what dbt finds", "the columns that dbt_utils prints in a run")
"""What a message says of a text that another compile, where tables stand, may print otherwise."""

OF_ITSELF = "it reads itself"
"""How a finding says that the relation which is not there is the model's own."""


OUTDATED = "as compiled before the change: "
"""How a finding begins of a model whose files changed since dbt compiled it."""

UNREAD = "planproof does not know the schema of "
"""How a finding begins that is about a relation which the model reads, and about nothing that the model says."""
NOT_COMPILED = "not compiled (run `dbt compile`)"
"""How such a finding says that the relation is a model of which dbt compiled no text."""


@record(frozen=True, slots=True)
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
        if self.message.startswith(OUTDATED):
            # Whoever mended the model or its contract would be told to mend it once more.
            return CODES["PP112"].next_step
        if self.code == "PP111" and self.message.startswith(UNREAD) and NOT_COMPILED in self.message:
            return "Compile that model, too: `dbt compile`, or `planproof check --compile`; or give it a contract."
        if self.code == "PP111" and self.message.startswith(UNREAD):
            return "Run `planproof freeze` for a source, seed or snapshot; give a model a contract."
        if self.code == "PP111" and any(said in self.message for said in PRINTED):
            return (
                "Build what the model reads and compile again, or check the manifest of a run, such as "
                "`dbt run --empty` in a schema of its own."
            )
        if self.code == "PP111" and self.found == "TABLE_OR_VIEW_NOT_FOUND":
            if OF_ITSELF in self.message:
                return "Give the model a contract, which names its columns, or compile with --full-refresh."
            return (
                "Read it by `ref` or `source`, so that dbt builds it first and its columns are known here; where only "
                "a macro names it, add `-- depends_on: {{ ref('its_name') }}`. For a source, run "
                "`planproof freeze`."
            )
        if self.code == "PP111" and self.found is not None:
            # Spark would reject the query as it is known here.
            return (
                "Correct the model if this is right. If a source's columns are out of date, run `planproof freeze`; a "
                "run asks Spark."
            )
        if self.code == "PP110" and self.origin is None:
            return "Correct the query or the model's configuration: Spark's message says which."
        if self.renamed is None:
            return CODES[self.code].next_step
        # One step for both findings of a renaming: what each asks for alone contradicts the other.
        names = (self.field, self.renamed) if self.code == "PP501" else (self.renamed, self.field)
        return "Write {1} as {0} in the SELECT, or rename {0} to {1} in the contract.".format(*names)

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> Finding:
        """What `flat` wrote, with the verdict as its word; a next step follows from the rest."""
        known = {k: v for k, v in form.items() if k != "next_step"}
        places = {"origin": _read_origin(form.get("origin")), "promise": _read_origin(form.get("promise"))}
        return cls(**{**known, "verdict": Verdict(form["verdict"]), **places})

    def __str__(self) -> str:
        place = f" at {self.origin}" if self.origin else ""
        return f"{self.code} {self.verdict}: {self.message}{place}"


@record(frozen=True, slots=True)
class Rewrite:
    """A rule that fired: the span's text before and after."""

    rule: str
    before: str
    after: str
    applied: bool
    origin: Origin | None = None

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> Rewrite:
        return cls(**{**form, "origin": _read_origin(form.get("origin"))})


def _read_origin(form: Mapping[str, Any] | None) -> Origin | None:
    return Origin(**form) if form else None
