"""`planproof explain`: columns first, the plan behind an option, and what a code means."""

from __future__ import annotations

import json

import pytest
from one_model import ORDERS, mart

from planproof_engine.codes import CODES


@pytest.mark.parametrize("code", sorted(CODES))
def test_every_code_is_explained(invoke, code):
    found = invoke("explain", code.lower())
    assert found.exit_code == 0
    assert CODES[code].next_step in found.output
    assert json.loads(invoke("explain", code, "--json").output)["meaning"] == CODES[code].meaning


def test_explain_shows_rewritings_before_and_after(invoke, project):
    before = "transform(split(o.who, ','), x -> concat(x, upper(o.who)))"
    sql = f"select {before} as r from (select cast(id as string) as who from raw.orders) o"
    directory = project(mart(sql, r="array<string>"), ORDERS)
    found = invoke("explain", "mart", "--rewrites", "--project-dir", directory)
    assert found.exit_code == 0
    after = "transform(array(upper(o.who)), v1 -> transform(split(o.who, ','), x -> concat(x, v1)))[0]"
    assert f"hoist_invariants (line 1)\n  before  {before}\n  after   {after}" in found.output
    form = json.loads(invoke("explain", "mart", "--rewrites", "--json", "--project-dir", directory).output)
    assert form["rewrites"] == [{"rule": "hoist_invariants", "before": before, "after": after}]


def test_explain_says_that_no_rule_fires(invoke, project):
    directory = project(mart("select id + 1 as next from raw.orders", next="bigint"), ORDERS)
    found = invoke("explain", "mart", "--rewrites", "--project-dir", directory)
    assert found.output.endswith("no rule fires: the compiled text runs byte for byte\n")


def test_files_of_packages_are_named_as_they_lie_and_their_models_in_one_line(invoke, project):
    root = project({f"m{i}": {"sql": "select 1 as id"} for i in range(8)})
    file = root / "target" / "manifest.json"
    manifest = json.loads(file.read_text())
    for node in manifest["nodes"].values():
        if node["name"] != "m0":
            node["package_name"] = "bought"
    file.write_text(json.dumps(manifest))
    explained = invoke("explain", "m1", "--project-dir", root).output
    assert "(dbt_packages/bought/models/m1.sql)" in explained
    assert "(models/m0.sql)" in invoke("explain", "m0", "--project-dir", root).output
    said = invoke("infer", "--dry-run", "--project-dir", root).output
    left = [line for line in said.splitlines() if line.startswith("left out")]
    assert left == [
        "left out m1, m2, m3, m4, m5 and 2 more (--json names them): of the package bought, whose files are not this "
        "project's"
    ]


def test_explain_answers_of_each_column_first(invoke, project):
    sql = "select id, id + 1 as next, nullif(id, 0) as most, '' as text from raw.orders where id is not null"
    directory = project(mart(sql), ORDERS)
    found = invoke("explain", "mart", "--project-dir", directory)
    assert found.exit_code == 0
    first, _, head, *rows = found.output.splitlines()
    assert (first, head.split()) == ("shop.mart (models/mart.sql)", ["column", "type", "null", "why"])
    cells = [row.split(None, 3) for row in rows]
    assert [cell[:3] for cell in cells] == [
        ["id", "bigint", "never"],
        ["next", "bigint", "never"],
        ["most", "bigint", "maybe"],
        ["text", "string", "never"],
    ]
    assert "declares it NOT NULL" in cells[0][3]
    assert cells[3][3] == "it is never null"
    assert cells[2][3] == "nothing rules out a null"


def test_explain_says_of_an_aggregate_why_it_is_never_null(invoke, project):
    directory = project(mart("select count(*) as n, count(id) as m, max(id) as k from raw.orders"), ORDERS)
    rows = invoke("explain", "mart", "--project-dir", directory).output.splitlines()[3:]
    assert [row.split(None, 3)[2:] for row in rows] == [
        ["never", "count(*) is never null"],
        ["never", "count(..) is never null"],
        ["maybe", "nothing rules out a null"],
    ]


def test_explain_shows_the_plan(invoke, project):
    directory = project(mart("select id + 1 as next from raw.orders", next="bigint"), ORDERS)
    found = invoke("explain", "mart", "--plan", "--project-dir", directory)
    assert found.exit_code == 0
    assert found.output.startswith("shop.mart (models/mart.sql)\n\nProject")
    assert "next" in found.output
    form = json.loads(invoke("explain", "mart", "--project-dir", directory, "--json").output)
    assert form["schema"][0]["name"] == "next"
    sql = invoke("explain", "mart", "--project-dir", directory, "--sql").output
    assert sql.startswith("SELECT `next`\nFROM (\n  SELECT (id + CAST(1 AS BIGINT)) AS `next`\n")
    wrong = invoke("explain", "marts", "--project-dir", directory)
    assert wrong.exit_code == 2
    assert "did you mean 'mart'?" in wrong.stderr
    new = invoke("explain", "brand_new", "--project-dir", directory)
    assert "dbt has compiled no such model; if it is new, run `dbt compile`" in new.stderr


def test_explain_names_where_the_unknown_begins(invoke, project):
    models = {
        "stg": {"sql": "select id from raw.orders", "parents": ["raw.orders"], "config": {"materialized": "view"}},
        "mart": {"sql": "select id from shop.stg join raw.a using (id)", "parents": ["raw.a", "stg"]},
    }
    directory = project(models, {"raw.a": {}, "raw.orders": {}})
    assert "run `planproof freeze`" in invoke("explain", "stg", "--project-dir", directory).stderr
    found = invoke("explain", "mart", "--project-dir", directory)
    assert found.exit_code == 2
    assert "the schema of shop.stg: not read offline" in found.stderr
    assert "it begins with raw.orders: the source raw.orders lacks a complete list of columns" in found.stderr


def test_a_plan_shows_lambdas_as_they_were_written_and_wraps(invoke, project, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    sql = "select transform(array(1, 2), i -> i + 1) as xs, aggregate(array(1), 0, (acc, x) -> acc + x) as total"
    found = invoke("explain", "late", "--plan", "--project-dir", project({"late": {"sql": sql}})).output
    assert "i -> (i + 1)" in found
    assert "(acc, x) ->" in found
    assert "namedlambdavariable" not in found
    assert max(map(len, found.splitlines())) <= 60
