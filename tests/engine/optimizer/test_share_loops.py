"""Loops that a body says twice are shared only where that keeps the answer: each condition has a case."""

from __future__ import annotations

import pytest

from planproof_engine.api import optimize, plan
from planproof_engine.catalog import Catalog
from planproof_engine.conf import Conf

SOURCES = {
    "t": [
        ("id", "bigint", False),
        ("xs", "array<int>", True),
        ("ds", "array<double>", True),
        ("words", "array<string>", True),
    ]
}
ABOVE = "size(filter(ds, y -> y > x))"
LENGTH = "length(map_from_entries(transform(words, w -> struct(w, upper(w))))['a'])"
SUM = "aggregate(xs, 0, (a, y) -> a + y * x)"


def rewritten(expression: str, ansi: bool = True) -> str:
    found = optimize(plan(f"SELECT {expression} AS r FROM t", Catalog(SOURCES), conf=Conf(ansi=ansi)))
    assert found.findings == ()
    return found.sql.removeprefix("SELECT ").removesuffix(" AS r FROM t")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            f"transform(ds, x -> if({ABOVE} > 3, {ABOVE}, 0))",
            f"transform(ds, x -> transform(array({ABOVE}), v1 -> if(v1 > 3, v1, 0))[0])",
        ),
        (
            "filter(words, w -> filter(words, u -> u > w)[0] > 'b' AND filter(words, z -> z > w)[0] < 'c')",
            "filter(words, w -> transform(array(filter(words, u -> u > w)), v1 -> v1[0] > 'b' AND v1[0] < 'c')[0])",
        ),
        (
            f"filter(ds, z -> exists(ds, x -> {ABOVE} > z AND {ABOVE} < 5))",
            f"filter(ds, z -> exists(ds, x -> transform(array({ABOVE}), v1 -> v1 > z AND v1 < 5)[0]))",
        ),
        (
            f"transform(ds, x -> ({ABOVE} + {ABOVE}) * ({ABOVE} + {ABOVE}))",
            f"transform(ds, x -> transform(array({ABOVE}), v1 -> transform(array(v1 + v1), v2 -> (v2) * (v2))[0])[0])",
        ),
        (f"transform(xs, x -> {SUM} * {SUM})", f"transform(xs, x -> transform(array({SUM}), v1 -> v1 * v1)[0])"),
    ],
)
def test_a_loop_that_the_body_says_twice_is_bound(before: str, after: str) -> None:
    assert rewritten(before) == after


@pytest.mark.parametrize(
    ("why", "expression"),
    [
        ("it is there once", f"transform(ds, x -> {ABOVE} + x)"),
        ("exists stops early", "transform(ds, x -> if(exists(ds, y -> y > x), exists(ds, y -> y > x), x > 1))"),
        ("arithmetic is no loop", "transform(ds, x -> (x * id + 1) / (x * id + 1))"),
        ("a branch that raises may not be taken", f"transform(xs, x -> if(x > 1, {SUM}, {SUM} + 1))"),
        ("an operand that is null ends it before", f"transform(xs, x -> x + {SUM} * {SUM})"),
        ("something may raise before", f"aggregate(xs, 0, (b, x) -> b + {SUM} + {SUM}, b -> b + 1)"),
        ("neither branch may be taken", f"transform(ds, x -> if(x > 1, {ABOVE}, if(x > 0, {ABOVE}, 0)))"),
        (
            "it is volatile",
            "filter(xs, x -> size(filter(xs, y -> rand() < 0.5)) > 1 AND size(filter(xs, y -> rand() < 0.5)) < x)",
        ),
        (
            "Spark computes what may raise below, for empty arrays, too",
            f"transform(xs, x -> coalesce(nullif({LENGTH}, x), {LENGTH}))",
        ),
        ("the body is never null", f"transform(ds, x -> {ABOVE} <=> {ABOVE} + 1)"),
        (
            "a struct would name a field after it",
            "transform(ds, x -> to_json(struct(filter(ds, y -> y > x), filter(ds, y -> y > x))))",
        ),
    ],
)
def test_it_does_not_fire(why: str, expression: str) -> None:
    assert rewritten(expression) == expression, why


def test_what_raises_under_ansi_alone_is_shared_without() -> None:
    assert "array(" in rewritten(f"transform(xs, x -> x + {SUM} * {SUM})", ansi=False)
