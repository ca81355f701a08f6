"""Hoisting fires only where FACTS hold: each condition has a case that needs it."""

from __future__ import annotations

import pytest

from planproof_engine.api import optimize, plan
from planproof_engine.catalog import Catalog
from planproof_engine.conf import Conf
from planproof_engine.optimizer.rules.hoist_invariants import hoist_invariants

SOURCES = {
    "t": [
        ("id", "bigint", False),
        ("name", "string", True),
        ("xs", "array<string>", True),
        ("ys", "array<int>", True),
        ("ks", "array<int>", False),
        ("m", "map<string,int>", True),
        ("ds", "array<double>", True),
    ]
}


SUM = "aggregate(ds, 0D, (a, y) -> a + y)"
TOTAL = "aggregate(ys, 0, (b, y) -> b + coalesce(y, 0))"


def rewritten(sql: str, ansi: bool = True) -> tuple[str, tuple[str, ...]]:
    found = optimize(plan(sql, Catalog(SOURCES), conf=Conf(ansi=ansi)))
    return found.sql, found.rules


def test_an_invariant_is_bound_once_per_row_and_the_rest_stays_byte_for_byte() -> None:
    sql = "SELECT /* kept */ id,\n  transform(xs,  x -> concat(x, upper( name ))) AS r\nFROM t -- end"
    assert rewritten(sql)[0] == (
        "SELECT /* kept */ id,\n  transform(array(upper( name )), v1 -> transform(xs,  x -> concat(x, v1)))[0] AS r\n"
        "FROM t -- end"
    )


def test_every_use_of_the_invariant_takes_the_bound_value() -> None:
    sql = "SELECT transform(xs, x -> concat(upper(name), x, upper(name))) AS r FROM t"
    assert rewritten(sql)[0] == (
        "SELECT transform(array(upper(name)), v1 -> transform(xs, x -> concat(v1, x, v1)))[0] AS r FROM t"
    )


def test_a_new_variable_takes_no_name_of_the_text() -> None:
    sql = "SELECT transform(xs, v1 -> concat(v1, upper(name))) AS v2 FROM t"
    assert "v3 -> transform(xs, v1 -> concat(v1, v3))" in rewritten(sql)[0]


def test_an_invariant_of_an_inner_lambda_may_use_outer_variables() -> None:
    sql = "SELECT transform(xs, x -> transform(xs, y -> concat(y, upper(x)))) AS r FROM t WHERE xs IS NOT NULL"
    assert "transform(array(upper(x)), v1 -> transform(xs, y -> concat(y, v1)))[0]" in rewritten(sql)[0]


@pytest.mark.parametrize(
    ("why", "sql"),
    [
        ("the variable is used", "SELECT transform(xs, x -> upper(x)) FROM t"),
        ("a constant is folded by Spark", "SELECT transform(xs, x -> concat(x, upper('a'))) FROM t"),
        ("it may raise", "SELECT transform(ys, x -> x * id + size(split(name, name))) FROM t"),
        ("it is volatile", "SELECT transform(xs, x -> concat(x, concat(name, CAST(rand() AS STRING)))) FROM t"),
        ("so is the largest of a few", "SELECT transform(ds, x -> x / array_max(ds)) FROM t"),
        ("cutting text is cheap", "SELECT transform(xs, x -> concat(x, substr(name, 1, 2))) FROM t"),
        ("arithmetic is cheap", "SELECT transform(ys, x -> x + id * 2) FROM t"),
        ("the call is never null, and [0] would be", "SELECT transform(ks, x -> concat(name, upper(name))) FROM t"),
        ("a struct would name a field after it", "SELECT transform(xs, x -> to_json(struct(upper(name), x))) FROM t"),
        ("so would arrays_zip", "SELECT transform(xs, x -> to_json(arrays_zip(split(name, ','), array(x)))) FROM t"),
        ("its collation would give way", "SELECT transform(xs, x -> x = collate(upper(name), 'UTF8_LCASE')) FROM t"),
        (
            "an aggregate needs more than the row",
            "SELECT transform(array(1), x -> x + size(collect_list(name))) FROM t",
        ),
    ],
)
def test_it_does_not_fire(why: str, sql: str) -> None:
    assert rewritten(sql) == (sql, ()), why


