"""The offline check: schemas and evidence through ref()."""

from __future__ import annotations

import json

import pytest
from offline_reports import ID, ORDERS, TABLE, VIEW, found, logical

from planproof.project import ProjectError, read_project
from planproof.project.explained import explain_model
from planproof_engine.conf import Conf
from planproof_engine.finding import CODES, Verdict


def test_a_healthy_project_is_proved(check):
    reports = check(
        {
            "stg": {"sql": "select id, amount from raw.orders", "parents": ["raw.orders"], "config": VIEW},
            "mart": {
                "sql": "select id, cast(amount as double) as amount from shop.stg where amount > 0",
                "parents": ["stg"],
                "contract": True,
                "columns": {"id": ID, "amount": "double"},
            },
        }
    )
    mart = reports["mart"]
    assert mart.verdict is Verdict.PROVED
    assert found(mart) == [("PP505", "id")]
    assert mart.findings[0].evidence == "the source raw.orders declares it NOT NULL"
    assert mart.details.inputs == {"shop.stg": "planned"}
    assert [p.status for p in mart.planes[:3]] == ["read", "read", "read"]
    assert {p.status for p in mart.planes[3:]} == {"not present"}
    assert {i.invariant: i.enforced for i in mart.invariants} == {
        "I1": True,
        "I2": False,
        "I3": False,
        "I4": False,
        "I5": False,
        "I6": True,
        "I7": False,
        "D1": True,
    }


def test_a_table_forgets_flags_and_a_view_keeps_them(check):
    one = "select 1L as id, array(1) as xs"
    models = {
        "a_table": {"sql": one, "config": TABLE},
        "a_view": {"sql": one, "config": VIEW},
        "inc": {"sql": one, "config": {"materialized": "incremental"}},
        **{
            f"from_{name}": {"sql": f"select * from shop.{name}", "parents": [name]}
            for name in ("a_table", "a_view", "inc")
        },
    }
    reports = check(models, {})
    flags = {
        name: [nullable for _, _, nullable in logical(reports[f"from_{name}"]).schema] for name in ("a_table", "a_view")
    }
    assert flags == {"a_table": [True, True], "a_view": [False, False]}


def test_evidence_outlives_the_flags_of_a_table_and_an_outer_join_ends_it(check):
    promise = {"contract": True, "columns": {"id": ID, "other": ID}}
    models = {
        "kept": {"sql": "select id from raw.orders where id is not null", "parents": ["raw.orders"], "config": TABLE},
        "inner_join": {
            "sql": "select a.id, b.id as other from shop.kept a join shop.kept b on a.id = b.id",
            "parents": ["kept"],
            **promise,
        },
        "outer_join": {
            "sql": "select a.id, b.id as other from shop.kept a left join shop.kept b on a.id = b.id + 1",
            "parents": ["kept"],
            **promise,
        },
    }
    reports = check(models, {"raw.orders": {"id": "bigint"}})
    assert found(reports["inner_join"]) == [("PP505", "id"), ("PP505", "other")]
    assert reports["inner_join"].verdict is Verdict.PROVED
    assert found(reports["outer_join"], Verdict.UNPROVED) == [("PP506", "other")]
    assert reports["outer_join"].verdict is Verdict.UNPROVED
    assert found(reports["outer_join"], Verdict.PROVED) == [("PP505", "id")]


def test_a_contract_upstream_is_evidence_for_a_table_but_neither_for_a_view_nor_an_incremental(check):
    models = {}
    for kind in ("table", "view", "incremental"):
        models[f"a_{kind}"] = {
            "sql": "select id from raw.orders",
            "parents": ["raw.orders"],
            "config": {"materialized": kind},
            "contract": True,
            "columns": {"id": ID},
        }
        models[f"from_{kind}"] = {
            "sql": f"select id from shop.a_{kind}",
            "parents": [f"a_{kind}"],
            "contract": True,
            "columns": {"id": ID},
        }
    reports = check(models, {"raw.orders": {"id": "bigint"}})
    proved = {kind: reports[f"from_{kind}"].verdict is Verdict.PROVED for kind in ("table", "view", "incremental")}
    assert proved == {"table": True, "view": False, "incremental": False}
    evidence = reports["from_table"].findings[0].evidence
    assert evidence == "the contract of shop.a_table, counted before it is published"


