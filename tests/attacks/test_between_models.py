"""What many models share (a file, a macro, an entry of YAML) costs little for each model that asks for it, and what one
model says ends no check of the others."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from planproof.cli.group import cli
from planproof.project.branches import Branch, find_branch
from planproof.project.check import check_project
from planproof.project.compiled import Promises
from planproof.project.manifest import read_project
from planproof.project.offline import OfflineCheck
from planproof.report.model import Report, Verdict
from planproof_engine.finding import Finding


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """The block takes less than these seconds of the processor."""
    began = time.process_time()
    yield
    assert time.process_time() - began < seconds


NUMBERS = ("9" * 5000, "0x" + "f" * 5000)
"""More digits than Python reads, and as many as it reads and does not print."""


@pytest.mark.parametrize("number", NUMBERS)
def test_a_long_number_in_a_template_is_no_error_of_planproof(number: str, dbt_manifest: Any) -> None:
    text = "select '{{ " + number + " }}' as id, 1 as b {% if is_incremental() %} where {{ this }} > 1 {% endif %}"
    node = {"sql": "select 'x' as id, 1 as b", "columns": {"b": "string"}, "contract": True}
    for config in ({}, {"materialized": "incremental"}):
        form = {**node, "raw_code": text, "config": config}
        project = read_project(dbt_manifest({"long": form, "fine": {"sql": "select 1 as id"}}))
        reports = {report.model: report for report in check_project(project)}
        assert [report.outcome for report in reports.values()] == ["checked", "checked"]
        assert reports["shop.long"].verdict is Verdict.VIOLATED
        assert find_branch(project, project.nodes["model.shop.long"]) is Branch.UNKNOWN


def test_a_comparison_in_which_planproof_failed_does_not_end_well(
    tmp_path: Path, dbt_manifest: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The exit code is that of a check in which it failed."""
    judge = OfflineCheck._judge_model

    def fail(self: OfflineCheck, node: Any) -> Any:
        if node.name == "broken":
            raise ValueError("a mistake")
        return judge(self, node)

    monkeypatch.setattr(OfflineCheck, "_judge_model", fail)
    file = tmp_path / "manifest.json"
    file.write_text(json.dumps(dbt_manifest({"broken": {"sql": "select 1 as id"}, "fine": {"sql": "select 1 as id"}})))
    found = CliRunner().invoke(cli, ["diff", str(file), str(file), "--fail-on", "never"])
    assert "planproof itself failed on it" in found.output
    assert found.exit_code == 2


def test_each_finding_on_a_promise_looks_up_its_column(tmp_path: Path) -> None:
    """All columns, constraints and tests of the entry were once looked through for each finding."""
    count, found = 4000, []
    for i in range(count):
        found.append(Finding(Verdict.VIOLATED, "PP500", "contract", f"c{i}", "int", "string"))
        found.append(Finding(Verdict.UNPROVED, "PP508", "contract", None, f"kind{i}(a)"))
        found.append(Finding(Verdict.UNPROVED, "PP513", "contract", None, f"check{i}_of_a"))
    lines = ["models:", "- name: m"]
    for key, form in (("columns", "name: c"), ("constraints", "type: kind"), ("tests", "check")):
        lines.append(f"  {key}:")
        lines += [f"  - {form}{i}: {{}}" if key == "tests" else f"  - {{{form}{i}}}" for i in range(count)]
    (tmp_path / "m.yml").write_text("\n".join(lines))
    with within(4):
        node = {"name": "m", "patch_path": "shop://m.yml", "package_name": "shop"}
        report = Promises(tmp_path).place_findings(Report("m", "checked", tuple(found)), node)
    places = [finding.promise.line if finding.promise else None for finding in report.findings[-3:]]
    assert places == [3 + count, 4 + 2 * count, 5 + 3 * count]
