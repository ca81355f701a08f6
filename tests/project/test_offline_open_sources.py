"""The offline check where a source may have more columns than it declares: what one of them could mend is unproved."""

from __future__ import annotations

import pytest
from offline_reports import ID, VIEW, found

from planproof_engine.finding import Verdict

OPEN = {"raw.orders": {"id": "bigint", "customer": "bigint", "status": "string"}, "raw.blocked": {"id": "bigint"}}
STG = {"config": VIEW, "parents": [*OPEN]}


@pytest.mark.parametrize(
    "sql",
    [
        "select payload.* from raw.orders",
        "select upper(status) as name, name.first as n from raw.orders",
        "select status.id, status.name from raw.orders status",
        "select * from raw.orders order by 4",
        "select a, d from (select * from raw.orders) as t(a, b, c, d)",
        "with s(a, b, c, d) as (select * from raw.orders) select a, d from s",
        "select id, (select max(status) from raw.blocked) as m from raw.orders",
        "select a.id from raw.orders a join raw.orders b using (id) where exists "
        "(select 1 from raw.blocked where customer = a.customer)",
        "select greatest(*) as g from raw.blocked",
        "select id from raw.orders where (id, status) in (select * from raw.blocked)",
        "select id, max(status) as seen from raw.orders group by id, seen",
        "select id, sum(customer) as total from raw.orders group by id having sum(total) > 1",
    ],
)
def test_an_error_that_another_column_may_mend_is_unproved(check, sql):
    report = check({"mart": {"sql": sql, "parents": [*OPEN]}}, OPEN)["mart"]
    assert found(report) == [("PP111", None)]
    assert "may have more columns than the manifest declares" in report.findings[0].message


@pytest.mark.parametrize(
    ("sql", "condition"),
    [
        ("select id + array(1) as x from raw.orders", "DATATYPE_MISMATCH"),
        (
            "select id from raw.orders a join raw.blocked b using (customer_id) where upper(1, 2) = a.id",
            "WRONG_NUM_ARGS",
        ),
        ("select id from raw.orders a cross join raw.blocked b", "AMBIGUOUS_REFERENCE"),
        ("select id.y as z from raw.orders", "INVALID_EXTRACT"),
        ("select id from raw.orders order by 2", "ORDER_BY_POS_OUT_OF_RANGE"),
        ("select a.id from raw.orders a, raw.blocked b where a.id = b.id group by 1, max(a.status)", "GROUP_BY_AGG"),
    ],
)
def test_an_error_that_no_other_column_mends_is_violated(check, sql, condition):
    declared = {**OPEN, "raw.blocked": {"id": "bigint", "customer_id": "bigint"}}
    declared["raw.orders"] = {**declared["raw.orders"], "customer_id": "bigint"}
    report = check({"mart": {"sql": sql, "parents": [*OPEN]}}, declared)["mart"]
    assert found(report) == [("PP110", None)]
    assert report.findings[0].found.startswith(condition)


@pytest.mark.parametrize(
    ("sql", "promised", "code"),
    [
        ("select struct(*) as s from raw.blocked", {"s": "struct<id:bigint,note:string>"}, "PP504"),
        (
            "select id, collect_list(struct(o.*)) as s from raw.blocked o group by id",
            {"id": ID, "s": "array<struct<id:bigint,note:string>>"},
            "PP504",
        ),
        ("select coalesce(*) as g from raw.blocked", {"g": "double"}, "PP504"),
        ("select array(*) as g from raw.blocked", {"g": "array<double>"}, "PP504"),
        ("select stack(1, *) from raw.blocked", {"col0": "bigint", "col1": "string"}, "PP501"),
        ("select id as amount, amount as n from raw.orders", {"amount": ID, "n": "decimal(12,2)"}, "PP504"),
        (
            "select o.id, t.x from raw.orders o, lateral (select status as x from raw.blocked) t",
            {"id": ID, "x": "int"},
            "PP504",
        ),
    ],
)
def test_a_term_that_another_column_may_keep_is_unproved(check, sql, promised, code):
    model = {"sql": sql, "parents": [*OPEN], "contract": True, "columns": promised}
    report = check({"mart": model}, OPEN)["mart"]
    doubted = [f.code for f in report.of(Verdict.UNPROVED) if "may have more columns" in f.message]
    assert doubted == [code]
    assert not report.of(Verdict.VIOLATED)


@pytest.mark.parametrize(
    ("stg", "sql"),
    [
        ("select stack(1, *) from raw.orders", "select col3 from shop.stg"),
        ("select id as payload, payload as p from raw.orders", "select p.x from shop.stg"),
        ("select t.s from raw.orders o, lateral (select status as s from raw.blocked) t", "select s.x from shop.stg"),
        ("select id as payload, payload as p from raw.orders", "select q.x from (select p as q from shop.mid)"),
    ],
)
def test_what_is_not_known_of_a_model_is_not_known_of_those_that_read_it(check, stg, sql):
    models = {
        "stg": {"sql": stg, **STG},
        "mid": {"sql": "select * from shop.stg", "parents": ["stg"], "config": VIEW},
        "mart": {"sql": sql, "parents": ["stg", "mid"]},
    }
    assert found(check(models, OPEN)["mart"]) == [("PP111", None)]


@pytest.mark.parametrize(
    ("config", "code"),
    [
        ({"materialized": "insert_by_period"}, "PP111"),
        ({"materialized": "table", "post-hook": ["alter table {{ this }} add columns (day date)"]}, "PP111"),
        ({"materialized": "table", "post-hook": ["{{ add_the_day(this) }}"]}, "PP111"),
        (
            {"materialized": "table", "post-hook": ["grant select on {{ this }} to readers", "optimize {{ this }}"]},
            "PP110",
        ),
        ({"materialized": "table", "post-hook": ["insert into log values ('done')"]}, "PP110"),
        ({"materialized": "materialized_view"}, "PP110"),
    ],
)
def test_a_relation_that_others_may_change_may_have_more_columns_than_its_query(check, config, code):
    models = {
        "grown": {"sql": "select 1L as id from raw.orders", "parents": ["raw.orders"], "config": config},
        "mart": {"sql": "select id, day from shop.grown", "parents": ["grown"]},
    }
    assert found(check(models, OPEN)["mart"]) == [(code, None)]


def test_a_source_that_the_text_alone_names_may_have_more_columns_too(check):
    report = check({"mart": {"sql": "select nope from raw.orders"}}, OPEN)["mart"]
    assert found(report) == [("PP111", None)]


def test_the_source_is_named_whose_column_would_show(check):
    sql = "select o.*, b.id as bid from raw.orders o join raw.blocked b on o.id = b.id"
    promised = {**OPEN["raw.orders"], "bid": ID, "note": "string"}
    model = {"sql": sql, "parents": [*OPEN], "contract": True, "columns": promised}
    (finding,) = check({"mart": model}, OPEN)["mart"].of(Verdict.UNPROVED)
    assert finding.message.endswith("; the source raw.orders may have more columns than the manifest declares")
