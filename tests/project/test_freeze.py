"""The freeze file: written from real Spark, read by the offline check, compared with what is there now."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner

from planproof.cli.group import cli
from planproof.project.check import check_project
from planproof.project.freeze import find_drift, freeze_relations, render_form
from planproof.project.manifest import read_project
from planproof.project.reads import ProjectError
from planproof.project.sources import Frozen, read_frozen


@pytest.fixture
def project(dbt_manifest: Any, spark: Any, database: str) -> Any:
    spark.sql(
        f"create table {database}.orders (id bigint not null, s struct<a: int not null>, c varchar(3), p string) "
        "using parquet partitioned by (p)"
    )
    model = {"sql": f"select id, s.a, c from {database}.orders", "parents": [f"{database}.orders"]}
    return read_project(dbt_manifest(models={"stg": model}, sources={f"{database}.orders": {}}))


def test_what_is_frozen_is_what_check_reads(project: Any, session: Any, tmp_path: Any) -> None:
    form, missing = freeze_relations(project, session)
    assert missing == {}
    file = tmp_path / "planproof_sources.json"
    file.write_text(render_form(form))
    assert json.loads(file.read_text()) == form
    [report] = check_project(project, frozen=file)
    [logical] = [p for p in report.planes if p.plane == "logical"]
    assert [(name, kind) for name, kind, _ in logical.schema or ()] == [("id", "bigint"), ("a", "int"), ("c", "string")]
    found = find_drift(project, session, read_frozen(project, file))
    assert (found.changes, found.unread) == ((), {})


def test_a_source_that_changed_is_told(project: Any, session: Any, spark: Any, database: str, tmp_path: Any) -> None:
    file = tmp_path / "frozen.json"
    file.write_text(render_form(freeze_relations(project, session)[0]))
    spark.sql(f"drop table {database}.orders")
    spark.sql(f"create table {database}.orders (id int, s struct<a: int, b: int>, extra int) using parquet")
    found = find_drift(project, session, read_frozen(project, file))
    told = {(c.effect, c.column, c.what) for c in found.changes}
    assert told == {
        ("breaking", "id", "type narrowed"),
        ("breaking", "c", "column removed"),
        ("breaking", "p", "column removed"),
        ("safe", "s.b", "field added"),
        ("safe", "extra", "column added"),
    }
    reached = {c.column: c.reaches for c in found.changes if c.reaches}
    assert reached == {"id": ("shop.stg.id",), "c": ("shop.stg.c",), "s.b": ("shop.stg.a",)}
    spark.sql(f"drop table {database}.orders")
    gone = find_drift(project, session, read_frozen(project, file))
    assert [(c.effect, c.what) for c in gone.changes] == [("breaking", "removed")]
    assert gone.changes[0].reaches == ("shop.stg.a", "shop.stg.c", "shop.stg.id")
    with pytest.raises(ProjectError, match="nothing was written"):
        freeze_relations(project, session)


def test_without_a_file_there_is_nothing_to_compare(project: Any, session: Any) -> None:
    with pytest.raises(ProjectError, match="planproof freeze"):
        find_drift(project, session, Frozen())


def test_a_missing_source_does_not_keep_the_others_from_being_frozen(
    dbt_manifest: Any, session: Any, spark: Any, database: str, tmp_path: Any
) -> None:
    spark.sql(f"create table {database}.orders (id bigint) using parquet")
    sources = {f"{database}.{name}": {} for name in ("orders", "lines")} | {"no_such_database.t": {}}
    (tmp_path / "dbt_project.yml").write_text("name: shop\nprofile: shop\n")
    target = {"type": "spark", "method": "session", "host": "NA", "schema": database}
    (tmp_path / "profiles.yml").write_text(json.dumps({"shop": {"target": "dev", "outputs": {"dev": target}}}))
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "manifest.json").write_text(json.dumps(dbt_manifest(sources=sources)))
    done = CliRunner().invoke(cli, ["freeze", "--project-dir", str(tmp_path), "--profiles-dir", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert done.stdout.endswith("planproof_sources.json: 1 schema\n")
    assert f"not frozen: {database}.lines: Spark knows no such relation" in done.stderr
    assert "not frozen: no_such_database.t: " in done.stderr
    assert list(json.loads((tmp_path / "planproof_sources.json").read_text())["sources"]) == [f"{database}.orders"]


def test_what_no_check_could_read_is_not_frozen(
    dbt_manifest: Any, session: Any, spark: Any, database: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark names a column with nothing, or so that it turns the direction of a text: the freeze file ended the check
    of every model, and JSON for programs spoke to a terminal."""
    spark.sql(f"create view {database}.nameless as select 1 as ``")
    spark.sql(f"create view {database}.turned as select 1 as `a\u202e\u2028::error::b`")
    manifest = dbt_manifest(sources={f"{database}.{name}": {} for name in ("nameless", "turned")})
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    monkeypatch.setattr("planproof.project.location.ProjectLocation.open_session", lambda self, conf: session)
    file = tmp_path / "planproof_sources.json"
    words = ["freeze", "--manifest", str(tmp_path / "manifest.json"), "-o", str(file), "--json"]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 0, done.output
    assert done.stdout.isascii()
    assert list(json.loads(done.stdout)["sources"]) == [f"{database}.turned"]
    assert f"not frozen: {database}.nameless: " in done.stderr
    assert [*read_frozen(read_project(manifest), file).relations] == [(database, "turned")]
