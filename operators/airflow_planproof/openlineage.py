"""Reports as OpenLineage facets: schema, column lineage, data quality assertions.

Only OpenLineage's listener asks for them, so that its package is installed whenever this module is used.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from planproof.report import Report
    from planproof.report.run import RunReport

NAMESPACE = "spark"
"""The namespace of all tables; their names are the dotted ones."""

_SUBTYPES = {
    "identity": "IDENTITY",
    "transformation": "TRANSFORMATION",
    "aggregation": "AGGREGATION",
    "filter": "FILTER",
    "join": "JOIN",
    "group by": "GROUP_BY",
    "sort": "SORT",
    "window": "WINDOW",
}
_DIRECT = ("identity", "transformation", "aggregation")


def lineage_of(run: RunReport | None) -> Any:
    """What a task read, wrote and found out.

    Only what was published is an output; assertions belong to what was judged, which OpenLineage takes as an input.
    What is unproved is neither passed nor failed, and left out.
    """
    from airflow.providers.openlineage.extractors import OperatorLineage
    from openlineage.client.event_v2 import InputDataset, OutputDataset
    from openlineage.client.facet_v2 import data_quality_assertions_dataset as quality

    reports = run.reports if run is not None else ()
    inputs, outputs = {name: InputDataset(NAMESPACE, name) for name in _read(reports)}, []
    for report in reports:
        name = _drop_backticks(report.model)
        assertions = [
            quality.Assertion(assertion=title, success=success, column=column)
            for title, success, column in _assertions(report)
        ]
        judged: dict[str, Any] = dict(_metrics(report))
        if assertions:
            judged["dataQualityAssertions"] = quality.DataQualityAssertionsDatasetFacet(assertions=assertions)
        if judged:
            inputs[name] = InputDataset(NAMESPACE, name, inputFacets=judged)
        if report.outcome == "published":
            outputs.append(OutputDataset(NAMESPACE, name, facets=dict(_facets(report))))
    return OperatorLineage(inputs=list(inputs.values()), outputs=outputs)


def _metrics(report: Report) -> Iterator[tuple[str, Any]]:
    """The table after its publish, as footers tell; bounds are OpenLineage's only where they are numbers."""
    from openlineage.client.facet_v2 import data_quality_metrics_input_dataset as metrics

    change = report.details.change
    if change is None or report.outcome != "published" or change.after.unread:
        return
    columns = {
        c.name: metrics.ColumnMetrics(
            nullCount=c.nulls, distinctCount=c.distinct, min=_number(c.type, c.low), max=_number(c.type, c.high)
        )
        for c in change.after.columns
    }
    yield "dataQualityMetrics", metrics.DataQualityMetricsInputDatasetFacet(columns, rowCount=change.after.rows)


def _number(kind: str, bound: str | None) -> float | None:
    numeric = kind.partition("(")[0] in ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")
    return float(bound) if numeric and bound is not None else None


def _facets(report: Report) -> Iterator[tuple[str, Any]]:
    from openlineage.client.facet_v2 import column_lineage_dataset as column_lineage
    from openlineage.client.facet_v2 import schema_dataset

    schemas = {reading.plane: reading.schema for reading in report.planes if reading.schema is not None}
    columns = schemas.get("analyzed") or schemas.get("catalog")
    if columns:
        fields = [schema_dataset.SchemaDatasetFacetFields(name=name, type=kind) for name, kind, _ in columns]
        yield "schema", schema_dataset.SchemaDatasetFacet(fields=fields)
    lineage = report.details.lineage
    if lineage:
        made = {name: column_lineage.Fields(inputFields=_sources(sources)) for name, sources in lineage["columns"]}
        yield "columnLineage", column_lineage.ColumnLineageDatasetFacet(made, _sources(lineage["rows"]))


def _sources(sources: Iterable[tuple[str, str, str]]) -> list[Any]:
    from openlineage.client.facet_v2 import column_lineage_dataset as column_lineage

    return [
        column_lineage.InputField(
            NAMESPACE,
            _drop_backticks(relation),
            column,
            [column_lineage.Transformation("DIRECT" if how in _DIRECT else "INDIRECT", _SUBTYPES[how])],
        )
        for relation, column, how in sources
    ]


def _assertions(report: Report) -> Iterator[tuple[str, bool, str | None]]:
    """(what is asserted, whether it holds, the column): the contract, its terms, and whatever else is violated."""
    from planproof_engine.finding import CODES

    if report.details.contract and report.verdict.value != "unproved":
        yield "the contract holds", report.verdict.value == "proved", None
    for finding in report.findings:
        proved = finding.verdict.value == "proved" and finding.code.startswith("PP5")
        if proved or finding.verdict.value == "violated":
            column = finding.field.split(".")[0].strip("`") if finding.field else None
            yield f"{finding.code} {CODES[finding.code].title}", proved, column


def _read(reports: Iterable[Report]) -> list[str]:
    """The relations that the models read."""
    found: dict[str, None] = {}
    for report in reports:
        lineage = report.details.lineage or {"columns": [], "rows": []}
        for sources in [*(sources for _, sources in lineage["columns"]), lineage["rows"]]:
            found |= dict.fromkeys(_drop_backticks(relation) for relation, _, _ in sources)
    return list(found)


def _drop_backticks(relation: str) -> str:
    """A dotted name without backticks and without Spark's own catalog."""
    return relation.replace("`", "").removeprefix("spark_catalog.")