def test_what_raises_only_under_ansi_is_bound_with_ansi_off() -> None:
    sql = "SELECT transform(xs, x -> coalesce(x, repeat(name, CAST(id + 1 AS INT)))) FROM t"
    assert rewritten(sql, ansi=True) == (sql, ())
    assert rewritten(sql, ansi=False)[1] == ("hoist_invariants",)


def test_the_schema_is_the_same_before_and_after() -> None:
    sql = "SELECT transform(xs, x -> concat(x, upper(name))) AS r, exists(xs, x -> x = upper(name)) FROM t"
    made = plan(sql, Catalog(SOURCES))
    found = optimize(made)
    again = plan(found.sql, Catalog(SOURCES))
    assert found.rules == ("hoist_invariants",)
    assert [(f.type, f.nullable) for f in again.schema] == [(f.type, f.nullable) for f in made.schema]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "transform(ys, x -> x / aggregate(ys, 0, (a, y) -> a + y))",
            "transform(array(if((size(ys) > 0), aggregate(ys, 0, (a, y) -> a + y), NULL)), v1 -> "
            "transform(ys, x -> x / v1))[0]",
        ),
        (
            "filter(ys, x -> x > aggregate(ys, 0, (a, y) -> a + y))",
            "transform(array(if(exists(ys, x1 -> (x1 IS NOT NULL)), aggregate(ys, 0, (a, y) -> a + y), NULL)), v1 -> "
            "filter(ys, x -> x > v1))[0]",
        ),
        (
            "exists(ys, x -> aggregate(ys, 0, (a, y) -> a + y) < x)",
            "transform(array(if((size(ys) > 0), aggregate(ys, 0, (a, y) -> a + y), NULL)), v1 -> "
            "exists(ys, x -> v1 < x))[0]",
        ),
        (
            "transform(xs, x -> struct(x AS x, concat_ws('-', x, split(name, ' ')[1]) AS y))",
            "transform(array(if((size(xs) > 0), split(name, ' ')[1], NULL)), v1 -> "
            "transform(xs, x -> struct(x AS x, concat_ws('-', x, v1) AS y)))[0]",
        ),
        (
            "transform(ys, x -> CASE WHEN x > aggregate(ys, 0, (a, y) -> a + y) THEN 'high' ELSE 'low' END)",
            "transform(array(if(exists(ys, x1 -> (x1 IS NOT NULL)), aggregate(ys, 0, (a, y) -> a + y), NULL)), v1 -> "
            "transform(ys, x -> CASE WHEN x > v1 THEN 'high' ELSE 'low' END))[0]",
        ),
    ],
)
def test_what_may_raise_is_bound_behind_a_test_that_the_lambda_evaluates_it(before: str, after: str) -> None:
    assert rewritten(f"SELECT {before} AS r FROM t")[0] == f"SELECT {after} AS r FROM t"


