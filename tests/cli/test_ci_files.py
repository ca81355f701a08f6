"""The pre-commit hook, the GitHub Action and the GitLab job: their commands are run as a runner would run them.

What the runners do themselves (checkout, environments, uploads) is not run here.
"""

from __future__ import annotations

import json
import os
import re
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


# GitHub's API as far as the action asks it. Its own language of filters is not at hand: what it is to say is compared.
GH = """#!{0}
import json, os, sys
file = os.environ["COMMENTS"]
comments = json.load(open(file))
command, *words = sys.argv[1:]
assert command == "api"
if "--jq" in words:
    assert words[:2] == ["--paginate", "repos/a/b/issues/3/comments"], words
    own, mark = "github-actions[bot]", "<!-- planproof check -->"
    wanted = '.[] | select(.user.login == "%s" and (.body | startswith("%s"))) | .id' % (own, mark)
    assert words[words.index("--jq") + 1] == wanted
    for one in comments:
        if one["user"]["login"] == own and one["body"].startswith(mark):
            print(one["id"])
else:
    method, address, field = words[words.index("--method") + 1], words[3], words[words.index("--field") + 1]
    body = open(field.removeprefix("body=@")).read()
    if method == "POST":
        assert address == "repos/a/b/issues/3/comments"
        comments.append({{"id": 8, "user": {{"login": "github-actions[bot]"}}, "body": body}})
    else:
        assert (method, address) == ("PATCH", "repos/a/b/issues/comments/8")
        [one] = [one for one in comments if one["id"] == 8]
        one["body"] = body
    json.dump(comments, open(file, "w"))
"""


def bash(script: str, cwd: Path, **more: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", **more}
    return subprocess.run(["bash", "-e", "-c", script], cwd=cwd, env=env, capture_output=True, text=True, timeout=120)


def test_the_github_action(broken):
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    install, check, comment = action["runs"]["steps"]
    assert "${{" not in install["run"] + check["run"] + comment["run"], "an input would become a command"
    assert bash(install["run"], broken).returncode == 0
    defaults = {name: given["default"] for name, given in action["inputs"].items()}
    given = {key: defaults[key.lower().replace("_", "-")] for key in check["env"] if key != "MARKDOWN"}
    given["MARKDOWN"] = str(broken / "comment.md")
    found = bash(check["run"], broken, **given)
    assert found.returncode == 1, found.stderr
    assert "::error title=PP504 shop.mart,file=models/mart.sql" in found.stdout
    assert json.loads((broken / "planproof.sarif").read_text())["runs"][0]["results"][0]["ruleId"] == "PP504"
    comments = [{"id": 7, "user": {"login": "somebody"}, "body": "<!-- planproof check -->\nmine"}]
    (broken / "comments.json").write_text(json.dumps(comments))
    (broken / "gh").write_text(GH.format(sys.executable))
    (broken / "gh").chmod(0o755)
    where = {
        "REPOSITORY": "a/b",
        "NUMBER": "3",
        "MARKDOWN": given["MARKDOWN"],
        "COMMENTS": str(broken / "comments.json"),
    }
    on_path = {**where, "PATH": f"{broken}:{os.environ['PATH']}"}

    def told() -> list[str]:
        done = bash(comment["run"], broken, **on_path)
        assert done.returncode == 0, done.stderr
        return [form["body"] for form in json.loads((broken / "comments.json").read_text())]

    assert [said.count("shop.mart breaks its promise") for said in told()] == [0, 1]
    found = bash(check["run"], broken, **{**given, "SELECT": "fine"})
    assert (found.returncode, "::error" in found.stdout) == (0, False)
    others, own = told()
    assert (others, "shop.mart" in own, own.startswith("<!-- planproof check -->\n**planproof:** 1 model")) == (
        comments[0]["body"],
        False,
        True,
    )
    Path(given["MARKDOWN"]).unlink()
    assert told() == [others, own], "a check that could not run says nothing new"
    options = bash(check["run"], broken, **{**given, "SELECT": "mart --fail-on never"})
    assert options.returncode == 2, "a text of the input became an option"
    hostile = bash(check["run"], broken, **{**given, "SELECT": "$(touch hacked) ; touch hacked"})
    assert hostile.returncode == 2
    assert not (broken / "hacked").exists()


def test_the_gitlab_job(broken):
    job = yaml.safe_load((ROOT / "docs/ci/planproof-check.gitlab-ci.yml").read_text())["planproof check"]
    found = bash("\n".join(job["script"]), broken, **job["variables"])
    assert found.returncode == 1, found.stderr
    assert "<failure" in (broken / job["artifacts"]["reports"]["junit"]).read_text()


@pytest.mark.parametrize("recipe", ["github-actions.yml", "gitlab-ci.yml"])
def test_a_recipe_that_builds_installs_what_the_guard_imports(recipe: str) -> None:
    text = (ROOT / "docs/ci" / recipe).read_text()
    assert "dbt build" in text
    project = (ROOT / "pyproject.toml").read_text()
    extras = dict(re.findall(r"(?m)^([a-z]+) = (\[.*\])$", project))
    assert "pyarrow" in extras["spark"]
    asked = re.findall(r'pip install "\./planproof\[(.*?)\]"', text)
    assert asked
    assert all("spark" in each.split(",") or "planproof[spark]" in extras[each] for each in asked)


@pytest.mark.parametrize("file", ["action.yml", "docs/ci/github-actions.yml"])
def test_an_action_of_others_is_named_by_its_digest(file: str) -> None:
    """A tag can be moved to other code."""
    asked = re.findall(r"uses: *(\S+)", (ROOT / file).read_text())
    assert [name for name in asked if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", name)] == []


def test_the_page_shows_the_action_and_the_hook_as_they_are_used() -> None:
    page = (ROOT / "docs/pull-requests.md").read_text()
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    used = [yaml.safe_load(text) for text in re.findall(r"(?s)```yaml\n(.*?)```", page)]
    steps = [step for found in used if isinstance(found, list) for step in found]
    (action,) = (step for step in steps if "uses" in step)
    inputs = yaml.safe_load((ROOT / "action.yml").read_text())["inputs"]
    assert action["uses"] == "./planproof"
    assert action["with"].keys() <= inputs.keys()
    assert [h["id"] for step in steps if "repo" in step for h in step["hooks"]] == [hook["id"]]


def test_the_pre_commit_hook(broken):
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    found = bash(shlex.join(shlex.split(hook["entry"])), broken)
    assert found.returncode == 1
    assert "PP504" in found.stdout


def test_the_action_installs_what_the_lock_says_with_hashes() -> None:
    """`make action` writes the file."""
    text = (ROOT / ".ci" / "action.txt").read_text()
    blocks = re.findall(r"(?m)^([a-z0-9-]+)==(\S+).*\n((?:    .*\n)+)", text)
    assert len(blocks) == len(re.findall(r"(?m)^[a-z]", text)) > 5
    assert all("--hash=sha256:" in hashes for _, _, hashes in blocks)
    lock = (ROOT / "uv.lock").read_text()
    assert [f'name = "{name}"\nversion = "{version}"\n' in lock for name, version, _ in blocks] == [True] * len(blocks)
    declared = re.search(r"(?ms)^dependencies = \[(.*?)^\]", (ROOT / "pyproject.toml").read_text())
    assert declared is not None
    wanted = {*re.findall(r'"([a-z0-9.-]+)[><=]', declared[1].replace("ruamel.yaml", "ruamel-yaml")), "hatchling"}
    assert wanted <= {name for name, _, _ in blocks}
