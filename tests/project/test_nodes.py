"""Nodes of a manifest as models and contracts."""

from __future__ import annotations

import pytest

from planproof.contract import Constraint
from planproof.project import ProjectError, contract_of, model_of
from planproof.project.nodes import custom_constraints, declared_columns, relation_of, settings_of
from planproof.settings import Settings
from planproof_engine.conf import Conf

NOT_NULL = {"type": "not_null"}


def node(**changes):
    config = {"materialized": "table", "contract": {"enforced": True}, **changes.pop("config", {})}
    return {
        "resource_type": "model",
        "unique_id": "model.shop.mart",
        "name": "mart",
        "relation_name": "`shop`.`mart`",
        "original_file_path": "models/mart.sql",
        "compiled_code": "select 1 as id",
        "columns": {"id": {"name": "id", "data_type": "bigint", "constraints": [NOT_NULL]}},
        "config": config,
        **changes,
    }


def test_a_model_has_what_its_node_says():
    model = model_of(
        node(config={"partition_by": "day", "location_root": "/data", "materialized": "incremental"}),
    )
    assert (model.name, model.materialized, model.incremental_strategy) == ("shop.mart", "incremental", "append")
    assert model.partition_by == ("day",)
    assert model.options == {"location_root": "/data"}
    assert (model.file, model.unique_id, model.file_format) == ("models/mart.sql", "model.shop.mart", "parquet")
    assert model_of(node(config={"partition_by": ["a", "b"]})).partition_by == ("a", "b")
    assert model_of(node(config={"partition_by": {"field": "a"}, "materialized": "view"})).partition_by == ()
    assert model_of(node(config={"partition_by": "`a, b`, c,`d``e`"})).partition_by == ("a, b", "c", "d`e")
    assert model_of(node(config={"clustered_by": ["`a`"], "buckets": 2})).options["clustered_by"] == ("a",)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("shop.mart", "shop.mart"),
        ("`shop`.`mart`", "shop.mart"),
        ('"shop"."mart"', "shop.mart"),
        ("`sh.op`.`a``b`", "`sh.op`.`a``b`"),
    ],
)
def test_relation_names_lose_needless_quotes(given, name):
    assert relation_of(node(relation_name=given)) == name


def test_an_ephemeral_model_is_named_by_schema_and_alias():
    assert relation_of(node(relation_name=None, schema="shop", alias="eph", database=None)) == "shop.eph"


def test_contract_keeps_order_types_and_constraints():
    contract = contract_of(
        node(
            columns={
                "id": {"name": "id", "data_type": "bigint", "constraints": [NOT_NULL, {"type": "unique"}]},
                "who": {
                    "name": "who",
                    "data_type": "struct<a:int NOT NULL>",
                    "constraints": [{"type": "foreign_key", "to": "`shop`.`people`", "to_columns": ["id"]}],
                },
                "n": {"name": "n", "data_type": "int", "constraints": [{"type": "check", "expression": "n > 0"}]},
            },
            constraints=[
                {"type": "primary_key", "columns": ["id", "n"], "name": "pk"},
                {"type": "not_null", "columns": ["who"]},
            ],
        )
    )
    assert [str(f) for f in contract.schema] == ["id bigint NOT NULL", "who struct<a:int> NOT NULL", "n int NOT NULL"]
    assert contract.schema[1].type.json["fields"][0]["nullable"] is False
    assert contract.constraints == (
        Constraint("unique", ("id",)),
        Constraint("foreign_key", ("who",), "shop.people (id)"),
        Constraint("check", ("n",), "n > 0"),
        Constraint("primary_key", ("id", "n"), None, "pk"),
    )


def test_a_bare_timestamp_is_what_the_session_makes_of_it():
    given = node(columns={"t": {"name": "t", "data_type": "timestamp"}})
    assert str(contract_of(given).schema) == "[t timestamp]"
    assert str(contract_of(given, Conf(timestamp_type="TIMESTAMP_NTZ")).schema) == "[t timestamp_ntz]"


def test_no_contract_where_none_is_enforced():
    assert contract_of(node(config={"contract": {"enforced": False}})) is None
    assert contract_of(node(config={"contract": None}, contract={"enforced": True})) is not None