@pytest.mark.parametrize(
    ("why", "expression"),
    [
        ("exists stops before", "exists(ys, x -> (x > aggregate(ys, 0, (a, y) -> a + y)) <=> NULL)"),
        ("a branch may not be taken", "transform(ys, x -> if(x > 1, aggregate(ys, 0, (a, y) -> a + y), 0))"),
        ("Spark drops a test of branches that are alike", f"transform(ys, x -> if(x > {TOTAL}, 1, 1))"),
        ("Spark drops a null test of what is never null", f"filter(ys, x -> coalesce({TOTAL} + x, 1) IS NULL)"),
        ("Spark takes the other field alone", f"transform(ys, x -> struct({TOTAL} AS t, x AS x).x)"),
        (
            "Spark computes what it needs twice for each row, but behind an if",
            "transform(ys, x -> x / array_max(transform(ds, d -> nullif(length(element_at(xs, 1)), d))))",
        ),
        ("Spark may compute it below, for no element, too", f"transform(ys, x -> nullif({TOTAL}, x))"),
        ("a null leads to the other branch", f"transform(ys, x -> if(x > {TOTAL}, 0, {TOTAL}))"),
        ("AND stops before", "filter(ys, x -> x > 1 AND x > aggregate(ys, 0, (a, y) -> a + y))"),
        ("something may raise before", "transform(ys, x -> x * 2 + aggregate(ys, 0, (a, y) -> a + y))"),
        (
            "either of two nulls ends it before",
            "transform(xs, x -> concat(name, x, CAST(aggregate(ys, 0, (a, y) -> a + y) AS STRING)))",
        ),
        ("the array may be costly", "transform(filter(ys, y -> y > 1), x -> x / aggregate(ys, 0, (a, y) -> a + y))"),
        ("zip_with has two arrays", "zip_with(ys, ys, (x, z) -> x / aggregate(ys, 0, (a, y) -> a + y))"),
        ("another null makes it no null", "transform(ys, x -> isnull(x > aggregate(ys, 0, (a, y) -> a + y)))"),
        ("a null ends concat in compiled code alone", "transform(xs, x -> concat(x, element_at(xs, 9)))"),
        ("the last step needs it, too", f"aggregate(ys, 0, (a, x) -> {TOTAL}, a -> a + {TOTAL})"),
        (
            "the accumulator may raise before",
            "aggregate(ys, CAST(id AS INT), (c, x) -> aggregate(ys, 0, (a, y) -> a + y))",
        ),
    ],
)
def test_what_may_raise_stays_where_the_lambda_may_not_get_to_it(why: str, expression: str) -> None:
    sql = f"SELECT {expression} AS r FROM t"
    assert rewritten(sql) == (sql, ()), why


def test_a_division_by_the_size_of_the_array_does_not_raise_behind_the_test_of_its_size() -> None:
    sql = f"SELECT exists(ds, x -> x > 1 AND x > {SUM} / size(ds)) AS r FROM t"
    found = rewritten(sql)[0]
    assert f"transform(array(if((size(ds) > 0), {SUM} / size(ds), NULL)), v1 -> " in found
    assert f"{SUM} / size(ys), NULL" not in rewritten(sql.replace("size(ds)", "size(ys)"))[0]


def test_equal_invariants_that_bind_variables_of_their_own_are_computed_once() -> None:
    total = "array_join(transform(xs, y -> upper(y)), '')"
    sql = f"SELECT transform(xs, x -> concat({total}, x, {total})) AS r FROM t"
    after = f"SELECT transform(array({total}), v1 -> transform(xs, x -> concat(v1, x, v1)))[0] AS r FROM t"
    assert rewritten(sql)[0] == after


def test_a_divisor_of_zero_ends_a_division_with_ansi_off() -> None:
    sql = "SELECT transform(ds, x -> length(element_at(xs, 0)) / {}) AS r FROM t"
    assert rewritten(sql.format("x"), ansi=False) == (sql.format("x"), ())
    assert rewritten(sql.format("x"), ansi=True)[1] == ("hoist_invariants",)
    assert rewritten(sql.format("2"), ansi=False)[1] == ("hoist_invariants",)


@pytest.mark.parametrize("group", ["r", "1", "ALL"])
def test_an_item_that_the_groups_name_is_rewritten_once(group: str) -> None:
    sql = f"SELECT transform(xs, x -> concat(x, upper(name))) AS r, count(*) AS n FROM t GROUP BY {group}"
    assert rewritten(sql)[1] == ("hoist_invariants",)


def test_groups_that_a_set_leaves_out_are_left_alone() -> None:
    item = "transform(xs, x -> concat(x, upper(name)))"
    sql = f"SELECT {item} AS r, count(*) AS n FROM t GROUP BY ROLLUP ({item})"
    found = optimize(plan(sql, Catalog(SOURCES)))
    assert (found.sql, found.rules, found.findings) == (sql, (), ())


