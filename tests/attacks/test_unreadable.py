"""What one model, source or seed declares and nobody can read is that one's matter: the others are judged."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from planproof.project.audit import audit_all, select_promises
from planproof.project.check import check_project
from planproof.project.contracts import read_contract
from planproof.project.diff import compare_projects
from planproof.project.manifest import read_project
from planproof.project.reads import ProjectError
from planproof.report.model import Report, Verdict

DEEP = "array<" * 300 + "int" + ">" * 300
DIGITS = "9" * 6000
COLUMN = {"a": "int"}
UNREADABLE: dict[str, dict[str, Any]] = {
    "a type of many levels": {"columns": {"a": DEEP}},
    "a type of JSON": {"columns": {"a": '{"type": "array", "elementType": ' * 300 + '"int"' + "}" * 300}},
    "a length of many digits": {"columns": {"a": f"varchar({DIGITS})"}},
    "no type of Spark's": {"columns": {"a": "bigant"}},
    "a constraint on no column": {"columns": COLUMN, "constraints": [{"type": "unique", "columns": ["nope"]}]},
    "a check of nothing": {"columns": COLUMN, "constraints": [{"type": "check", "columns": ["a"]}]},
}


def by_name(reports: list[Report]) -> dict[str, Report]:
    return {report.model.rpartition(".")[2]: report for report in reports}


@pytest.fixture
def attacked(dbt_manifest: Any, request: pytest.FixtureRequest) -> dict[str, Any]:
    """A project one of whose models has a contract that is `request.param`."""
    models: dict[str, Any] = {
        "attack": {"sql": "select 1 as a", "columns": COLUMN, "contract": True},
        "child": {"sql": "select a from shop.attack", "parents": ["attack"]},
        "healthy": {"sql": "select 1 as id", "columns": {"id": "int"}, "contract": True},
    }
    manifest: dict[str, Any] = dbt_manifest(models)
    given = dict(UNREADABLE[request.param])
    columns = {name: {"name": name, "data_type": written} for name, written in given["columns"].items()}
    manifest["nodes"]["model.shop.attack"] |= given | {"columns": columns}
    return manifest


@pytest.mark.parametrize("attacked", UNREADABLE, indirect=True)
def test_a_contract_is_one_model_s_matter(attacked: dict[str, Any]) -> None:
    found = by_name(list(check_project(read_project(attacked))))
    attack = found["attack"]
    assert (attack.outcome, attack.verdict) == ("failed", Verdict.UNPROVED)
    assert [finding.code for finding in attack.findings] == ["PP509"]
    assert "model.shop.attack" in (attack.error or "")
    assert len(attack.error or "") < 1000
    assert found["child"].verdict is Verdict.UNPROVED
    assert "its contract cannot be read" in str(found["child"].to_json())
    assert (found["healthy"].outcome, found["healthy"].verdict) == ("checked", Verdict.PROVED)


@pytest.mark.parametrize("attacked", list(UNREADABLE)[:1], indirect=True)
def test_the_others_are_audited_and_compared(attacked: dict[str, Any]) -> None:
    project = read_project(attacked)
    asked = by_name(audit_all(None, select_promises(project)))  # type: ignore[arg-type]
    assert asked["attack"].outcome == asked["healthy"].outcome == "failed", "there is no Spark"
    assert "levels" in (asked["attack"].error or "")
    assert "levels" not in (asked["healthy"].error or "")
    assert compare_projects(project, project).unread


@pytest.mark.parametrize("written", [DEEP, f"decimal({DIGITS}, 2)", "STRUCT", "variant(3)"])
def test_a_declared_type_is_the_matter_of_who_reads_it(written: str, dbt_manifest: Any) -> None:
    models = {
        "reader": {"sql": "select a from raw.t join shop.s using (a)", "parents": ["raw.t", "s"]},
        "healthy": {"sql": "select 1 as id"},
    }
    seeds = {"s": {"config": {"column_types": {"a": written}}, "columns": {"a": {"name": "a", "data_type": written}}}}
    found = by_name(list(check_project(read_project(dbt_manifest(models, {"raw.t": {"a": written}}, seeds)))))
    assert found["healthy"].verdict is Verdict.PROVED
    assert found["reader"].verdict is Verdict.UNPROVED
    assert "models/sources.yml): column 'a': " in found["reader"].findings[0].message


def test_a_type_that_spark_has_not_is_one_model_s_matter(dbt_manifest: Any) -> None:
    """The format makes a decimal of so many digits, which no reader of the model could be told."""
    models = {
        "attack": {"sql": f"select to_number('1', '{'9' * 39}') as a"},
        "reader": {"sql": "select a from shop.attack", "parents": ["attack"]},
        "healthy": {"sql": "select 1 as id"},
    }
    found = by_name(list(check_project(read_project(dbt_manifest(models)))))
    assert found["attack"].findings[0].found == "DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION"
    assert found["healthy"].verdict is Verdict.PROVED


@pytest.mark.parametrize("kind", [[], {}, [["check"]], None, "", 5])
def test_a_constraint_of_yaml_is_of_a_kind_that_may_be_anything(kind: Any, dbt_manifest: Any, tmp_path: Path) -> None:
    """The manifest was compiled before; the file is looked at to say where a promise stands."""
    (tmp_path / "models").mkdir()
    entry = {
        "name": "attack",
        "constraints": [{"type": kind}],
        "columns": [{"name": "a", "constraints": [{"type": kind}]}],
    }
    (tmp_path / "models" / "m.yml").write_text(json.dumps({"models": [entry]}))
    columns = {"a": {"data_type": "int", "constraints": [{"type": "not_null"}]}}
    given = {"columns": columns, "contract": True, "patch_path": "shop://models/m.yml"}
    manifest = dbt_manifest({"attack": {"sql": "select cast(null as int) as a", **given}})
    manifest["nodes"]["model.shop.attack"]["constraints"] = [{"type": "unique", "columns": ["a"]}]
    project = replace(read_project(manifest), directory=tmp_path)
    assert [report.outcome for report in check_project(project)] == ["checked"]


@pytest.mark.parametrize("given", [{"columns": [[]]}, {"columns": 5}, {"columns": ["a"], "name": []}])
def test_a_contract_of_a_file_names_what_it_cannot_read(given: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "contract.json"
    file.write_text(
        json.dumps({"columns": [{"name": "a", "type": "int"}], "constraints": [{"type": "unique", **given}]})
    )
    with pytest.raises(ProjectError, match="constraint 'unique'"):
        read_contract(file)


def of_names(count: int, sql: Callable[[int], str]) -> dict[str, Any]:
    return {f"m{i}": {"sql": sql(i)} for i in range(count)}


UNDECLARED = {
    "a chain": of_names(1500, lambda i: f"select * from shop.m{i + 1}" if i < 1499 else "select 1 as a"),
    "one of all": of_names(
        400,
        lambda i: "select 1 as a" if i else " union all ".join(f"select a from shop.m{j}" for j in range(1, 400)),
    ),
    "names that are computed": of_names(
        60,
        lambda i: "select 1 as a" if i else "".join(
            f"select a from identifier('shop.' || 'm{j}') union all " for j in range(1, 60)
        ) + "select 1",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", UNDECLARED)
def test_models_that_no_manifest_lists_as_read_are_judged_once(name: str, dbt_manifest: Any) -> None:
    """A chain ended the check of all; a model was judged anew for each name, and each time took longer."""
    project = read_project(dbt_manifest(UNDECLARED[name]))
    began = time.process_time()
    found = list(check_project(project))
    assert time.process_time() - began < 5
    assert len(found) == len(UNDECLARED[name])
    assert {report.verdict for report in found} <= {Verdict.PROVED, Verdict.UNPROVED}
    assert "internal error" not in str([report.error for report in found])


ASKED = """
from planproof.project.check import check_project
from planproof.project.diff import compare_projects
from planproof.project.manifest import read_project
project = read_project("manifest.json")
print(len(check_project(project)), len(compare_projects(project, project).unread))
"""


@pytest.mark.parametrize("last", ["select * from shop.m0", "select 1 as a"], ids=["a circle", "a chain"])
def test_each_model_has_a_report_however_deep_it_is_read(last: str, dbt_manifest: Any, tmp_path: Path) -> None:
    """Models of a circle had none: a violated one among them would have passed. In a process of its own, as Python's
    limit of calls is another one in a test."""
    models = of_names(100, lambda i: f"select * from shop.m{i + 1}" if i < 99 else last)
    (tmp_path / "manifest.json").write_text(json.dumps(dbt_manifest(models)))
    said = subprocess.run([sys.executable, "-c", ASKED], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert said.stdout.split() == ["100", "100" if "m0" in last else "0"], said.stderr


def test_a_number_of_many_digits_is_one_model_s_matter(dbt_manifest: Any, tmp_path: Path) -> None:
    """Python reads no such number, and a manifest is one file."""
    manifest = dbt_manifest({"attack": {"sql": "select 1 as a"}, "healthy": {"sql": "select 1 as id"}})
    manifest["nodes"]["model.shop.attack"]["config"]["buckets"] = 77777
    (tmp_path / "manifest.json").write_text(json.dumps(manifest).replace("77777", DIGITS))
    found = by_name(list(check_project(read_project(tmp_path / "manifest.json"))))
    assert found["healthy"].verdict is Verdict.PROVED


def test_an_error_of_our_own_over_a_source_is_its_readers_matter(
    dbt_manifest: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*given: Any) -> None:
        raise ZeroDivisionError("nobody thought of it")

    monkeypatch.setattr("planproof.project.sources.schema_of_source", fail)
    models = {"reader": {"sql": "select a from raw.t", "parents": ["raw.t"]}, "healthy": {"sql": "select 1 as id"}}
    found = by_name(list(check_project(read_project(dbt_manifest(models, {"raw.t": {"a": "int"}})))))
    assert found["healthy"].verdict is Verdict.PROVED
    assert "the source raw.t: internal error in planproof: ZeroDivisionError" in str(found["reader"].findings)


@pytest.mark.parametrize("names", [True, 5, float("nan"), {"a": "b"}])
def test_grants_to_nobody_are_named(names: Any, dbt_manifest: Any) -> None:
    """Before anything is run, and not as an error of planproof's own."""
    manifest = dbt_manifest({"m": {"sql": "select 1 as a", "config": {"grants": {"select": names}}}})
    with pytest.raises(ProjectError, match=r"grants: `select`"):
        read_project(manifest)
