"""Two manifests side by side: effect, both sides, and the columns downstream that a change reaches."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from planproof.cli.group import cli
from planproof.project.cache import Cache
from planproof.project.diff import compare_projects, report_changes
from planproof.project.manifest import read_project
from planproof.report.formats import render
from planproof.report.run import run_report

SOURCES = {"raw.orders": {"id": "bigint", "amount": "decimal(10,2)", "tags": "struct<a:int,b:string>"}}
STAGING = {"sql": "select id, amount, tags from raw.orders", "parents": ["raw.orders"]}
TOTALS = {"sql": "select id, sum(amount) as total from shop.stg group by id", "parents": ["stg"]}
REPORT = {"sql": "select total as shown, id from shop.totals", "parents": ["totals"]}


@pytest.fixture
def project(dbt_manifest: Any) -> Any:
    def build(sources: Any = None, **models: Any) -> Any:
        made = {"stg": STAGING, "totals": TOTALS, "report": REPORT, **models}
        kept = {name: form for name, form in made.items() if form}
        return dbt_manifest(models=kept, sources=sources or SOURCES)

    return build


def told(before: Any, after: Any) -> list[tuple[str, str, str | None, str]]:
    found = compare_projects(read_project(before), read_project(after))
    return [(c.effect, c.relation, c.column, c.what) for c in found.changes]


def test_the_same_project_has_not_changed(project: Any) -> None:
    found = compare_projects(read_project(project()), read_project(project()))
    assert (found.changes, found.unread, found.breaking) == ((), {}, False)


def test_a_model_that_did_not_change_is_judged_once_and_for_all(project: Any, tmp_path: Path) -> None:
    cache = Cache(tmp_path / "check.sqlite")
    before, after = read_project(project()), read_project(project(report={**REPORT, "sql": "select 1 as one"}))
    first = compare_projects(before, after, cache=cache)
    assert cache.hits == 2  # The two models of the new side that are as they were.
    assert compare_projects(before, after, cache=cache) == first == compare_projects(before, after, jobs=2)
    assert cache.hits == 2 + 6
    assert {c.what for c in first.changes} == {"column removed", "column added"}


def test_a_removed_column_breaks_what_is_made_of_it(project: Any) -> None:
    after = project(
        stg={**STAGING, "sql": "select id, tags from raw.orders"},
        totals={**TOTALS, "sql": "select id, 1 as total from shop.stg"},
    )
    found = compare_projects(read_project(project()), read_project(after))
    [removed] = [c for c in found.changes if c.relation == "shop.stg"]
    assert (removed.effect, removed.column, removed.what) == ("breaking", "amount", "column removed")
    assert (removed.before, removed.after) == ("decimal(10,2)", None)
    assert removed.reaches == ("shop.report.shown", "shop.totals.total")


@pytest.mark.parametrize(
    ("sql", "column", "effect", "what"),
    [
        ("select cast(id as int) id, amount, tags from raw.orders", "id", "breaking", "type narrowed"),
        ("select id, cast(amount as decimal(14,2)) amount, tags from raw.orders", "amount", "safe", "type widened"),
        ("select id, cast(amount as string) amount, tags from raw.orders", "amount", "breaking", "type changed"),
        ("select id, amount, tags, 1 as one from raw.orders", "one", "safe", "column added"),
        ("select amount, id, tags from raw.orders", None, "safe", "columns reordered"),
        ("select id, amount, named_struct('a', tags.a) tags from raw.orders", "tags.b", "breaking", "field removed"),
    ],
)
def test_each_change_has_an_effect_and_a_direction(project: Any, sql: str, column: Any, effect: str, what: str) -> None:
    found = told(project(), project(stg={**STAGING, "sql": sql}))
    assert (effect, "shop.stg", column, what) in found


def test_promises_of_a_contract_count(project: Any) -> None:
    column = {"data_type": "bigint", "constraints": [{"type": "not_null"}, {"type": "unique"}]}
    promised = {"sql": "select id from raw.orders", "parents": ["raw.orders"], "contract": True}
    strict = project(stg={**promised, "columns": {"id": column}}, totals=None, report=None)
    loose = project(stg={**promised, "columns": {"id": "bigint"}}, totals=None, report=None)
    lost = {("breaking", "shop.stg", "id", "may be null now"), ("breaking", "shop.stg", None, "constraint dropped")}
    won = {("safe", "shop.stg", "id", "never null now"), ("safe", "shop.stg", None, "constraint added")}
    assert set(told(strict, loose)) == lost
    assert set(told(loose, strict)) == won
    for before, after, whom in ((strict, loose, "readers"), (loose, strict, "writers")):
        found = compare_projects(read_project(before), read_project(after))
        assert {(c.direction, c.to_dict()["direction"]) for c in found.changes} == {(whom, whom)}
        messages = [f.message for report in report_changes(found) for f in report.findings]
        assert {"(binds writers)" in message for message in messages} == {whom == "writers"}


def test_to_adopt_a_contract_breaks_no_reader(project: Any) -> None:
    """`planproof infer` writes names and types alone; what the plan proves to be non-null is so as before."""
    sql = "select coalesce(id, 0) as id, amount from raw.orders where amount is not null"
    for more in ({}, {"config": {"materialized": "view"}}):
        bare = {"sql": sql, "parents": ["raw.orders"], **more}
        inferred = {**bare, "contract": True, "columns": {"id": "bigint", "amount": "decimal(10,2)"}}
        before, after = (project(stg=one, totals=None, report=None) for one in (bare, inferred))
        assert told(before, after) == []
        nullable = {**inferred, "sql": "select id, amount from raw.orders"}
        lost = told(before, project(stg=nullable, totals=None, report=None))
        assert {c[2] for c in lost if c[3] == "may be null now"} == {"id", "amount"}


def test_a_change_reaches_all_who_read(project: Any) -> None:
    """A reader that the change stops is planned in the old project alone; one may read a column in a filter only, or
    no column at all."""
    readers = {
        "totals": {"sql": "select sum(amount) as total from shop.stg", "parents": ["stg"]},
        "report": {"sql": "select count(*) as n from shop.stg where amount > 1", "parents": ["stg"]},
        "counted": {"sql": "select count(*) as n from shop.stg", "parents": ["stg"]},
    }
    before = project(**readers)
    for item in ("named_struct('a', amount)", "array(amount)"):
        after = project(**readers, stg={**STAGING, "sql": f"select id, {item} as amount, tags from raw.orders"})
        found = compare_projects(read_project(before), read_project(after))
        reached = {c.reaches for c in found.changes if (c.relation, c.column) == ("shop.stg", "amount")}
        assert reached == {("shop.report.*", "shop.totals.total")}
    gone = {name: form for name, form in readers.items() if name != "totals"}
    [change] = compare_projects(read_project(before), read_project(project(**gone, stg=None, totals=None))).changes[:1]
    assert (change.what, change.reaches) == ("removed", ("shop.counted.*", "shop.report.*", "shop.totals.total"))


def test_models_and_sources_come_and_go(project: Any) -> None:
    assert told(project(), project(report=None)) == [("breaking", "shop.report", None, "removed")]
    assert told(project(report=None), project()) == [("safe", "shop.report", None, "added")]
    narrower = {"raw.orders": {**SOURCES["raw.orders"], "id": "int"}}
    assert ("breaking", "raw.orders", "id", "type narrowed") in told(project(), project(sources=narrower))


def test_what_cannot_be_read_is_said(project: Any) -> None:
    unknown = {"sql": "select * from nobody.knows", "parents": []}
    found = compare_projects(read_project(project(stg=unknown)), read_project(project()))
    assert set(found.unread) == {"shop.stg", "shop.totals", "shop.report"}


def test_relations_that_cannot_be_compared_for_one_reason_share_a_line(project: Any, tmp_path: Any) -> None:
    for name in ("old", "new"):
        (tmp_path / f"{name}.json").write_text(json.dumps(project(stg={**STAGING, "sql": None})))
    both = ["diff", str(tmp_path / "old.json"), str(tmp_path / "new.json")]
    why = "and without a contract"
    assert CliRunner().invoke(cli, both).output.splitlines()[:2] == [
        f"not compared: 2 relations: shop.report, shop.totals: not read offline, {why}",
        f"not compared: shop.stg: not compiled (run `dbt compile`), {why}",
    ]
    said = CliRunner().invoke(cli, [*both, "--format", "markdown"]).output
    assert said.startswith("**planproof:** no change seen; 3 relations not compared\n")
    assert "- shop.report, shop.totals: not read offline" in said


def test_what_was_not_compared_is_not_said_to_hold(project: Any, tmp_path: Any) -> None:
    """One relation is left out: no form says that nothing breaks, or that nothing changed; where none was compared,
    that is said."""
    for name, sources in (("some", SOURCES), ("none", {"raw.orders": {}})):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(project(sources, report=None, stg={**STAGING, "sql": None})))
        forms = {
            form: CliRunner().invoke(cli, ["diff", str(path), str(path), "--format", form]).output
            for form in ("text", "markdown", "github", "html")
        }
        many = "3 relations" if name == "none" else "2 relations"
        last = "nothing was compared" if name == "none" else "0 breaking, 0 safe"
        assert forms["text"].splitlines()[-1] == f"{last}; {many} not compared"
        assert f"planproof: no change seen; {many} not compared" in forms["github"]
        assert f"No breaking change was found.</strong> {many} not compared" in " ".join(forms["html"].split())
        assert ("nothing was compared" in forms["html"]) is (name == "none")
        for said in forms.values():
            assert "nothing changed" not in said.lower()
            assert "nothing breaks" not in said.lower()
            assert "readers of the old relations can read" not in said


def test_what_one_side_does_not_know_is_neither_gone_nor_new(project: Any) -> None:
    known, unknown = (read_project(project(stg={**STAGING, "sql": sql})) for sql in (STAGING["sql"], None))
    for before, after in ((known, unknown), (unknown, known)):
        found = compare_projects(before, after)
        assert (found.changes, sorted(found.unread)) == ((), ["shop.report", "shop.stg", "shop.totals"])


def test_the_command_ends_with_0_1_or_2(project: Any, tmp_path: Any) -> None:
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    old.write_text(json.dumps(project()))
    new.write_text(json.dumps(project(report=None)))
    run = CliRunner()
    same = run.invoke(cli, ["diff", str(old), str(old)])
    assert (same.exit_code, same.output.strip()) == (0, "0 breaking, 0 safe")
    broken = run.invoke(cli, ["diff", str(old), str(new)])
    assert broken.exit_code == 1
    assert "shop.report" in broken.output
    form = json.loads(run.invoke(cli, ["diff", str(old), str(new), "--json"]).output)
    assert form["breaking"] is True
    assert [c["what"] for c in form["changes"]] == ["removed"]
    assert run.invoke(cli, ["diff", str(new), str(old)]).exit_code == 0
    assert run.invoke(cli, ["diff", str(new), str(old), "--fail-on", "change"]).exit_code == 1
    assert run.invoke(cli, ["diff", str(old), str(tmp_path / "none.json")]).exit_code == 2


def test_off_a_terminal_no_name_is_folded(project: Any, tmp_path: Any) -> None:
    name = "a_long_name_" * 9
    model = {"sql": "select id from raw.orders", "parents": ["raw.orders"]}
    for file, models in (("old.json", {name: model}), ("new.json", {})):
        (tmp_path / file).write_text(json.dumps(project(**models)))
    shown = CliRunner().invoke(cli, ["diff", str(tmp_path / "old.json"), str(tmp_path / "new.json")]).output
    assert any(f" shop.{name} " in line for line in shown.splitlines()), shown


def test_contracts_and_exposures_that_a_change_reaches_are_named(project: Any) -> None:
    promised = {"id": "bigint", "total": "decimal(20,2)"}
    totals = {**TOTALS, "contract": True, "columns": promised}
    exposures = {
        "exposure.shop.board": {"name": "board", "depends_on": {"nodes": ["model.shop.report"]}},
        "exposure.shop.notebook": {"name": "notebook", "depends_on": {"nodes": ["model.shop.stg"]}},
        "exposure.shop.odd": {"name": "odd", "depends_on": None},
    }
    old = {**project(totals=totals), "exposures": exposures}
    gone = "select id, amount from raw.orders"
    for sql, column, contracts, read_by in (
        ("select id, cast(amount as double) amount, tags from raw.orders", "amount", ("shop.totals",), True),
        (gone, "tags", (), False),
    ):
        new = {**project(totals=totals, stg={**STAGING, "sql": sql}), "exposures": exposures}
        found = compare_projects(read_project(old), read_project(new))
        (change,) = (c for c in found.changes if (c.relation, c.column) == ("shop.stg", column))
        assert change.contracts == contracts
        assert change.exposures == (("board", "notebook") if read_by else ("notebook",))
        (report,) = (r for r in report_changes(found) if r.model == "shop.stg")
        assert report.findings[0].message.endswith("; the exposure " + ", ".join(change.exposures))
        assert report.details.file == "models/stg.sql"


def test_a_source_that_is_read_from_elsewhere_breaks_no_reader(dbt_manifest: Any) -> None:
    model = {"stg": {"sql": "select id from raw.orders", "parents": ["raw.orders"]}}
    old = dbt_manifest(model, {"raw.orders": {"id": "int"}})
    new = json.loads(json.dumps(old))
    for form in new["sources"].values():
        form.update(relation_name="`raw_2`.`orders`", schema="raw_2")
    new["nodes"]["model.shop.stg"]["compiled_code"] = "select id from raw_2.orders"
    assert told(old, new) == [("safe", "raw.orders", None, "read from elsewhere")]


def test_two_compiles_are_said_to_differ_and_not_to_be_proved(project: Any) -> None:
    after = project(stg={**STAGING, "sql": "select id, amount, 1 as one from raw.orders"}, report=None)
    changed = report_changes(compare_projects(read_project(project()), read_project(after)))
    run = run_report("diff", changed, datetime.now(timezone.utc))
    markdown, page = render(run, "markdown"), render(run, "html")
    assert markdown.startswith("**planproof:** 2 breaking changes, 1 safe\n\n### Breaking\n\n- shop.")
    assert "<summary>Safe: 1</summary>" in markdown
    assert "Breaking.</strong> 2 relations changed under their readers" in page
    for text in (markdown, page.partition("<h1>")[2].partition("<fieldset")[0], render(run, "github")):
        assert "proved" not in text
    nothing = run_report("diff", [], datetime.now(timezone.utc))
    assert render(nothing, "markdown").startswith("**planproof:** nothing changed\n")
    assert "Nothing breaks." in render(nothing, "html")
    assert "planproof: nothing changed" in render(nothing, "github")


@pytest.mark.parametrize("own", [True, False])
def test_identical_manifests_give_nothing_whose_files_lie_elsewhere(
    dbt_manifest: Any, tmp_path: Any, own: bool
) -> None:
    """One side is a manifest that was put by, without the project's files; the other has a freeze file and seeds."""
    typed = {"column_types": {"code": "string", "label": "string"}}
    seeds = {"codes": {"config": typed, "checksum": {"checksum": "x"}}}
    models = {
        "stg": {"sql": "select id from raw.orders", "parents": ["raw.orders"]},
        "named": {"sql": "select * from shop.codes", "parents": ["codes"]},
    }
    manifest = json.dumps(dbt_manifest(models, {"raw.orders": {"id": "int"}}, seeds))
    columns = [{"name": "id", "type": "bigint", "nullable": False}, {"name": "at", "type": "timestamp"}]
    here, old = tmp_path / "here", tmp_path / "old"
    for directory in (here / "target", here / "seeds", old):
        directory.mkdir(parents=True)
    (here / "dbt_project.yml").write_text("name: shop\n")
    (here / "seeds" / "codes.csv").write_text("code,label\n1,one\n")
    frozen = json.dumps({"version": 1, "sources": {"raw.orders": {"columns": columns}}})
    (here / "planproof_sources.json").write_text(frozen)
    (here / "target" / "manifest.json").write_text(manifest)
    (old / "manifest.json").write_text(manifest)
    if own:
        (old / "dbt_project.yml").write_text("name: shop\n")
        changed = frozen.replace("bigint", "string")
        (old / "planproof_sources.json").write_text(changed)
    for before, after in ((old / "manifest.json", here), (here, old / "manifest.json")):
        done = CliRunner().invoke(cli, ["diff", str(before), str(after), "--json", "--fail-on", "change"])
        form = json.loads(done.stdout)
        told = {(c["relation"], c["column"], c["what"]) for c in form["changes"]}
        if own:  # The freeze files differ, and each side has its own.
            assert ("raw.orders", "id", "type changed") in told
        else:
            assert (done.exit_code, form["changes"], form["unread"]) == (0, [], {})
    if not own:
        seeded = json.loads(manifest)
        seeded["nodes"]["seed.shop.codes"]["checksum"] = {"checksum": "y"}
        (old / "manifest.json").write_text(json.dumps(seeded))
        form = json.loads(CliRunner().invoke(cli, ["diff", str(old / "manifest.json"), str(here), "--json"]).stdout)
        assert form["changes"] == []
        assert "shop.codes" in form["unread"]


