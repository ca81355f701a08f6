"""A baseline: what was known when a project began to check does not fail, what is new does, and nothing known is called
proved."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from planproof.cli.group import cli

BROKEN = {"sql": "select 'a' as id", "columns": {"id": "int"}, "contract": True}
OPEN = {"sql": "select id from raw.t", "parents": ["raw.t"], "contract": True}
OPEN["columns"] = {"id": {"data_type": "int", "constraints": [{"type": "not_null"}]}}
SOURCES = {"raw.t": {"id": "int"}}


@pytest.fixture
def check(tmp_path, dbt_manifest):
    def called(models, *args):
        (tmp_path / "dbt_project.yml").write_text("name: shop\nprofile: shop\n")
        (tmp_path / "target").mkdir(exist_ok=True)
        (tmp_path / "target" / "manifest.json").write_text(json.dumps(dbt_manifest(models, SOURCES)))
        given = ["check", "--project-dir", str(tmp_path), "--fail-on", "unproved", *map(str, args)]
        return CliRunner().invoke(cli, given)

    return called


def test_only_what_is_new_fails(check, tmp_path):
    file, models = tmp_path / "baseline.json", {"broken": BROKEN, "open": OPEN}
    assert check(models).exit_code == 1
    written = check(models, "--write-baseline", file)
    assert written.exit_code == 0
    assert f"wrote 2 findings to {file}" in "".join(written.output.split("\n")), written.output
    known = check(models, "--baseline", file)
    assert known.exit_code == 0
    assert " ? shop.broken" in known.output
    assert "1 in the baseline" in known.output
    assert "2 models · 2 in the baseline" in known.output
    assert "unproved" not in known.output
    assert "2 known findings are left out" in " ".join(known.output.split())
    new = check({**models, "worse": BROKEN}, "--baseline", file, "--format", "json")
    assert new.exit_code == 1
    reports = {r["model"]: r for r in json.loads(new.stdout)["reports"]}
    assert {name: r["verdict"] for name, r in reports.items()} == {
        "shop.broken": "unproved",
        "shop.open": "unproved",
        "shop.worse": "violated",
    }
    assert reports["shop.broken"]["details"]["known"][0].startswith("PP504 violated: id: promised int, found string")


def test_what_was_not_checked_stays_in_the_baseline(check, tmp_path):
    """`--select` with `--write-baseline` forgot what was known of all other models."""
    file, models = tmp_path / "baseline.json", {"broken": BROKEN, "open": OPEN}
    check(models, "--write-baseline", file)
    part = check(models, "--select", "open", "--write-baseline", file)
    assert f"wrote 2 findings to {file}, 1 of them of models that were not checked now" in " ".join(
        "".join(part.output.split("\n")).split()
    ), part.output
    assert check(models, "--baseline", file).exit_code == 0
    check({"broken": {"sql": "select 1 as id"}, "open": OPEN}, "--write-baseline", file)
    assert [row["model"] for row in json.loads(file.read_text())["findings"]] == ["model.shop.open"]


def test_another_column_is_new(check, tmp_path):
    file = tmp_path / "baseline.json"
    check({"broken": BROKEN}, "--write-baseline", file)
    more = {**BROKEN, "sql": "select 'a' as id, 'b' as other", "columns": {"id": "int", "other": "int"}}
    found = check({"broken": more}, "--baseline", file, "--format", "json")
    assert found.exit_code == 1
    (report,) = json.loads(found.stdout)["reports"]
    assert [f["field"] for f in report["findings"] if f["verdict"] == "violated"] == ["other"]


def test_what_is_mended_is_told_as_gone(check, tmp_path):
    file = tmp_path / "baseline.json"
    check({"broken": BROKEN}, "--write-baseline", file)
    mended = {**BROKEN, "sql": "select 1 as id"}
    found = check({"broken": mended}, "--baseline", file)
    assert found.exit_code == 0
    assert "1 finding is no longer there" in " ".join(found.output.split())
    assert "no longer there" not in check({"open": OPEN}, "--baseline", file).output, "it was not looked at"


def test_a_known_warning_leaves_a_healthy_model_healthy(check, tmp_path):
    file = tmp_path / "baseline.json"
    models = {"starry": {"sql": "select l.*, r.id as other from raw.t l, raw.t r", "parents": ["raw.t"]}}
    assert "style: 1 of PP129" in check(models).output
    check(models, "--write-baseline", file)
    known = check(models, "--baseline", file)
    assert (known.exit_code, " ✓ shop.starry" in known.output) == (0, True)
    assert "1 in the baseline, no contract" in known.output
    assert "unproved" not in known.output


@pytest.mark.parametrize(
    ("text", "said"),
    [(None, "cannot be read"), ("[]", "is no baseline"), ('{"version": 2, "findings": []}', "its version is 2")],
)
def test_a_file_that_is_no_baseline(check, tmp_path, text, said):
    file = tmp_path / "baseline.json"
    if text is not None:
        file.write_text(text)
    found = check({"broken": BROKEN}, "--baseline", file)
    assert found.exit_code == 2
    assert said in found.stderr
