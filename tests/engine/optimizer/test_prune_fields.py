"""Pruning: what reads an array, and when reading less of it is worth a rewriting."""

from __future__ import annotations

import pytest

from planproof_engine.api import optimize, plan
from planproof_engine.catalog import Catalog
from planproof_engine.optimizer.rules.prune_fields import prune_fields
from planproof_engine.types import Array, parse_type

_SHIP = "struct<city:string,zip:int>"
ITEM = f"struct<sku:string,qty:int,price:double,note:string,ship:{_SHIP},city:string,a:string,b:string,c:string>"
SOURCES = {
    "t": [
        ("id", "bigint", False),
        ("k", "int", True),
        ("items", f"array<{ITEM}>", True),
        ("box", f"struct<items:array<{ITEM}>,label:string>", True),
        ("attrs", "map<string,struct<a:int,b:double,c:string,d:string>>", True),
        ("pair", "array<struct<a:int,b:int>>", True),
        ("solid", Array(parse_type(ITEM), True), False),
        ("firm", Array(parse_type("struct<a:int NOT NULL,b:int NOT NULL,c:string,d:string,e:string>"), False), False),
    ]
}


def rewritten(sql: str) -> str:
    found = optimize(plan(sql, Catalog(SOURCES)), rules=[prune_fields])
    assert found.findings == ()
    return found.sql


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("SELECT exists(items, i -> i.qty > 1) e FROM t", "SELECT exists(items.`qty`, i -> i > 1) e FROM t"),
        ("SELECT size(items) e FROM t", "SELECT size(items.`qty`) e FROM t"),
        (
            "SELECT size(filter(box.items, i -> i.qty > 1)) e FROM t",
            "SELECT size(filter(box.items.`qty`, i -> i > 1)) e FROM t",
        ),
        (
            "SELECT exists(filter(items, i -> i.qty > 1), i -> i.price > 2) e FROM t",
            "SELECT exists(filter(arrays_zip(items.`qty`, items.`price`), i -> i.qty > 1), i -> i.price > 2) e FROM t",
        ),
        (
            "SELECT exists(map_values(attrs), v -> v.b > 1) e, attrs['x'].a, element_at(attrs, 'x').a a2 FROM t",
            "SELECT exists(map_values(attrs).`b`, v -> v > 1) e, attrs['x'].a, element_at(attrs, 'x').a a2 FROM t",
        ),
        (
            "SELECT exists(map_values(attrs), v -> v.b > 1) e FROM t",
            "SELECT exists(map_values(attrs).`b`, v -> v > 1) e FROM t",
        ),
        ("SELECT items[k].price e FROM t", "SELECT items.`price`[k] e FROM t"),
        (
            "SELECT transform(slice(items, 1, k), i -> i.qty) e FROM t",
            "SELECT transform(slice(items.`qty`, 1, k), i -> i) e FROM t",
        ),
        (
            "WITH c AS (SELECT id, box.items AS li FROM t WHERE size(box.items) > 2)\n"
            "SELECT forall(li, x -> x.qty > 1) e, c.id FROM c JOIN t ON c.id = t.id",
            "WITH c AS (SELECT id, box.items AS li FROM t WHERE size(box.items.`qty`) > 2)\n"
            "SELECT forall(li.`qty`, x -> x > 1) e, c.id FROM c JOIN t ON c.id = t.id",
        ),
        (
            "SELECT k, sum(aggregate(items, 0D, (a, i) -> a + i.price)) s FROM t GROUP BY k",
            "SELECT k, sum(aggregate(items.`price`, 0D, (a, i) -> a + i)) s FROM t GROUP BY k",
        ),
        (
            "SELECT id FROM t a WHERE EXISTS (SELECT 1 FROM t WHERE exists(t.items, i -> i.qty = a.k))",
            "SELECT id FROM t a WHERE EXISTS (SELECT 1 FROM t WHERE exists(t.items.`qty`, i -> i = a.k))",
        ),
    ],
)
def test_only_the_fields_that_are_used_are_read(before: str, after: str) -> None:
    assert rewritten(before) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "WITH c AS (SELECT id, filter(items, i -> i.qty > 1) AS li FROM t)\n"
            "SELECT id, size(li) n, aggregate(li, 0D, (a, i) -> a + i.price) s FROM c WHERE size(li) > 0",
            "WITH c AS (SELECT id, filter(arrays_zip(items.`qty`, items.`price`), i -> i.qty > 1) AS li FROM t)\n"
            "SELECT id, size(li) n, aggregate(li, 0D, (a, i) -> a + i.price) s FROM c WHERE size(li) > 0",
        ),
        (
            "WITH c AS (SELECT reverse(items) li FROM t) SELECT exists(li, i -> i.qty > 1) e FROM c",
            "WITH c AS (SELECT reverse(items.`qty`) li FROM t) SELECT exists(li, i -> i > 1) e FROM c",
        ),
        (
            "WITH c AS (SELECT reverse(items) li FROM t), d AS (SELECT slice(c.li, 1, 2) l2, li FROM c)\n"
            "SELECT size(li) n, exists(l2, i -> i.qty > 1) e, get(l2, 0).qty q, d.li.qty qs FROM d",
            "WITH c AS (SELECT reverse(items.`qty`) li FROM t), d AS (SELECT slice(c.li, 1, 2) l2, li FROM c)\n"
            "SELECT size(li) n, exists(l2, i -> i > 1) e, get(l2, 0) q, d.li qs FROM d",
        ),
        (
            "WITH c AS (SELECT id, reverse(items) li FROM t)\n"
            "SELECT size(x.li) n, exists(y.li, i -> i.qty > 1) e FROM c x JOIN c y ON x.id = y.id",
            "WITH c AS (SELECT id, reverse(items.`qty`) li FROM t)\n"
            "SELECT size(x.li) n, exists(y.li, i -> i > 1) e FROM c x JOIN c y ON x.id = y.id",
        ),
        (
            "SELECT i.sku s FROM t LATERAL VIEW OUTER explode(filter(items, i -> i.qty > 1)) x AS i GROUP BY i.sku",
            "SELECT i.sku s FROM t LATERAL VIEW OUTER"
            " explode(filter(arrays_zip(items.`sku`, items.`qty`), i -> i.qty > 1)) x AS i GROUP BY i.sku",
        ),
        (
            "SELECT x.`i`.qty FROM (SELECT explode(reverse(items)) AS i FROM t) x WHERE i.qty > 1",
            "SELECT x.`i` AS `qty` FROM (SELECT explode(reverse(items.`qty`)) AS i FROM t) x WHERE i > 1",
        ),
        (
            "SELECT n + i.qty e FROM (SELECT reverse(items) li FROM t) LATERAL VIEW posexplode(li) x AS n, i",
            "SELECT n + i e FROM (SELECT reverse(items.`qty`) li FROM t) LATERAL VIEW posexplode(li) x AS n, i",
        ),
    ],
)
def test_columns_of_kept_elements_are_followed(before: str, after: str) -> None:
    assert rewritten(before) == after


