"""Reports as OpenLineage facets: schema, column lineage, data quality assertions.

Only OpenLineage's listener asks for them, so that its package is installed whenever this module is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planproof.report.openlineage import DATASETS, describe_judgement, describe_table, list_read, plain_name

if TYPE_CHECKING:
    from planproof.report import RunReport


def lineage_of(run: RunReport | None) -> Any:
    """What a task read, wrote and found out.

    Only what was published is an output; assertions belong to what was judged, which OpenLineage takes as an input.
    What is unproved is neither passed nor failed, and left out.
    """
    from airflow.providers.openlineage.extractors import OperatorLineage
    from openlineage.client.event_v2 import InputDataset, OutputDataset

    reports, outputs = run.reports if run is not None else (), []
    inputs = {name: InputDataset(DATASETS, name) for report in reports for name in list_read(report)}
    for report in reports:
        name = plain_name(report.model)
        judged = {facet: _make_facet(facet, content) for facet, content in describe_judgement(report)}
        if judged:
            inputs[name] = InputDataset(DATASETS, name, inputFacets=judged)
        if report.outcome == "published":
            made = {facet: _make_facet(facet, content) for facet, content in describe_table(report)}
            outputs.append(OutputDataset(DATASETS, name, facets=made))
    return OperatorLineage(inputs=list(inputs.values()), outputs=outputs)


def _make_facet(name: str, content: dict[str, Any]) -> Any:
    """The facet in the classes of OpenLineage's client."""
    from openlineage.client.facet_v2 import column_lineage_dataset as lineage
    from openlineage.client.facet_v2 import data_quality_assertions_dataset as quality
    from openlineage.client.facet_v2 import data_quality_metrics_input_dataset as metrics
    from openlineage.client.facet_v2 import schema_dataset as schema

    def convert(source: dict[str, Any]) -> lineage.InputField:
        transformations = [lineage.Transformation(**one) for one in source["transformations"]]
        return lineage.InputField(**{**source, "transformations": transformations})

    if name == "schema":
        return schema.SchemaDatasetFacet([schema.SchemaDatasetFacetFields(**field) for field in content["fields"]])
    if name == "columnLineage":
        made = {c: lineage.Fields([convert(s) for s in of["inputFields"]]) for c, of in content["fields"].items()}
        return lineage.ColumnLineageDatasetFacet(made, [convert(source) for source in content["dataset"]])
    if name == "dataQualityAssertions":
        return quality.DataQualityAssertionsDatasetFacet([quality.Assertion(**one) for one in content["assertions"]])
    columns = {c: metrics.ColumnMetrics(**figures) for c, figures in content["columnMetrics"].items()}
    return metrics.DataQualityMetricsInputDatasetFacet(columns, rowCount=content.get("rowCount"))