@pytest.mark.parametrize(
    "again", ["transform(xs, x -> concat(x, upper(name)))", "transform( xs,y->concat(y, upper(name)) )"]
)
def test_what_having_and_order_by_repeat_is_rewritten_with_the_item(again: str) -> None:
    item = "transform(xs, x -> concat(x, upper(name)))"
    new = "transform(array(upper(name)), v1 -> transform(xs, x -> concat(x, v1)))[0]"
    sql = "SELECT {} AS r, count(*) AS n FROM t GROUP BY r HAVING size({}) > 1 ORDER BY size({}), r"
    assert rewritten(sql.format(item, again, again)) == (sql.format(new, new, new), ("hoist_invariants",))
    assert plan(sql.format(item, again, again), Catalog(SOURCES)).schema.names == ("r", "n")


def test_an_item_without_a_name_that_order_by_repeats_keeps_its_name() -> None:
    item = "max(transform(xs, x -> concat(x, upper(name))))"
    sql = f"SELECT id, {item} FROM t GROUP BY id ORDER BY {item}"
    before = plan(sql, Catalog(SOURCES))
    found = optimize(before)
    assert found.rules == ("hoist_invariants",)
    assert plan(found.sql, Catalog(SOURCES)).schema == before.schema
    assert found.sql.count(" AS ") == 1


ITEMS = {
    "t": [("id", "bigint", False), ("ds", "array<double>", True), ("items", "array<struct<a:double,b:string>>", True)]
}
WIDE = {"t": [*ITEMS["t"][:2], ("items", "array<struct<a:double,b:string,c:string,d:string>>", True)]}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            f"transform(filter(items, i -> i.a > {SUM}), i -> i.b)",
            f"transform(array({SUM}), v1 -> transform(filter(items, i -> i.a > v1), i -> i.b))[0]",
        ),
        (
            f"filter(slice(items, 1, 3), i -> i.a > {SUM})[0].b",
            f"transform(array({SUM}), v1 -> filter(slice(items, 1, 3), i -> i.a > v1)[0].b)[0]",
        ),
        (
            f"filter(items, i -> i.a > {SUM}).b",
            f"transform(array({SUM}), v1 -> filter(items, i -> i.a > v1).b)[0]",
        ),
        (
            f"size(filter(ds, d -> d > {SUM}))",
            f"size(transform(array({SUM}), v1 -> filter(ds, d -> d > v1))[0])",
        ),
    ],
)
def test_it_is_bound_around_what_reads_structs(before: str, after: str) -> None:
    for sources in (ITEMS, WIDE):
        found = optimize(plan(f"SELECT {before} AS r FROM t", Catalog(sources)), rules=[hoist_invariants])
        assert found.sql == f"SELECT {after} AS r FROM t"


def test_wide_structs_are_not_copied_once_more() -> None:
    sql = f"SELECT filter(items, i -> i.a > {SUM}) AS r FROM t"
    assert optimize(plan(sql, Catalog(ITEMS))).rules == ("hoist_invariants",)
    assert optimize(plan(sql, Catalog(WIDE))).rules == ()


def test_what_spark_computes_once_per_row_by_itself_is_left_alone() -> None:
    assert rewritten(f"SELECT transform(ds, d -> d / nullif({SUM}, 0D)) AS r FROM t")[1] == ()
    assert rewritten(f"SELECT transform(ds, d -> d / coalesce({SUM}, 0D)) AS r FROM t")[1] == ("hoist_invariants",)


def test_a_part_of_what_may_raise_below_stays_there() -> None:
    length = "length(element_at(array_distinct(xs), 3))"
    sql = f"SELECT transform(ys, y -> coalesce(nullif({length}, y), {length})) AS r FROM t"
    assert rewritten(sql)[1] == ()
    assert rewritten(sql.replace("nullif", "greatest"))[1] == ("hoist_invariants",)
