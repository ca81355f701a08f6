"""The offline check of a text in which dbt_utils prints a star, as it does where dbt cannot ask for the columns."""

from __future__ import annotations

import pytest
from offline_reports import found, logical

from planproof_engine.finding import Verdict

STAR = """select
*
/* No columns were returned. Maybe the relation doesn't exist yet{blank}
or all columns were excluded. This star is only output during{blank}
dbt compile, and exists to keep SQLFluff happy. */
            , id, amount from raw.orders"""
UNION = """select 'a' as source,
    /* No columns from any of the relations.
       This star is only output during dbt compile, and exists to keep SQLFluff happy. */
    {columns}
from raw.orders"""


@pytest.mark.parametrize("text", [STAR.format(blank=""), STAR.format(blank="  "), UNION.format(columns="*")])
def test_a_star_that_is_printed_for_dbt_compile_alone_is_not_judged(check, text):
    models = {"mart": {"sql": text, "parents": ["raw.orders"]}, "child": {"sql": "select id from shop.mart"}}
    reports = check(models)
    assert found(reports["mart"]) == [("PP111", None)]
    assert "`dbt compile` alone gets a `*`" in logical(reports["mart"]).reason
    assert "`dbt run --empty`" in reports["mart"].findings[0].next_step
    assert reports["child"].verdict is Verdict.UNPROVED


def test_union_relations_says_the_same_beside_its_columns(check):
    text = UNION.format(columns="cast(id as bigint) as id")
    assert check({"mart": {"sql": text, "parents": ["raw.orders"]}})["mart"].verdict is Verdict.PROVED