@pytest.mark.parametrize(
    ("why", "before", "after"),
    [
        (
            "an aggregate function",
            "SELECT k, max(array_max(transform(items, i -> i.qty * 2))) e FROM t GROUP BY k",
            "SELECT k, max(array_max(transform(items.`qty`, i -> i * 2))) e FROM t GROUP BY k",
        ),
        (
            "an aggregate function, over a path",
            "SELECT k, max(get(filter(items, i -> i.qty > 1), 0).price) e FROM t GROUP BY k",
            "SELECT k, max(get(filter(arrays_zip(items.`qty`, items.`price`), i -> i.qty > 1), 0).price) e"
            " FROM t GROUP BY k",
        ),
        (
            "above a join",
            "SELECT transform(t.items, i -> i.qty * 2) e FROM t JOIN t u ON t.id = u.id WHERE u.k > 1",
            "SELECT transform(t.items.`qty`, i -> i * 2) e FROM t JOIN t u ON t.id = u.id WHERE u.k > 1",
        ),
        (
            "under explode, where more than one field is read",
            "SELECT i.qty, i.price FROM t LATERAL VIEW explode(box.items) x AS i WHERE i.qty > 1",
            "SELECT i.qty, i.price FROM t LATERAL VIEW explode(arrays_zip(box.items.`qty`, box.items.`price`)) x AS i"
            " WHERE i.qty > 1",
        ),
        (
            "a generator",
            "SELECT explode(transform(items, i -> lower(i.sku))) e FROM t",
            "SELECT explode(transform(items.`sku`, i -> lower(i))) e FROM t",
        ),
        (
            "a generator, over a path",
            "SELECT e FROM t LATERAL VIEW explode(filter(items, i -> i.qty > 1).price) x AS e",
            "SELECT e FROM t LATERAL VIEW"
            " explode(filter(arrays_zip(items.`qty`, items.`price`), i -> i.qty > 1).price) x AS e",
        ),
        (
            "a sort",
            "SELECT id FROM t ORDER BY transform(items, i -> i.qty * 2)",
            "SELECT id FROM t ORDER BY transform(items.`qty`, i -> i * 2)",
        ),
    ],
)
def test_spark_does_not_prune_by_itself_in_these_places(why: str, before: str, after: str) -> None:
    assert rewritten(before) == after, why