@pytest.mark.parametrize(
    "config",
    [
        {"meta": {"planproof": {"fail_on": "never"}}},
        {"meta": {"planproof": {"unproved": "allow"}}},
        {"meta": {"planproof": {"allow": ["PP506"]}}},
        {"meta": {"planproof": {"enforce": ["types"]}}},
        {"file_format": "orc"},
        {"post-hook": [{"sql": "insert into {{ this }} select null"}]},
    ],
)
def test_a_contract_that_nobody_enforces_is_no_evidence(check, config):
    def promised(settings):
        return {
            "up": {
                "sql": "select if(amount > 0, id, null) as id from raw.orders",
                "parents": ["raw.orders"],
                "contract": True,
                "columns": {"id": ID},
                "config": {**TABLE, **settings},
            },
            "down": {"sql": "select id from shop.up", "parents": ["up"], "contract": True, "columns": {"id": ID}},
        }

    assert found(check(promised({}))["down"]) == [("PP505", "id")]
    assert found(check(promised(config))["down"], Verdict.PROVED) == []
    grant = {"post-hook": [{"sql": "grant select on {{ this }} to reader"}]}
    assert found(check(promised(grant))["down"]) == [("PP505", "id")]


def test_a_wrong_type_is_violated_at_its_place(check, tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "mart.sql").write_text("\nselect\n  id,\n  cast(amount as double) as amount\nfrom {{ x }}\n")
    reports = check(
        {
            "mart": {
                "sql": "select\n  id,\n  cast(amount as double) as amount\nfrom raw.orders",
                "raw_code": "select\n  id,\n  cast(amount as double) as amount\nfrom {{ x }}",
                "parents": ["raw.orders"],
                "contract": True,
                "columns": {"id": ID, "amount": "decimal(12,2)"},
            }
        },
        directory=tmp_path,
    )
    (finding,) = reports["mart"].of(Verdict.VIOLATED)
    assert (finding.code, finding.promised, finding.found) == ("PP504", "decimal(12,2)", "double")
    assert str(finding.origin) == "models/mart.sql:4:3"
    assert reports["mart"].fails()


def test_columns_in_another_order_are_no_alarm_as_dbt_stores_them_by_name(check):
    models = {
        "mart": {
            "sql": "select amount, id from raw.orders",
            "parents": ["raw.orders"],
            "contract": True,
            "columns": {"id": ID, "amount": "decimal(12,2)"},
        },
        "child": {"sql": "select * from shop.mart", "parents": ["mart"]},
    }
    reports = check(models)
    assert reports["mart"].verdict is Verdict.PROVED
    assert [name for name, _, _ in logical(reports["child"]).schema] == ["id", "amount"]
    models["mart"]["config"] = {"meta": {"planproof": {"enforce": ["order"]}}}
    assert found(check(models)["mart"], Verdict.VIOLATED) == [("PP503", "id")]


def test_partition_columns_stand_last_in_a_stored_table(check):
    models = {
        "mart": {"sql": "select 1 as day, 2 as id", "config": {"partition_by": "day"}},
        "child": {"sql": "select * from shop.mart", "parents": ["mart"]},
    }
    assert [name for name, _, _ in logical(check(models, {})["child"]).schema] == ["id", "day"]


def test_ephemeral_models_are_inlined_by_dbt_and_hide_nothing(check):
    cte = "with __dbt__cte__eph as (select id from raw.orders) select id from __dbt__cte__eph"
    models = {
        "eph": {"sql": "select id from raw.orders", "parents": ["raw.orders"], "config": {"materialized": "ephemeral"}},
        "mart": {"sql": cte, "parents": ["eph"], "contract": True, "columns": {"id": ID}},
    }
    reports = check(models)
    assert reports["mart"].verdict is Verdict.PROVED
    assert reports["mart"].details.inputs == {"raw.orders": "declared in models/sources.yml"}


def test_ancestors_are_planned_and_not_reported(check):
    models = {
        "stg": {"sql": "select id from raw.orders", "parents": ["raw.orders"], "config": VIEW},
        "mart": {"sql": "select id from shop.stg", "parents": ["stg"]},
    }
    assert list(check(models, select=["mart"])) == ["mart"]


def test_what_spark_rejects_for_sure_is_violated(check):
    models = {
        "stg": {"sql": "select 1L as id", "config": VIEW},
        "mart": {"sql": "select nope from shop.stg", "parents": ["stg"]},
    }
    report = check(models, {})["mart"]
    assert found(report, Verdict.VIOLATED) == [("PP110", None)]
    assert "UNRESOLVED_COLUMN" in report.findings[0].message


