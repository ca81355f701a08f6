"""What dbt-spark by itself does to Iceberg tables, and what becomes of the same tables under the guard.

One project, built well and then broken, without planproof and with it. dbt-spark takes Iceberg's tables in the
session's own catalog for Hive's, and drops what it replaces; in any catalog it changes columns before it inserts, and
merges what the contract forbids.
"""

from __future__ import annotations

import json
from typing import Any

BROKEN = "select cast(raise_error('no such rate') as bigint) as id, 1 as amount"
GOOD = "select id, 1 as amount from range(3)"
MODELS = {
    "replaced": ("materialized='table'", GOOD, BROKEN),
    "refreshed": ("materialized='incremental'", GOOD, BROKEN),
    "widened": (
        "materialized='incremental', on_schema_change='append_new_columns'",
        GOOD,
        f"select *, 2 as extra from ({BROKEN})",
    ),
    "merged": (
        # dbt takes a contract with this or with `fail` only.
        "materialized='incremental', incremental_strategy='merge', unique_key='id', on_schema_change='fail'",
        GOOD,
        "select if(id > 1, null, id) as id, 2 as amount from range(3)",
    ),
    "viewed": ("materialized='table' if var('bad') else 'view'", GOOD, BROKEN),
}
PROMISES = """
    models:
      - name: merged
        config: {contract: {enforced: true}}
        columns:
          - {name: id, data_type: bigint, constraints: [{type: not_null}]}
          - {name: amount, data_type: int}
    """


def play(dbt: Any, guarded: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    """The state of each table before and after the broken runs; None where it is gone."""
    who = "guarded" if guarded else "bare"

    def run(bad: bool, *more: str) -> Any:
        return dbt.run("run", "--vars", json.dumps({"bad": bad, "who": who}), *more, guarded=guarded)

    def states() -> dict[str, Any]:
        found = {name: f"{who}_{name}" for name in models}
        return {name: dbt.state(table) if dbt.exists(table) else None for name, table in found.items()}

    # Only Hive's metastore keeps views.
    models = {name: form for name, form in MODELS.items() if name != "viewed" or dbt.catalog == "spark_catalog"}
    for name, (config, good, bad) in models.items():
        head = f"{{{{ config({config}, alias=var('who') ~ '_{name}') }}}}"
        dbt.write({f"models/{name}.sql": f"{head}\n{{% if var('bad') %}}{bad}{{% else %}}{good}{{% endif %}}\n"})
    dbt.write({"models/promises.yml": PROMISES})
    assert run(False).success, dbt.log[-3000:]
    before = states()
    assert None not in before.values()
    bad = run(True, "--exclude", "refreshed")
    assert guarded is False or set(dbt.statuses.values()) == {"error"}, dbt.statuses
    assert not bad.success
    assert not run(True, "--full-refresh", "--select", "refreshed").success
    return before, states()


def test_bare_dbt_harms_iceberg_tables_and_the_guard_keeps_them(dbt: Any) -> None:
    before, after = play(dbt, guarded=False)
    # The control: where this no longer fails, dbt-spark has learnt something.
    assert "extra" in after["widened"][0]
    assert "Row(id=None, amount=2)" in after["merged"][1]
    if dbt.catalog == "spark_catalog":
        assert {name for name, state in after.items() if state is None} == {"replaced", "refreshed", "viewed"}
    before, after = play(dbt, guarded=True)
    assert after == before
