"""Python functions in lambdas: the text that Spark gets, what travels to the worker, and what is refused."""

from __future__ import annotations

import pytest

from planproof import Catalog, Conf, Function, plan
from planproof_engine.functions.declared import DeclarationError
from planproof_engine.functions.registry import Registry, builtin
from planproof_engine.optimizer.lowering import CannotLower, Lowered, lower

CATALOG = Catalog(
    {
        "t": [
            ("id", "bigint", False),
            ("rate", "double", True),
            ("items", "array<struct<price:double,qty:int,ship:struct<city:string>>>", True),
            ("orders", "array<struct<rate:double,items:array<struct<price:double,qty:int>>>>", True),
            ("xs", "array<double>", True),
            ("ys", "array<int>", True),
        ]
    }
)


def registry() -> Registry:
    found = builtin().extended()
    for name, nullable in (("f", True), ("g", False)):
        declared = Function(lambda *arrays: arrays[0], "double", nullable=nullable)
        found.register(name, declared.signature(name), declared.call)
    return found


def lowered(sql: str, conf: Conf = Conf()) -> Lowered | None:  # noqa: B008
    made = plan(sql, CATALOG, conf=conf, registry=registry())
    return lower(made.root, sql, conf, "u_")


TEXTS = {
    "transform(xs, x -> f(x))": "u_0(xs)",
    "transform(items, i -> f(i.price, rate))": "u_0(items.`price`, rate)",
    "transform(items, i -> f(i.ship.city))": "u_0(items.`ship`.`city`)",
    "transform(items, i -> f(i.price * 2))": "u_0(transform(items, `i` -> i.price * 2))",
    "transform(items, i -> f(i.price) + i.qty)": "transform(u_0(items.`price`, items), z1 -> z1.r0 + z1.c0.qty)",
    "transform(xs, (x, n) -> f(x, n) + n)": "transform(u_0(xs), (z1, `n`) -> z1 + n)",
    "transform(xs, (x, n) -> f(n))": "u_0(transform(xs, (`x`, `n`) -> false))",
    "transform(xs, x -> f(rate))": "u_0(rate, transform(xs, `x` -> false))",
    "transform(xs, x -> f(g(x), x))": "u_0(xs)",
    "transform(xs, x -> f(x) + g(x))": "transform(u_0(xs), z1 -> z1.r0 + z1.r1)",
    "transform(xs, x -> f(`x` ))": "u_0(xs)",
    "transform(xs, x -> coalesce(f(x), 0))": "transform(u_0(xs), z1 -> coalesce(z1, 0))",
    "filter(xs, x -> f(x) > 3)": "transform(filter(u_0(xs), z1 -> z1.r0 > 3), z1 -> z1.c0)",
    "exists(xs, x -> f(x) > 3)": "exists(u_0(xs), z1 -> z1 > 3)",
    "forall(xs, x -> f(x) > x)": "forall(u_0(xs), z1 -> z1.r0 > z1.c0)",
    "zip_with(xs, ys, (x, y) -> f(x, y))": (
        "u_0(zip_with(xs, ys, (`x`, `y`) -> `x`), zip_with(xs, ys, (`x`, `y`) -> `y`))"
    ),
    "transform(orders, o -> transform(o.items, i -> f(i.price, o.rate, rate)))": (
        "u_0(transform(orders, `o` -> o.items.`price`), orders.`rate`, rate)"
    ),
    "transform(orders, o -> transform(o.items, i -> f(i.price) + o.rate))": (
        "transform(u_0(transform(orders, `o` -> o.items.`price`), orders), "
        "z1 -> transform(z1.n0, z2 -> z2 + z1.c0.rate))"
    ),
    "transform(filter(xs, x -> f(x) > 1), x -> f(x))": (
        "u_1(transform(filter(u_0(xs), z1 -> z1.r0 > 1), z1 -> z1.c0))"
    ),
    "size(transform(xs, x -> f(x)))": "size(u_0(xs))",
    "transform(transform(xs, x -> x + 1), x -> f(x, rate))": "u_0(transform(xs, x -> x + 1), rate)",
}


