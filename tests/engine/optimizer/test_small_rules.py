"""The small rules: what each makes of a call, and each condition under which it must leave the call alone."""

from __future__ import annotations

import pytest

from planproof_engine.api import optimize, plan
from planproof_engine.catalog import Catalog
from planproof_engine.conf import Conf
from planproof_engine.optimizer.rules.count_to_exists import count_to_exists
from planproof_engine.optimizer.rules.entries_to_sides import entries_to_sides
from planproof_engine.optimizer.rules.exists_to_contains import exists_to_contains
from planproof_engine.optimizer.rules.exists_to_overlap import exists_to_overlap
from planproof_engine.optimizer.rules.filter_to_slice import filter_to_slice
from planproof_engine.optimizer.rules.fuse_exists import fuse_exists
from planproof_engine.optimizer.rules.transform_fewer import transform_fewer

SMALL = (
    transform_fewer,
    count_to_exists,
    fuse_exists,
    entries_to_sides,
    filter_to_slice,
    exists_to_overlap,
    exists_to_contains,
)
ITEMS = "array<struct<sku:string,price:double,ship:struct<city:string>>>"
SOURCES = {
    "t": [
        ("id", "bigint", False),
        ("k", "int", True),
        ("xs", "array<int>", True),
        ("ys", "array<int>", True),
        ("words", "array<string>", True),
        ("items", ITEMS, True),
        ("m", "map<string,struct<a:int,b:string>>", True),
    ]
}


def rewritten(expression: str, ansi: bool = True) -> str:
    text = f"SELECT {expression} AS r FROM t"
    found = optimize(plan(text, Catalog(SOURCES), conf=Conf(ansi=ansi)), rules=SMALL)
    again = plan(found.sql, Catalog(SOURCES), conf=Conf(ansi=ansi))
    assert again.schema == found.plan.schema
    return found.sql.removeprefix("SELECT ").removesuffix(" AS r FROM t")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("filter(xs, (x, i) -> i < 3)", "slice(xs, 1, 3)"),
        ("filter(xs, (x, i) -> i <= 3)", "slice(xs, 1, 4)"),
        ("filter(xs, (x, i) -> 3 > i)", "slice(xs, 1, 3)"),
        ("filter(xs, (x, i) -> i < 0)", "slice(xs, 1, 0)"),
        ("filter(xs, (x, i) -> i < k)", "slice(xs, 1, greatest(coalesce(k, 0), 0))"),
        ("exists(xs, x -> x = 7)", "array_contains(xs, 7)"),
        ("exists(xs, x -> 7 = x)", "array_contains(xs, 7)"),
        ("exists(ys, y -> 1 = y)", "array_contains(ys, 1)"),
        ("size(filter(filter(xs, x -> x > 1), (x, i) -> i < 2))", "size(slice(filter(xs, x -> x > 1), 1, 2))"),
        ("size(filter(xs, x -> x > 1)) >= 1", "exists(xs, x -> coalesce(x > 1, false))"),
        ("0 < cardinality(filter(words, w -> w IS NOT NULL))", "exists(words, w -> w IS NOT NULL)"),
        ("size(filter(xs, x -> x > 1)) != 0", "exists(xs, x -> coalesce(x > 1, false))"),
        ("slice(transform(words, w -> upper(w)), k, 2)", "transform(slice(words, k, 2), w -> upper(w))"),
        ("transform(words, w -> upper(w))[0]", "transform(slice(words, 1, 1), w -> upper(w))[0]"),
        (
            "element_at(transform(words, w -> upper(w)), -1)",
            "element_at(transform(slice(words, -1, 1), w -> upper(w)), -1)",
        ),
        ("size(transform(words, (w, i) -> repeat(w, i)))", "size(words)"),
        ("exists(transform(words, w -> upper(w)), u -> u > 'A')", "exists(words, w1 -> upper(w1) > 'A')"),
        ("forall(transform(xs, x -> x > 1), b -> b)", "forall(xs, x1 -> x1 > 1)"),
        (
            "exists(xs, x -> exists(ys, y -> x = y))",
            "if((size(xs) = 0), false, arrays_overlap(xs, ys))",
        ),
        ("map_values(map_filter(m, (k, v) -> v.a > 1))", "filter(map_values(m), v -> v.a > 1)"),
        ("map_keys(map_filter(m, (k, v) -> k > 'a'))", "filter(map_keys(m), k -> k > 'a')"),
        ("map_values(transform_values(m, (k, v) -> upper(v.b)))", "transform(map_values(m), v -> upper(v.b))"),
    ],
)
def test_a_rule_fires(before: str, after: str) -> None:
    assert rewritten(before) == after


