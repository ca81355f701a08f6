"""One relation in place of another, reading by reading."""

from __future__ import annotations

import pytest

from planproof_engine.catalog import RelationName
from planproof_engine.conf import Conf
from planproof_engine.origin import AnalysisError, Unknown
from planproof_engine.sql.stand_in import stand_in

NAMESPACE = ("spark_catalog", "shop")


def put(text: str, namespace: tuple[str, ...] = NAMESPACE) -> str:
    return stand_in(text, RelationName(("shop", "m")), "`new`", namespace, Conf())[0]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("select * from shop.m", "select * from `new` AS `m`"),
        ("select x.a from `SHOP`.`M` as x", "select x.a from `new` as x"),
        ("select * from spark_catalog.shop.m", "select * from `new` AS `m`"),
        ("select * from m", "select * from `new` AS `m`"),
        ("select m.* from (table shop.m) m", "select m.* from (table `new`) m"),
        ("select * from a join shop.m using (id)", "select * from a join `new` AS `m` using (id)"),
        ("select 1 where exists (select 1 from shop.m)", "select 1 where exists (select 1 from `new` AS `m`)"),
        ("select (select max(a) from shop.m) + 1", "select (select max(a) from `new` AS `m`) + 1"),
        ("select 'from shop.m' -- shop.m\nfrom shop.m", "select 'from shop.m' -- shop.m\nfrom `new` AS `m`"),
        ("table shop.m", "table `new`"),
        ("from shop.m select a", "from `new` AS `m` select a"),
        ("from shop.m lateral view explode(a) t as b", "from `new` AS `m` lateral view explode(a) t as b"),
        # A CTE of its name, seen by what follows it and not by its own text.
        ("with m as (select * from m) select * from m", "with m as (select * from `new` AS `m`) select * from m"),
        ("with M as (select 1) select * from m, shop.m t", "with M as (select 1) select * from m, `new` t"),
        ("with m as (select 1), b as (select * from m) select * from b", None),
        ("from (with m as (select 1) from m) join m", "from (with m as (select 1) from m) join `new` AS `m`"),
        ("with recursive m as (select 1 union all select * from m) select * from m", None),
        ("select * from other.m, shop.n, elsewhere.shop.m, shop.m.x", None),
    ],
)
def test_each_reading_of_the_relation_is_replaced_and_nothing_else(text: str, found: str | None) -> None:
    assert put(text) == (text if found is None else found)


def test_a_relation_of_another_catalog_is_called_by_its_whole_name_or_where_it_is_current() -> None:
    def put_lake(text: str, *namespace: str) -> str:
        return stand_in(text, RelationName(("lake", "shop", "m")), "`new`", namespace, Conf())[0]

    assert put_lake("from lake.shop.m, shop.m x", "spark_catalog", "shop") == "from `new` AS `m`, shop.m x"
    assert put_lake("from shop.m, spark_catalog.shop.m x", "lake") == "from `new` AS `m`, spark_catalog.shop.m x"
    assert put_lake("from m", "lake", "shop") == "from `new` AS `m`"


def test_a_bare_name_is_one_of_the_current_database() -> None:
    assert put("select * from m", ("spark_catalog", "other")) == "select * from m"
    assert put("select * from shop.m", ("lake", "shop")) == "select * from shop.m"


@pytest.mark.parametrize(
    "text",
    [
        "select shop.m.a from shop.m",
        "select shop.m.* from shop.m",
        "select * from shop.m version as of 1",
        "select * from shop.m tablesample (1 rows)",
    ],
)
def test_a_reading_that_has_no_such_form_is_not_guessed(text: str) -> None:
    with pytest.raises(Unknown):
        put(text)


def test_what_is_no_query_is_not_read() -> None:
    with pytest.raises(AnalysisError):
        put("select ( from")
