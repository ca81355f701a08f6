"""The freeze file: written from real Spark, read by the offline check, compared with what is there now."""

from __future__ import annotations

import json
from typing import Any

import pytest

from planproof.project.errors import ProjectError
from planproof.project.freeze import drift_of_sources, frozen_form, text_of
from planproof.project.manifest import read_project
from planproof.project.offline import check_project
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
    form = frozen_form(project, session)
    file = tmp_path / "planproof_sources.json"
    file.write_text(text_of(form))
    assert json.loads(file.read_text()) == form
    [report] = check_project(project, frozen=file)
    [logical] = [p for p in report.planes if p.plane == "logical"]
    assert [(name, kind) for name, kind, _ in logical.schema or ()] == [("id", "bigint"), ("a", "int"), ("c", "string")]
    found = drift_of_sources(project, session, read_frozen(project, file))
    assert (found.changes, found.unread) == ((), {})


def test_a_source_that_changed_is_told(project: Any, session: Any, spark: Any, database: str, tmp_path: Any) -> None:
    file = tmp_path / "frozen.json"
    file.write_text(text_of(frozen_form(project, session)))
    spark.sql(f"drop table {database}.orders")
    spark.sql(f"create table {database}.orders (id int, s struct<a: int, b: int>, extra int) using parquet")
    found = drift_of_sources(project, session, read_frozen(project, file))
    told = {(c.effect, c.column, c.what) for c in found.changes}
    assert told == {
        ("breaking", "id", "type narrowed"),
        ("breaking", "c", "column removed"),
        ("breaking", "p", "column removed"),
        ("safe", "s.b", "field added"),
        ("safe", "extra", "column added"),
    }
    spark.sql(f"drop table {database}.orders")
    gone = drift_of_sources(project, session, read_frozen(project, file))
    assert [(c.effect, c.what) for c in gone.changes] == [("breaking", "removed")]
    with pytest.raises(ProjectError, match="nothing was written"):
        frozen_form(project, session)


def test_without_a_file_there_is_nothing_to_compare(project: Any, session: Any) -> None:
    with pytest.raises(ProjectError, match="planproof freeze"):
        drift_of_sources(project, session, Frozen())
