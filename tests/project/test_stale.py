"""Files that changed since dbt compiled them: `infer` and `explain` say so as `check` does."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from planproof.cli.group import cli
from planproof.report.run import RunReport

OLD = "select sum(amount) as total from shop.orders"
NEW = "select cast(sum(amount) as decimal(12, 2)) as revenue from shop.orders"
CHILD = "select total from {{ ref('totals') }}"
COMPILED = 1_700_000_000
SCHEMA = "models:\n  - name: totals\n    columns: [{name: total, data_type: double}]\n"


@pytest.fixture
def project(tmp_path: Path, dbt_manifest: Any) -> Path:
    """`totals` and `child`, which reads it, as dbt compiled them; no YAML describes them."""
    models = {
        "totals": {"sql": OLD, "raw_code": OLD, "parents": ["shop.orders"]},
        "child": {"sql": "select total from shop.totals", "raw_code": CHILD, "parents": ["totals"]},
    }
    manifest = dbt_manifest(models, sources={"shop.orders": {"amount": "double"}})
    manifest["metadata"]["generated_at"] = "2023-11-14T22:13:20Z"
    for folder in ("target", "models"):
        (tmp_path / folder).mkdir()
    (tmp_path / "dbt_project.yml").write_text("name: shop\nprofile: shop\n")
    (tmp_path / "target/manifest.json").write_text(json.dumps(manifest))
    (tmp_path / "models/totals.sql").write_text(OLD)
    (tmp_path / "models/child.sql").write_text(CHILD)
    return tmp_path


def write(file: Path, text: str, *, later: int) -> None:
    file.write_text(text)
    os.utime(file, (COMPILED + later, COMPILED + later))


def call(where: Path, *args: str) -> Any:
    return CliRunner().invoke(cli, [*args, "--project-dir", str(where)])


def changed(where: Path) -> dict[str, str]:
    """What `check` says of each model's files."""
    reports = RunReport.from_json(call(where, "check", "--json").stdout).reports
    found = {r.details.name: [f.message for f in r.findings if f.code == "PP112"] for r in reports}
    return {name: messages[0] for name, messages in found.items() if messages}


def test_infer_leaves_out_a_model_whose_file_changed_and_those_that_read_it(project: Path) -> None:
    (project / "models/totals.sql").write_text(NEW)
    done = call(project, "infer")
    assert done.exit_code == 0
    assert "left out totals: models/totals.sql changed since dbt compiled it; run `dbt compile`\n" in done.output
    assert "left out child: it reads shop.totals: models/totals.sql changed since dbt compiled it" in done.output
    assert done.output.endswith("nothing to write\n")
    assert not list((project / "models").glob("*.yml"))


def test_infer_needs_no_compile_after_a_change_of_yaml_alone(project: Path) -> None:
    """It writes YAML itself: a second call goes on where the first one stopped."""
    assert "wrote" in call(project, "infer", "--select", "totals").output
    done = call(project, "infer", "--select", "child")
    assert "child: total double" in done.output
    assert done.output.endswith("next: `dbt compile`, then `planproof check`\n")


def test_explain_begins_with_what_changed(project: Path) -> None:
    assert call(project, "explain", "child").output.startswith("shop.child (models/child.sql)\n")
    (project / "models/totals.sql").write_text(NEW)
    said = "models/totals.sql changed since dbt compiled it; run `dbt compile`. This is what it compiled:\n"
    assert call(project, "explain", "totals").output.startswith(said)
    assert call(project, "explain", "child").output.startswith(f"it reads shop.totals: {said}")
    assert json.loads(call(project, "explain", "totals", "--json").output)["changed"] == "models/totals.sql changed"
    query = call(project, "explain", "totals", "--sql")
    assert (said in query.stderr, query.stdout[:6].lower()) == (True, "select")


def test_line_ends_and_a_manifest_without_templates_are_no_change(project: Path) -> None:
    (project / "models/totals.sql").write_bytes(OLD.replace(" from", "\r\nfrom").encode())
    file = project / "target/manifest.json"
    manifest = json.loads(file.read_text())
    for node, text in {"totals": OLD.replace(" from", "\nfrom"), "child": ""}.items():
        manifest["nodes"][f"model.shop.{node}"]["raw_code"] = text
    file.write_text(json.dumps(manifest))
    assert changed(project) == {}
    assert "left out" not in call(project, "infer", "--dry-run").output
    assert call(project, "explain", "totals").output.startswith("shop.totals (")


def test_check_sees_a_contract_that_the_compile_does_not_know(project: Path) -> None:
    """`infer` describes models that no YAML did: all of them are as old as the one that had a description."""
    assert changed(project) == {}
    write(project / "models/_models.yml", SCHEMA, later=-60)
    assert changed(project) == {}, "dbt read it, and described no such model by it"
    write(project / "models/_models.yml", SCHEMA, later=60)
    said = "models/_models.yml changed (column `total`) since dbt compiled it"
    assert changed(project) == {"totals": said, "child": f"it reads shop.totals: {said}"}
    write(project / "models/_models.yml", "models: [{name: totals, description: Money}]\n", later=60)
    assert changed(project) == {}
    write(project / "models/_models.yml", SCHEMA, later=60)
    (project / ".dbtignore").write_text("*.yml\n")
    assert changed(project) == {}


def test_what_was_violated_before_a_change_asks_for_a_compile_alone(project: Path) -> None:
    file = project / "target/manifest.json"
    manifest = json.loads(file.read_text())
    node = manifest["nodes"]["model.shop.totals"]
    node["config"]["contract"] = node["contract"] = {"enforced": True}
    node["columns"] = {"total": {"name": "total", "data_type": "int", "constraints": []}}
    file.write_text(json.dumps(manifest))
    assert "Cast the column" in call(project, "check").output
    (project / "models/totals.sql").write_text(NEW)
    said = call(project, "check").output
    assert "as compiled before the change: total: promised int" in said
    assert "next (PP112, PP504): Run `dbt compile`" in " ".join(said.split())
    assert "Cast the column" not in said


def test_a_check_is_not_told_again_once_a_folder_has_another_file(project: Path) -> None:
    def verdicts() -> str:
        return call(project, "check").output

    assert "PP112" not in verdicts()
    write(project / "models/new.yaml", SCHEMA, later=60)
    assert "PP112" in verdicts()
    (project / "models/new.yaml").unlink()
    assert "PP112" not in verdicts()
