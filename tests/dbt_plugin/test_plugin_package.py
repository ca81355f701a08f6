"""The dbt package under macros/, as a consumer installs it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("dbt.adapters.spark")

PACKAGE = Path(__file__).parents[2] / "macros"
CASES = {
    "columns": ("id, 1.5BD as price_, array('a') as tags", {("price", "column")}),
    "nulls": (
        "if(id = 1, null, id) as id, cast(1 as decimal(10,2)) as price, array('a') as tags",
        {("id", "not_null")},
    ),
    "types": ("id, cast(1 as decimal(10,3)) as price, array(1) as tags", {("price", "type"), ("tags", "type")}),
    "healthy": ("id, cast(1 as decimal(10,2)) as price, array('a') as tags", set()),
}
CONTRACT = """
      - name: {}
        data_tests: [planproof.planproof_contract]
        columns:
          - {{name: id, data_type: bigint, constraints: [{{type: not_null}}]}}
          - {{name: price, data_type: "decimal(10,2)"}}
          - {{name: tags, data_type: array<string>}}
"""


def test_stored_tables_are_held_against_their_contracts(dbt: Any) -> None:
    files = {
        f"models/{name}.sql": f"{{{{ config(materialized='table') }}}} select {select} from range(3)"
        for name, (select, _) in CASES.items()
    }
    models = "models:" + "".join(CONTRACT.format(name) for name in CASES)
    dbt.write({**files, "models/models.yml": models, "packages.yml": f"packages: [{{local: {PACKAGE}}}]"})
    assert dbt.run("deps").success
    assert dbt.run("run", guarded=False).success, dbt.results
    assert not dbt.run("test", "--store-failures", guarded=False).success
    results = {n.removeprefix("planproof_planproof_contract_").rstrip("_"): r for n, r in dbt.results.items()}
    assert results.keys() == CASES.keys()
    for name, (_, broken) in CASES.items():
        table = results[name]["relation_name"].replace("`", "")
        assert results[name]["failures"] == len(broken)
        assert {(r.column_name, r.term) for r in dbt.spark.table(table).collect()} == broken
    dbt.spark.sql(f"drop schema {table.split('.')[0]} cascade")
