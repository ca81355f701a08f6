"""What OpenLineage is told, read back from the classes of its own client."""

from __future__ import annotations

import pytest

pytest.importorskip("airflow.providers.openlineage")

import planproof
from airflow_planproof.openlineage import lineage_of
from planproof import Catalog
from planproof.plan.outline import plan_details
from planproof.report.model import Finding, PlaneReading, Report, Verdict
from planproof.report.run import RunReport

CATALOG = Catalog({"spark_catalog.shop.orders": [("id", "bigint", False), ("customer", "int", True)]})
SQL = "select id, coalesce(customer, 0) as customer from spark_catalog.shop.orders where id > 1"
DETAILS = plan_details(planproof.plan(SQL, CATALOG))
ANALYZED = PlaneReading("analyzed", "read", None, (("id", "bigint", False), ("customer", "int", False)))
HOLDS = Finding(Verdict.PROVED, "PP505", "files", "id", evidence="counted")
BROKEN = Finding(Verdict.VIOLATED, "PP505", "files", "customer", "NOT NULL", "1 null")
OPEN = Finding(Verdict.UNPROVED, "PP506", "files", "customer")


def told(*findings, outcome="published"):
    return lineage_of(RunReport((Report("shop.m", outcome, findings, (ANALYZED,), details=DETAILS),)))


def test_a_published_model_has_schema_and_column_lineage():
    (output,) = told(HOLDS).outputs
    assert (output.namespace, output.name) == ("spark", "shop.m")
    assert [(f.name, f.type) for f in output.facets["schema"].fields] == [("id", "bigint"), ("customer", "int")]
    made = output.facets["columnLineage"]
    (source,) = made.fields["customer"].inputFields
    assert (source.namespace, source.name, source.field) == ("spark", "shop.orders", "customer")
    assert [(t.type, t.subtype) for t in source.transformations] == [("DIRECT", "TRANSFORMATION")]
    (row,) = made.dataset
    assert [(t.type, t.subtype) for t in row.transformations] == [("INDIRECT", "FILTER")]


def test_what_was_not_published_is_no_output_and_says_what_is_broken():
    lineage = told(HOLDS, BROKEN, OPEN, outcome="rejected")
    assert lineage.outputs == []
    assert {dataset.name for dataset in lineage.inputs} == {"shop.orders", "shop.m"}
    (judged,) = [dataset for dataset in lineage.inputs if dataset.name == "shop.m"]
    said = [(a.column, a.success) for a in judged.inputFacets["dataQualityAssertions"].assertions]
    assert said == [("id", True), ("customer", False)]


def test_without_a_report_there_is_nothing_to_say():
    assert lineage_of(None).outputs == []
    assert lineage_of(RunReport((Report("shop.m", "failed", error="away"),))).outputs == []