def test_a_hook_may_change_what_a_query_means(check):
    models = {
        "stg": {"sql": "select 1L as id", "config": VIEW},
        "mart": {"sql": "select nope from shop.stg", "parents": ["stg"], "config": {"pre-hook": [{"sql": "do it"}]}},
    }
    assert check(models, {})["mart"].verdict is Verdict.UNPROVED


def test_a_model_that_reads_itself_stands_on_its_contract(check):
    model = {
        "sql": "select id from raw.orders where id > (select max(id) from shop.inc)",
        "parents": ["raw.orders"],
        "config": {"materialized": "incremental"},
    }
    bare = check({"inc": model})["inc"]
    assert bare.verdict is Verdict.UNPROVED
    promised = check({"inc": {**model, "contract": True, "columns": {"id": ID}}})["inc"]
    assert found(promised, Verdict.VIOLATED) == []


def test_settings_of_hooks_count(check):
    hook = {"pre-hook": [{"sql": "set spark.sql.ansi.enabled = true"}]}
    models = {
        "plain": {"sql": "select '1' + 1 as x"},
        "hooked": {"sql": "select '1' + 1 as x", "config": hook},
        "vague": {"sql": "select 1 as id", "config": {"pre-hook": ["set spark.sql.ansi.enabled={{ var('x') }}"]}},
    }
    reports = check(models, {})
    assert reports["vague"].verdict is Verdict.UNPROVED
    assert "the value of spark.sql.ansi.enabled" in reports["vague"].findings[0].message
    types = {name: logical(reports[name]).schema[0][1] for name in ("plain", "hooked")}
    assert types == {"plain": "double", "hooked": "bigint"}


def test_ansi_is_off_unless_it_is_asked_for(check):
    # A string in arithmetic is a double without ANSI, and takes the other side's integral type with it.
    models = {"mart": {"sql": "select '1' + 1 as x"}}
    assert logical(check(models, {})["mart"]).schema == (("x", "double", True),)
    assert logical(check(models, {}, conf=Conf(ansi=True))["mart"]).schema == (("x", "bigint", True),)


def test_the_rules_are_those_of_the_spark_asked_for_else_frozen_else_the_newest(check, tmp_path):
    """Pipes came with Spark 4.0."""
    model = {"sql": "from raw.orders |> select id", "parents": ["raw.orders"]}
    columns = {"raw.orders": {"columns": [{"name": "id", "type": "bigint"}]}}
    frozen = tmp_path / "planproof_sources.json"
    frozen.write_text(json.dumps({"spark": "3.5.9", "sources": columns}))
    elsewhere = {**model, "config": {"meta": {"planproof": {"spark": 4.0}}}}

    def refused(model, **given):
        noted = []
        report = check({"m": model}, {"raw.orders": {"id": "bigint"}}, on_remark=noted.append, **given)["m"]
        return "PARSE_SYNTAX_ERROR" in str(report.findings), noted

    rules = "checked by the rules of Spark"
    newest, older = "tested against Spark 4.3.0", "tested against Spark 3.5.9"
    assert refused(model) == (False, [f"{rules} 4.3 (the newest that is known), {newest}"])
    assert refused(model, overrides={"spark": "3.5"}) == (True, [f"{rules} 3.5 (as asked), {older}"])
    assert refused(model, frozen=frozen) == (True, [f"{rules} 3.5 (named in {frozen}), {older}"])
    asked = {"spark": "4.3"}
    assert refused(model, frozen=frozen, overrides=asked) == (False, [f"{rules} 4.3 (as asked), {newest}"])
    assert refused(elsewhere, frozen=frozen)[0] is False
    frozen.write_text(json.dumps({"spark": "7.1", "sources": columns}))
    with pytest.raises(ProjectError, match=r"planproof_sources.json: `spark`: Spark '7.1' is not known"):
        check({"m": model}, frozen=frozen)


