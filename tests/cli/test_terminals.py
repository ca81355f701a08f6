"""Where a command is called: a folder below the project, a terminal of another encoding or width, a typing error."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from planproof.cli.group import COMMANDS, cli
from planproof.settings import SETTINGS


@pytest.fixture
def invoke():
    return lambda *args, **more: CliRunner().invoke(cli, [str(arg) for arg in args], **more)


@pytest.fixture
def project(tmp_path, dbt_manifest):
    """A project of one healthy model, one that is unproved, and one that breaks its promise."""
    models = {
        "healthy": {"sql": "select 1 as `größe`", "columns": {"größe": "int"}, "contract": True},
        "open": {
            "sql": "select id from raw.`größe`",
            "columns": {"id": "int"},
            "contract": True,
            "parents": ["raw.größe"],
        },
        "broken": {"sql": "select 'a' as id", "columns": {"id": "int"}, "contract": True},
    }
    (tmp_path / "dbt_project.yml").write_text("name: shop\nprofile: shop\n")
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "manifest.json").write_text(json.dumps(dbt_manifest(models, {"raw.größe": {}})))
    return tmp_path


def printed(project, *args, **environment):
    """What a process of its own prints, as bytes, and its exit code: an encoding is a matter of the whole process."""
    found = subprocess.run(
        [sys.executable, "-m", "planproof", "check", *args],
        cwd=project,
        env={**os.environ, **environment},
        capture_output=True,
        timeout=120,
    )
    assert b"internal error" not in found.stderr, found.stderr
    return found.stdout, found.returncode


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_any_encoding_can_show_a_report(project, encoding):
    text, code = printed(project, PYTHONIOENCODING=encoding)
    lines = text.decode(encoding).splitlines()
    assert code == 1
    for line in (" + shop.healthy", " ? shop.open", " x shop.broken"):
        assert any(printed.startswith(line) for printed in lines), lines
    name = "größe" if encoding == "latin-1" else "gr\\xf6\\xdfe"
    assert f"raw.`{name}`" in text.decode(encoding)


def test_what_programs_read_is_utf_8_in_any_encoding(project):
    text, _ = printed(project, "--format", "junit", PYTHONIOENCODING="ascii")
    assert ElementTree.fromstring(text).find(".//failure") is not None
    text, _ = printed(project, "--format", "html", PYTHONIOENCODING="ascii")
    assert "größe" in text.decode("utf-8")


def test_a_folder_below_the_project_is_in_the_project(invoke, project, monkeypatch):
    below = project / "models" / "marts"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    found = invoke("check")
    assert found.exit_code == 1
    assert "shop.healthy" in found.output


def test_dbt_s_variables_name_project_and_target(invoke, project, monkeypatch, tmp_path):
    monkeypatch.chdir("/")
    monkeypatch.setenv("DBT_PROJECT_DIR", str(project))
    assert invoke("check", "-s", "healthy").exit_code == 0
    (project / "profiles.yml").write_text(
        "shop: {target: a, outputs: {a: {type: spark, method: session, schema: s}}}\n"
    )
    monkeypatch.setenv("DBT_TARGET", "nowhere")
    found = invoke("check", "-s", "healthy")
    assert found.exit_code == 2
    assert "nowhere" in found.stderr


def test_a_backslash_in_a_selector_is_one_of_a_path(invoke, project):
    found = invoke("check", "--project-dir", project, "-s", "models\\healthy.sql")
    assert found.exit_code == 0, found.stderr
    found = invoke("check", "--project-dir", project, "-s", "models\\none.sql")
    assert "'models\\none.sql' names nothing" in found.stderr


def test_a_manifest_of_windows_is_selected_by_either_slash(invoke, project):
    file = project / "target" / "manifest.json"
    file.write_text(file.read_text().replace("models/healthy.sql", "models\\\\healthy.sql"))
    for slash in "\\/":
        assert invoke("check", "--project-dir", project, "-s", f"models{slash}healthy.sql").exit_code == 0


def test_columns_says_how_wide_the_text_is(invoke, project, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    frame = [line for line in invoke("check", "--project-dir", project).output.splitlines() if line[:1] in "╭│╰"]
    assert {len(line) for line in frame if line} == {60}


@pytest.mark.parametrize(("typed", "meant"), [("chek", "check"), ("explian", "explain"), ("xyz", None)])
def test_a_command_that_is_mistyped(invoke, typed, meant):
    found = invoke(typed)
    assert found.exit_code == 2
    assert f"No such command '{typed}'." in found.stderr
    assert ("Did you mean" in found.stderr) is (meant is not None)
    assert meant is None or f"Did you mean '{meant}'?" in found.stderr


def test_help_has_whole_sentences_and_derive_apart(invoke):
    text = invoke("--help").output
    commands, developers = text[text.index("Commands:") :].split("For developers:")
    assert "  derive " in developers
    said = " ".join(commands.split())
    for name in COMMANDS[:-1]:
        sentence = cli.get_command(None, name).get_short_help_str(1000)
        assert sentence.endswith(".")
        assert f"{name} {sentence}" in said


def test_a_command_s_own_options_come_first_and_settings_last(invoke):
    text = invoke("check", "--help").output
    places = [text.index(part) for part in ("--compile", "Which project:", "--manifest", "Settings, for", "--fail-on")]
    assert places == sorted(places)


def test_settings_stand_where_they_matter(invoke):
    for name in ("check", "run", "audit"):
        offered = {option.name for option in cli.get_command(None, name).params}
        assert {s.name for s in SETTINGS if name in s.commands} == offered & {s.name for s in SETTINGS}
    found = invoke("check", "--on-violation", "stop")
    assert found.exit_code == 2
    assert "No such option" in found.stderr
