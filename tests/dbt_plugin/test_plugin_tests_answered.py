"""`tests: answered`: what plans and files tell of data tests is not asked of Spark; dbt reports what bare dbt does."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from quick import keep_quick

pytest.importorskip("dbt.adapters.spark")

FILES = {
    "models/rows.sql": """
        {{ config(materialized='table', file_format='parquet') }}
        {% set bad = var('bad', false) %}
        select * from values (if(1 > 0, 1, null), 'a'), (2, 'b'), (if({{ bad }}, 2, 3), if({{ bad }}, null, 'c'))
        as t(id, name)
        """,
    "models/shown.sql": "{{ config(materialized='view') }} select id as key, name from {{ ref('rows') }} where id < 9",
    "models/made.sql": """
        {{ config(materialized='view') }}
        select upper(name) as big, nullif(id, 9) as odd, id + 1 as more from {{ ref('rows') }}
        """,
    "models/counted.sql": """
        {{ config(materialized='table', file_format='parquet', partition_by=['n']) }}
        select id, count(*) as n from {{ ref('rows') }} group by id
        """,
    "models/lent.sql": """
        {{ config(materialized='view') }} select upper(name) as big, lower(name) as low from {{ source('raw', 'lent') }}
        """,
    "models/models.yml": """
        sources: [{name: raw, schema: "{{ target.schema }}", tables: [{name: lent, identifier: lender}]}]
        models:
          - name: lent
            columns: [{name: big, data_tests: [not_null]}, {name: low, data_tests: [not_null]}]
          - name: rows
            columns:
              - {name: id, data_tests: [unique, not_null]}
              - {name: name, data_tests: [not_null, {accepted_values: {values: [a, b, c]}}]}
          - name: shown
            columns:
              - name: key
                data_tests:
                  - unique
                  - relationships: {to: ref('counted'), field: id}
                  - not_null: {config: {where: key > 1}}
          - name: made
            columns:
              - {name: big, data_tests: [not_null, {accepted_values: {values: [A, B]}}]}
              - {name: odd, data_tests: [not_null, unique]}
              - {name: more, data_tests: [not_null: {config: {where: more > 1}}]}
          - name: counted
            columns: [{name: id, data_tests: [unique, {relationships: {to: ref('shown'), field: key}}]}]
        """,
}
TOGETHER = "counted with others, 3 tests by one query"
GROUNDS = {
    "unique_rows_id": "counted: rows of N files",
    "not_null_rows_id": "counted: footers of N files",
    "not_null_rows_name": "counted: footers of N files",
    "accepted_values_rows_name__a__b__c": "counted: values of N files",
    "unique_shown_key": "proved: the values of DB.rows.id, counted: rows of N files",
    "not_null_shown_key": "proved: a filter on id, without its `where`",
    "relationships_shown_key__id__ref_counted_": "proved: the values of DB.rows.id, "
    "counted: rows of N files, against N files of DB.counted",
    "not_null_made_big": TOGETHER,
    "not_null_made_odd": TOGETHER,
    "unique_made_odd": None,
    "not_null_made_more": None,
    "unique_counted_id": "proved: group by id",
    "relationships_counted_id__key__ref_shown_": None,
    # What lies below a view that is no model of the project is not known.
    "not_null_lent_big": None,
    "not_null_lent_low": None,
}


@pytest.fixture(scope="module")
def project(dbt: Any) -> Any:
    dbt.write(FILES)
    settings = (dbt.root / "dbt_project.yml").read_text("utf-8")
    more = "models: {+meta: {planproof: {tests: answered}}}\ndata_tests: {+severity: warn}\n"
    more += "on-run-start: create or replace view {{ target.schema }}.lender as select 1 as id, 'a' as name\n"
    (dbt.root / "dbt_project.yml").write_text(f"{settings}\n{more}", "utf-8")
    return dbt


def found(dbt: Any) -> dict[str, tuple[Any, ...]]:
    form = json.loads((dbt.root / "target/run_results.json").read_text("utf-8"))
    tests = [r for r in form["results"] if r["unique_id"].startswith("test.")]
    return {r["unique_id"].split(".")[2]: (r["status"], r["failures"], r["message"]) for r in tests}


@pytest.mark.parametrize("bad", keep_quick(["false", "true"], "true"))
def test_answers_are_what_dbt_finds(project: Any, bad: str) -> None:
    assert project.run("build", "--vars", f"{{bad: {bad}}}").success, project.results
    answered = found(project)
    assert project.run("test", "--vars", f"{{bad: {bad}}}", guarded=False).success, project.results
    bare = found(project)
    assert {name: result[:2] for name, result in answered.items()} == {n: result[:2] for n, result in bare.items()}
    failing = answered.pop("accepted_values_made_big__A__B")
    assert (failing[:2], TOGETHER in failing[2]) == (("pass", 0) if bad == "true" else ("warn", 1), True)
    if bad == "false":
        assert {name: ground(message, project.schema) for name, (*_, message) in answered.items()} == GROUNDS
    else:
        assert answered["unique_rows_id"][:2] == answered["unique_shown_key"][:2] == ("warn", 1)
        assert answered["not_null_made_big"][:2] == ("warn", 1)
        assert answered["unique_counted_id"][2] == "pass (proved: group by id)"


def ground(message: str | None, schema: str) -> str | None:
    """What a message says that an answer rests on."""
    if message is None:
        return None
    said = re.fullmatch(r"pass \((.*)\)", message)
    assert said is not None, message
    return re.sub(r"\d+ files?", "N files", said[1]).replace(schema, "DB")
