"""The line of the YAML that promises what a model breaks."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from planproof.project import read_project
from planproof.project.check import check_project
from planproof.project.compiled import Promises
from planproof.report.details import DataTestResult, Details
from planproof.report.model import Report
from planproof.report.run import RunReport
from planproof.report.sarif import render
from planproof_engine.finding import Finding, Verdict

YAML = """\
version: 2

models:
  - name: other
    columns: [{name: id}]
  - name: orders
    config: {contract: {enforced: true}}
    constraints:
      - {type: primary_key, columns: [id]}
      - type: check
        expression: amount > 0
    columns:
      - name: ID
        description: the key
        data_type: bigint
        constraints:
          - type: not_null
      - name: amount
        data_type: int
      - name: gone
        data_type: string
"""


@pytest.fixture
def reports(tmp_path, dbt_manifest):
    def checked(text: str, patch: str = "shop://models/schema.yml"):
        (tmp_path / "models").mkdir(exist_ok=True)
        (tmp_path / "models" / "schema.yml").write_text(text)
        columns = {
            "ID": {"data_type": "bigint", "constraints": [{"type": "not_null"}]},
            "amount": "int",
            "gone": "string",
        }
        model = {
            "sql": "select id as ID, cast(amount as double) as amount, 1 as more from raw.t",
            "parents": ["raw.t"],
            "contract": True,
            "columns": columns,
            "constraints": [{"type": "check", "expression": "amount > 0"}],
            "patch_path": patch,
        }
        manifest = dbt_manifest({"orders": model}, {"raw.t": {"id": "bigint", "amount": "int"}})
        return check_project(replace(read_project(manifest), directory=tmp_path))

    return checked


def lines(reports) -> dict[tuple[str, str | None], str]:
    return {(f.code, f.field): f"{f.promise.file}:{f.promise.line}" for r in reports for f in r.findings if f.promise}


def test_each_finding_on_the_contract_names_the_line_that_promises_it(reports, tmp_path) -> None:
    found = reports(YAML)
    assert lines(found) == {
        ("PP501", "gone"): "models/schema.yml:20",
        ("PP502", "more"): "models/schema.yml:6",
        ("PP504", "amount"): "models/schema.yml:19",
        ("PP506", "ID"): "models/schema.yml:17",
    }
    broken = [
        Finding(Verdict.VIOLATED, "PP507", "files", field, promised)
        for field, promised in (("id", "primary_key(id)"), (None, "check(amount > 0)"), ("amount", "unique(amount)"))
    ]
    node = {"patch_path": "shop://models/schema.yml", "package_name": "shop", "name": "orders"}
    report = Promises(tmp_path).place_findings(Report("shop.orders", "rejected", tuple(broken)), node)
    assert [f.promise and f.promise.line for f in report.findings] == [9, 10, 9]
    assert "promised at models/schema.yml:19" in found[0].to_text()
    results = json.loads(render(RunReport(tuple(found)), "dbt/"))["runs"][0]["results"]
    related = next(r for r in results if r["ruleId"] == "PP504")["relatedLocations"][0]["physicalLocation"]
    assert related["artifactLocation"]["uri"] == "dbt/models/schema.yml"
    assert related["region"]["startLine"] == 19
    assert lines(reports("# above\n" + YAML))["PP504", "amount"] == "models/schema.yml:20"


@pytest.mark.parametrize(
    ("text", "patch"),
    [
        ("models: [", "shop://models/schema.yml"),
        ("models: 3", "shop://models/schema.yml"),
        ("models:\n  - name: another\n", "shop://models/schema.yml"),
        (YAML, "shop://../schema.yml"),
        (YAML, "shop:///etc/passwd"),
        (YAML, "elsewhere://models/none.yml"),
        ("models: " + "[" * 3000, "shop://models/schema.yml"),
    ],
)
def test_where_no_line_is_known_none_is_told(reports, text: str, patch: str) -> None:
    assert lines(reports(text, patch)) == {}


TESTED = """\
models:
  - name: orders
    data_tests:
      - dbt_utils.expression_is_true:
          expression: amount > 0
    columns:
      - name: id
        data_tests:
          - unique
          - not_null:
              severity: error
          - name: known_id
            relationships: {to: ref('customers'), field: id}
      - name: amount
        tests: [not_null]
"""


@pytest.mark.parametrize(
    ("name", "field", "place", "line"),
    [
        ("unique_orders_id", "id", "models/schema.yml", 9),
        ("not_null_orders_id", "id", "models/schema.yml", 10),
        ("known_id", "id", "models/schema.yml", 12),
        ("not_null_orders_amount", "amount", "models/schema.yml", 15),
        ("dbt_utils_expression_is_true_orders_amount_0", None, "models/schema.yml", 4),
        ("made_by_a_macro", "id", "models/schema.yml", 7),
        ("no_negative_total", None, "tests/no_negative_total.sql", 1),
    ],
)
def test_a_failed_data_test_has_the_line_that_asks_for_it(tmp_path, name, field, place, line):
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "schema.yml").write_text(TESTED)
    finding = Finding(Verdict.VIOLATED, "PP513", "files", field, promised=name, message="it failed")
    details = Details(tests=(DataTestResult(name, "fail", "1 result", 1, field, place),))
    report = Report("shop.orders", "rejected", (finding,), details=details)
    node = {"name": "orders", "package_name": "shop", "patch_path": "shop://models/schema.yml"}
    (found,) = Promises(tmp_path).place_findings(report, node).findings
    assert (found.promise.file, found.promise.line) == (place, line)
