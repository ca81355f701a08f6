"""Reports as OpenLineage events, a JSON object per line: schema, column lineage, assertions and figures of each model.

Made as OpenLineage's file transport writes them, without its package; a test holds them to its classes.
"""

from __future__ import annotations

import json
import math
import uuid
from collections.abc import Iterable, Iterator
from datetime import datetime, timezone
from typing import Any

from planproof.report.details import Values
from planproof.report.model import Report
from planproof.report.parts import is_promise, message_of, neutralize_json
from planproof.report.run import RunReport
from planproof_engine import CODES, Verdict, split_name

DATASETS, JOBS = "spark", "planproof"
"""The namespaces of tables, whose names are the dotted ones, and of jobs, whose names are dbt's unique ids."""

_SPEC = "https://openlineage.io/spec"
_EVENT = f"{_SPEC}/2-0-2/OpenLineage.json#/$defs/RunEvent"
_FACETS = {
    "schema": f"{_SPEC}/facets/1-2-0/SchemaDatasetFacet.json#/$defs/SchemaDatasetFacet",
    "columnLineage": f"{_SPEC}/facets/1-2-0/ColumnLineageDatasetFacet.json#/$defs/ColumnLineageDatasetFacet",
    "dataQualityAssertions": f"{_SPEC}/facets/1-1-0/DataQualityAssertionsDatasetFacet.json"
    "#/$defs/DataQualityAssertionsDatasetFacet",
    "dataQualityMetrics": f"{_SPEC}/facets/1-0-3/DataQualityMetricsInputDatasetFacet.json"
    "#/$defs/DataQualityMetricsInputDatasetFacet",
    "errorMessage": f"{_SPEC}/facets/1-0-1/ErrorMessageRunFacet.json#/$defs/ErrorMessageRunFacet",
}
_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")
_DIRECT = ("identity", "transformation", "aggregation")


def render(run: RunReport) -> str:
    """An event for each model that was judged; what was skipped has none. Only what was published, or checked before
    it runs, is an output: a model that was stopped has changed no table."""
    return "".join(f"{line}\n" for line in render_lines(run))


def render_lines(run: RunReport) -> Iterator[str]:
    """The same, each event as it comes: those of many wide models are never held at once."""
    producer = f"urn:planproof:{run.versions.get('planproof', 'unknown')}"
    for report in run.reports:
        if report.outcome not in ("skipped", "compared"):
            yield neutralize_json(json.dumps(_make_event(run, report, producer)))


def _make_event(run: RunReport, report: Report, producer: str) -> dict[str, Any]:
    name = report.details.unique_id or report.model
    stopped = report.outcome in ("rejected", "failed") or report.verdict is Verdict.VIOLATED
    # The same report gives the same ids, however often it is told.
    told = f"{run.command} {run.project} {run.started} {name}".encode("utf-8", "backslashreplace").decode()
    run_id = uuid.uuid5(uuid.NAMESPACE_OID, told)
    facets = {}
    if stopped:
        message = report.error or "; ".join(message_of(f) for f in report.of(Verdict.VIOLATED)) or "it was stopped"
        facets["errorMessage"] = _make_facet("errorMessage", producer, message=message, programmingLanguage="SQL")
    own = plain_name(report.model)
    found = {n: _make_facet(n, producer, **content) for n, content in describe_judgement(report)}
    judged = {"namespace": DATASETS, "name": own, "inputFacets": found}
    read = [{"namespace": DATASETS, "name": relation} for relation in list_read(report) if relation != own]
    made = {n: _make_facet(n, producer, **content) for n, content in describe_table(report)}
    written = {"namespace": DATASETS, "name": own, "facets": made}
    return {
        "eventTime": run.started or datetime.now(timezone.utc).isoformat(),
        "eventType": "FAIL" if stopped else "COMPLETE",
        "producer": producer,
        "schemaURL": _EVENT,
        "run": {"runId": str(run_id), "facets": facets},
        "job": {"namespace": JOBS, "name": name, "facets": {}},
        "inputs": [*read, *([judged] if judged["inputFacets"] else [])],
        "outputs": [] if stopped or report.outcome == "audited" else [written],
    }