def moved(manifest: Any, schema: str, *names: str) -> Any:
    """The manifest as compiled for another schema; `names` are the models that stand there, all without any."""
    for node in manifest["nodes"].values():
        if not names or node["name"] in names:
            node["relation_name"] = f"{schema}.{node['name']}"
        if not names and node["compiled_code"]:
            node["compiled_code"] = node["compiled_code"].replace("shop.", f"{schema}.")
    return manifest


def test_two_targets_of_one_project_are_compared_without_their_schema(project: Any, tmp_path: Any) -> None:
    after = moved(project(stg={**STAGING, "sql": "select id, cast(amount as int) amount from raw.orders"}), "pr_7")
    found = compare_projects(read_project(project()), read_project(after))
    assert found.remarks == (
        "two targets: every relation stands elsewhere, which is not counted as a change (shop to pr_7)",
    )
    assert {(c.relation, c.what) for c in found.changes} == {
        ("pr_7.stg", "type changed"),
        ("pr_7.stg", "column removed"),
        ("pr_7.totals", "type changed"),
        ("pr_7.report", "type changed"),
    }
    files = [tmp_path / "old.json", tmp_path / "new.json"]
    for file, manifest in zip(files, (project(), moved(project(), "pr_7"))):
        file.write_text(json.dumps(manifest))
    done = CliRunner().invoke(cli, ["diff", *map(str, files)])
    assert done.exit_code == 0, done.output
    assert "note: two targets:" in done.output


def test_a_model_that_stands_elsewhere_alone_or_by_its_config_has_moved(project: Any) -> None:
    assert told(project(), moved(project(), "marts", "report")) == [("breaking", "shop.report", None, "moved")]
    asked = moved(project(), "marts")
    for node in asked["nodes"].values():
        node["config"]["schema"] = "marts"
    assert {what for _, _, _, what in told(project(), asked)} == {"moved"}
