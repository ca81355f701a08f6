"""The command line without Spark: what it says, and with which exit code."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from planproof.cli.group import cli
from planproof.codes import CODES


@pytest.fixture
def invoke():
    return lambda *args, **more: CliRunner().invoke(cli, [str(arg) for arg in args], **more)


@pytest.fixture
def project(tmp_path, dbt_manifest):
    """Writes a manifest into a project directory and returns the directory."""

    def write(*args, **kwargs):
        (tmp_path / "dbt_project.yml").write_text("name: shop\nprofile: shop\n")
        (tmp_path / "target").mkdir(exist_ok=True)
        (tmp_path / "target" / "manifest.json").write_text(json.dumps(dbt_manifest(*args, **kwargs)))
        return tmp_path

    return write


def test_every_command_explains_itself(invoke):
    assert invoke("--help").exit_code == 0
    for name, command in cli.commands.items():
        found = invoke(name, "--help")
        assert found.exit_code == 0
        assert command.help.splitlines()[0].split(":")[0][:40] in found.output


def test_version(invoke):
    assert invoke("--version").output.startswith("planproof, version ")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["nonsense"], "No such command 'nonsense'"),
        (["check", "--bogus"], "No such option"),
        (["check", "--fail-on", "always"], "'always' is not one of 'violated', 'unproved', 'warning', 'never'"),
        (["check", "--conf", "ansi"], "'ansi' is not key=value"),
        (["check", "--project-dir", "/no/such/place"], "there is no such directory"),
        (["check", "--manifest", "/no/such/manifest.json"], "there is no manifest; run `dbt compile`"),
        (["run", "--vars", "{"], "--vars: is no YAML"),
        (["run", "--vars", "[a]"], "is not a mapping such as"),
        (["run", "--manifest", "m.json", "--full-refresh"], "do not go with --manifest"),
        (["audit", "--contract", "c.yml"], "NAMES of the tables or paths"),
        (["audit", "shop.x", "--contract", "/no/such.yml"], "there is no such file"),
        (["derive", "/no/such.jsonl"], "No such file"),
        (["explain", "PP000"], "there is no code PP000; known: PP101"),
    ],
)
def test_what_cannot_run_ends_with_2_and_says_why(invoke, args, said):
    found = invoke(*args)
    assert found.exit_code == 2
    assert said in found.stderr
    assert "Traceback" not in found.output


def test_a_project_that_is_not_compiled(invoke, project):
    found = invoke("check", "--project-dir", project({"a": {}}))
    assert found.exit_code == 2
    assert "not compiled: model.shop.a; run `dbt compile`" in found.stderr


def test_a_selection_of_nothing_is_no_pass(invoke, project):
    found = invoke("check", "--project-dir", project({"mart": {"sql": "select 1"}}), "-s", "marts")
    assert found.exit_code == 2
    assert "--select marts selects no model; did you mean 'mart'?" in found.stderr


def test_run_refuses_by_name_before_spark_starts(invoke, project):
    directory = project({"inc": {"sql": "select 1", "config": {"materialized": "incremental"}}})
    found = invoke("run", "--project-dir", directory, "--manifest", directory / "target" / "manifest.json")
    assert found.exit_code == 2
    assert "nothing was run" in found.stderr
    assert "inc: incremental: its compiled SQL is good only for" in found.stderr


def test_audit_needs_a_contract(invoke, project):
    found = invoke("audit", "--project-dir", project({"mart": {"sql": "select 1"}}), "mart")
    assert found.exit_code == 2
    assert "mart: no enforced contract in the project" in found.stderr


def test_an_error_of_ours_is_named_so(invoke, monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("planproof.project.place.read_project", broken)
    monkeypatch.delenv("PLANPROOF_DEBUG", raising=False)
    found = invoke("check")
    assert found.exit_code == 2
    assert "internal error in planproof: ZeroDivisionError: oops; set PLANPROOF_DEBUG=1" in found.stderr
    monkeypatch.setenv("PLANPROOF_DEBUG", "1")
    assert "Traceback" in invoke("check").stderr


@pytest.mark.parametrize("code", sorted(CODES))
def test_every_code_is_explained(invoke, code):
    found = invoke("explain", code.lower())
    assert found.exit_code == 0
    assert CODES[code].next_step in found.output
    assert json.loads(invoke("explain", code, "--json").output)["meaning"] == CODES[code].meaning


def test_python_dash_m(tmp_path):
    found = subprocess.run(
        [sys.executable, "-m", "planproof", "explain", "PP505"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=60,
    )
    assert found.returncode == 0
    assert found.stdout.startswith("PP505  NOT NULL broken")
    broken = subprocess.run(
        [sys.executable, "-m", "planproof", "check"], capture_output=True, text=True, cwd=tmp_path, timeout=60
    )
    assert broken.returncode == 2
    assert "run `dbt compile`" in broken.stderr


def test_the_command_line_loads_neither_spark_nor_dbt():
    script = (
        "import sys, planproof.cli.group\n"
        "print([m for m in ('pyspark', 'pyarrow', 'dbt', 'airflow', 'sqlglot') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert found.stdout.strip() == "[]"
