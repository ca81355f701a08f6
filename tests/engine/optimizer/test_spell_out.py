"""Spelling out what Spark would compute in a projection below: only where an array is read whole for it."""

from __future__ import annotations

import pytest
from test_prune_fields import SOURCES

from planproof_engine.api import optimize, plan
from planproof_engine.catalog import Catalog
from planproof_engine.conf import Conf
from planproof_engine.optimizer.rules.spell_out import spell_out

MEAN = "aggregate(items, 0D, (a, i) -> a + i.price) / nullif(size(items), 0)"
SUM = "aggregate(items, 0D, (a, i) -> a + i.price)"


def rewritten(sql: str, ansi: bool = True) -> str:
    found = optimize(plan(sql, Catalog(SOURCES), conf=Conf(ansi=ansi)), rules=[spell_out])
    assert found.findings == ()
    return found.sql


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "SELECT exists(items, i -> i.qty > 1) AND size(items) NOT BETWEEN 1 AND k e FROM t",
            "SELECT exists(items, i -> i.qty > 1) AND (NOT ((size(items) >= 1) AND (size(items) <= k))) e FROM t",
        ),
        (
            "SELECT exists(items, i -> i.price > 1 / nullif(size(items), 0)) e FROM t",
            "SELECT exists(items, i -> i.price > 1 / if((size(items) = 0), NULL, size(items))) e FROM t",
        ),
        (
            f"SELECT exists(items, i -> i.price > nullif({SUM}, 0D)) e FROM t",
            f"SELECT transform(array({SUM}), v1 -> exists(items, i -> i.price > nullif(v1, 0D)))[0] e FROM t",
        ),
        (
            f"SELECT size(items) e, NOT {SUM} BETWEEN 0D AND 1D n FROM t",
            f"SELECT size(items) e, NOT transform(array({SUM}), v1 -> v1 BETWEEN 0D AND 1D)[0] n FROM t",
        ),
        (
            f"SELECT size(items) e, {SUM} NOT BETWEEN 0D AND 1D n FROM t",
            f"SELECT size(items) e, transform(array({SUM}), v1 -> v1 NOT BETWEEN 0D AND 1D)[0] n FROM t",
        ),
        (
            "SELECT size(items) e, 1 / nullif(k + 1, 0) n FROM t",
            "SELECT size(items) e, 1 / if(((k + 1) = 0), NULL, k + 1) n FROM t",
        ),
    ],
)
def test_an_operand_is_written_twice_or_bound(before: str, after: str) -> None:
    assert rewritten(before) == after
    assert "prune_fields" in optimize(plan(before, Catalog(SOURCES))).rules


def test_it_is_found_below_the_query_that_reads_the_array() -> None:
    below = "SELECT id, items, nullif(upper(box.label), '') l FROM t"
    sql = f"SELECT size(items) n, l FROM ({below})"
    assert rewritten(sql) == sql.replace(
        "nullif(upper(box.label), '')", "transform(array(upper(box.label)), v1 -> nullif(v1, ''))[0]"
    )


@pytest.mark.parametrize(
    ("why", "sql"),
    [
        ("no array is read for it", "SELECT id / nullif(k + 1, 0) e FROM t"),
        ("Spark has the operand at hand", "SELECT size(items) / nullif(k, 0) e, nullif(box.label, '') l FROM t"),
        ("a constant is folded", "SELECT size(items) / nullif(1 + 1, 0) e FROM t"),
        ("Spark cannot compute a variable below", "SELECT exists(items, i -> nullif(i.qty + 1, 0) = 1) e FROM t"),
        ("an aggregate has its own place", "SELECT max(size(items)) / nullif(count(*), 0) e FROM t"),
        ("the array is read whole in any case", f"SELECT items, {MEAN} e FROM t"),
        ("it is volatile", "SELECT size(items) / nullif(floor(rand() * 2), 0) e FROM t"),
        (
            "it may raise, and a lambda may not get to it",
            "SELECT exists(items, i -> i.qty > nullif(k + 1, 0)) e FROM t",
        ),
        ("it may raise, and a null may come first", "SELECT size(items) + nullif(k + 1, 0) e FROM t"),
        ("a flag would change", "SELECT size(items) n, hash(k) BETWEEN 1 AND 2 b FROM t"),
        ("a subquery would be computed twice", "SELECT size(items) / nullif((SELECT max(k) FROM t) + 1, 0) e FROM t"),
        ("a branch evaluates it only there", "SELECT size(items) n, if(id > 1, nullif(k + 1, 0), 0) e FROM t"),
        (
            "a filter's test moves down",
            "SELECT size(items) n FROM t WHERE size(items) BETWEEN 1 AND 3",
        ),
        ("nor is it spelled out there", f"SELECT size(items) n FROM t WHERE {SUM} BETWEEN 1 AND 3"),
        ("each would double the text", "SELECT size(items) n, nullif(nullif(hash(k), 0) + 1, 1) e FROM t"),
        ("another one may raise first", "SELECT nullif(k + 1, 0) a, size(items) + nullif(k + 2, 0) b FROM t"),
        (
            "what raises for empty arrays, too, would follow it into the lambda",
            "SELECT exists(items, i -> i.qty > nullif(hash(k), 0) AND i.qty = nullif(hash(k) + 9, 0)) e FROM t",
        ),
        ("it stands in an aggregate", "SELECT sum(size(items)) e, sum(nullif(hash(k), 0)) n FROM t"),
    ],
)
def test_it_does_not_fire(why: str, sql: str) -> None:
    assert rewritten(sql) == sql, why


def test_with_ansi_off_a_sum_does_not_raise() -> None:
    sql = "SELECT size(items) + nullif(k + 1, 0) e FROM t"
    assert rewritten(sql, ansi=False) != sql


def test_a_mean_reads_one_field() -> None:
    found = optimize(plan(f"SELECT id, {MEAN} AS m FROM t", Catalog(SOURCES)))
    assert found.rules == ("spell_out", "prune_fields")
    assert found.sql == (
        "SELECT id, aggregate(items.`price`, 0D, (a, i) -> a + i) / "
        "if((size(items.`price`) = 0), NULL, size(items.`price`)) AS m FROM t"
    )


def test_where_it_has_no_text_the_other_rules_still_do_theirs() -> None:
    bound = "SELECT size(items) n, size(pair) BETWEEN 1.5 AND 99 b, {} r FROM t"
    sql = bound.format("transform(pair.a, x -> concat(x, upper(box.label)))")
    found = optimize(plan(sql, Catalog(SOURCES)))
    assert found.sql == bound.format(
        "transform(array(upper(box.label)), v1 -> transform(pair.a, x -> concat(x, v1)))[0]"
    )
    assert (found.rules, found.findings) == (("hoist_invariants",), ())


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT size(items) = 1 b FROM t GROUP BY size(items) = 1 HAVING size(items) != 1",
        "SELECT max(size(items)) = 3 b FROM t GROUP BY k HAVING max(size(items)) <> 3",
    ],
)
def test_what_having_negates_in_one_text_is_left_alone(sql: str) -> None:
    found = optimize(plan(sql, Catalog(SOURCES)))
    assert (found.sql, found.findings) == (sql, ())