@pytest.mark.parametrize("written", TEXTS)
def test_the_text_that_spark_gets(written: str) -> None:
    found = lowered(f"select id, {written} as y from t")
    assert found is not None
    assert found.sql == f"select id, {TEXTS[written]} as y from t"


def test_only_the_calls_change_and_equal_ones_share_a_name() -> None:
    sql = "select  transform(xs, x->f(x)) a, --  f(x)\n transform( xs , y -> f( y ) ) b,\t'f(x)' from t  where id > 1"
    found = lowered(sql)
    assert found is not None
    assert found.sql == "select  u_0(xs) a, --  f(x)\n u_0(xs) b,\t'f(x)' from t  where id > 1"
    assert [call.name for call in found.calls] == ["u_0"]


def test_a_column_keeps_the_name_that_its_text_gave_it() -> None:
    found = lowered("select transform(xs, x -> f(x)) from t")
    assert found is not None
    name = "transform(xs, lambdafunction(f(namedlambdavariable()), namedlambdavariable()))"
    assert found.sql == f"select u_0(xs) AS `{name}` from t"


def test_what_may_fail_is_evaluated_per_element_and_not_for_an_empty_list() -> None:
    found = lowered("select transform(xs, x -> f(x, 1 / rate)) y from t", Conf(ansi=True))
    assert found is not None
    assert found.sql == "select u_0(xs, transform(xs, `x` -> 1 / rate)) y from t"
    found = lowered("select transform(xs, x -> f(x, 1 / rate)) y from t", Conf(ansi=False))
    assert found is not None
    assert found.sql == "select u_0(xs, 1 / rate) y from t"


def test_a_query_without_python_in_a_lambda_is_left_alone() -> None:
    assert lowered("select f(rate), transform(xs, x -> x + 1) y from t") is None


REFUSED = {
    "transform(xs, x -> case when x > 0 then f(x) end)": "PP221",
    "transform(xs, x -> if(x > 0, x, f(x)))": "PP221",
    "transform(xs, x -> coalesce(x, f(x)))": "PP221",
    "transform(xs, x -> nanvl(x, f(x)))": "PP221",
    "case when id > 0 then transform(xs, x -> f(x)) end": "PP221",
    "aggregate(xs, 0D, (a, x) -> a + f(x))": "PP220",
    "array_sort(xs, (x, y) -> cast(f(x, y) as int))": "PP220",
    "transform(xs, x -> f(g(x) + 1))": "PP220",
    "transform(shuffle(xs), x -> f(x) + x)": None,
    "transform(shuffle(xs), x -> f(x * 2) + x)": "PP220",
}


@pytest.mark.parametrize("written", REFUSED)
def test_what_cannot_run_is_refused_with_its_place(written: str) -> None:
    sql = f"select id, {written} as y from t"
    if REFUSED[written] is None:
        assert lowered(sql) is not None
        return
    with pytest.raises(CannotLower) as refused:
        lowered(sql)
    assert refused.value.code == REFUSED[written]
    assert refused.value.span is not None


def test_types_and_flags_come_from_the_declaration() -> None:
    sql = "select transform(xs, x -> g(x)) a, transform(xs, x -> f(x)) b, exists(array(1D), x -> g(x) > 0) c from t"
    found = plan(sql, CATALOG, registry=registry()).schema
    assert [f.type.json["containsNull"] for f in found if f.name != "c"] == [False, True]  # type: ignore[index]
    assert [f.nullable for f in found] == [True, True, True]


def test_a_declaration_that_cannot_be_read_says_so() -> None:
    with pytest.raises(DeclarationError, match="returns 'dubble'"):
        Function(len, "dubble")
    with pytest.raises(DeclarationError, match="arrow, pandas, python"):
        Function(len, "int", kind="polars")
    with pytest.raises(DeclarationError, match="no function"):
        Function("len", "int")  # type: ignore[arg-type]
