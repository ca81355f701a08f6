"""Every field that holds nodes is walked and rewritten, unless its class says that it is no part."""

from __future__ import annotations

import dataclasses
from dataclasses import field

import pytest

from planproof import Catalog
from planproof_engine.api import plan
from planproof_engine.expr import Cast, Column, Expr, Literal
from planproof_engine.expr.parts import NO_PART
from planproof_engine.expr.tree import transform_down, transform_up
from planproof_engine.logical import nodes as p
from planproof_engine.logical.rewrite import map_expressions
from planproof_engine.records import record
from planproof_engine.types import INT, STRING

ONE, TWO = Literal(1, INT, "1"), Literal(2, INT, "2")
TABLE = p.Scan("t", (Column(1, "a", INT, True), Column(2, "b", INT, True)))


@record(frozen=True, slots=True)
class Pair(Expr):
    """An expression of a kind that nothing in the engine knows."""

    left: Expr
    others: tuple[Expr, ...]
    last: Literal | None
    bound: Expr = field(metadata=NO_PART)
    type = INT
    nullable = False


@record(frozen=True, slots=True)
class Sampled(p.PassThrough):
    """A plan of a kind that nothing in the engine knows."""

    child: p.Plan
    share: Expr


@record(frozen=True, slots=True)
class Listed(Expr):
    """An expression that holds others in a form that no walk knows."""

    parts: list[Expr]


def doubled(expr: Expr) -> Expr:
    return Literal(expr.value * 2, INT, str(expr.value * 2)) if isinstance(expr, Literal) else expr


def test_the_parts_of_a_new_kind_of_expression_are_walked_and_rewritten() -> None:
    pair = Pair(ONE, (ONE, TWO), TWO, ONE)
    assert pair.children == (ONE, ONE, TWO, TWO)
    assert [*pair.walk()] == [pair, ONE, ONE, TWO, TWO]
    four = Literal(4, INT, "4")
    assert transform_up(pair, doubled) == Pair(TWO, (TWO, four), four, ONE)
    assert transform_down(pair, lambda e: TWO if e == ONE else None) == Pair(TWO, (TWO, TWO), TWO, ONE)
    assert Pair(ONE, (), None, ONE).children == (ONE,)
    assert transform_up(pair, lambda e: e) is pair


def test_the_parts_of_a_new_kind_of_plan_are_walked_and_rewritten() -> None:
    sampled = Sampled(TABLE, ONE)
    assert (sampled.children, sampled.expressions) == ((TABLE,), (ONE,))
    assert map_expressions(p.Distinct(sampled), doubled) == p.Distinct(Sampled(TABLE, TWO))
    assert map_expressions(sampled, lambda e: e) is sampled


def test_a_field_that_no_walk_could_visit_is_refused() -> None:
    with pytest.raises(TypeError, match=r"Listed\.parts holds nodes in a form that no walk knows"):
        transform_up(Listed([ONE]), doubled)


def test_a_kind_that_extends_another_has_parts_of_its_own() -> None:
    @record(frozen=True, slots=True)
    class Checked(Sampled):
        check: Expr = TWO

    assert Sampled(TABLE, ONE).expressions == (ONE,)
    assert Checked(TABLE, ONE).expressions == (ONE, TWO)


@pytest.mark.parametrize("family", [Expr, p.Plan])
def test_each_kind_of_node_says_which_of_its_fields_are_parts(family: type) -> None:
    """Raises where a field of a kind holds nodes in a form that no walk knows."""
    from planproof_engine.expr.parts import shape_of

    kinds = [k for k in _below(family) if dataclasses.is_dataclass(k) and k.__module__.startswith("planproof_engine")]
    assert len(kinds) > 15
    for kind in kinds:
        shape_of(kind, Expr)
        shape_of(kind, p.Plan)


def _below(kind: type) -> list[type]:
    return [found for sub in kind.__subclasses__() for found in (sub, *_below(sub))]


def test_a_node_refuses_what_it_cannot_mean() -> None:
    empty = p.OneRow()
    with pytest.raises(ValueError, match="no join is called 'bogus'"):
        p.Join(TABLE, TABLE, "bogus")
    with pytest.raises(ValueError, match="no set operation is called 'minus'"):
        p.SetOperation("minus", (TABLE, TABLE), True, TABLE.output)
    with pytest.raises(ValueError, match="SetOperation of 2 columns over a OneRow of 0"):
        p.SetOperation("union", (TABLE, empty), True, TABLE.output)
    with pytest.raises(ValueError, match="Named of 2 columns over a OneRow of 0"):
        p.Named(("t",), empty, TABLE.output)
    with pytest.raises(ValueError, match="no cast has the mode 'strict'"):
        Cast(ONE, STRING, "strict", False)
    with pytest.raises(ValueError, match="a grouping set keeps a group that is none of the 1"):
        p.Aggregate(TABLE.output[:1], TABLE.output[:1], TABLE, ((0,), (1,)))
    with pytest.raises(TypeError, match="is no output expression"):
        p.Project((ONE,), TABLE)


def test_the_order_of_parts_is_that_of_the_text() -> None:
    catalog = Catalog({"t": [("a", "int", True), ("b", "int", True)]})
    query = plan("SELECT a, max(b) FILTER (WHERE b > 1) AS m FROM t GROUP BY a", catalog).root
    assert [type(e).__name__ for e in query.expressions] == ["Column", "Column", "Alias"]
    assert [type(e).__name__ for e in query.expressions[-1].walk()] == [
        "Alias",
        "Call",
        "Column",
        "Call",
        "Column",
        "Literal",
    ]
