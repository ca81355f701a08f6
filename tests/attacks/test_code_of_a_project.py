"""A project's folder holds modules under the names of libraries: opening it, or asking about it, runs none of them."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from planproof.arrow.isolated import _Reader, run_isolated
from planproof.interpreter import python_command, python_environment

ROOT = Path(__file__).parents[2]
NAMES = (
    *("dbt", "click", "yaml", "planproof", "dbt_planproof", "planproof_engine", "json", "agate", "jinja2", "importlib"),
    *("site", "sitecustomize", "usercustomize", "conftest", "pickle", "pyarrow", "rich", "_distutils_hack"),
)
PROGRAMS = ("dbt", "git", "python", "python3", "java", "sh", "bash", "env", "gh", "uname", "ldconfig")
"""What a shell would find where $PATH has the project's folder."""


@pytest.fixture
def trap(example_project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The example's project with such modules; importing one of them writes `sprung`."""
    sprung = example_project / "sprung"
    for name in NAMES:
        (example_project / name).mkdir(exist_ok=True)
        (example_project / name / "__init__.py").write_text(
            f"import sys; open({str(sprung)!r}, 'a').write(__name__ + str(sys.argv) + ' ')\n"
        )
    for name in PROGRAMS:
        (example_project / "bin").mkdir(exist_ok=True)
        for at in (example_project / name, example_project / "bin" / name):
            if at.is_dir():
                continue
            at.write_text(f"#!/bin/sh\necho {name} >> {sprung}\n")
            at.chmod(0o755)
    (example_project / ".env").write_text(f"PYTHONPATH={example_project}\nPYTHONSTARTUP={example_project}/json/x.py\n")
    (example_project / "derby.properties").write_text(f"derby.stream.error.file={sprung}\n")
    monkeypatch.chdir(example_project)
    # An empty part of it is the folder in which a Python starts.
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["", ".", os.environ.get("PYTHONPATH", "")]))
    return sprung


def test_files_of_others_are_read_without_the_project_s_modules(trap: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planproof.arrow.isolated._reader", _Reader())
    assert run_isolated(divmod, 7, 2) == (3, 1)
    assert not trap.exists(), trap.read_text()


@pytest.mark.parametrize("command", [["check", "--format", "html", "-o", "x.html"]])
def test_a_command_runs_no_module_of_the_project(
    command: list[str], trap: Path, monkeypatch: pytest.MonkeyPatch, dbt_manifest: Any
) -> None:
    monkeypatch.delenv("PYTHONPATH")
    monkeypatch.setenv("PLANPROOF_CACHE_DIR", str(trap.parent / "cache"))
    _offline(trap.parent, dbt_manifest)
    ended = subprocess.run(
        [Path(sys.executable).parent / "planproof", *command],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert not trap.exists(), trap.read_text()


def test_the_action_runs_no_program_of_the_project(
    trap: Path, monkeypatch: pytest.MonkeyPatch, dbt_manifest: Any, tmp_path: Path
) -> None:
    """Its inputs are words of the workflow; its folder is the pull request's."""
    monkeypatch.delenv("PYTHONPATH")
    _offline(trap.parent, dbt_manifest)
    steps = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]
    inputs = {"PROJECT_DIR": ".", "SELECT": "$(touch sprung) `touch sprung` ;touch", "STATE": "", "FAIL_ON": "never"}
    given = {**inputs, "SARIF": "planproof.sarif", "MARKDOWN": str(tmp_path / "comment.md"), "GITHUB_ACTION_PATH": "."}
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    for step in steps[:2]:
        subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            env={**os.environ, **given, "PATH": path},
            capture_output=True,
            timeout=120,
            check=False,
        )
    assert not trap.exists(), trap.read_text()
    assert "${{" not in "".join(step["run"] for step in steps)


def _offline(home: Path, dbt_manifest: Any) -> None:
    (home / "target").mkdir(exist_ok=True)
    manifest = dbt_manifest({"orders": {"sql": "select 1 as id", "columns": {"id": "int"}, "contract": True}})
    (home / "target" / "manifest.json").write_text(json.dumps(manifest))


def test_a_save_in_the_editor_runs_no_module_of_the_project(trap: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("dbt.cli.main")
    from planproof.lsp import workspace
    from planproof.project.location import ProjectLocation

    monkeypatch.setenv("JAVA_HOME", str(trap / "no-java"))
    monkeypatch.setenv("PLANPROOF_DEMO_HOME", str(trap.parent))
    file = "models/marts/customer_activity.sql"
    nodes = asyncio.run(workspace.compile_files(ProjectLocation(trap.parent), [file]))
    assert [node["original_file_path"] for node in nodes.values()] == [file]
    assert not trap.exists(), trap.read_text()


@pytest.mark.parametrize("module", ["planproof.piped", "dbt_planproof"])
def test_another_interpreter_imports_nothing_from_where_it_starts(module: str, trap: Path) -> None:
    ended = subprocess.run(
        python_command(sys.executable, module),
        env=python_environment(os.environ),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert not trap.exists(), trap.read_text()


def test_what_a_function_returns_is_the_exit_code(trap: Path) -> None:
    command = python_command(sys.executable, "planproof.piped", "main")
    request = json.dumps({"request": {"nonsense": 1}})
    ended = subprocess.run(
        command, env=python_environment(os.environ), input=request, capture_output=True, text=True, timeout=60
    )
    assert ended.returncode == 2
    assert json.loads(ended.stdout)["end"] in ("failed", "cannot run")
    assert not trap.exists(), trap.read_text()
