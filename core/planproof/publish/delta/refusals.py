"""What a Delta table may be that a guarded publish does not serve, each by name."""

from __future__ import annotations

from planproof.publish.delta.actions import normalize_scheme
from planproof.publish.materialize.materialization import Job
from planproof.publish.transaction.names import Refused
from planproof.session.delta.protocol import LogState

_COMMITTED_ELSEWHERE = ("catalogManaged", "catalogOwned-preview", "coordinatedCommits-preview")
"""Features of tables whose commits somebody else than their log orders."""
_NOT_CHANGED = {
    "identityColumns": "identity columns, whose next value is kept in the log by the statement that writes",
    "rowTracking": "row tracking, whose ids belong to the commit that makes them",
}
_NOT_REPLACED = {**_NOT_CHANGED, "clustering": "liquid clustering, which a replacement would lose"}


def refuse_replacement(job: Job, base: LogState, wanted: str | None) -> None:
    """Raises `Refused`. `wanted` is the location that the model asks for."""
    _refuse_features(job, base, _NOT_REPLACED)
    if base.is_mapped and not _maps(job):
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


def _maps(job: Job) -> bool:
    given = job.model.options.get("tblproperties") or {}
    return str(given.get("delta.columnMapping.mode", "none")) != "none"


def _refuse_features(job: Job, base: LogState, refused: dict[str, str]) -> None:
    found = base.features
    elsewhere = [name for name in _COMMITTED_ELSEWHERE if name in found]
    if elsewhere:
        raise Refused(f"{job.model.name}: a catalog orders the table's commits ({elsewhere[0]}), not its log alone")
    for name, what in refused.items():
        is_on = name in found and (name != "rowTracking" or base.properties.get("delta.enableRowTracking") == "true")
        if is_on:
            raise Refused(f"{job.model.name} has {what}; planproof does not publish to such a table yet")
