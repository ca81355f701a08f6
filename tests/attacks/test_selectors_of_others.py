"""A default selector of others has dbt select, and read the project's files itself: none that lies elsewhere is read or
walked through, and none takes for ever."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from planproof.cli.group import cli
from planproof_engine.budget import bounded

pytest.importorskip("dbt.graph.selector")

SECRET = "[default]\naws_access_key_id = AKIAHUNTER2\naws_secret_access_key = hunter2hunter2\n"
MERGED = "a: &a {k: 1}\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} {{<<: [{', '.join(['*' + chr(97 + i)] * 9)}]}}\n" for i in range(9)
)
SECONDS = 15
"""Of the processor, for one command, dbt's import within."""
READ = ("dbt_project.yml", "packages.yml", "dependencies.yml", "profiles.yml", "selectors.yml")
OF_A_MANIFEST = ("macros", "docs", "exposures", "metrics", "groups", "disabled", "parent_map", "child_map", "group_map")
OF_A_MANIFEST += ("selectors", "saved_queries", "semantic_models", "unit_tests", "functions")


def default(definition: str) -> str:
    return f"selectors:\n- name: x\n  default: true\n  definition: {definition}\n"


@pytest.fixture
def home(tmp_path: Path, dbt_manifest: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose manifest dbt reads, with a default selector, in a checkout beside a file of secrets."""
    manifest = dbt_manifest(models={name: {"sql": "select 1 as id"} for name in ("healthy", "other")})
    for node in manifest["nodes"].values():
        node.update(path=f"{node['name']}.sql", checksum={"name": "sha256", "checksum": "x"}, database=None)
        node["depends_on"].setdefault("macros", [])
    home = tmp_path / "checkout" / "shop"
    (home / "target").mkdir(parents=True)
    (home / "models").mkdir()
    (home / "models" / "healthy.sql").write_text("select 1 as id")
    (home.parent / ".git").mkdir()
    (home / "target" / "manifest.json").write_text(json.dumps({key: {} for key in OF_A_MANIFEST} | manifest))
    (home / "dbt_project.yml").write_text("name: shop\nversion: '1'\nprofile: shop\n")
    (home / "selectors.yml").write_text(default("{method: fqn, value: healthy}"))
    (tmp_path / "credentials").write_text(SECRET)
    monkeypatch.setenv("PLANPROOF_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(home)
    return home


@pytest.fixture
def said(home: Path) -> Callable[..., tuple[int, str]]:
    def run(*words: str) -> tuple[int, str]:
        with bounded(SECONDS):
            done = CliRunner().invoke(cli, words)
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return done.exit_code, done.output

    return run


def test_a_project_of_ones_own_is_selected_from(said: Any, home: Path) -> None:
    """Also through a link inside of the checkout."""
    (home / "packages.yml").symlink_to("../shared.yml")
    (home.parent / "shared.yml").write_text("packages: []\n")
    assert "1 model" in said("check", "--no-cache")[1]
    (home / "selectors.yml").write_text(default("{method: path, value: models/*.sql}"))
    assert "1 model" in said("check", "--no-cache")[1]


@pytest.mark.parametrize("name", READ)
@pytest.mark.parametrize("to", ["credentials", "checkout/.git/config"])
def test_no_file_that_dbt_reads_is_a_link_to_a_secret(name: str, to: str, said: Any, home: Path) -> None:
    secret = home.parents[1] / to
    secret.write_text(SECRET)
    (home / name).unlink(missing_ok=True)
    (home / name).symlink_to(secret)
    for command in (["check", "--no-cache"], ["infer", "--dry-run"]):
        code, text = said(*command)
        assert "hunter2" not in text.lower()
        assert (code, name in text) == (2, True) or name == "selectors.yml", text


@pytest.mark.parametrize("name", READ)
def test_no_file_that_dbt_reads_takes_for_ever(name: str, said: Any, home: Path) -> None:
    (home / name).write_text(((home / name).read_text() if (home / name).exists() else "") + MERGED)
    code, text = said("check", "--no-cache", "--selector", "x")
    assert (code, name in text, "values" in text) == (2, True, True), text


def test_what_dbt_says_of_yaml_is_not_quoted(said: Any, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that another took the place of since planproof read it."""
    from dbt.clients.yaml_helper import load_yaml_text

    monkeypatch.setattr("dbt_planproof.compiler._choose", lambda *given: load_yaml_text(SECRET + "\tx: [}"))
    code, text = said("check", "--no-cache")
    assert (code, "hunter2" in text.lower()) == (2, False)


def doubling(levels: int, name: str = "s{}") -> str:
    """Selectors each of which is the one before it, twice."""
    lines = ["selectors:", f"- name: {name.format(0)}", "  definition: {method: tag, value: a}"]
    for i in range(1, levels):
        lines += [f"- name: {name.format(i)}", *(["  default: true"] if i == levels - 1 else [])]
        twice = ", ".join([f"{{method: selector, value: {name.format(i - 1)}}}"] * 2)
        lines.append(f"  definition: {{union: [{twice}]}}")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("name", ["s{}", "s"])
def test_selectors_of_selectors_are_counted_and_refused(name: str, said: Any, home: Path) -> None:
    (home / "selectors.yml").write_text(doubling(25, name))
    code, text = said("check", "--no-cache")
    assert (code, "10,000" in text, "selectors.yml" in text) == (2, True, True), text


@pytest.mark.parametrize(
    "definition",
    [
        "{union: [{method: selector, value: x}]}",
        "{intersection: [{method: selector, value: later}, {tag: a}]}",
        "{union: [{tag: a}, {exclude: [{method: selector, value: x}]}]}",
    ],
)
def test_selectors_in_a_circle_are_refused(definition: str, said: Any, home: Path) -> None:
    later = "- name: later\n  definition: {method: selector, value: x}\n"
    (home / "selectors.yml").write_text(default(definition) + later)
    code, text = said("check", "--no-cache")
    assert (code, "selector" in text, "before" in text) == (2, True, True), text


OUTSIDE = ("../../../usr/**/*", "/usr/**/*", "models/../../**/*", "linked/**/*", "*/../../*")


@pytest.mark.parametrize("value", OUTSIDE)
def test_no_path_leads_out_of_the_project(value: str, said: Any, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "linked").symlink_to(home.parents[1])
    walked: list[str] = []
    monkeypatch.setattr("pathlib.Path.glob", lambda self, pattern: walked.append(pattern) or iter(()))
    (home / "selectors.yml").write_text(default(f"{{union: [healthy, {{method: path, value: '{value}'}}]}}"))
    for words in ([], ["--select", f"@healthy,path:{value}"], ["--exclude", f"@healthy {value}"]):
        code, text = said("check", "--no-cache", *words)
        assert (code, "outside" in text, walked) == (2, True, []), text


def test_a_default_selector_of_no_model_is_no_passed_check(said: Any, home: Path) -> None:
    """One that a user asks for by its name may select none; so may one that asks what changed."""
    (home / "selectors.yml").write_text(default("{method: tag, value: nothing}"))
    code, text = said("check", "--no-cache")
    assert (code, "selects no model" in text, "--select '*'" in text) == (2, True, True), text
    assert said("check", "--no-cache", "--selector", "x")[0] == 0
    assert "2 models" in said("check", "--no-cache", "--select", "*")[1]
    (home / "selectors.yml").write_text(default("{method: state, value: modified}"))
    assert said("check", "--no-cache", "--state", "target")[0] == 0


def test_a_path_of_a_selector_begins_at_the_project(said: Any, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home.parent)
    (home / "selectors.yml").write_text(default("{method: path, value: 'models/*.sql'}"))
    assert "shop.healthy" in said("check", "--no-cache", "--project-dir", "shop")[1]


def test_each_form_says_that_a_default_selector_chose(said: Any, home: Path) -> None:
    """A check of one model of two once looked like a check of all."""
    forms = ("github", "markdown", "sarif", "junit", "text", "html", "json")
    words = [word for name in forms for word in ("--format", name, "-o", f"report.{name}")]
    assert said("check", "--no-cache", *words)[0] == 0
    for name in forms:
        text = (home / f"report.{name}").read_text().replace("&#39;", "'")
        assert "selected by 'x', the default selector of selectors" in text, name
    first, *rest = (home / "report.github").read_text().splitlines()
    assert first == "::notice title=planproof::selected by 'x', the default selector of selectors.yml"
    assert not [line for line in rest if line.startswith("::")], "by what rules was checked is no notice"
