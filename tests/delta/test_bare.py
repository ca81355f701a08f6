"""What dbt-spark by itself does to Delta tables over the bad models of the contract matrix, counted.

`said`: dbt fails, and the table is as it was. `silent`: dbt says that all is well, and the table holds what the
contract forbids. `harmed`: dbt fails, and the table is not as it was. The page docs/delta.md shows the counts.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from typing import Any

import pytest
import yaml
from contract_matrix import CASES, properties, query

WAYS = {
    "table": {"materialized": "table"},
    "append": {"materialized": "incremental", "incremental_strategy": "append"},
    "merge": {"materialized": "incremental", "incremental_strategy": "merge", "unique_key": "KEY"},
    "insert_overwrite": {"materialized": "incremental", "incremental_strategy": "insert_overwrite"},
}
COUNTED: dict[str, dict[str, dict[str, int]]] = {}


def _model(way: str, case: dict[str, Any]) -> str:
    config = {**WAYS[way], **case.get("config", {})}
    if way != "table":
        config["on_schema_change"] = "append_new_columns"
    if way == "merge":
        config["unique_key"] = next(iter(case["columns"]))
    good, bad = query(case["good"]), query(case["bad"])
    return f"{{{{ config(**{config!r}) }}}}\n{{% if var('bad') %}}{bad}{{% else %}}{good}{{% endif %}}\n"


def fate(status: str, before: Any, after: Any) -> str:
    if after is None:
        return "gone"
    if status != "error":
        return "silent"
    if after == before:
        return "said"
    return "empty" if not after[1] else "harmed"


def count(dbt: Any, way: str, guarded: bool) -> tuple[dict[str, str], Counter[str]]:
    kind = "table" if way == "table" else "incremental"
    cases = [case for case in CASES if kind not in case.get("not_for", ())]
    if way == "merge":  # A map cannot be a key.
        cases = [case for case in cases if "map<" not in str(next(iter(case["columns"].values())))]
    models = {f"{way}_{case['name']}": case for case in cases}
    shutil.rmtree(dbt.root / "models", ignore_errors=True)
    form = {"models": [properties(name, case) for name, case in models.items()]}
    files = {f"models/{name}.sql": _model(way, case) for name, case in models.items()}
    dbt.write({**files, "models/parents.sql": "select 1 as id", "models/all.yml": yaml.safe_dump(form)})

    def run(bad: bool, n: int) -> dict[str, str]:
        dbt.run(
            "run", *(["--full-refresh"] if not n else []), "--vars", json.dumps({"bad": bad, "n": n}), guarded=guarded
        )
        return dbt.statuses

    good = run(False, 0)
    alarms = {name for name in models if good[name] != "success"}
    before = {name: dbt.state(name) for name in models if name not in alarms}
    statuses = run(True, 1)
    fates = {n: fate(statuses[n], before[n], dbt.state(n) if dbt.exists(n) else None) for n in before}
    return fates | dict.fromkeys(alarms, "alarm"), Counter([*fates.values(), *("alarm" for _ in alarms)])


@pytest.mark.conformance
@pytest.mark.parametrize("way", WAYS)
def test_what_bare_dbt_does(dbt: Any, way: str) -> None:
    fates, counted = count(dbt, way, guarded=False)
    print(way, dict(counted))
    for fate_ in ("silent", "harmed", "gone", "empty", "alarm"):
        print("   ", fate_, sorted(n.removeprefix(way + "_") for n, f in fates.items() if f == fate_))
    assert counted
