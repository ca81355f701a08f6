"""Schemas of sources and seeds: from the freeze file, from footers, from what is declared; never from a guess."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from planproof.project import ProjectError, read_project
from planproof.project.check import check_project
from planproof.project.sources import Known, Unread, read_frozen, schema_of_source

NOT_NULL = [{"type": "not_null"}]


def schema(project, key, frozen=None):
    return schema_of_source(project, project.nodes[key], frozen or read_frozen(project))


def texts(known):
    return [f"{name} {kind.simple}{'' if nullable else ' NOT NULL'}" for name, kind, nullable in known.columns]


def test_declared_columns_are_nullable_with_evidence_and_may_be_incomplete(dbt_manifest):
    columns = {"id": {"data_type": "bigint", "constraints": NOT_NULL}, "at": "timestamp"}
    project = read_project(dbt_manifest(sources={"raw.orders": columns}))
    known = schema(project, "source.shop.raw.orders")
    assert texts(known) == ["id bigint", "at timestamp"]
    assert known.evidence == {"id": "the source raw.orders declares it NOT NULL"}
    assert not known.complete
    ntz = schema_of_source(project, project.nodes["source.shop.raw.orders"], read_frozen(project), True)
    assert texts(ntz) == ["id bigint", "at timestamp_ntz"]


@pytest.mark.parametrize("columns", [{}, {"id": "bigint", "name": {"description": "no type"}}])
def test_a_source_without_all_types_is_unread(dbt_manifest, columns):
    project = read_project(dbt_manifest(sources={"raw.orders": columns}))
    unread = schema(project, "source.shop.raw.orders")
    assert isinstance(unread, Unread)
    assert "declare one, or run `planproof freeze`" in unread.reason


def test_a_declared_type_that_spark_does_not_know(dbt_manifest):
    project = read_project(dbt_manifest(sources={"raw.orders": {"id": "bigant"}}))
    with pytest.raises(ProjectError, match=r"source.shop.raw.orders .models/sources.yml.: column 'id': .*'bigant'"):
        schema(project, "source.shop.raw.orders")


@pytest.mark.parametrize("suffix", ["json", "yml"])
def test_the_freeze_file_goes_first(dbt_manifest, tmp_path, suffix):
    (tmp_path / "dbt_project.yml").write_text("name: shop")
    (tmp_path / "target").mkdir()
    manifest = dbt_manifest(sources={"raw.orders": {"id": "bigint"}}, seeds={"codes": {}})
    (tmp_path / "target" / "manifest.json").write_text(json.dumps(manifest))
    columns = [{"name": "id", "type": "int", "nullable": False}, {"name": "tags", "type": "array<string NOT NULL>"}]
    frozen = {"version": 1, "sources": {"RAW.orders": {"kind": "view", "columns": columns}}}
    (tmp_path / f"planproof_sources.{suffix}").write_text(json.dumps(frozen))
    project = read_project(tmp_path)
    known = schema(project, "source.shop.raw.orders")
    assert isinstance(known, Known)
    assert texts(known) == ["id int NOT NULL", "tags array<string>"]
    assert known.columns[1][1].json["containsNull"] is False
    assert (known.kind, known.complete) == ("view", True)
    assert isinstance(schema(project, "seed.shop.codes"), Unread)


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"sources": []}, "`sources` is not a mapping"),
        ([], "`sources` is not a mapping"),
        ({"sources": {"a.b": {}}}, "a.b: `columns` is not a list"),
        ({"sources": {"a.b": {"columns": [{"name": "x"}]}}}, "a.b[0] ('x'): has no type"),
        ({"sources": {"a.b": {"columns": [{"name": "x", "type": "nope"}]}}}, "column 'x': cannot read the type 'nope'"),
        ({"sources": {"a.b": {"columns": [{"name": "x", "type": {"type": "array"}}]}}}, "column 'x'"),
    ],
)
def test_freeze_files_that_cannot_be_read(dbt_manifest, tmp_path, form, said):
    file = tmp_path / "frozen.json"
    file.write_text(json.dumps(form))
    with pytest.raises(ProjectError) as caught:
        read_frozen(read_project(dbt_manifest()), file)
    assert said in str(caught.value)
    assert str(file) in str(caught.value)


def test_a_seed_is_known_where_every_column_of_its_file_has_a_type(dbt_manifest, tmp_path):
    (tmp_path / "seeds").mkdir()
    (tmp_path / "seeds" / "codes.csv").write_text("code,label\n1,x\n")
    seed = {"config": {"column_types": {"label": "string", "CODE": "int"}}}
    project = replace(read_project(dbt_manifest(seeds={"codes": seed})), directory=tmp_path)
    assert texts(schema(project, "seed.shop.codes")) == ["code int", "label string"]
    seed["config"]["column_types"].pop("label")
    project = replace(read_project(dbt_manifest(seeds={"codes": seed})), directory=tmp_path)
    unread = schema(project, "seed.shop.codes")
    assert (
        unread.reason
        == "the seed shop.codes states no column_types for the column 'label'; state them for every column, or run "
        "`dbt seed` and then `planproof freeze`"
    )
    seed["config"]["column_types"].clear()
    project = replace(read_project(dbt_manifest(seeds={"codes": seed})), directory=tmp_path)
    assert schema(project, "seed.shop.codes").reason.startswith(
        "the seed shop.codes states no column_types; state them"
    )


def test_footers_of_an_external_location_count_nulls(dbt_manifest, tmp_path, monkeypatch):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    (tmp_path / "orders").mkdir()
    for name, values in (("a", [1, 2]), ("b", [3, 4])):
        table = pa.table({"id": pa.array(values, pa.int64()), "note": pa.array(["x", None])})
        parquet.write_table(table, tmp_path / "orders" / f"{name}.parquet")
    manifest = dbt_manifest(sources={"raw.orders": {"id": "bigint"}})
    manifest["sources"]["source.shop.raw.orders"]["meta"] = {"external_location": str(tmp_path / "orders")}
    project = replace(read_project(manifest), directory=tmp_path)
    known = schema(project, "source.shop.raw.orders")
    assert texts(known) == ["id bigint", "note string"]
    assert known.evidence == {"id": "no null in 4 rows of 2 Parquet files of raw.orders"}
    assert known.complete
    monkeypatch.chdir(tmp_path.parent)
    meta = manifest["sources"]["source.shop.raw.orders"]["meta"]
    with monkeypatch.context() as patch:
        patch.setitem(meta, "external_location", "orders")
        beside = replace(read_project(manifest), directory=Path(tmp_path.name))
        assert schema(beside, "source.shop.raw.orders").evidence == known.evidence
    # What a killed job left is none of the table's files: of another schema, or not whole.
    left = tmp_path / "orders" / "_temporary" / "0"
    left.mkdir(parents=True)
    parquet.write_table(pa.table({"id": ["x"]}), left / "c.parquet")
    (left / "torn.parquet").write_bytes(b"PAR1")
    assert schema(project, "source.shop.raw.orders") == known
    # A file that is not whole, or a column that folders hold: what the source declares stands, and not for all of it.
    for name in ("torn.parquet", "p=1/d.parquet"):
        (tmp_path / "orders" / "p=1").mkdir(exist_ok=True)
        torn = tmp_path / "orders" / name
        torn.write_bytes(b"PAR1")
        found = schema(project, "source.shop.raw.orders")
        assert (texts(found), found.complete) == (["id bigint"], False)
        torn.unlink()


def not_null_test(column, config=None, parents=("source.shop.raw.orders",), **more):
    return {
        "resource_type": "test",
        "name": f"not_null_{column}",
        "test_metadata": {"name": "not_null", "kwargs": {"column_name": column}},
        "column_name": column,
        "config": {"severity": "ERROR", "error_if": "!= 0", "fail_calc": "count(*)", "where": None, **(config or {})},
        "depends_on": {"nodes": list(parents)},
        **more,
    }


@pytest.mark.parametrize("frozen", [True, False])
def test_what_a_source_promises_is_evidence_with_and_without_a_freeze_file(dbt_manifest, tmp_path, frozen):
    columns = {
        "id": {"data_type": "int", "constraints": NOT_NULL},
        **dict.fromkeys(("tested", "some", "warned", "few", "other"), "int"),
    }
    tests = [
        not_null_test("TESTED"),
        not_null_test("some", {"where": "tested > 0"}),
        not_null_test("warned", {"severity": "warn"}),
        not_null_test("few", {"error_if": "> 10"}),
        not_null_test("other", test_metadata={"name": "not_null", "namespace": "their_package", "kwargs": {}}),
    ]
    extra = {f"test.shop.{number}": test for number, test in enumerate(tests)}
    manifest = dbt_manifest(sources={"raw.orders": columns}, **extra)
    file = tmp_path / "frozen.json"
    live = [{"name": name, "type": "int", "nullable": True} for name in columns]
    file.write_text(json.dumps({"version": 1, "sources": {"raw.orders": {"columns": live}}}))
    project = read_project(manifest)
    known = schema(project, "source.shop.raw.orders", read_frozen(project, file) if frozen else None)
    assert all(nullable for _, _, nullable in known.columns)
    assert known.evidence == {
        "id": "the source raw.orders declares it NOT NULL",
        "tested": "the test not_null of the source raw.orders holds it",
    }


def test_a_test_of_a_source_proves_what_a_model_promises(dbt_manifest, tmp_path):
    model = {"sql": "select id from raw.orders", "contract": True, "parents": ["raw.orders"]}
    model["columns"] = {"id": {"data_type": "int", "constraints": NOT_NULL}}
    manifest = dbt_manifest({"m": model}, {"raw.orders": {"id": "int"}}, **{"test.shop.t": not_null_test("id")})
    (report,) = check_project(read_project(manifest))
    (proved,) = [f for f in report.findings if f.promised == "NOT NULL"]
    assert (str(proved.verdict), proved.evidence) == ("proved", "the test not_null of the source raw.orders holds it")


def test_a_source_that_drifted_is_told_as_the_cause(dbt_manifest, tmp_path):
    def model(sql, *parents):
        return {"sql": sql, "parents": parents, "contract": True, "columns": {"n": "int"}}

    models = {
        "direct": model("select n from raw.orders", "raw.orders"),
        "below": model("select n from shop.direct", "direct"),
        "gone": model("select cast(gone as int) as n from raw.orders", "raw.orders"),
        "apart": model("select 'x' as n"),
    }
    columns = {"n": "int", "gone": "string", "kept": "varchar(3)"}
    file = tmp_path / "frozen.json"
    live = [{"name": "n", "type": "string"}, {"name": "kept", "type": "string"}]
    file.write_text(json.dumps({"version": 1, "sources": {"raw.orders": {"columns": live}}}))
    project, told = read_project(dbt_manifest(models, {"raw.orders": columns})), []
    check_project(project, frozen=file, on_remark=told.append)
    (drift,) = [remark for remark in told if "declares" in remark]
    assert drift.startswith("the source raw.orders is not what models/sources.yml declares (")
    assert "n is string, declared int; gone is gone); " in drift
    stopped = drift.partition("stopped: ")[2].split(", ")
    assert {"shop.direct", "shop.gone"} <= set(stopped)
    assert "shop.apart" not in stopped

    fits = [{"name": name, "type": kind} for name, kind in (("n", "int"), ("gone", "string"), ("kept", "string"))]
    file.write_text(json.dumps({"version": 1, "sources": {"raw.orders": {"columns": fits}}}))
    told.clear()
    check_project(project, frozen=file, on_remark=told.append)
    assert not [remark for remark in told if "declares" in remark]
