"""Counting queries on real rows."""

from __future__ import annotations

import pytest

from planproof.contract import Contract
from planproof.invariants.contract import check
from planproof.invariants.count_queries import (
    Term,
    check_query,
    count,
    count_query,
    count_terms,
    foreign_key_query,
    terms_of,
    unique_query,
)
from planproof.settings import Settings
from planproof_engine.finding import Verdict
from planproof_engine.origin import AnalysisError

ROWS = """(
  select if(id = 0, null, id) as `a b`,
    case id when 0 then null when 1 then array() when 2 then array(named_struct('q', null, 'm', map('k', null)), null)
      else array(named_struct('q', id, 'm', map('k', 1))) end as items,
    if(id = 3, null, named_struct('x`y', if(id = 4, null, id), 's', repeat('z', cast(id as int)))) as st,
    array(array(id, if(id > 2, null, id))) as nested
  from range(5)
)"""


@pytest.mark.parametrize("ansi_on", [True, False])
def test_nulls_are_counted_inside_parents_that_are_there(session, ansi, ansi_on):
    ansi(ansi_on)
    expected = {
        ("a b",): 1,
        ("items",): 1,
        ("items", "element"): 1,
        ("items", "element", "q"): 1,
        ("items", "element", "m"): 0,
        ("items", "element", "m", "key"): 0,
        ("items", "element", "m", "value"): 1,
        ("st",): 1,
        ("st", "x`y"): 1,
        ("nested", "element", "element"): 2,
    }
    lengths = {("st", "s"): 2}
    terms = [*map(Term, expected), Term(("st", "s"), 1)]
    facts = count_terms(session, ROWS, terms)
    assert facts.rows == 5
    assert facts.nulls == expected
    assert facts.too_long == lengths


def test_no_rows_count_zero(session):
    facts = count_terms(session, "(select id from range(0))", [Term(("id",)), Term(("id",), 3)])
    assert (facts.rows, facts.nulls, facts.too_long) == (0, {("id",): 0}, {("id",): 0})


def test_trailing_blanks_are_no_length(session):
    facts = count_terms(session, "(select 'ab   ' s union all select 'abc')", [Term(("s",), 2)])
    assert facts.too_long == {("s",): 1}


def test_a_path_that_is_not_there_is_a_key_error(session):
    schema = session.planes("select named_struct('a', 1) s").analyzed
    for path in [("t",), ("s", "b"), ("s", "a", "element")]:
        with pytest.raises(KeyError):
            count_query("t", schema, [Term(path)])


def test_the_terms_of_a_contract():
    contract = Contract([("a", "varchar(3)", False), ("m", "map<string,array<int NOT NULL> NOT NULL>", True)])
    assert terms_of(contract) == [
        Term(("a",)),
        Term(("a",), 3),
        Term(("m", "value")),
        Term(("m", "value", "element")),
    ]


def test_open_findings_are_decided_and_keep_their_place(session):
    contract = Contract(
        [
            ("a b", "bigint", False),
            ("items", "array<struct<q:bigint NOT NULL,m:map<string,int>>>", True),
            ("st", "struct<`x``y`:bigint,s:varchar(9)>", True),
            ("nested", "array<array<bigint> NOT NULL>", True),
        ]
    )
    schema = session.planes(f"select * from {ROWS}").declared
    found = check(contract, schema, {}, None, Settings(), "analyzed", lambda column: None)
    assert {f.verdict for f in found} == {Verdict.UNPROVED}
    decided, _ = count(session, ROWS, found)
    assert [(f.code, f.verdict.value, f.field, f.plane) for f in decided] == [
        ("PP505", "violated", "`a b`", "analyzed"),
        ("PP505", "violated", "items.element.q", "analyzed"),
        ("PP500", "proved", "st.s", "analyzed"),
        ("PP505", "proved", "nested.element", "analyzed"),
    ]


def test_unique(session):
    rows = "(select * from values (1, 'a'), (1, 'a'), (1, 'b'), (null, 'a'), (null, 'a') as t(`x y`, s))"
    assert session.rows(unique_query(rows, ["x y"])) == [(1,)]
    assert session.rows(unique_query(rows, ["x y", "s"])) == [(1,)]
    assert session.rows(unique_query("(select id from range(5))", ["id"])) == [(0,)]


def test_checks_hold_where_they_are_null(session):
    rows = "(select * from values (1), (2), (null) as t(a))"
    assert session.rows(check_query(rows, ["a > 0", "a > 1 -- a comment", "a is not null"])) == [(0, 1, 1)]


def test_foreign_keys(session):
    ours = "(select * from values (1, 1), (2, 9), (null, 1), (7, null) as t(a, b))"
    theirs = "(select * from values (1, 1), (2, 2) as t(x, y))"
    assert session.rows(foreign_key_query(ours, ["a"], theirs, ["x"])) == [(1,)]
    assert session.rows(foreign_key_query(ours, ["a", "b"], theirs, ["x", "y"])) == [(1,)]
    assert session.rows(foreign_key_query("(select 1 a)", ["a"], theirs, ["x"])) == [(0,)]
    with pytest.raises(AnalysisError):
        foreign_key_query(ours, ["a"], theirs, ["x", "y"])