def test_a_nested_field_keeps_its_name_and_names_that_clash_take_the_struct_around() -> None:
    one = "SELECT exists(items, i -> i.ship.city = i.sku) e FROM t"
    assert rewritten(one) == (
        "SELECT exists(arrays_zip(items.`sku`, items.`ship`.`city`), i -> i.`city` = i.sku) e FROM t"
    )
    two = "SELECT exists(items, i -> i.ship.city = i.city) e FROM t"
    assert rewritten(two) == (
        "SELECT exists(arrays_zip(items.`ship`, items.`city`), i -> i.ship.city = i.city) e FROM t"
    )


@pytest.mark.parametrize(
    ("why", "sql"),
    [
        ("the array is read as a whole", "SELECT items, exists(items, i -> i.qty > 1) e FROM t"),
        ("what it lies in is read as a whole", "SELECT box, exists(box.items, i -> i.qty > 1) e FROM t"),
        ("a set operation reads it", "SELECT items, size(items) e FROM t UNION SELECT items, 1 FROM t"),
        ("DISTINCT reads it", "SELECT e FROM (SELECT DISTINCT items, size(items) e FROM t)"),
        ("a group reads it", "SELECT size(items) e FROM t GROUP BY items"),
        ("a lambda takes the element", "SELECT exists(items, i -> i.qty > 1 AND i IS NULL) e FROM t"),
        ("the elements are the result", "SELECT filter(items, i -> i.qty > 1) e FROM t"),
        ("an outer query reads it", "SELECT id FROM t WHERE EXISTS (SELECT 1 FROM t u WHERE u.items = t.items)"),
        (
            "a lateral subquery reads it",
            "SELECT size(t.items) e, l.n FROM t, LATERAL (SELECT reverse(t.items) n) l",
        ),
        ("Spark prunes a path by itself", "SELECT items.price, items[0].sku FROM t"),
        (
            "the fields of all items would be taken for each of them",
            "SELECT transform(items, (i, n) -> i.qty > get(items, n - 1).qty) e, size(items) n FROM t",
        ),
        ("a value at a key that varies is read whole", "SELECT attrs[box.label].b e, size(map_values(attrs)) n FROM t"),
        ("Spark prunes a path over a filter by itself", "SELECT filter(items, i -> i.qty > 1)[0].price e FROM t"),
        ("Spark prunes under element_at by itself", "SELECT element_at(slice(items, 1, 2), 1).price e FROM t"),
        (
            "Spark prunes under a transform of a slice by itself",
            "SELECT transform(slice(filter(items, i -> i.sku = ''), 1, 2), i -> i.price * i.qty) e FROM t",
        ),
        ("Spark prunes under a transform by itself", "SELECT transform(items, i -> i.price * i.qty) e FROM t"),
        ("a third of the struct is zipped", "SELECT exists(items, i -> i.sku = i.note AND i.city = i.a) e FROM t"),
        (
            "it would be zipped once per element",
            "SELECT exists(solid, i -> exists(solid, j -> j.qty = i.qty AND j.price = i.price)) e FROM t",
        ),
        (
            "Spark computes the divisor in a projection below, which hands the whole array on",
            "SELECT aggregate(items, 0D, (a, i) -> a + i.price) / nullif(aggregate(items, 0, (a, i) -> a + i.qty), 0) e"
            " FROM t",
        ),
        (
            "so it does with what a filter tests, below all that follows",
            "SELECT size(items) e FROM t WHERE aggregate(items, 0, (a, i) -> a + i.qty) BETWEEN 1 AND 9",
        ),
        ("half of the struct is read", "SELECT exists(pair, p -> p.a > 1) e FROM t"),
        ("most of the struct is read", "SELECT exists(pair, p -> p.a > p.b) e FROM t"),
        (
            "a struct names a field after a path",
            """SELECT exists(items, i -> to_json(struct(i.price)) = '{"price":1.5}') e FROM t""",
        ),
        ("a flag would change", "SELECT exists(firm, f -> f.a > f.b) e FROM t"),
        ("a column of kept elements is the result", "SELECT li, size(li) n FROM (SELECT reverse(items) li FROM t)"),
        ("a group reads it", "SELECT count(*) n FROM (SELECT reverse(items) li FROM t) GROUP BY li"),
        (
            "one copy of a CTE is read as a whole",
            "WITH c AS (SELECT id, reverse(items) li FROM t) SELECT size(x.li), y.li FROM c x JOIN c y ON x.id = y.id",
        ),
        ("Spark puts the path in the column's place", "SELECT li[0].price p FROM (SELECT reverse(items) li FROM t)"),
        (
            "Spark prunes under explode by itself",
            "SELECT i.qty, size(items) n FROM t LATERAL VIEW explode(items) x AS i",
        ),
        ("it does within a group's key", "SELECT count(*) n FROM t GROUP BY array_max(transform(items, i -> i.qty))"),
        ("and beside a window", "SELECT transform(items, i -> i.qty * 2) e, rank() OVER (ORDER BY k) r FROM t"),
        (
            "and below a join",
            "SELECT 1 e FROM t JOIN t u ON t.id = u.id WHERE get(filter(t.items, i -> i.qty > 1), 0).qty > 1",
        ),
        (
            "an exploded element is tested",
            "SELECT i.qty FROM t LATERAL VIEW explode(reverse(items)) x AS i WHERE i IS NULL",
        ),
        (
            "an outer join pads the element",
            "SELECT i.qty FROM t LEFT JOIN (SELECT id, explode(reverse(items)) i FROM t) e ON e.id = t.id",
        ),
        ("a flag would change", "SELECT exists(li, f -> f.a > f.b) e FROM (SELECT reverse(firm) li FROM t)"),
        ("a path's flag would change", "SELECT i.a, i.b FROM t LATERAL VIEW explode(reverse(firm)) x AS i"),
    ],
)
def test_it_does_not_fire(why: str, sql: str) -> None:
    assert rewritten(sql) == sql, why


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1 / nullif(aggregate(items, 0, (a, i) -> a + i.qty), 0) e FROM t",
        "SELECT max(size(items)) / nullif(sum(aggregate(items, 0, (a, i) -> a + i.qty)), 0) e FROM t",
        "SELECT size(items) e FROM t WHERE EXISTS (SELECT 1 FROM t AS u WHERE upper(u.box.label) BETWEEN 'A' AND 'B')",
    ],
)
def test_what_spark_computes_beside_does_not_matter(sql: str) -> None:
    assert rewritten(sql) != sql


