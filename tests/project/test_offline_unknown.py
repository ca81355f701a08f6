"""The offline check where a schema is not known: it says which and why, and guesses nothing."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from offline_reports import ID, ORDERS, VIEW, found, logical

from planproof.project import ProjectError, read_project
from planproof.project.freeze import find_drift, freeze_relations, render_form
from planproof.project.sources import read_frozen
from planproof_engine.conf import Conf
from planproof_engine.finding import Verdict
from planproof_engine.schema import PhysicalField, PhysicalSchema
from planproof_engine.types import LONG


def test_an_unknown_parent_makes_its_children_unproved_by_name(check):
    models = {
        "odd": {"sql": "select nobody_knows_this(id) as id from raw.orders", "parents": ["raw.orders"]},
        "child": {"sql": "select id from shop.odd", "parents": ["odd"]},
        "grandchild": {"sql": "select id from shop.child", "parents": ["child"]},
        "apart": {"sql": "select id from raw.orders", "parents": ["raw.orders"]},
    }
    reports = check(models)
    assert {name: report.verdict.value for name, report in reports.items()} == {
        "odd": "unproved",
        "child": "unproved",
        "grandchild": "unproved",
        "apart": "proved",
    }
    (finding,) = reports["child"].findings
    assert finding.code == "PP111"
    assert "the schema of shop.odd" in finding.message
    assert logical(reports["child"]).status == "unreadable"


@pytest.mark.parametrize(("column", "code"), [("amount", None), ("amuont", "PP110")])
def test_a_parent_that_the_text_does_not_read_explains_no_error(check, column, code):
    """The manifest lists a parent that a macro names, too."""
    models = {
        "stg": {"sql": "select id, amount from raw.orders", "parents": ["raw.orders"], "config": VIEW},
        "mart": {"sql": f"select {column} from shop.stg", "parents": ["stg", "raw.nothing"]},
    }
    report = check(models, {**ORDERS, "raw.nothing": {}})["mart"]
    assert [f.code for f in report.findings] == ([code] if code else [])


def test_a_contract_stands_for_a_parent_that_is_not_understood_and_the_report_says_so(check):
    models = {
        "odd": {
            "sql": "select nobody_knows_this(id) as id from raw.orders",
            "parents": ["raw.orders"],
            "contract": True,
            "columns": {"id": ID},
        },
        "child": {
            "sql": "select id from shop.odd",
            "parents": ["odd"],
            "contract": True,
            "columns": {"id": {"data_type": "int"}},
        },
    }
    reports = check(models)
    assert reports["odd"].verdict is Verdict.UNPROVED
    assert found(reports["child"], Verdict.VIOLATED) == [("PP504", "id")]
    assert reports["child"].details.inputs == {"shop.odd": "its contract stands for it: not read offline"}


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("select * from elsewhere.made_by_a_hook", "a hook, a macro or another job may provide it"),
        ("select nope from raw.orders", "the source raw.orders may have more columns than the manifest declares"),
    ],
)
def test_what_may_exist_elsewhere_is_unproved_and_never_violated(check, sql, said):
    report = check({"mart": {"sql": sql, "parents": ["raw.orders"]}})["mart"]
    assert report.verdict is Verdict.UNPROVED
    assert said in report.findings[0].message


def test_columns_that_only_seem_to_be_missing_are_unproved(check):
    model = {
        "sql": "select * from raw.orders",
        "parents": ["raw.orders"],
        "contract": True,
        "columns": {"id": ID, "amount": "decimal(12,2)", "tags": "array<string>", "note": "string"},
    }
    report = check({"mart": model})["mart"]
    assert found(report, Verdict.UNPROVED) == [("PP501", "note")]
    assert found(report, Verdict.VIOLATED) == []


ORDERED = {"meta": {"planproof": {"enforce": ["order"]}}}


def test_an_order_that_another_column_may_change_is_unproved(check):
    columns = {"amount": "decimal(12,2)", "id": ID, "tags": "array<string>"}
    for sql, verdict in (
        ("select * from raw.orders", "unproved"),
        ("select id, amount, tags from raw.orders", "violated"),
    ):
        model = {"sql": sql, "parents": ["raw.orders"], "contract": True, "columns": columns, "config": ORDERED}
        findings = check({"mart": model})["mart"].findings
        assert {f.verdict.value for f in findings if f.code == "PP503"} == {verdict}


@pytest.mark.parametrize(
    ("sql", "verdict"),
    [
        ("select id, amount, tags as labels from raw.orders", Verdict.VIOLATED),
        (
            "with o as (select * from raw.orders), p as (select id, amount, tags labels from o) select * from p",
            "violated",
        ),
        ("select o.id, o.amount, o.tags as labels, count(*) over () n from raw.orders o", Verdict.VIOLATED),
        ("select id, amount, tags as labels, o.* except (id, amount, tags) from raw.orders o", Verdict.UNPROVED),
        ("select * from (select id, amount from raw.orders) natural join raw.orders", Verdict.UNPROVED),
        ("select * from shop.stg", Verdict.UNPROVED),
    ],
)
def test_no_source_has_more_columns_than_a_list_names(check, sql, verdict):
    promised = {"id": ID, "amount": "decimal(12,2)", "note": "string"}
    models = {
        "stg": {"sql": "select * from raw.orders", "parents": ["raw.orders"], "config": VIEW},
        "mart": {"sql": sql, "parents": ["raw.orders", "stg"], "contract": True, "columns": promised},
    }
    missing = [f.verdict for f in check(models)["mart"].findings if f.code in ("PP501", "PP502")]
    assert set(missing) == {verdict}


@pytest.mark.parametrize(
    ("stg", "code", "verdict"),
    [
        ("with o as (select * from raw.orders) select id, amount from o", "PP110", Verdict.VIOLATED),
        ("select * from raw.orders", "PP111", Verdict.UNPROVED),
        ("select o.* except (tags) from raw.orders o", "PP111", Verdict.UNPROVED),
        ("select id, array(struct(*)) as rows from raw.orders", "PP111", Verdict.UNPROVED),
    ],
)
@pytest.mark.parametrize("between", [VIEW, {"materialized": "ephemeral"}])
def test_a_model_that_lists_its_columns_has_no_more_of_them(check, stg, code, verdict, between):
    models = {
        "stg": {"sql": stg, "parents": ["raw.orders"], "config": VIEW},
        "mid": {"sql": "select * from shop.stg", "parents": ["stg"], "config": between},
        "mart": {
            "sql": "with __dbt__cte__mid as (select * from shop.stg) select note from __dbt__cte__mid"
            if between is not VIEW
            else "select note from shop.mid",
            "parents": ["mid"],
        },
    }
    assert found(check(models)["mart"], verdict) == [(code, None)]


@pytest.mark.parametrize("dropped", ["id", "customer", "amount", "tags"])
def test_a_healthy_project_has_no_violation_whichever_column_a_source_does_not_declare(check, dropped):
    """The relation of one source is a seed's, too, as in the tests of many packages."""
    every = {"id": "bigint", "customer": "bigint", "amount": "decimal(12,2)", "tags": "array<string>"}
    declared = {name: kind for name, kind in every.items() if name != dropped}
    models = {
        "tmp": {"sql": "select * from shop.orders", "parents": ["shop.orders"], "config": VIEW},
        "stg": {
            "sql": "with b as (select * from shop.tmp) select id, customer, amount, tags from b",
            "parents": ["tmp"],
        },
        "named": {"sql": "select id, customer c, amount, tags from raw.orders", "parents": ["raw.orders"]},
        "nested": {"sql": "select struct(*) as s from raw.orders", "parents": ["raw.orders"], "config": VIEW},
        "inner": {"sql": "select s.id, s.customer, s.amount, s.tags from shop.nested", "parents": ["nested"]},
        "grown": {
            "sql": "select 1L as id from raw.orders",
            "parents": ["raw.orders"],
            "config": {"materialized": "incremental", "on_schema_change": "append_new_columns"},
        },
        "old": {"sql": "select id, amount from shop.grown", "parents": ["grown"]},
        "joined": {
            "sql": "select 1 from shop.tmp a join raw.orders b using (id, amount)",
            "parents": ["tmp", "raw.orders"],
        },
        "mart": {
            "sql": "select s.customer, sum(n.amount) total, max(s.tags) tags from shop.stg s join shop.named n "
            "using (id) group by s.customer",
            "parents": ["stg", "named"],
            "contract": True,
            "columns": {"customer": "bigint", "total": "decimal(22,2)", "tags": "array<string>"},
        },
        "whole": {
            "sql": "select * from shop.tmp union all select 1L, 2L, cast(3 as decimal(12,2)), array('a')",
            "parents": ["tmp"],
            "contract": True,
            "columns": every,
        },
    }
    seed = {"orders": {"config": {"column_types": {}}}}
    reports = check(models, {"shop.orders": declared, "raw.orders": declared}, seeds=seed)
    broken = {name: report.findings for name, report in reports.items() if report.of(Verdict.VIOLATED)}
    assert broken == {}


