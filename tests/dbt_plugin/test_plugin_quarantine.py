"""`on_violation: quarantine` in `dbt build`: the good rows are published, a model reads the others, deltas too."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("dbt.adapters.spark")

CONFIG = (
    "file_format='parquet', on_schema_change='fail', "
    "meta={'planproof': {'on_violation': 'quarantine', 'quarantine': {'limit': '60%'}}}"
)
ORDERS = (
    "{{ config(materialized='KIND', CONFIG) }}\n"
    "select id, amount from values (1, 10), (2, -1), (null, 5), (3, 30) as t(id, amount)\n"
    "where amount <> {{ var('without', 0) }}"
).replace("CONFIG", CONFIG)
MODEL = """
    - name: NAME
      config: {contract: {enforced: true}}
      columns:
        - {name: id, data_type: int, constraints: [{type: not_null}]}
        - {name: amount, data_type: int, constraints: [{type: check, expression: amount > 0}]}
"""
FILES = {
    "models/orders.sql": ORDERS.replace("KIND", "table"),
    "models/events.sql": ORDERS.replace("KIND", "incremental"),
    "models/rejected.sql": "{{ config(materialized='table', file_format='parquet') }}\n"
    "select q.id, q.amount, q.quarantine_terms[0] as term from {{ source('aside', 'orders__quarantine') }} q\n"
    "-- depends_on: {{ ref('orders') }}",
    "models/schema.yml": "models:"
    + MODEL.replace("NAME", "orders")
    + MODEL.replace("NAME", "events")
    + "sources:\n    - name: aside\n      schema: '{{ target.schema }}'\n      tables: [{name: orders__quarantine}]\n",
}


@pytest.fixture(scope="module")
def built(dbt: Any) -> Any:
    dbt.write(FILES)
    assert dbt.run("build").success, dbt.statuses
    return dbt


def test_good_rows_are_published_and_a_model_reads_the_others(built: Any) -> None:
    assert built.rows("orders") == built.rows("events") == [(1, 10), (3, 30)]
    assert built.rows("rejected") == [(2, -1, "check(amount > 0)"), (None, 5, "not_null(id)")]
    aside = built.reports["orders"]["details"]["quarantine"]
    assert (aside["rows"], aside["of"]) == (2, 4)
    assert "not_null(id): 1 row of 4 quarantined in" in built.log
    assert built.results["orders"]["adapter_response"]["rows_affected"] == 2
    # A delta adds to both; a whole table replaces its rows, and adds to what was quarantined.
    assert built.run("build").success
    assert len(built.rows("events")) == 4
    runs = built.spark.sql(f"select distinct quarantine_run from {built.schema}.events__quarantine").collect()
    assert (len(runs), len(built.rows("events__quarantine")), len(built.rows("rejected"))) == (2, 4, 4)


def test_above_the_limit_the_table_stays(built: Any) -> None:
    before = built.state("orders"), len(built.rows("orders__quarantine"))
    assert not built.run("build", "--select", "orders", "--vars", "{without: 10}").success
    assert "2 of 3 rows break a term, and quarantine.limit is at most 60 % of the rows" in built.log
    assert (built.state("orders"), len(built.rows("orders__quarantine"))) == before


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (
            "materialized='view'",
            "Set `on_violation: stop` on other, and `quarantine` on the tables",
        ),
        ("materialized='incremental', incremental_strategy='merge', file_format='delta'", "merge|delta"),
    ],
)
def test_what_cannot_keep_it_is_refused_by_name(built: Any, config: str, said: str) -> None:
    meta = "meta={'planproof': {'on_violation': 'quarantine'}}"
    built.write({"models/other.sql": f"{{{{ config({config}, {meta}) }}}}\nselect 1 as id"})
    try:
        assert not built.run("build", "--select", "other").success
        found = built.results["other"]["message"]
        assert "on_violation: quarantine cannot be kept" in found
        assert "planproof: 0 published, 1 could not run; report " in built.log
        assert any(part in found for part in said.split("|"))
        assert not built.exists("other")
    finally:
        (built.root / "models/other.sql").unlink()


def test_a_folders_setting_has_no_effect_on_its_views(dbt: Any) -> None:
    """A view stores no rows. The tables of the folder that read it have their bad rows quarantined."""
    meta = "{planproof: {on_violation: quarantine, quarantine: {limit: 60%}}}"
    dbt.write(
        {
            "models/part/view.sql": "{{ config(materialized='view') }}\nselect * from values (1), (null) as t(id)",
            "models/part/inlined.sql": "{{ config(materialized='ephemeral') }}\nselect id from {{ ref('view') }}",
            "models/part/stored.sql": "{{ config(materialized='table', file_format='parquet') }}\n"
            "select id from {{ ref('inlined') }}",
            "models/part/all.yml": "models:\n  - name: stored\n    config: {contract: {enforced: true}}\n"
            "    columns: [{name: id, data_type: int, constraints: [{type: not_null}]}]\n",
            "dbt_project.yml": (dbt.root / "dbt_project.yml").read_text()
            + f"\nmodels: {{shop: {{part: {{+meta: {meta}}}}}}}\n",
        }
    )
    assert dbt.run("build", "--select", "part").success, dbt.statuses
    remarks = json.loads((dbt.root / "target/planproof/report.json").read_text("utf-8"))["remarks"]
    assert (dbt.rows("view"), dbt.rows("stored")) == ([(1,), (None,)], [(1,)])
    assert "`on_violation: quarantine` has no effect on view: a view stores no rows" in remarks