def test_custom_constraints_are_listed_and_not_guessed():
    given = node(constraints=[{"type": "custom", "expression": "zorder by id"}])
    assert contract_of(given).constraints == ()
    assert custom_constraints(given) == ("custom: zorder by id",)


def test_settings_come_from_meta_between_defaults_and_overrides():
    given = node(config={"meta": {"planproof": {"fail_on": "warning", "rewrite": True}}})
    settings = settings_of(given, defaults={"rewrite": "suggest", "batches": "off"}, overrides={"fail_on": "never"})
    assert (settings.fail_on, settings.rewrite, settings.batches) == ("never", "on", "off")
    assert settings_of(node(meta={"planproof": {"keep_rejected": True}})).keep_rejected


def test_the_order_of_columns_is_promised_only_where_the_model_says_so():
    assert "order" not in settings_of(node()).enforce
    asked = settings_of(node(config={"meta": {"planproof": {"enforce": list(Settings().enforce)}}}))
    assert "order" in asked.enforce


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"compiled_code": None}, "run `dbt compile`"),
        ({"compiled_code": "  \n"}, "run `dbt compile`"),
        ({"language": "python"}, "a Python model"),
        ({"columns": {}}, "names no columns"),
        ({"columns": {"id": {"name": "id"}}}, "column 'id' of its enforced contract has no data_type"),
        ({"columns": {"id": {"name": "id", "data_type": "bigant"}}}, "column 'id': cannot read the type 'bigant'"),
        ({"columns": {"id": "bigint"}}, "column 'id' is 'bigint', not a mapping"),
        ({"columns": ["id"]}, "`columns` is list, not a mapping"),
        ({"constraints": [{"type": "unique", "columns": ["nope"]}]}, "'nope', which is not a column"),
        ({"constraints": [{"type": "check", "columns": ["id"]}]}, "a check constraint needs an expression"),
        ({"constraints": {"type": "unique"}}, "`constraints` is not a list of mappings"),
        ({"config": {"materialized": "snapshotty"}}, "unknown materialization 'snapshotty'"),
        ({"config": {"location_root": ["/lake"]}}, "`location_root` is \"['/lake']\", not a text"),
        ({"config": {"tblproperties": ["x"]}}, "`tblproperties` is \"['x']\", not a mapping"),
        ({"config": {"buckets": "x", "clustered_by": ["a"]}}, "`buckets` is 'x', not a number of buckets"),
        ({"config": {"materialized": "incremental", "incremental_strategy": "upsert"}}, "unknown incremental strategy"),
        ({"config": {"materialized": "incremental", "incremental_strategy": "merge"}}, "cannot be merged into"),
        ({"config": {"partition_by": {"field": "a"}}}, "`partition_by` is {'field': 'a'}"),
        ({"config": {"meta": {"planproof": {"fail_in": "never"}}}}, "unknown key 'fail_in'; did you mean 'fail_on'?"),
        ({"config": {"meta": {"planproof": "never"}}}, "meta.planproof is 'never'"),
        ({"config": {"meta": ["planproof"]}}, "`meta` is list"),
        ({"relation_name": None}, None),
        ({"relation_name": "", "name": "", "schema": ""}, "no relation name"),
    ],
)
def test_errors_name_the_node_and_the_place(changes, said):
    if said is None:
        assert model_of(node(**changes)).name == "mart"
        return
    with pytest.raises(ProjectError) as caught:
        model_of(node(**changes))
    assert said in str(caught.value)
    assert str(caught.value).startswith("model.shop.mart (models/mart.sql)")


@pytest.mark.parametrize(
    "config",
    [
        {"materialized": "incremental", "on_schema_change": False},  # YAML's `no`: dbt takes it for `ignore`.
        {"buckets": "auto"},
        {"tblproperties": []},
        {"materialized": "view", "location_root": ["/lake"], "options": ["x"]},
    ],
)
def test_an_option_that_dbt_does_not_look_at_stops_nothing(config):
    assert model_of(node(config=config)).name == "shop.mart"


def test_declared_columns_are_those_with_a_type():
    given = node(
        columns={
            "a": {"name": "a", "data_type": "int", "constraints": [NOT_NULL]},
            "b": {"name": "b"},
            "c": {"name": "c", "data_type": "string"},
        }
    )
    assert declared_columns(given) == [("a", "int", False), ("c", "string", True)]