@pytest.mark.parametrize("name", ["raw.nowhere", "lake.raw.nowhere", "parquet.`/data/orders`"])
def test_a_relation_that_nobody_declared_is_no_violation(check, name):
    report = check({"mart": {"sql": f"select id from {name}"}})["mart"]
    assert (report.verdict, found(report, Verdict.VIOLATED)) == (Verdict.UNPROVED, [])


def add_snapshot(manifest):
    """The snapshot `shop.snap`, which the model `child` reads."""
    manifest["nodes"]["snapshot.shop.snap"] = {
        **manifest["nodes"]["model.shop.child"],
        "resource_type": "snapshot",
        "name": "snap",
        "unique_id": "snapshot.shop.snap",
        "relation_name": "shop.snap",
    }
    manifest["nodes"]["model.shop.child"]["depends_on"] = {"nodes": ["snapshot.shop.snap"]}


def test_python_models_and_snapshots_are_not_guessed(check):
    models = {
        "snake": {"language": "python", "sql": "def model(dbt, session): ..."},
        "from_snake": {"sql": "select * from shop.snake", "parents": ["snake"]},
        "mart": {"sql": "select 1 as id"},
        "child": {"sql": "select * from shop.snap"},
    }
    reports = check(models, {}, change=add_snapshot)
    assert {name: report.verdict.value for name, report in reports.items()} == {
        "snake": "unproved",
        "from_snake": "unproved",
        "mart": "proved",
        "child": "unproved",
    }
    (finding,) = reports["snake"].findings
    assert "Please report the construct" not in finding.next_step
    assert "give a model a contract" in finding.next_step
    (finding,) = reports["child"].findings
    assert "the snapshot shop.snap has columns that only dbt and Spark know" in finding.message
    assert "run `dbt snapshot` and then `planproof freeze`" in finding.message


