"""The pre-commit hook, the GitHub Action and the GitLab job: their commands are run as a runner would run them.

What the runners do themselves (checkout, environments, uploads) is not run here.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]


@pytest.fixture
def broken(tmp_path, dbt_manifest):
    promised = {"id": {"name": "id", "data_type": "string"}}
    models = {
        "mart": {"sql": "select 1 as id", "columns": promised, "contract": True},
        "fine": {"sql": "select 1 as a"},
    }
    (tmp_path / "dbt_project.yml").write_text("name: shop\nprofile: shop\n")
    (tmp_path / "target").mkdir()
    (tmp_path / "target/manifest.json").write_text(json.dumps(dbt_manifest(models)))
    return tmp_path


def bash(script: str, cwd: Path, **more: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", **more}
    return subprocess.run(["bash", "-e", "-c", script], cwd=cwd, env=env, capture_output=True, text=True, timeout=120)


def test_the_github_action(broken):
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    install, check = action["runs"]["steps"]
    assert "${{" not in install["run"] + check["run"], "an input would become a command"
    assert bash(install["run"], broken).returncode == 0
    defaults = {name: given["default"] for name, given in action["inputs"].items()}
    given = {key: defaults[key.lower().replace("_", "-")] for key in check["env"]}
    found = bash(check["run"], broken, **given)
    assert found.returncode == 1, found.stderr
    assert "::error title=PP504 shop.mart,file=models/mart.sql" in found.stdout
    assert json.loads((broken / "planproof.sarif").read_text())["runs"][0]["results"][0]["ruleId"] == "PP504"
    found = bash(check["run"], broken, **{**given, "SELECT": "fine"})
    assert (found.returncode, "::error" in found.stdout) == (0, False)
    hostile = bash(check["run"], broken, **{**given, "SELECT": "$(touch hacked) ; touch hacked"})
    assert hostile.returncode == 2
    assert not (broken / "hacked").exists()


def test_the_gitlab_job(broken):
    job = yaml.safe_load((ROOT / "docs/ci/planproof-check.gitlab-ci.yml").read_text())["planproof check"]
    found = bash("\n".join(job["script"]), broken, **job["variables"])
    assert found.returncode == 1, found.stderr
    assert "<failure" in (broken / job["artifacts"]["reports"]["junit"]).read_text()


def test_the_pre_commit_hook(broken):
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    found = bash(shlex.join(shlex.split(hook["entry"])), broken)
    assert found.returncode == 1
    assert "PP504" in found.stdout
