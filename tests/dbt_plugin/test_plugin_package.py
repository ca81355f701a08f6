"""The dbt package under macros/, as a consumer installs it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("dbt.adapters.spark")

PACKAGE = Path(__file__).parents[2] / "macros"
CONTRACT = """
    models:
      - name: stored
        data_tests: [planproof.planproof_contract]
        columns:
          - {name: id, data_type: bigint, constraints: [{type: not_null}]}
          - {name: price, data_type: "decimal(10,2)"}
          - {name: tags, data_type: array<string>}
    """


@pytest.mark.parametrize(
    ("select", "broken"),
    [
        ("1L as id, 1.5BD as price_, array('a') as tags", {("price", "column"), ("price_", "column")}),
        ("if(id = 1, null, id) as id, cast(1 as decimal(10,2)) as price, array('a') as tags", {("id", "not_null")}),
        ("id, cast(1 as decimal(10,3)) as price, array(1) as tags", {("price", "type"), ("tags", "type")}),
        ("id, cast(1 as decimal(10,2)) as price, array('a') as tags", set()),
    ],
    ids=["columns", "nulls", "types", "healthy"],
)
def test_the_stored_table_is_held_against_its_contract(dbt: Any, select: str, broken: set[tuple[str, str]]) -> None:
    dbt.write(
        {
            "packages.yml": f"packages: [{{local: {PACKAGE}}}]",
            "models/stored.sql": f"{{{{ config(materialized='table') }}}} select {select} from range(3)",
            "models/stored.yml": CONTRACT,
        }
    )
    if not (dbt.root / "dbt_packages").exists():
        assert dbt.run("deps").success
    assert dbt.run("run", guarded=False).success, dbt.results
    result = dbt.run("test", "--store-failures", guarded=False)
    assert result.success is not bool(broken)
    [name] = [n for n in dbt.results if n.startswith("planproof_planproof_contract")]
    assert dbt.results[name]["failures"] == len(broken)
    table = dbt.results[name]["relation_name"]
    assert {(r.column_name, r.term) for r in dbt.spark.table(table.replace("`", "")).collect()} == broken
    dbt.spark.sql(f"drop schema {table.replace('`', '').split('.')[0]} cascade")