@pytest.mark.parametrize(
    ("sql", "verdict", "codes"),
    [
        ("select id from shop.snap", Verdict.PROVED, [("PP505", "id")]),
        ("select upper(id, 1) as id from shop.snap", Verdict.VIOLATED, [("PP110", None)]),
        ("select cast(id as string) as id from shop.snap", Verdict.VIOLATED, [("PP504", "id"), ("PP505", "id")]),
        # `dbt snapshot` adds the columns that its query has got since.
        ("select id, new from shop.snap", Verdict.UNPROVED, [("PP111", None)]),
    ],
)
def test_a_snapshot_that_was_frozen_is_known(check, dbt_manifest, tmp_path, sql, verdict, codes):
    def table(name):
        schema = PhysicalSchema((PhysicalField("id", LONG, nullable=False),))
        return SimpleNamespace(kind="view", schema=schema) if name == "shop.snap" else None

    models = {"child": {"sql": sql, "contract": True, "columns": {"id": ID}}}
    manifest, session = dbt_manifest(models, ORDERS), SimpleNamespace(table=table, conf=Conf())
    add_snapshot(manifest)
    project, file = read_project(manifest), tmp_path / "planproof_sources.json"
    form, missing = freeze_relations(project, session)
    assert (list(form["sources"]), list(missing)) == (["shop.snap"], ["raw.orders"])
    file.write_text(render_form(form), "utf-8")
    report = check(models, change=add_snapshot, frozen=file)["child"]
    assert (report.verdict, found(report)) == (verdict, codes)
    drift = find_drift(project, session, read_frozen(project, file))
    assert drift.changes == ()
    assert list(drift.unread.values()) == [f"{file} does not hold it; Spark knows no such relation"]