def test_two_columns_of_one_name_cannot_be_stored(check):
    models = {
        "twice": {"sql": "select 1 as id, 2 as ID"},
        "inlined": {"sql": "select 1 as id, 2 as id", "config": {"materialized": "ephemeral"}},
        "allowed": {"sql": "select 1 as id, 2 as id", "config": {"meta": {"planproof": {"allow": ["PP101", "PP102"]}}}},
    }
    reports = check(models, {})
    assert ("PP102", "id") in found(reports["twice"], Verdict.VIOLATED)
    assert found(reports["inlined"], Verdict.VIOLATED) == []
    assert found(reports["allowed"], Verdict.WARNING) == [], "PP101 would only repeat it"
    [refused] = reports["allowed"].of(Verdict.VIOLATED)
    assert refused.code == "PP102"
    assert "no setting can allow it" in refused.message


def test_two_stars_that_bring_one_name_are_placed(check):
    sql = "select o.*,\n  c.* from raw.orders o join raw.orders c on o.id = c.id"
    report = check({"twice": {"sql": sql}})["twice"]
    [first, *_] = report.of(Verdict.VIOLATED)
    width = len(ORDERS["raw.orders"])
    assert first.message == f"columns 1 (o.*) and {width + 1} (c.*) have one name: id, id"
    assert first.origin is not None
    assert (first.origin.line, first.origin.column) == (1, 8)
    assert "`* EXCEPT (...)`" in CODES["PP102"].next_step


def test_custom_constraints_are_said_to_be_unchecked(check):
    model = {
        "sql": "select id from raw.orders",
        "parents": ["raw.orders"],
        "contract": True,
        "columns": {"id": "bigint"},
        "constraints": [{"type": "custom", "expression": "zorder by id"}],
    }
    assert ("PP508", None) in found(check({"mart": model})["mart"], Verdict.WARNING)


def test_an_error_of_ours_fails_one_model_only(check, monkeypatch):
    import planproof_engine

    plan = planproof_engine.plan

    def breaking(sql, *args, **kwargs):
        if "boom" in sql:
            raise ZeroDivisionError("oops")
        return plan(sql, *args, **kwargs)

    monkeypatch.setattr(planproof_engine, "plan", breaking)
    reports = check(
        {
            "bad": {"sql": "select 1 as boom"},
            "child": {"sql": "select * from shop.bad", "parents": ["bad"]},
            "good": {"sql": "select 1 as id"},
        },
        {},
    )
    assert (reports["bad"].outcome, reports["bad"].findings[0].code) == ("failed", "PP901")
    assert reports["bad"].error == "internal error in planproof: ZeroDivisionError: oops"
    assert reports["good"].verdict is Verdict.PROVED
    assert reports["child"].verdict is Verdict.UNPROVED


def test_explaining_a_model_plans_its_ancestors(dbt_manifest):
    models = {
        "stg": {"sql": "select id from raw.orders", "parents": ["raw.orders"], "config": VIEW},
        "mart": {"sql": "select id as key from shop.stg", "parents": ["stg"]},
    }
    project = read_project(dbt_manifest(models, ORDERS))
    plan = explain_model(project, project.find_by_relation("mart")).plan
    assert [str(f) for f in plan.physical_schema] == ["key bigint"]


def test_rewritings_are_suggested_and_none_is_called_applied(check):
    sql = "select transform(xs, x -> x + aggregate(xs, 0, (a, b) -> a + b)) as ys from raw.lists"
    models = {"mart": {"sql": sql, "parents": ["raw.lists"]}, "off": {"sql": sql, "parents": ["raw.lists"]}}
    models["off"]["config"] = {"meta": {"planproof": {"rewrite": "off"}}}
    reports = check(models, {"raw.lists": {"xs": "array<int>"}})
    assert [(r.rule, r.applied) for r in reports["mart"].rewrites] == [("hoist_invariants", False)]
    assert reports["off"].rewrites == ()
    assert {p.plane: p.status for p in reports["off"].planes}["rewritten"] == "not present"


def test_an_ephemeral_model_that_is_never_built_alone_violates_nothing(check):
    eph = {"materialized": "ephemeral"}
    models = {
        "alone": {"sql": "select nobody from values (1) as t(id)", "config": eph},
        "unread": {"sql": None, "config": eph},
        "mart": {
            "sql": "with __dbt__cte__alone as (select nobody from values (1) as t(id)) select * from __dbt__cte__alone",
            "parents": ["alone"],
        },
    }
    reports = check(models)
    assert set(reports) == {"alone", "mart"}
    assert found(reports["alone"]) == [("PP110", None)]
    assert reports["alone"].verdict is not Verdict.VIOLATED
    assert ("PP110", None) in found(reports["mart"], Verdict.VIOLATED)
