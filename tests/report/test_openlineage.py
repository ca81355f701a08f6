"""OpenLineage's events: held to the classes of its own package."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from planproof.project import read_project
from planproof.project.check import check_project
from planproof.report.details import TableChange, TableVersion, Values
from planproof.report.formats import render
from planproof.report.run import RunReport

MODELS = {
    "stg": {
        "sql": "select id, upper(name) as name from raw.t where amount > 1",
        "parents": ["raw.t"],
        "contract": True,
        "columns": {"id": "bigint", "name": "string"},
    },
    "totals": {
        "sql": "select name, count(*) as n from shop.stg group by name",
        "parents": ["stg"],
        "contract": True,
        "columns": {"name": "string", "n": "int"},
    },
}
SOURCES = {"raw.t": {"id": "bigint", "name": "string", "amount": "int"}}


CHANGE = TableChange(
    TableVersion(2, (Values("id", "bigint", 0, "1", "2"),)),
    TableVersion(3, (Values("id", "bigint", 1, "1", "9"), Values("name", "string", 0, "a", "c"))),
)


@pytest.fixture
def run(dbt_manifest) -> RunReport:
    reports = check_project(read_project(dbt_manifest(MODELS, SOURCES)))
    return RunReport(tuple(reports), "check", "shop", "2026-01-02T03:04:05+00:00", 1.0, {"planproof": "0.1.0"})


def events(run: RunReport) -> dict[str, dict]:
    found = [json.loads(line) for line in render(run, "openlineage").splitlines() if line]
    return {event["job"]["name"]: event for event in found}


def test_an_event_tells_what_a_model_reads_makes_and_holds(run) -> None:
    found = events(run)
    good, bad = found["model.shop.stg"], found["model.shop.totals"]
    assert (good["eventType"], bad["eventType"]) == ("COMPLETE", "FAIL")
    assert [i["name"] for i in good["inputs"]] == ["raw.t", "shop.stg"]
    (out,) = good["outputs"]
    assert out["facets"]["schema"]["fields"] == [{"name": "id", "type": "bigint"}, {"name": "name", "type": "string"}]
    lineage = out["facets"]["columnLineage"]
    (source,) = lineage["fields"]["name"]["inputFields"]
    assert (source["name"], source["field"]) == ("raw.t", "name")
    assert source["transformations"] == [{"type": "DIRECT", "subtype": "TRANSFORMATION"}]
    assert [(s["field"], s["transformations"][0]["subtype"]) for s in lineage["dataset"]] == [("amount", "FILTER")]
    assert bad["outputs"] == [], "what was stopped has made nothing"
    assertions = bad["inputs"][-1]["inputFacets"]["dataQualityAssertions"]["assertions"]
    assert {"assertion": "PP504 type differs", "success": False, "column": "n"} in assertions
    assert "promised int, found bigint" in bad["run"]["facets"]["errorMessage"]["message"]
    assert events(run) == found, "the same report has the same ids"
    assert render(replace(run, reports=(replace(run.reports[0], outcome="skipped"),)), "openlineage") == "\n"


def test_a_publish_tells_the_figures_of_the_table(run) -> None:
    (report, _) = run.reports
    told = replace(report, outcome="published", details=replace(report.details, change=CHANGE))
    (event,) = events(replace(run, reports=(told,))).values()
    facet = event["inputs"][-1]["inputFacets"]["dataQualityMetrics"]
    assert facet["rowCount"] == 3
    assert facet["columnMetrics"] == {"id": {"nullCount": 1, "min": 1.0, "max": 9.0}, "name": {"nullCount": 0}}
    stopped = replace(told, outcome="rejected")
    (event,) = events(replace(run, reports=(stopped,))).values()
    assert "dataQualityMetrics" not in event["inputs"][-1]["inputFacets"], "no table has these figures"


def test_openlineages_own_classes_take_each_event(run) -> None:
    v2 = pytest.importorskip("openlineage.client.event_v2")
    from openlineage.client.facet_v2 import (
        column_lineage_dataset,
        data_quality_assertions_dataset,
        data_quality_metrics_input_dataset,
        error_message_run,
        schema_dataset,
    )
    from openlineage.client.serde import Serde

    def facet(form: dict, kind: type, **nested):
        content = {k: v for k, v in form.items() if not k.startswith("_")}
        return kind(**{**content, **nested}, producer=form["_producer"])

    def sources(listed: list[dict]):
        made = [[column_lineage_dataset.Transformation(**t) for t in s["transformations"]] for s in listed]
        return [column_lineage_dataset.InputField(**{**s, "transformations": t}) for s, t in zip(listed, made)]

    def lineage(form: dict):
        fields = {
            name: column_lineage_dataset.Fields(inputFields=sources(made["inputFields"]))
            for name, made in form["fields"].items()
        }
        kind = column_lineage_dataset.ColumnLineageDatasetFacet
        return facet(form, kind, fields=fields, dataset=sources(form["dataset"]))

    def assertions(form: dict):
        made = [data_quality_assertions_dataset.Assertion(**a) for a in form["assertions"]]
        return facet(form, data_quality_assertions_dataset.DataQualityAssertionsDatasetFacet, assertions=made)

    def metrics(form: dict):
        kinds = data_quality_metrics_input_dataset
        made = {name: kinds.ColumnMetrics(**one) for name, one in form["columnMetrics"].items()}
        return facet(form, kinds.DataQualityMetricsInputDatasetFacet, columnMetrics=made)

    def schema(form: dict):
        made = [schema_dataset.SchemaDatasetFacetFields(**f) for f in form["fields"]]
        return facet(form, schema_dataset.SchemaDatasetFacet, fields=made)

    readers = {
        "schema": schema,
        "columnLineage": lineage,
        "dataQualityAssertions": assertions,
        "dataQualityMetrics": metrics,
        "errorMessage": lambda form: facet(form, error_message_run.ErrorMessageRunFacet),
    }

    def read(forms: dict):
        return {name: readers[name](form) for name, form in forms.items()}

    told = [replace(r, outcome="published", details=replace(r.details, change=CHANGE)) for r in run.reports]
    published = replace(run, reports=tuple(told))
    for event in [*events(run).values(), *events(published).values()]:
        made = v2.RunEvent(
            eventTime=event["eventTime"],
            producer=event["producer"],
            eventType=v2.RunState[event["eventType"]],
            run=v2.Run(event["run"]["runId"], read(event["run"]["facets"])),
            job=v2.Job(event["job"]["namespace"], event["job"]["name"]),
            inputs=[
                v2.InputDataset(i["namespace"], i["name"], inputFacets=read(i.get("inputFacets", {})))
                for i in event["inputs"]
            ],
            outputs=[v2.OutputDataset(o["namespace"], o["name"], facets=read(o["facets"])) for o in event["outputs"]],
        )
        theirs = json.loads(Serde.to_json(made))
        assert schemas(theirs) == schemas(event), "each facet names the schema that its class is made from"


def schemas(form) -> list[str]:
    """The schemas that an event and its facets name."""
    if isinstance(form, dict):
        own = [v for k, v in form.items() if k in ("_schemaURL", "schemaURL")]
        return sorted(own + [u for v in form.values() for u in schemas(v)])
    return sorted(u for v in form for u in schemas(v)) if isinstance(form, list) else []
