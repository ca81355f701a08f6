"""A project's folder holds modules under the names of libraries: opening it, or asking about it, runs none of them."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from planproof.interpreter import python_command, python_environment

NAMES = ("dbt", "click", "yaml", "planproof", "dbt_planproof", "json", "agate", "jinja2", "importlib", "site")


@pytest.fixture
def trap(example_project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The example's project with such modules; importing one of them writes `sprung`."""
    sprung = example_project / "sprung"
    for name in NAMES:
        (example_project / name).mkdir(exist_ok=True)
        (example_project / name / "__init__.py").write_text(
            f"import sys; open({str(sprung)!r}, 'a').write(__name__ + str(sys.argv) + ' ')\n"
        )
    monkeypatch.chdir(example_project)
    # An empty part of it is the folder in which a Python starts.
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["", ".", os.environ.get("PYTHONPATH", "")]))
    return sprung


def test_a_save_in_the_editor_runs_no_module_of_the_project(trap: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("dbt.cli.main")
    from planproof.lsp import compiling
    from planproof.project.location import ProjectLocation

    monkeypatch.setenv("JAVA_HOME", str(trap / "no-java"))
    monkeypatch.setenv("PLANPROOF_DEMO_HOME", str(trap.parent))
    file = "models/marts/customer_activity.sql"
    nodes = asyncio.run(compiling.compiled(ProjectLocation(trap.parent), [file]))
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
