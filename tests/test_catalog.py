"""Which relation a name stands for."""

from __future__ import annotations

import pytest

import planproof
from planproof import Catalog
from planproof_engine.catalog import Relation, RelationName, join_name
from planproof_engine.schema import LogicalField, LogicalSchema
from planproof_engine.types import parse_type


@pytest.mark.parametrize("name", ["t", "default.t", "spark_catalog.default.t", "other.t", "cat.other.t"])
def test_a_live_catalog_is_asked_for_what_is_not_registered(name: str) -> None:
    asked: list[tuple[str, ...]] = []

    def live(parts: tuple[str, ...]) -> Relation:
        asked.append(parts)
        return Relation(join_name(parts), LogicalSchema((LogicalField("t", "id", parse_type("int"), False),)))

    plan = planproof.plan(f"select id from {name}", Catalog(source=live))
    assert [f.name for f in plan.schema] == ["id"]
    assert asked == [tuple(name.removeprefix("spark_catalog.").split("."))]


def test_a_table_of_the_current_namespace_is_found_by_both_spellings() -> None:
    for registered in ("t", "default.t"):
        catalog = Catalog({registered: [("id", "int", True)]})
        for spelled in ("t", "default.t", "spark_catalog.default.t"):
            assert planproof.plan(f"select id from {spelled}", catalog).schema, (registered, spelled)
    assert Catalog({"t": [("id", "int", True)]}).find(("other", "t")) is None


NAMESPACE = ("spark_catalog", "shop")


@pytest.mark.parametrize(
    ("text", "parts", "key"),
    [
        ("Orders", ("Orders",), ("orders",)),
        ("shop.Orders", ("shop", "Orders"), ("shop", "orders")),
        ("Spark_Catalog.Shop.orders", ("Spark_Catalog", "Shop", "orders"), ("shop", "orders")),
        ("Lake.shop.orders", ("Lake", "shop", "orders"), ("lake", "shop", "orders")),
        ("lake.a.b.orders", ("lake", "a", "b", "orders"), ("lake", "a", "b", "orders")),
        ("`shop.eu`.`a.B`", ("shop.eu", "a.B"), ("shop.eu", "a.b")),
        ("shop.`odd``Name`", ("shop", "odd`Name"), ("shop", "odd`name")),
        ("`a``.b`.`c`", ("a`.b", "c"), ("a`.b", "c")),
        ("shop.`BESTELLUNGEN_ÄÖ 1`", ("shop", "BESTELLUNGEN_ÄÖ 1"), ("shop", "bestellungen_äö 1")),
        ("`Магазин`.`注文`", ("Магазин", "注文"), ("магазин", "注文")),
    ],
)
def test_a_name_is_read_quoted_and_compared(text: str, parts: tuple[str, ...], key: tuple[str, ...]) -> None:
    name = RelationName.parse(text)
    assert (name.parts, name.key, name.last) == (parts, key, parts[-1])
    for spelt in (name.quoted, str(name)):
        assert RelationName.parse(spelt).parts == parts, spelt
    assert {name, RelationName(key), RelationName.parse(text.upper())} == {name}
    assert name.quoted.count("`") % 2 == 0
    sibling = name.sibling("a.`b")
    assert sibling.parts == (*parts[:-1], "a.`b")
    assert sibling != name
    assert RelationName.parse(sibling.quoted) == sibling


def test_only_the_names_of_one_relation_are_equal() -> None:
    different = ["t", "a.t", "`a.t`", "lake.a.t", "`lake.a`.t", "lake.`a.t`", "a.`t``", "a.u"]
    assert len(set(map(RelationName.parse, different))) == len(different)
    assert RelationName(("a", "t")) != ("a", "t")


@pytest.mark.parametrize(
    ("text", "namespace", "whole"),
    [
        ("t", NAMESPACE, ("shop", "t")),
        ("a.t", NAMESPACE, ("a", "t")),
        ("SPARK_CATALOG.a.t", ("lake", "b"), ("a", "t")),
        ("lake.a.t", NAMESPACE, ("lake", "a", "t")),
        ("t", ("lake", "a", "b"), ("lake", "a", "b", "t")),
        ("b.t", ("lake", "a"), ("lake", "b", "t")),
    ],
)
def test_a_name_is_completed_by_the_current_namespace(
    text: str, namespace: tuple[str, ...], whole: tuple[str, ...]
) -> None:
    assert RelationName.parse(text).within(namespace).parts == whole
