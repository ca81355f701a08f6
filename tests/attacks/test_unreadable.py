"""What one model, source or seed declares and nobody can read is that one's matter: the others are judged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planproof.project.audit import audit_all, select_promises
from planproof.project.check import check_project
from planproof.project.diff import compare_projects
from planproof.project.errors import ProjectError
from planproof.project.manifest import read_project
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

    monkeypatch.setattr("planproof.project.offline.schema_of_source", fail)
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