def test_a_selected_model_that_is_not_compiled(check):
    models = {"a": {"sql": "select 1 as id"}, "b": {}}
    with pytest.raises(ProjectError, match=r"not compiled: model\.shop\.b; run `dbt compile`"):
        check(models, select=["b", "a"])
    with pytest.raises(ProjectError, match=r"not compiled: model\.shop\.b; run `dbt compile`"):
        check({"b": {}, "inlined": {"config": {"materialized": "ephemeral"}}})
    reports = check({"a": {"sql": "select id from shop.b", "parents": ["b"]}, "b": {}}, select=["a"])
    assert reports["a"].verdict is Verdict.UNPROVED


def test_a_project_that_is_compiled_in_part_is_judged_in_part(check):
    """After a build of a selection, one that skipped models, and a compile in which some failed."""
    models = {
        "a": {"sql": "select 1 as id"},
        "reader": {"sql": "select id from shop.b0", "parents": ["b0"]},
        "snake": {"language": "python", "sql": "def model(dbt, session): ..."},
        **{f"b{i}": {} for i in range(7)},
        "inlined": {"config": {"materialized": "ephemeral"}},
    }
    noted: list[str] = []
    reports = check(models, on_remark=noted.append)
    assert {name: report.verdict.value for name, report in reports.items()} == {
        "a": "proved",
        "reader": "unproved",
        "snake": "unproved",
    }
    assert noted[0] == (
        "7 models are not compiled and were not judged: model.shop.b0, model.shop.b1, model.shop.b2, model.shop.b3, "
        "model.shop.b4 and 2 more; run `dbt compile`, or `planproof check --compile`"
    )


def test_a_parent_of_unknown_schema_that_the_text_does_not_read_does_no_harm(check):
    model = {"sql": "select cast(null as int) as id", "parents": ["raw.unknown"], "config": VIEW}
    reader = {"sql": "select id from raw.unknown", "parents": ["raw.unknown"], "config": VIEW}
    reports = check({"empty": model, "reader": reader}, {"raw.unknown": {}})
    assert reports["empty"].verdict is Verdict.PROVED
    assert found(reports["reader"], Verdict.UNPROVED) == [("PP111", None)]
    assert "raw.unknown" in reports["reader"].findings[0].message


def test_an_incremental_model_reads_itself_as_the_freeze_file_has_it(check, tmp_path):
    model = {
        "sql": "select id from raw.orders where id > (select max(id) from shop.inc)",
        "parents": ["raw.orders"],
        "config": {"materialized": "incremental"},
    }
    assert found(check({"inc": model})["inc"], Verdict.UNPROVED) == [("PP111", None)]
    frozen = tmp_path / "planproof_sources.json"
    frozen.write_text('{"sources": {"shop.inc": {"columns": [{"name": "id", "type": "bigint"}]}}}', "utf-8")
    assert check({"inc": model}, frozen=frozen)["inc"].verdict is Verdict.PROVED


def test_what_a_text_reads_and_the_manifest_does_not_list(check, tmp_path):
    """A macro that calls ref() only while dbt renders leaves `depends_on` empty."""
    frozen = tmp_path / "frozen.json"
    frozen.write_text(
        json.dumps({"version": 1, "sources": {"raw.rates": {"columns": [{"name": "rate", "type": "double"}]}}})
    )
    models = {
        "a_mart": {
            "sql": "select z.id, r.rate, o.amount from shop.z_stg z cross join raw.rates r "
            "join spark_catalog.raw.orders o on o.id = z.id",
            "columns": {"id": ID, "rate": "double", "amount": "decimal(12,2)"},
            "contract": True,
        },
        "z_stg": {"sql": "select id from raw.orders where id > 0", "config": VIEW},
        "m_child": {"sql": "select amount from shop.a_mart", "config": VIEW},
    }
    reports = check(models, frozen=frozen)
    assert list(reports) == ["z_stg", "a_mart", "m_child"]
    assert reports["a_mart"].verdict is Verdict.PROVED
    assert reports["a_mart"].details.inputs == {
        "shop.z_stg": "planned",
        "raw.rates": str(frozen),
        "raw.orders": "declared in models/sources.yml",
    }
    assert reports["m_child"].verdict is Verdict.PROVED
    assert list(check(models, frozen=frozen, select=["m_child"])) == ["m_child"]
    assert logical(check(models, frozen=frozen, select=["m_child"])["m_child"]).status == "read"


