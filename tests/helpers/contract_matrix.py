"""Models that break a contract, each with a healthy twin, and how a dbt project with all of them is played."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

CASES = yaml.safe_load((Path(__file__).parents[1] / "cases/contracts/bad_models.yml").read_text("utf-8"))
KINDS = ("table", "view", "incremental")


def list_played(kinds: tuple[str, ...] | None) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Name, materialization and case of each model; without `kinds` the quick ones, each in the kind that it names."""
    for case in CASES:
        for kind in kinds or [case["quick"]] if kinds or "quick" in case else ():
            if kind not in case.get("not_for", ()):
                yield f"{kind}_{case['name']}", kind, case


def query(text: str) -> str:
    return text.replace("{n}", "{{ var('n') }}")


def model(kind: str, case: dict[str, Any], file_format: str) -> str:
    config = {"materialized": kind, "file_format": file_format, **case.get("config", {})}
    if kind == "incremental":
        # dbt takes a contract with this or with `fail` only.
        config["on_schema_change"] = "append_new_columns"
    good, bad = query(case["good"]), query(case.get(file_format, case["bad"]))
    return f"{{{{ config(**{config!r}) }}}}\n{{% if var('bad') %}}{bad}{{% else %}}{good}{{% endif %}}\n"


def properties(name: str, case: dict[str, Any]) -> dict[str, Any]:
    columns = [
        {"name": c, **(form if isinstance(form, dict) else {"data_type": form})} for c, form in case["columns"].items()
    ]
    form = {"name": name, "config": {"contract": {"enforced": True}}, "columns": columns}
    return {**form, "constraints": case["constraints"]} if "constraints" in case else form


SERVER_DEFECT = "LlapSigner"
"""pip's Spark lacks a jar of Hive's: once in a Thrift server's life closing a session fails, and with it the node that
ran there (SessionState.close, Hive.registerAllFunctionsOnce)."""


def list_failed(dbt: Any) -> dict[str, str]:
    """The message of each node that failed, but for the server's own defect."""
    messages = {name: str(r["message"]) for name, r in dbt.results.items() if r["status"] != "success"}
    return {name: message for name, message in messages.items() if SERVER_DEFECT not in message}


def play(dbt: Any, kinds: tuple[str, ...] | None, code: str = "code", file_format: str = "parquet") -> None:
    """Three runs of one project: healthy, broken, and, where all of them are played, healthy again. Every broken model
    fails with the code that its case names; its relation keeps its rows and its columns; no healthy one is stopped.

    `kinds` are the materializations of each case; without them the quick cases are played. `code` names what of a case
    its message must hold: its finding, or what Spark says under ANSI.
    """
    models = list(list_played(kinds))
    files = {f"models/{name}.sql": model(kind, case, file_format) for name, kind, case in models}
    yml = {"models": [properties(name, case) for name, _, case in models]}
    shutil.rmtree(dbt.root / "models", ignore_errors=True)
    dbt.write({**files, "models/parents.sql": "select 1 as id", "models/all.yml": yaml.safe_dump(yml)})

    def run(bad: bool, n: int) -> Any:
        anew = [] if n else ["--full-refresh"]  # Tests of one project share its tables.
        return dbt.run("run", *anew, "--vars", json.dumps({"bad": bad, "n": n}))

    run(False, 0)
    assert list_failed(dbt) == {}, list_failed(dbt)
    before = {name: dbt.state(name) for name, _, _ in models}
    assert not run(True, 1).success
    passed = [name for name, _, _ in models if dbt.statuses[name] != "error"]
    assert passed == [], passed
    messages = list_failed(dbt)
    wanted = {name: case.get(code, case["code"]) for name, _, case in models}
    assert [name for name, message in messages.items() if wanted[name] not in message] == [], messages
    assert [name for name in messages if "internal error" in messages[name]] == [], messages
    harmed = [name for name, state in before.items() if dbt.state(name) != state]
    assert harmed == [], harmed
    if kinds:
        run(False, 2)
        assert list_failed(dbt) == {}, list_failed(dbt)