@pytest.mark.parametrize(
    ("why", "expression"),
    [
        ("a bound that may raise", "filter(xs, (x, i) -> i < k + 1)"),
        ("a bound that uses the element", "filter(xs, (x, i) -> i < x)"),
        ("a bound that is one below", "filter(xs, (x, i) -> i <= k)"),
        ("a negative bound", "filter(xs, (x, i) -> i < -1)"),
        ("a bigint bound", "filter(xs, (x, i) -> i < 3L)"),
        ("the other end of the array", "filter(xs, (x, i) -> i > 3)"),
        ("the element itself is compared", "filter(xs, (x, i) -> x < 3)"),
        ("more than the path", "transform(items, i -> i.price + 1)"),
        ("a path that would name a field", "struct(transform(items, i -> i.price))"),
        ("an index beside the element", "transform(items, (i, n) -> i.price)"),
        ("an array that is no path", "transform(filter(items, i -> i.price > 1), i -> i.price)"),
        ("a value that may be null", "exists(xs, x -> x = k)"),
        ("a comparison that casts", "exists(xs, x -> x = 7L)"),
        ("a value that uses the element", "exists(xs, x -> x = x)"),
        ("a value that may raise", "exists(xs, x -> x = CAST(id AS INT))"),
        ("a count of more than none", "size(filter(xs, x -> x > 1)) > 1"),
        ("a test that may raise", "size(filter(xs, x -> 10 / x > 1)) > 0"),
        ("a test that is volatile", "size(filter(xs, x -> rand(1) > 0.5)) > 0"),
        ("an index in the test", "size(filter(xs, (x, i) -> x > i)) > 0"),
        ("a transform that may raise", "slice(transform(xs, x -> 10 / x), 1, 2)"),
        ("a transform that is volatile", "get(transform(xs, x -> rand(1)), 0)"),
        ("an index in the transform", "slice(transform(xs, (x, i) -> i), 2, 1)"),
        ("an element in the middle", "get(transform(words, w -> upper(w)), 3)"),
        ("a transform of one element", "get(transform(slice(words, 2, 1), w -> upper(w)), 0)"),
        ("a fused transform that may raise", "exists(transform(xs, x -> 10 / x), y -> y > 1)"),
        (
            "a transformed element that is used twice",
            "exists(transform(words, w -> upper(w)), u -> u > 'A' AND u < 'B')",
        ),
        (
            "a transformed element that an inner lambda uses",
            "exists(transform(words, w -> upper(w)), u -> exists(words, w -> w > u))",
        ),
        ("a transform of structs", "exists(transform(items, (i, n) -> i.price), p -> p > 1)"),
        ("an inner array that uses the element", "exists(xs, x -> exists(array(x), y -> x = y))"),
        ("an inner array that may raise", "exists(xs, x -> exists(array(k + 1), y -> x = y))"),
        ("an outer array that is no path", "exists(reverse(xs), x -> exists(ys, y -> x = y))"),
        ("elements that are cast", "exists(xs, x -> exists(array(1L), y -> x = y))"),
        ("a test of both sides", "map_values(map_filter(m, (k, v) -> v.b > k))"),
        ("keys of values", "map_keys(map_filter(m, (k, v) -> v.a > 1))"),
    ],
)
def test_a_rule_leaves_it_alone(why: str, expression: str) -> None:
    assert rewritten(expression) == expression, why


@pytest.mark.parametrize("expression", ["exists(xs, x -> x = 7)", "exists(xs, x -> exists(ys, y -> x = y))"])
def test_the_old_exists_that_knows_no_null_is_left_alone(expression: str) -> None:
    conf = Conf().with_setting("spark.sql.legacy.followThreeValuedLogicInArrayExists", "false")
    made = plan(f"SELECT {expression} AS r, exists(array(1), x -> x = k) AS s FROM t", Catalog(SOURCES), conf=conf)
    found = optimize(made, rules=SMALL)
    assert (found.sql, found.rules) == (made.text, ())
    assert [f.nullable for f in made.schema] == [True, False]
