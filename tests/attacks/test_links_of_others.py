"""A link in the place of a file that planproof reads unasked, and a folder that a manifest names: neither leads out of
the checkout, and no message repeats what a file holds that is none of the project's."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from planproof.cli.group import cli
from planproof.project.compiled import TemplateMap
from planproof.project.manifest import read_project
from planproof.project.profile import read_profile
from planproof.project.reads import ProjectError
from planproof.project.sources import read_frozen
from planproof.project.target_folder import format_target

SECRETS = """
shop:
  hunter2key: hunter2value
  target: hunter2target
  outputs: {hunter2out: {type: spark, method: hunter2method, host: hunter2host}}
profile: hunter2profile
target-path: hunter2path
sources: {hunter2source: {columns: [hunter2column]}}
spark: hunter2spark
"""
SOUND = "shop: {target: dev, outputs: {dev: {type: spark, method: session, schema: shop}}}\n"
FIXED = ("profiles.yml", "planproof_sources.json", "planproof_sources.yml", "dbt_project.yml")


@pytest.fixture
def home(tmp_path: Path, dbt_manifest: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project in a checkout; beside that, files of secrets, and the home folder of the user."""
    home = tmp_path / "checkout" / "shop"
    (home / "target").mkdir(parents=True)
    (home.parent / ".git").mkdir()
    (home.parent / ".git" / "config").write_text(SECRETS)
    (tmp_path / "secrets.yml").write_text(SECRETS)
    (home / "dbt_project.yml").write_text("name: shop\nprofile: shop\n")
    (home / "target" / "manifest.json").write_text(json.dumps(dbt_manifest({"m": {"sql": "select 1 as id"}})))
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.delenv("DBT_PROFILES_DIR", raising=False)
    monkeypatch.delenv("DBT_TARGET_PATH", raising=False)
    monkeypatch.chdir(home)
    return home


@pytest.mark.parametrize("name", FIXED)
@pytest.mark.parametrize("to", ["secrets.yml", "checkout/.git/config"])
def test_a_fixed_file_that_is_a_link_out_of_the_checkout_is_not_read(name: str, to: str, home: Path) -> None:
    (home / name).unlink(missing_ok=True)
    (home / name).symlink_to(home.parents[1] / to)
    for words in (["-t", "x"], ["--no-cache"]):
        done = CliRunner().invoke(cli, ["check", *words])
        assert "hunter2" not in done.output
        assert done.exit_code == (0 if words == ["--no-cache"] and not name.startswith("planproof") else 2)
    assert "hunter2" not in str(format_target(home))


def test_a_link_within_the_checkout_and_one_to_the_users_own_profile_are_read(home: Path, tmp_path: Path) -> None:
    (home.parent / "shared.yml").write_text("name: shop\nprofile: shop\n")
    (home / "dbt_project.yml").unlink()
    (home / "dbt_project.yml").symlink_to("../shared.yml")
    own = tmp_path / "user" / ".dbt" / "profiles.yml"
    own.parent.mkdir(parents=True)
    own.write_text(SOUND)
    assert read_profile(home).file == str(own)
    (home / "profiles.yml").symlink_to(own)
    assert read_profile(home).target == "dev"
    (tmp_path / "linked").symlink_to(home)
    assert read_profile(tmp_path / "linked").target == "dev"


def test_a_profile_that_a_checkout_links_says_how_to_go_on(home: Path, tmp_path: Path) -> None:
    (home / "profiles.yml").symlink_to(tmp_path / "secrets.yml")
    with pytest.raises(ProjectError, match=r"lies outside of .*--profiles-dir"):
        read_profile(home)


def test_a_profile_that_an_image_links_is_read(home: Path, tmp_path: Path) -> None:
    """A cluster mounts it as a secret, beside the project, which is no checkout there."""
    (home.parent / ".git").rename(tmp_path / "git")
    (tmp_path / "mounted.yml").write_text(SOUND)
    (home / "profiles.yml").symlink_to(tmp_path / "mounted.yml")
    assert read_profile(home).target == "dev"


def test_what_a_user_names_is_read_wherever_it_leads(home: Path, tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "secrets.yml").write_text(SOUND)
    (home / "named").mkdir()
    (home / "named" / "profiles.yml").symlink_to(tmp_path / "secrets.yml")
    assert read_profile(home, home / "named").target == "dev"
    monkeypatch.setenv("DBT_PROFILES_DIR", str(home / "named"))
    assert read_profile(home).target == "dev"
    (tmp_path / "frozen.json").write_text('{"sources": {"a.b": {"columns": [{"name": "x", "type": "int"}]}}}')
    (home / "named.json").symlink_to(tmp_path / "frozen.json")
    assert read_frozen(read_project(home), home / "named.json").find("a.b") is not None


def test_a_column_that_is_none_is_not_repeated(home: Path) -> None:
    (home / "planproof_sources.json").write_text('{"sources": {"a.b": {"columns": ["hunter2"]}}}')
    with pytest.raises(ProjectError, match=r"a\.b\[0\]: is no mapping with `name` and `type`"):
        read_frozen(read_project(home))


def test_a_folder_that_a_manifest_names_tells_nothing_of_what_it_holds(home: Path, dbt_manifest: Any) -> None:
    """A text that was guessed once had its place in the file, and another had not."""
    text = "-- hunter2\nselect nope as id"
    for outside in (home.parents[1] / "outside", home.parents[1]):
        outside.mkdir(exist_ok=True)
        (outside / "token").write_text(text)
        node = {"sql": text, "raw_code": text, "original_file_path": "token", "root_path": str(outside)}
        project = replace(read_project(dbt_manifest({"m": {**node, "package_name": "other"}})), directory=home)
        assert TemplateMap.of(project.nodes["model.shop.m"].raw, home).alignment is None
