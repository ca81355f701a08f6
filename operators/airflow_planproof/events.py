"""Asset events for what was published, and for nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import Asset

from airflow_planproof import message

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

    from planproof.report import Report


def announce(task: Any, context: Context) -> None:
    """Takes the assets whose models were not published out of the task's outlets, and gives the others their `extra`.

    An asset that names no model of the run stands for all of it.
    """
    reports = task.report.reports
    kept = []
    for outlet in task.outlets:
        if not isinstance(outlet, Asset):
            kept.append(outlet)
            continue
        own = [report for report in reports if _names(outlet, report)] or reports
        late = [report.model for report in own if report.outcome != "published"]
        if late:
            task.log.warning(
                "no event of %s goes out, because these were not published: %s", outlet.uri, message.join_names(late)
            )
            continue
        context["outlet_events"][outlet].extra = make_extra(own)
        kept.append(outlet)
    task.outlets = kept


def make_extra(reports: Sequence[Report]) -> dict[str, Any]:
    """What an event says about its table, or about each table where it stands for several."""
    said = {report.model: _make_extra(report) for report in reports}
    return next(iter(said.values())) if len(said) == 1 else {"models": said}


def _make_extra(report: Report) -> dict[str, Any]:
    return {
        "model": report.model,
        "verdict": report.verdict.value,
        "rows": report.rows,
        "contract_hash": report.details.contract_hash,
        "schema_hash": hash_schema(report),
    }


def hash_schema(report: Report) -> str | None:
    """A short hash of names, types and flags of what was published, as Spark's analyzer (else the catalog) sees it."""
    from planproof.contract import fingerprint

    schemas = {reading.plane: reading.schema for reading in report.planes if reading.schema is not None}
    found = schemas.get("analyzed") or schemas.get("catalog")
    return fingerprint([list(column) for column in found]) if found else None


def _names(asset: Any, report: Report) -> bool:
    """Whether an asset's name, or the end of its address, is the model's relation or its name in the project."""
    relation = report.model.replace("`", "").lower()
    name = str(report.details.name or "").lower()
    address = str(asset.uri).lower().partition("://")[2].strip("/").replace("/", ".")
    given = {str(getattr(asset, "name", "") or "").lower(), address}
    return bool(given & {relation, name} - {""}) or address.endswith(f".{relation}")
