"""What OpenLineage is told, read back from the classes of its own client."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

pytest.importorskip("airflow.providers.openlineage")

from standalone import PATIENCE

import planproof
from airflow_planproof.openlineage import lineage_of
from planproof import Catalog
from planproof.report.details import Details
from planproof.report.model import PlaneReading, Report
from planproof.report.run import RunReport
from planproof_engine.finding import Finding, Verdict
from planproof_engine.logical.outline import plan_details

CATALOG = Catalog({"spark_catalog.shop.orders": [("id", "bigint", False), ("customer", "int", True)]})
SQL = "select id, coalesce(customer, 0) as customer from spark_catalog.shop.orders where id > 1"
DETAILS = plan_details(planproof.plan(SQL, CATALOG))
ANALYZED = PlaneReading("analyzed", "read", None, (("id", "bigint", False), ("customer", "int", False)))
HOLDS = Finding(Verdict.PROVED, "PP505", "files", "id", evidence="counted")
BROKEN = Finding(Verdict.VIOLATED, "PP505", "files", "customer", "NOT NULL", "1 null")
OPEN = Finding(Verdict.UNPROVED, "PP506", "files", "customer")


def told(*findings, outcome="published"):
    return lineage_of(RunReport((Report("shop.m", outcome, findings, (ANALYZED,), details=Details(**DETAILS)),)))


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


def test_a_column_with_a_dot_in_its_name_is_one_column():
    dotted = Finding(Verdict.VIOLATED, "PP505", "files", "`first.name`", "NOT NULL", "1 null")
    (judged,) = [dataset for dataset in told(dotted, outcome="rejected").inputs if dataset.name == "shop.m"]
    assert [a.column for a in judged.inputFacets["dataQualityAssertions"].assertions] == ["first.name"]


def test_without_a_report_there_is_nothing_to_say():
    assert lineage_of(None).outputs == []
    assert lineage_of(RunReport((Report("shop.m", "failed", error="away"),))).outputs == []


LISTENED = """
import contextlib, datetime, io, os, sys
home, manifest = sys.argv[1:]
os.environ.update(
    AIRFLOW_HOME=home,
    AIRFLOW__CORE__DAGS_FOLDER=home + "/dags",
    AIRFLOW__CORE__LOAD_EXAMPLES="False",
    AIRFLOW__COSMOS__ENABLE_TELEMETRY="False",
    AIRFLOW__OPENLINEAGE__NAMESPACE="tested",
    AIRFLOW__OPENLINEAGE__TRANSPORT='{"type": "file", "log_file_path": "' + home + '/events", "append": true}',
)
from airflow.utils.db import initdb
initdb()
sys.path.insert(0, home + "/dags")
import lineage_dag
lineage_dag.dag.test()
"""
CHECK = """
import datetime
from airflow.providers.common.compat.sdk import DAG
from airflow_planproof import PlanproofCheckOperator

with DAG("tested", schedule=None, start_date=datetime.datetime(2026, 1, 1)) as dag:
    PlanproofCheckOperator(task_id="check", manifest={manifest!r})
"""


@pytest.mark.slow
@pytest.mark.conformance
@pytest.mark.parametrize(("type_", "ends", "holds"), [("int", "COMPLETE", True), ("string", "FAIL", False)])
def test_the_real_listener_emits_it(tmp_path, dbt_manifest, type_, ends, holds):
    """One DAG in a process of its own, whose OpenLineage provider writes its events to a file."""
    models = {"a": {"sql": "select 1 as id", "contract": True, "columns": {"id": type_}}}
    manifest = tmp_path / "manifest.json"
    manifest.write_text(json.dumps(dbt_manifest(models)))
    (tmp_path / "dags").mkdir()
    (tmp_path / "dags" / "lineage_dag.py").write_text(CHECK.format(manifest=str(manifest)))
    environment = {key: value for key, value in os.environ.items() if not key.startswith("AIRFLOW")}
    command = [sys.executable, "-c", LISTENED, str(tmp_path), str(manifest)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, env=environment)
    events = [json.loads(line) for line in (tmp_path / "events").read_text().splitlines()]
    (event,) = [e for e in events if e["eventType"] == ends and e["job"]["name"] == "tested.check"]
    (judged,) = [d for d in event["inputs"] if d["name"] == "shop.a"]
    assertions = judged["inputFacets"]["dataQualityAssertions"]["assertions"]
    said = {a["assertion"]: a["success"] for a in assertions}
    assert said["the contract holds"] is holds, ran.stderr[-3000:]
    if not holds:
        assert {a["success"] for a in assertions if a.get("column") == "id"} == {False}