def test_a_relation_that_is_not_listed_and_not_known_is_named(check):
    sources = {"raw.orders": {}}
    models = {"mart": {"sql": "select id from raw.orders"}, "child": {"sql": "select id from shop.mart"}}
    reports = check(models, sources)
    assert found(reports["mart"], Verdict.UNPROVED) == [("PP111", None)]
    said = logical(reports["mart"]).reason
    assert "the schema of raw.orders: the source raw.orders lacks a complete list of columns" in said
    assert "shop.mart" in logical(reports["child"]).reason


def test_a_state_stands_for_what_dbt_deferred_to_it(check, dbt_manifest, tmp_path):
    """`dbt build --select mart --defer` compiles mart alone, which reads `stg` where the other state has it."""
    sha = {"checksum": {"name": "none", "checksum": "1"}}
    models = {
        "stg": {"sql": "select id from raw.orders", "parents": ["raw.orders"], "config": VIEW, **sha},
        "mart": {"sql": "select id from prod.stg", "parents": ["stg"], "columns": {"id": ID}, "contract": True},
    }
    old = dbt_manifest(models, ORDERS)
    old["nodes"]["model.shop.stg"]["relation_name"] = "prod.stg"
    (tmp_path / "manifest.json").write_text(json.dumps(old))
    here = {**models, "stg": {**models["stg"], "sql": None}}
    assert check(here, select=["mart"])["mart"].verdict is Verdict.UNPROVED
    mart = check(here, select=["mart"], state=tmp_path)["mart"]
    assert (mart.verdict, mart.details.inputs) == (Verdict.PROVED, {"shop.stg": "planned"})
    # The text of another file is no text of this one.
    changed = {**here, "stg": {**here["stg"], "checksum": {"name": "none", "checksum": "2"}}}
    assert check(changed, select=["mart"], state=tmp_path)["mart"].verdict is Verdict.UNPROVED


def test_what_freeze_would_make_known_is_said_once(check):
    remarks = []
    models = {f"m{i}": {"sql": f"select id from raw.t{i}", "parents": [f"raw.t{i}"]} for i in range(5)}
    check(models, {f"raw.t{i}": {} for i in range(6)}, on_remark=remarks.append)
    [_, remark] = remarks
    assert remark.startswith("the schemas of 5 sources and seeds are not known (raw.t0, raw.t1, raw.t2 and 2 more)")
    check({"mart": {"sql": "select id from raw.orders", "parents": ["raw.orders"]}}, on_remark=remarks.append)
    assert len(remarks) == 3


def test_several_schemas_that_a_freeze_file_lacks_are_them(check, tmp_path):
    file, remarks = tmp_path / "planproof_sources.json", []
    file.write_text('{"sources": {"raw.t0": {"columns": [{"name": "id", "type": "int"}]}}}')
    models = {f"m{i}": {"sql": f"select id from raw.t{i}", "parents": [f"raw.t{i}"]} for i in range(3)}
    check(models, {f"raw.t{i}": {} for i in range(3)}, frozen=file, on_remark=remarks.append)
    assert "planproof_sources.json does not hold them; once Spark knows them (`dbt seed`" in remarks[-1]


def test_what_a_freeze_file_does_not_hold_has_another_next_step_than_the_first_freeze(check, tmp_path):
    file, remarks = tmp_path / "planproof_sources.json", []
    file.write_text('{"sources": {"raw.t0": {"columns": [{"name": "id", "type": "int"}]}}}')
    models = {f"m{i}": {"sql": f"select id from raw.t{i}", "parents": [f"raw.t{i}"]} for i in range(2)}
    check(models, {f"raw.t{i}": {} for i in range(2)}, frozen=file, on_remark=remarks.append)
    assert "(raw.t1)" in remarks[-1]
    assert remarks[-1].endswith("once Spark knows it (`dbt seed` loads a seed), run `planproof freeze` again")


def test_models_that_read_each_other_unlisted_are_not_read_for_ever(check):
    models = {"a": {"sql": "select id from shop.b"}, "b": {"sql": "select id from shop.a"}}
    assert {found(report)[0] for report in check(models, {}).values()} == {("PP111", None)}
