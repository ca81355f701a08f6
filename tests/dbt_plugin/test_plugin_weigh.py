"""What dbt adds itself, to tables of formats that planproof does not publish, is counted before it is stored."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("dbt.adapters.spark")

from dbt_planproof.statement_models import Source, source_of
from planproof_engine.sql.heads import read_head

MERGE = "merge into s.t as DBT_INTERNAL_DEST using t__dbt_tmp as DBT_INTERNAL_SOURCE on FALSE when matched then update "
REST = " when not matched then insert *"
ROWS = Source("`t__dbt_tmp`")
SOME = Source(ROWS.relation, frozenset(("id", "name")))


@pytest.mark.parametrize(
    ("sql", "source"),
    [
        ("insert into table s.t select `id`, `name` from t__dbt_tmp", ROWS),
        ("insert overwrite table s.t partition (d) select `id`, `d` from `t__dbt_tmp`", ROWS),
        ("insert into table s.t select id from other", None),
        ("insert into table s.t select id from t__dbt_tmp where id > 1", None),
        ("insert into table s.t select abs(id) as id from t__dbt_tmp", None),
        ("insert into table s.t select id + 1 as id from t__dbt_tmp", None),
        ("insert into s.t (`id`, `name`) (select `id`, `name` from t__dbt_tmp)", SOME),
        ("insert into s.t (id, name) select name, id from t__dbt_tmp", None),
        ("insert into s.t (id) (select id from t__dbt_tmp) union all (select 1)", None),
        ("insert into s.t replace where day = 1 select * from t__dbt_tmp as DBT_INTERNAL_SOURCE", ROWS),
        ("insert into s.t replace where day = 1 select id, name from t__dbt_tmp", SOME),
        (f"{MERGE}set *{REST}", ROWS),
        (
            f"{MERGE}set `at` = DBT_INTERNAL_SOURCE.at, b = DBT_INTERNAL_SOURCE.b{REST}",
            Source(ROWS.relation, frozenset(("at", "b"))),
        ),
        (f"{MERGE}set a = DBT_INTERNAL_SOURCE.b{REST}", None),
        (f"{MERGE}set a = DBT_INTERNAL_SOURCE.a + 1{REST}", None),
        (f"{MERGE}set a = DBT_INTERNAL_SOURCE.a", None),
    ],
)
def test_which_rows_a_statement_stores(sql: str, source: Source | None) -> None:
    assert source_of(read_head(sql)) == source


EVENTS = """
    {{ config(materialized='incremental', file_format='orc', on_schema_change='fail',
              incremental_strategy='STRATEGY') }}
    select cast(id as int) as id, {{ var('amount', 'id') }} as amount from range(1, 3) as t(id)
    """
YAML = """
    models:
      - name: events
        config: {contract: {enforced: true}}
        columns:
          - {name: id, data_type: int, constraints: [{type: not_null}]}
          - {name: amount, data_type: bigint, constraints: [{type: check, expression: amount > 0}, {type: not_null}]}
    """


def test_rows_that_break_the_contract_are_not_added(dbt: Any) -> None:
    names = ("events", "events_overwritten")
    for name, strategy in zip(names, ("append", "insert_overwrite")):
        model, contract = EVENTS.replace("STRATEGY", strategy), YAML.replace("events", name)
        dbt.write({f"models/{name}.sql": model, f"models/{name}.yml": contract})
    assert dbt.run("build", "--full-refresh").success, dbt.statuses
    assert dbt.run("build").success
    before = [dbt.state(name) for name in names]
    assert len(before[0][1]) == 2 * len(before[1][1])
    for amount, code in (("nullif(id, 2)", "PP505"), ("2 - id", "PP507")):
        assert not dbt.run("build", "--vars", f"{{amount: '{amount}'}}").success
        for name in names:
            assert dbt.statuses[name] == "error"
            assert code in dbt.results[name]["message"]
        assert [dbt.state(name) for name in names] == before


EMPTIES = """
    {% macro get_insert_into_sql(source_relation, target_relation) %}
    {% do run_query('truncate table ' ~ target_relation) %}
    insert into table {{ target_relation }} select * from {{ source_relation }}
    {% endmacro %}
    """


def test_a_table_is_not_emptied_for_rows_that_break_the_contract(dbt: Any) -> None:
    """A table that the guard publishes, too: its publish of the rows alone could fail after the table was emptied."""
    model = EVENTS.replace("STRATEGY", "append").replace("orc", "parquet")
    dbt.write({"models/events.sql": model, "models/events.yml": YAML, "macros/empties.sql": EMPTIES})
    try:
        assert dbt.run("build", "--select", "events", "--full-refresh").success, dbt.statuses
        assert dbt.run("build", "--select", "events", "--vars", "{amount: id + 1}").success
        assert dbt.rows("events") == [(1, 2), (2, 3)]
        assert (dbt.reports["events"]["outcome"], dbt.reports["events"]["verdict"]) == ("audited", "proved")
        assert not dbt.run("build", "--select", "events", "--vars", "{amount: 'nullif(id, 2)'}").success
    finally:
        (dbt.root / "macros/empties.sql").unlink()
    assert "PP505" in dbt.results["events"]["message"]
    assert dbt.rows("events") == [(1, 2), (2, 3)]