def test_a_field_that_is_never_null_keeps_its_flag() -> None:
    sql = "SELECT exists(firm, f -> f.a > 1) e FROM t"
    assert rewritten(sql) == "SELECT exists(firm.`a`, f -> f > 1) e FROM t"


SUM = "sum(aggregate(items, 0D, (a, i) -> a + i.price * i.qty))"
ZIPPED = "sum(aggregate(arrays_zip(items.`qty`, items.`price`), 0D, (a, i) -> a + i.price * i.qty))"
UNNAMED = "sum(aggregate(arrays_zip(items.`qty`, items.`price`), 0D, (a, i) -> a + i.`1` * i.`0`))"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"SELECT k FROM t GROUP BY k HAVING {SUM} > 3", f"SELECT k FROM t GROUP BY k HAVING {UNNAMED} > 3"),
        (f"SELECT k FROM t GROUP BY k ORDER BY {SUM}", f"SELECT k FROM t GROUP BY k ORDER BY {UNNAMED}"),
        (
            f"SELECT k, {SUM} AS s FROM t GROUP BY k HAVING {SUM} > 3 ORDER BY {SUM} DESC",
            f"SELECT k, {ZIPPED} AS s FROM t GROUP BY k HAVING `s` > 3 ORDER BY `s` DESC",
        ),
        (
            "SELECT k FROM t GROUP BY k HAVING max((SELECT exists(items, i -> i.price > i.qty) AS m FROM t))",
            "SELECT k FROM t GROUP BY k HAVING"
            " max((SELECT exists(arrays_zip(items.`qty`, items.`price`), i -> i.price > i.qty) AS m FROM t))",
        ),
    ],
)
def test_over_groups_zipped_fields_are_called_by_their_places(before: str, after: str) -> None:
    assert rewritten(before) == after


