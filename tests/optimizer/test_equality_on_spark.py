"""Original and rewritten text give the same rows on real Spark, over nulls, empties, duplicates and extremes."""

from __future__ import annotations

import random
from typing import Any

import pytest
from pyspark.errors import PySparkException

from planproof.api import optimize, plan
from planproof.catalog import Catalog
from planproof.conf import Conf

COLUMNS: list[tuple[str, str, bool]] = [
    ("id", "bigint", False),
    ("name", "string", True),
    ("k", "int", True),
    ("xs", "array<int>", True),
    ("words", "array<string>", True),
    ("items", "array<struct<sku:string,price:double,ship:struct<city:string>>>", True),
]
ITEM = "named_struct('sku', {}, 'price', {}, 'ship', {})"
SHIP = "named_struct('city', {})"
FULL = ITEM.format("'s'", "1.5D", SHIP.format("'x'"))
BARE = ITEM.format("NULL", "NULL", "NULL")
ODD = ITEM.format("'b'", "double('NaN')", SHIP.format("NULL"))
ROWS = f"""
SELECT * FROM VALUES
 (1L, 'a', 1, array(1, 2, NULL, 2), array('a', 'B', NULL), array({FULL})),
 (2L, NULL, NULL, array(), array(), array()),
 (3L, 'b,c', -1, NULL, NULL, NULL),
 (4L, '', 2147483647, array(2147483647, -2147483648), array('', 'b'), array(NULL, {BARE})),
 (5L, 'b', 0, array(0, 0, 0), array('b'), array({ODD}))
AS t(id, name, k, xs, words, items)
"""
INVARIANTS = (
    "upper(name)",
    "concat(name, '-', name)",
    "repeat(name, 2)",
    "size(split(name, ','))",
    "length(reverse(name))",
)
BODIES = ("concat(w, {})", "concat({}, w, {})", "CASE WHEN w = 'b' THEN {} ELSE w END", "coalesce(w, {})", "{}")


def expression(chance: random.Random) -> str:
    """A lambda expression that some rule may fire on."""
    text = chance.choice(INVARIANTS)
    shapes = [
        f"transform(words, w -> {chance.choice(BODIES).replace('{}', text)})",
        f"filter(words, w -> w = {text} OR w IS NULL)",
        f"exists(words, w -> upper(w) = {text})",
        f"aggregate(words, '', (acc, w) -> concat(acc, w, {text}))",
        f"transform(words, (w, i) -> concat(w, {text}, i))",
        f"transform(words, w -> transform(xs, x -> concat(x, upper(w), {text})))",
        f"filter(xs, (x, i) -> i {chance.choice(('<', '<='))} {chance.randint(-1, 3)})",
        f"filter(xs, (x, i) -> {chance.randint(0, 3)} > i)",
        f"exists(xs, x -> x = {chance.choice((0, 2, 2147483647))})",
        f"exists(xs, x -> {chance.choice(('k', '1L', '1'))} = x)",
        "transform(items, i -> i.price)",
        "transform(items, i -> i.ship.city)",
        f"size(filter(filter(xs, x -> x > 0), (x, i) -> i < {chance.randint(0, 2)}))",
        f"zip_with(words, xs, (w, x) -> concat(w, {text}, x))",
    ]
    return chance.choice(shapes)


def outcome(spark: Any, sql: str) -> list[str] | str:
    """The rows in order, or the condition of the error."""
    try:
        return [repr(row) for row in spark.sql(sql).orderBy("id").collect()]
    except PySparkException as error:
        return error.getCondition() or type(error).__name__


def differences(spark: Any, seed: int, batches: int, width: int) -> tuple[list[tuple[str, str]], set[str]]:
    spark.sql(ROWS).repartition(2).createOrReplaceTempView("equality_rows")
    flags_forgotten = "nullif(name, '~') AS name, k, nullif(xs, array(-7)) AS xs, nullif(words, array('~')) AS words"
    spark.sql(
        f"CREATE OR REPLACE TEMPORARY VIEW equality AS SELECT id, {flags_forgotten}, nullif(items, array()) AS items "
        "FROM equality_rows"
    )
    chance, wrong, fired = random.Random(seed), [], set()
    for number in range(batches):
        ansi = number % 2 == 0
        spark.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
        items = ", ".join(f"{expression(chance)} AS e{i}" for i in range(width))
        sql = f"SELECT id, {items} FROM equality"
        rewriting = optimize(plan(sql, Catalog({"equality": COLUMNS}), conf=Conf(ansi=ansi)))
        fired |= set(rewriting.rules)
        if rewriting.rules and outcome(spark, sql) != outcome(spark, rewriting.sql):
            wrong.append((sql, rewriting.sql))
    return wrong, fired


def test_rewritten_queries_give_the_same_rows(spark: Any) -> None:
    wrong, fired = differences(spark, seed=7, batches=12, width=8)
    assert wrong == []
    assert fired == {"hoist_invariants", "filter_to_slice", "project_fields", "exists_to_contains"}


@pytest.mark.conformance
def test_many_rewritten_queries_give_the_same_rows(spark: Any) -> None:
    wrong, _ = differences(spark, seed=11, batches=150, width=5)
    assert wrong == []