def _make_facet(name: str, producer: str, **content: Any) -> dict[str, Any]:
    return {"_producer": producer, "_schemaURL": _FACETS[name], **content}


def describe_judgement(report: Report) -> Iterator[tuple[str, dict[str, Any]]]:
    """The facets of what was found out of the model's table: its figures and its assertions."""
    metrics, assertions = _describe_metrics(report), _list_assertions(report)
    if metrics:
        yield "dataQualityMetrics", metrics
    if assertions:
        yield "dataQualityAssertions", {"assertions": assertions}


def _list_assertions(report: Report) -> list[dict[str, Any]]:
    """The terms of the contract that were decided, and whatever else is violated: what is unproved neither holds nor
    fails."""
    found: list[dict[str, Any]] = []
    if report.details.contract and report.verdict is not Verdict.UNPROVED:
        found.append({"assertion": "the contract holds", "success": report.verdict is Verdict.PROVED})
    for finding in report.findings:
        proved = finding.verdict is Verdict.PROVED and is_promise(finding)
        if not proved and finding.verdict is not Verdict.VIOLATED:
            continue
        one: dict[str, Any] = {"assertion": f"{finding.code} {CODES[finding.code].title}", "success": proved}
        if finding.field:
            one["column"] = split_name(finding.field)[0]
        found.append(one)
    return found


def _describe_metrics(report: Report) -> dict[str, Any]:
    """The table after its publish, as footers tell. OpenLineage's bounds are numbers: others are left out."""
    change = report.details.change
    if change is None or report.outcome != "published" or change.after.unread:
        return {}
    columns = {}
    for c in change.after.columns:
        known = {"nullCount": c.nulls, "distinctCount": c.distinct, **_bounds(c)}
        columns[c.name] = {key: value for key, value in known.items() if value is not None}
    rows = {} if change.after.rows is None else {"rowCount": change.after.rows}
    return {"columnMetrics": columns, **rows}


def _bounds(column: Values) -> dict[str, float]:
    if column.type.partition("(")[0] not in _NUMBERS:
        return {}
    bounds = {key: float(bound) for key, bound in (("min", column.low), ("max", column.high)) if bound is not None}
    return {key: bound for key, bound in bounds.items() if math.isfinite(bound)}  # JSON has no infinity.


def describe_table(report: Report) -> Iterator[tuple[str, dict[str, Any]]]:
    """The facets of the model's table itself: its schema, and what each column is made of."""
    schemas = {reading.plane: reading.schema for reading in report.planes if reading.schema}
    columns = schemas.get("analyzed") or schemas.get("catalog") or schemas.get("logical")
    if columns:
        yield "schema", {"fields": [{"name": n, "type": kind} for n, kind, _ in columns]}
    lineage = report.details.lineage
    if lineage:
        made = {name: {"inputFields": _convert_sources(sources)} for name, sources in lineage["columns"]}
        yield "columnLineage", {"fields": made, "dataset": _convert_sources(lineage["rows"])}


def _convert_sources(sources: Iterable[Any]) -> list[dict[str, Any]]:
    return [
        {
            "namespace": DATASETS,
            "name": plain_name(relation),
            "field": column,
            "transformations": [
                {"type": "DIRECT" if how in _DIRECT else "INDIRECT", "subtype": how.replace(" ", "_").upper()}
            ],
        }
        for relation, column, how in sources
    ]


def list_read(report: Report) -> list[str]:
    """The relations that the model reads, once each."""
    lineage = report.details.lineage or {"columns": [], "rows": []}
    sources = [source for _, listed in lineage["columns"] for source in listed] + list(lineage["rows"])
    named = [relation for relation, _, _ in sources] + list(report.details.inputs or ())
    return list(dict.fromkeys(map(plain_name, named)))


def plain_name(relation: str) -> str:
    """A dotted name without backticks and without Spark's own catalog."""
    return relation.replace("`", "").removeprefix("spark_catalog.")
