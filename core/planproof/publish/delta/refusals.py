"""What a Delta table may be that a guarded publish does not serve, each by name; and the terms that it keeps by itself,
NOT NULL and CHECK: Delta fails the write at the first row that breaks one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from planproof.publish.audit.constraints import list_declared
from planproof.publish.delta.actions import normalize_scheme
from planproof.publish.delta.staging import StagedTable
from planproof.publish.materialize.materialization import Job
from planproof.publish.transaction import Refused
from planproof.session import SparkFailure
from planproof.session.delta.protocol import LogState
from planproof_engine import fold_name, nested_fields, quote_parts

_COMMITTED_ELSEWHERE = ("catalogManaged", "catalogOwned-preview", "coordinatedCommits-preview")
"""Features of tables whose commits somebody else than their log orders."""
_NOT_CHANGED = {"identityColumns": "identity columns, whose next value is kept in the log by the statement that writes"}
_NOT_REPLACED = {**_NOT_CHANGED, "clustering": "liquid clustering, which a replacement would lose"}


_MODE = "spark.databricks.delta.properties.defaults.columnMapping.mode"
"""What a new table's mode is in this session, where its properties say none."""


def refuse_replacement(job: Job, base: LogState, wanted: str | None, maps: bool = False) -> None:
    """Raises `Refused`. `wanted` is the location that the model asks for; `maps`: Delta itself writes the table's
    files, and names columns in them as the table does."""
    _refuse_features(job, base, _NOT_REPLACED)
    if base.is_mapped and not maps and not _maps(job):
        raise Refused(
            f"{job.model.name} maps its columns (delta.columnMapping.mode), and the model's tblproperties do not say "
            "so: a replacement would write files that the table cannot read. Set the mode in tblproperties, or drop "
            "the table first"
        )
    if wanted is not None and normalize_scheme(wanted).rstrip("/") != normalize_scheme(base.location).rstrip("/"):
        raise Refused(
            f"{job.model.name} lies at {base.location}, and its location_root asks for {wanted}: a Delta table does "
            "not move. Drop it first, or leave its location_root as it was"
        )


def refuse_change(job: Job, base: LogState) -> None:
    """Raises `Refused` for a table to which rows are to be added, or merged."""
    _refuse_features(job, base, _NOT_CHANGED)
    if base.properties.get("delta.appendOnly") == "true" and job.model.incremental_strategy != "append":
        raise Refused(
            f"{job.model.name} is append-only (delta.appendOnly), and the model's strategy is "
            f"{job.model.incremental_strategy}: Delta removes no rows there"
        )


def refuse_clone(job: Job, base: LogState, forbidden: str | None) -> None:
    """Raises `Refused` for a table whose rows have ids of their own: a clone of it gives them others. `forbidden` is
    what there is to say of a row that the table forbids."""
    if base.properties.get("delta.enableRowTracking") == "true":
        raise Refused(
            forbidden
            or f"{job.model.name} has row tracking: each row has an id. planproof runs a merge, new columns, keys, "
            "limits and tests: before on a copy of the table, and the rows would get other ids. Such a table takes "
            "only appends, overwrites and replacements; with guard: off, dbt runs the model"
        )


def _maps(job: Job) -> bool:
    given = job.model.options.get("tblproperties") or {}
    mode = given.get("delta.columnMapping.mode") or job.session.setting(_MODE)
    return str(mode or "none") != "none"


def _refuse_features(job: Job, base: LogState, refused: dict[str, str]) -> None:
    found = base.features
    elsewhere = [name for name in _COMMITTED_ELSEWHERE if name in found]
    if elsewhere:
        raise Refused(f"{job.model.name}: a catalog orders the table's commits ({elsewhere[0]}), not its log alone")
    for name, what in refused.items():
        if name in found:
            raise Refused(f"{job.model.name} has {what}; planproof does not publish to such a table yet")


_BROKEN = re.compile(
    r"NOT NULL constraint violated for column: [^\n]+|CHECK constraint .+ violated by row[^\n]*(?:\n - [^\n]+)*"
)
"""Delta's messages (`DELTA_NOT_NULL_CONSTRAINT_VIOLATED`, `DELTA_VIOLATE_CONSTRAINT_WITH_VALUES`)."""
_GENERATED = "CHECK constraint Generated Column"
"""Begins what Delta says of a row that gives a generated column another value."""
_CHECK = "delta.constraints."
"""Begins the properties that hold a table's checks."""


def describe_forbidden_row(job: Job, failure: SparkFailure) -> str | None:
    """What is said of a row that the table by itself forbids, and what to do; None for another failure."""
    found = _BROKEN.search(str(failure))
    if found is None:
        return None
    said = " ".join(line.strip().removeprefix("- ") for line in found[0].rstrip(".").splitlines())
    way = f"Leave the row out, or let ALTER TABLE {job.names.target.quoted} drop the term"
    if said.startswith(_GENERATED):
        way = "Let the model give what the column is generated as"
    return (
        f"{job.model.name} has a term of its own that a new row breaks, and Delta takes no such row: {said}. Nothing "
        f"was published. {way}"
    )


@contextmanager
def refused_rows(job: Job) -> Iterator[None]:
    """Raises `Refused` for a row that the table by itself forbids, and not the contract."""
    try:
        yield
    except SparkFailure as failure:
        said = describe_forbidden_row(job, failure)
        if said is None:
            raise
        raise Refused(said) from failure


def drop_own_terms(job: Job, staged: StagedTable) -> bool:
    """Drops the terms that the contract promises too from a staged table; False where it has none of them.

    The rows are then staged once more, so that the audit counts all that break them, and they can be quarantined. Such
    a staging is never committed.
    """
    found = [*_list_checks(job, staged), *_list_not_null(job, staged)]
    for change in found:
        job.session.rows(f"ALTER TABLE {staged.relation} {change}")
    return bool(found)


def _list_checks(job: Job, staged: StagedTable) -> list[str]:
    promised = {_strip_blanks(c.expression or "") for c in list_declared(job.model, "check")}
    own = ((key, text) for key, text in staged.base.properties.items() if key.startswith(_CHECK))
    return [
        f"DROP CONSTRAINT {quote_parts((key.removeprefix(_CHECK),))}"
        for key, text in own
        if _strip_blanks(text) in promised
    ]


def _strip_blanks(expression: str) -> str:
    """Delta keeps the words of an expression, with blanks of its own between them."""
    return "".join(expression.split())


def _list_not_null(job: Job, staged: StagedTable) -> list[str]:
    contract = job.model.contract
    promised = {_split_path(f.path) for f in nested_fields(contract.schema) if f.promises} if contract else set()
    own = (f.path for f in nested_fields(staged.base.schema) if f.promises)
    return [f"ALTER COLUMN {quote_parts(path)} DROP NOT NULL" for path in own if _split_path(path) in promised]


def _split_path(path: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(fold_name, path))
