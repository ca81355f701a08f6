"""Where dbt's tables lie: `location_root`, and what a project makes of it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("dbt.adapters.spark")

from dbt_planproof.renamed import rename_with_rows
from planproof.session.protocol import StoredTable
from planproof_engine.schema import PhysicalSchema
from planproof_engine.sql.heads import read_head


def place(dbt: Any, name: str) -> tuple[str, str]:
    told = dbt.spark.sql(f"describe table extended {dbt.schema}.{name}").collect()
    found = {r.col_name: r.data_type for r in told}
    return found["Type"], found["Location"]


@pytest.mark.conformance
def test_a_table_under_a_location_root_is_published_again(dbt: Any) -> None:
    model = "{{{{ config(materialized='table', file_format='parquet', location_root='{}') }}}} select {} as id"
    for value in (1, 2):
        dbt.write({"models/located.sql": model.format((dbt.root / "outside").as_uri(), value)})
        assert dbt.run("run", "--select", "located").success, dbt.results
        assert dbt.rows("located") == [(value,)]


def test_a_table_goes_where_its_location_root_says(dbt: Any) -> None:
    """dbt drops the table and makes it there; an incremental one stays until it is made anew."""
    strategies = []
    for root, materialized, expected in (
        (None, "table", "MANAGED"),
        ("first", "table", "first/"),
        ("first", "table", "first/"),
        ("second x%20y", "table", "second x%20y/"),
        ("third", "incremental", "second x%20y/"),
    ):
        located = "" if root is None else f", location_root='{dbt.root}/{root}'"
        dbt.write({"models/goes.sql": f"{{{{ config(materialized='{materialized}'{located}) }}}} select 1 as id"})
        assert dbt.run("run", "--select", "goes").success, dbt.results
        assert expected in "".join(place(dbt, "goes"))
        strategies.append(dbt.reports["goes"]["strategy"])
    assert strategies == ["rename", "rename", "location", "rename", "append"]
    assert place(dbt, "goes")[0] == "EXTERNAL"
    assert dbt.rows("goes") == [(1,), (1,)]
    assert dbt.run("run", "--select", "goes", "--full-refresh").success, dbt.results
    assert f"{dbt.root}/third/" in place(dbt, "goes")[1]


@pytest.mark.parametrize("guarded", [False, True], ids=["bare", "guarded"])
def test_what_a_model_asks_for_no_more_is_gone(dbt: Any, guarded: bool) -> None:
    """dbt drops the table, and makes one of what the config says now."""
    name = f"asks_{guarded}".lower()
    found = []
    for more in (
        f", location_root='{dbt.root}/asked'",
        "",
        ", options={'compression': 'zstd'}",
        "",
    ):
        dbt.write({f"models/{name}.sql": f"{{{{ config(materialized='table'{more}) }}}} select 1 as id"})
        assert dbt.run("run", "--select", name, guarded=guarded).success, dbt.results
        told = {r[0]: r[1] for r in dbt.spark.sql(f"describe table extended {dbt.schema}.{name}").collect()}
        found.append((told["Type"], "compression" in told.get("Storage Properties", "")))
    assert found == [("EXTERNAL", False), ("MANAGED", False), ("MANAGED", True), ("MANAGED", False)]
    assert dbt.rows(name) == [(1,)]


def test_a_project_may_leave_the_location_out(dbt: Any) -> None:
    model = "{{ config(materialized='table', file_format='parquet', location_root='/nowhere') }} select 1 as id"
    dbt.write(
        {"models/unplaced.sql": model, "macros/location.sql": "{% macro spark__location_clause() %}{% endmacro %}"}
    )
    try:
        for _ in range(2):
            assert dbt.run("run", "--select", "unplaced").success, dbt.results
            assert place(dbt, "unplaced")[0] == "MANAGED"
    finally:
        (dbt.root / "macros/location.sql").unlink()
    assert dbt.rows("unplaced") == [(1,)]


@pytest.mark.parametrize(
    ("location", "managed", "catalog", "moved"),
    [
        ("file:/w/s.db/__planproof/t/0a1b2c3d.r_1", True, "hive", True),
        ("file:/w/s.db/__planproof/t/0a1b2c3d.r_1", True, "in-memory", False),
        ("file:/w/s.db/t", True, "hive", False),
        ("file:/w/x", False, "hive", False),
    ],
)
def test_a_renamed_table_points_at_its_files_again(location: str, managed: bool, catalog: str, moved: bool) -> None:
    """Spark gives a managed table the path of its new name, and leaves what lies in a version directory."""
    ran: list[str] = []
    adapter: Any = SimpleNamespace(execute_now=ran.append)
    stored = StoredTable("s.t", "table", PhysicalSchema(), (), "parquet", location, managed, {})
    setting = {"spark.sql.catalogImplementation": catalog}.get
    session = SimpleNamespace(registered_table={"`s`.`t`": stored}.get, setting=setting)
    reach: Any = SimpleNamespace(method="session", find_refusal=lambda: None, open_session=lambda: session)
    sql = "alter table s.t rename to s.u"
    assert rename_with_rows(adapter, reach, read_head(sql)) is moved
    assert ran == ([sql, f"alter table `s`.`u` set location '{location}'"] if moved else [])


def test_a_renamed_table_keeps_its_rows(dbt: Any) -> None:
    """Spark looks for a managed table's files in a folder of its new name."""
    rename = """
        {% macro renamed() %}
          {% do run_query('alter table ' ~ target.schema ~ '.named rename to ' ~ target.schema ~ '.renamed') %}
          {% set found = api.Relation.create(schema=target.schema, identifier='renamed', type='table') %}
          {% do adapter.rename_relation(found, found.incorporate(path={'identifier': 'again'})) %}
        {% endmacro %}
        """
    for value in (1, 2):
        model = f"{{{{ config(materialized='table', file_format='parquet') }}}} select {value} as id"
        dbt.write({"models/named.sql": model, "macros/renamed.sql": rename})
        assert dbt.run("run", "--select", "named").success, dbt.results
    assert dbt.reports["named"]["strategy"] == "location"
    assert dbt.run("run-operation", "renamed").success
    assert dbt.rows("again") == [(2,)]
    assert dbt.run("run", "--select", "named").success, dbt.results
    assert (dbt.rows("again"), dbt.rows("named")) == ([(2,)], [(2,)])
