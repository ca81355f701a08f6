"""The small rules: what each makes of a call, and each condition under which it must leave the call alone."""

from __future__ import annotations

import pytest

from planproof.api import optimize, plan
from planproof.catalog import Catalog
from planproof.conf import Conf
from planproof.optimizer.rules.exists_to_contains import exists_to_contains
from planproof.optimizer.rules.filter_to_slice import filter_to_slice
from planproof.optimizer.rules.project_fields import project_fields

SMALL = (project_fields, filter_to_slice, exists_to_contains)
ITEMS = "array<struct<sku:string,price:double,ship:struct<city:string>>>"
SOURCES = {"t": [("id", "bigint", False), ("k", "int", True), ("xs", "array<int>", True), ("items", ITEMS, True)]}


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
        ("transform(items, i -> i.price)", "items.`price`"),
        ("transform(t.items, i -> i.ship.city)", "t.items.`ship`.`city`"),
        ("exists(xs, x -> x = 7)", "array_contains(xs, 7)"),
        ("exists(xs, x -> 7 = x)", "array_contains(xs, 7)"),
        ("size(filter(filter(xs, x -> x > 1), (x, i) -> i < 2))", "size(slice(filter(xs, x -> x > 1), 1, 2))"),
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
        ("an index beside the element", "transform(items, (i, n) -> i.price)"),
        ("an array that is no path", "transform(filter(items, i -> i.price > 1), i -> i.price)"),
        ("a value that may be null", "exists(xs, x -> x = k)"),
        ("a comparison that casts", "exists(xs, x -> x = 7L)"),
        ("a value that uses the element", "exists(xs, x -> x = x)"),
        ("a value that may raise", "exists(xs, x -> x = CAST(id AS INT))"),
        ("floats", "exists(transform(items, (i, n) -> i.price), p -> p = 1.0D)"),
    ],
)
def test_a_rule_leaves_it_alone(why: str, expression: str) -> None:
    assert rewritten(expression) == expression, why
