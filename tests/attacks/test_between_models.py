"""What many models share (a file, a macro, an entry of YAML) costs little for each model that asks for it, and what one
model says ends no check of the others."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from planproof.cli.group import cli
from planproof.lsp import workspace
from planproof.lsp.workspace import Workspace
from planproof.project import diff
from planproof.project.alignment import build_automaton
from planproof.project.branches import Branch, find_branch, find_reading_call
from planproof.project.check import check_project, remarks_on_drift
from planproof.project.compiled import Promises
from planproof.project.diff import (
    BREAKING,
    MOST_NAMED,
    Comparison,
    SchemaChange,
    _follow_change,
    _Shapes,
    compare_projects,
    report_changes,
)
from planproof.project.infer import Inferred, group_by_file
from planproof.project.location import ProjectLocation
from planproof.project.manifest import read_project
from planproof.project.offline import OfflineCheck
from planproof.project.sources import read_frozen
from planproof.project.stale import Files
from planproof.report.model import Report, Verdict
from planproof_engine import bounded
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


LONG = [1] * 2_000
DOUBLING = {
    "macros": ("{{ m0() }}", {n: f"{{{{ m{n + 1}() }}}}" * 2 for n in range(30)}),
    "parameters": ("{{ m0('a') }}", {n: f"{{{{ m{n + 1}(x ~ x) }}}}" for n in range(30)}),
    "a long text": (
        f"{{% set a = '{'a' * 10**6}' %}}" + "{% set a = a ~ a %}" * 13 + "{{ a if is_incremental() }}",
        {},
    ),
    "names": ("{% set a = 'a' %}" + "{% set a = a ~ a %}" * 30 + "{{ a if is_incremental() else 1 }}", {}),
    "a loop's body": (
        f"{{% for i in {LONG} %}}{{% if is_incremental() %}}{{% do {LONG} %}}{{% endif %}}{{% endfor %}}1",
        {},
    ),
    "a long macro": (
        f"1{{% if is_incremental() %}}{'{{ m29() }}' * 300}{{% endif %}}",
        {29: f"{{% if 1 %}}{{{{ {LONG} }}}}{{% endif %}}"},
    ),
}


@pytest.mark.parametrize("kind", DOUBLING)
def test_a_template_that_doubles_costs_no_model_its_verdict(kind: str, dbt_manifest: Any) -> None:
    text, bodies = DOUBLING[kind]
    bodies = bodies and {**bodies, 30: "{{ x if is_incremental() else 1 }}"}
    node = {"sql": "select 'x' as id", "columns": {"id": "int"}, "contract": True, "raw_code": f"select {text} as id"}
    project = read_project(dbt_manifest({"mart": {**node, "config": {"materialized": "incremental"}}}))
    called = {n: [f"macro.shop.m{n + 1}"] if n < 30 else ["macro.dbt.is_incremental"] for n in bodies}
    macros = {
        f"macro.shop.m{n}": {
            "name": f"m{n}",
            "package_name": "shop",
            "macro_sql": f"{{% macro m{n}(x=1) %}}{body}{{% endmacro %}}",
            "depends_on": {"macros": called[n]},
        }
        for n, body in bodies.items()
    }
    asks = {"name": "is_incremental", "package_name": "dbt", "macro_sql": "{% macro is_incremental() %}{% endmacro %}"}
    project = replace(project, macros={**macros, "macro.dbt.is_incremental": asks})
    project.nodes["model.shop.mart"].raw["depends_on"] = {"macros": ["macro.shop.m0"] if bodies else [], "nodes": []}
    with within(2):
        (report,) = check_project(project)
    assert report.verdict is Verdict.VIOLATED


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


def test_a_large_file_that_many_models_name_is_read_once(tmp_path: Path, dbt_manifest: Any) -> None:
    """It was read and hashed nine times for each."""
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "big.sql").write_text("select 1 as id\n" + "-- x \n" * 100_000)
    names = (f"models/{'./' * (i % 3)}big.sql" for i in range(200))
    form = {"sql": "select 1 as id", "checksum": {"name": "sha256", "checksum": "00"}}
    models = {f"m{i}": {**form, "original_file_path": name} for i, name in enumerate(names)}
    project = replace(read_project(dbt_manifest(models)), directory=tmp_path)
    files = Files(project)
    with within(2):
        said = [files.find_change(node) for node in project.models]
    assert len(said) == 200
    assert all(str(text).endswith("big.sql changed") for text in said)


def test_a_yaml_file_is_read_once_however_it_is_spelled(tmp_path: Path, dbt_manifest: Any) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "m.yml").write_text("models:\n" + "- {name: z, a: [x, x]}\n" * 8000)
    form = {"sql": "select 'a' as id", "columns": {"id": "int"}, "contract": True}
    models = {f"m{i}": {**form, "patch_path": f"shop://models/{'./' * i}m.yml"} for i in range(60)}
    project = replace(read_project(dbt_manifest(models)), directory=tmp_path)
    files, promises = Files(project), Promises(tmp_path)
    finding = Finding(Verdict.VIOLATED, "PP500", "contract", "id", "int", "string")
    for node in project.models:
        (tmp_path / str(node.file)).write_text("select 'a' as id")
    with within(8):
        said = [files.find_change(node) for node in project.models]
        for node in project.models:
            promises.place_findings(Report(node.name, "checked", (finding,)), node.raw)
    assert len({text for text in said if text is not None and "it no longer describes" in text}) == 60


def test_macros_that_call_each_other_are_looked_at_once(tmp_path: Path, dbt_manifest: Any) -> None:
    """All that a model calls, directly or not, was once gone through for each model, and again for what it reads while
    dbt compiles."""
    count, models = 300, {f"m{i}": {"sql": "select 1 as id"} for i in range(300)}
    project = replace(read_project(dbt_manifest(models)), directory=tmp_path)
    (tmp_path / "models").mkdir()
    (tmp_path / "changed.sql").write_text("nothing")
    macros = {
        f"macro.other.x{i}": {"name": "x", "package_name": "other", "macro_sql": "a", "depends_on": {"macros": called}}
        for i in range(count)
        # Each calls sixty others, in a circle.
        for called in [[f"macro.other.x{j % count}" for j in range(i + 1, i + 61)]]
    }
    own = {
        "name": "own",
        "package_name": "shop",
        "macro_sql": "{{ run_query(1) }}",
        "original_file_path": "changed.sql",
    }
    for node in project.models:
        node.raw["depends_on"]["macros"] = [f"macro.other.x{int(node.name[1:]) % count}"]
        (tmp_path / str(node.file)).write_text("select 1 as id")
    calm, stale = (replace(project, dbt_version="1.11", macros=known) for known in (macros, {**macros, "own": own}))
    macros["macro.other.x7"]["depends_on"]["macros"].append("own")
    with within(3):
        for known, said, call, some in (
            (calm, None, None, 300),
            (stale, "the macro own changed (changed.sql)", "run_query", 9),
        ):
            files = Files(known)
            assert {files.find_change(node) for node in known.models} == {said}
            assert {find_reading_call(known, node) for node in known.models[:some]} == {call}


def test_where_contracts_go_is_asked_of_the_project_once(tmp_path: Path, dbt_manifest: Any) -> None:
    """dbt_project.yml was read, and all models were gone through, for each model."""
    count = 1500
    listed = ["models", *(f"p{i}" for i in range(10_000))]
    (tmp_path / "dbt_project.yml").write_text(f"model-paths: [{', '.join(listed)}]")
    models = {f"m{i}": {"sql": "select 1 as id"} for i in range(count)}
    project = replace(read_project(dbt_manifest(models)), directory=tmp_path)
    with within(5):
        found = group_by_file(project, [Inferred(node) for node in project.models])
    assert {file.name: len(of) for file, of in found.items()} == {"_models.yml": count}


def test_what_changes_reach_is_followed_soon_and_named_in_part() -> None:
    """The names of a chain of models were read anew at each step, and each form of the report listed all of them."""
    count, side = 1000, _Shapes()
    for i in range(1, count):
        side._note(f"shop.m{i}", {"columns": [("a", [(f"shop.m{i - 1}", "a", "")])]})
    changes = [SchemaChange(f"shop.m{i}", "a", BREAKING, "type changed", "int", "string") for i in range(count)]
    with within(3):
        followed = [_follow_change(change, f"m{i}", [side]) for i, change in enumerate(changes)]
        reports = report_changes(Comparison(tuple(followed)))
    assert [len(change.reaches) for change in followed] == list(reversed(range(count)))
    first = next(report for report in reports if report.model == "shop.m0")
    assert first.findings[0].message.endswith(f" and {count - 1 - MOST_NAMED} more")
    assert sum(len(finding.message) for report in reports for finding in report.findings) < 1_000_000


def test_models_below_changed_sources_are_found_in_one_walk(tmp_path: Path, dbt_manifest: Any) -> None:
    count, names = 1200, [f"f.s{i}" for i in range(1200)]
    models = {
        f"m{i}": {"sql": "select 1 as id", "parents": [f"m{j}" for j in range(max(0, i - 60), i)] or names}
        for i in range(count)
    }
    columns = [{"name": "b", "type": "int", "nullable": True}]
    held = {name: {"kind": "table", "columns": columns} for name in names}
    file = tmp_path / "planproof_sources.json"
    file.write_text(json.dumps({"version": 1, "spark": "4.2", "sources": held}))
    project = read_project(dbt_manifest(models, {name: {"a": "int"} for name in names}))
    finding = Finding(Verdict.VIOLATED, "PP500", "contract", "id")
    reports = {node.unique_id: Report(node.name, "checked", (finding,)) for node in project.models}
    with within(3):
        said = list(remarks_on_drift(project, read_frozen(project, file), reports))
    assert len(said) == count
    assert all("1,200 models that read it are stopped: " in remark for remark in said)


def test_a_template_of_many_tags_is_not_read() -> None:
    """It was, for seconds, before it was found to be too large; in an editor nothing bounded that."""
    with within(1):
        assert build_automaton("select 1 as x" + "{{a}}" * 190_000) is None
    assert build_automaton("select 1 as x" + "{{a}}\n" * 5000) is not None


def test_what_an_editor_asks_of_a_template_is_bounded(
    tmp_path: Path, dbt_manifest: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its place in the text is not known then, and what was edited waits for dbt."""

    class Slow:
        @staticmethod
        def of(*_: Any) -> Any:
            while True:
                pass

    (tmp_path / "target").mkdir()
    (tmp_path / "dbt_project.yml").write_text("name: shop\nprofile: shop\n")
    (tmp_path / "target" / "manifest.json").write_text(json.dumps(dbt_manifest({"m": {"sql": "select 1 as id"}})))
    found = Workspace(ProjectLocation(tmp_path))
    found.load()
    assert found.edit("models/m.sql", "select 1 as id")
    assert found.find_reading("models/m.sql") is not None
    monkeypatch.setattr(workspace, "TemplateMap", Slow)
    monkeypatch.setattr(workspace, "bounded", lambda: bounded(0.2))
    with within(3):
        assert found.find_reading("models/m.sql") is None
        assert not found.edit("models/m.sql", "select 2 as id")


def test_what_changes_reach_is_not_looked_for_without_end(dbt_manifest: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a chain of models, of which each is changed by the one before, it grows with the square of their number."""
    count = 8
    sides = [
        read_project(
            dbt_manifest(
                {
                    f"m{i}": {"sql": f"select * from shop.m{i - 1}", "parents": [f"m{i - 1}"]} if i else {"sql": start}
                    for i in range(count)
                }
            )
        )
        for start in ("select 1 as a", "select '1' as a")
    ]
    monkeypatch.setattr(diff, "MOST_REACHED", 10)
    found = compare_projects(*sides)
    assert [len(change.reaches) for change in found.changes] == [7, 6, 0, 0, 0, 0, 0, 0]
    assert found.remarks == ("what 6 changes reach was not looked for: the others reach 13 columns",)