@pytest.mark.parametrize("item", [SUM, f"{SUM} AS id"])
def test_an_item_that_having_repeats_and_cannot_name_is_left_alone(item: str) -> None:
    sql = f"SELECT k, {item} FROM t GROUP BY k HAVING {SUM} > 3"
    assert rewritten(sql) == sql


def test_an_item_is_not_named_where_a_variable_has_its_name() -> None:
    sql = f"SELECT k, {SUM} AS v FROM t GROUP BY k HAVING exists(array(1, 2), v -> {SUM} > v)"
    found = optimize(plan(sql, Catalog(SOURCES)))
    assert (found.sql, found.findings) == (sql, ())


def test_what_a_lambda_inside_another_zips_is_bound_once() -> None:
    sql = "SELECT exists(items, i -> exists(items, j -> j.qty = i.qty AND j.price > i.price)) e FROM t"
    found = optimize(plan(sql, Catalog(SOURCES)))
    assert found.sql == (
        "SELECT transform(array(arrays_zip(items.`qty`, items.`price`)), v1 -> "
        "exists(v1, i -> exists(v1, j -> j.qty = i.qty AND j.price > i.price)))[0] e FROM t"
    )


def test_what_another_rule_shares_between_two_calls_is_pruned_in_each_by_itself() -> None:
    sql = "SELECT transform(items, (i, n) -> flatten(array(pair, NULL))) e FROM t"
    found = optimize(plan(sql, Catalog(SOURCES)))
    assert found.findings == ()
    assert "if((size(items.`qty`) > 0), flatten(array(pair, NULL)), NULL)" in found.sql
    assert "transform(items, (i, n) -> v" in found.sql
