"""A query on lines that people read is the same query."""

from __future__ import annotations

import re

import pytest

import planproof
from planproof import Catalog
from planproof_engine.sql.layout import lay_out
from planproof_engine.sql.unparse import unparse

CATALOG = Catalog({"t": [("a", "int", True), ("b", "string", True), ("xs", "array<int>", True), ("from", "int", True)]})
QUERIES = (
    "select left(b, 2) as l, right(b, 1) as r, a is distinct from 1 as d, 'x  (y' as s, `from` from t",
    "select * from t left join (select a as k, count(*) as n from t group by a having count(*) > 1) on a = k",
    "with c as (select a, explode(xs) as x from t) select a, x from c where x in (select a from t) order by a limit 3",
    "select a from t where b like '%\\'(%' union all select a from t except select 1",
    "select transform(xs, x -> x + a) as ys, sum(a) over (partition by b order by a) as s from t "
    "lateral view explode(xs) v as w",
    "select extract(year from date '2020-01-01') as y, trim(both 'x' from b) as t, "
    "case when a > 1 then 'a''b' else b end as c from t",
)


@pytest.mark.parametrize("query", QUERIES)
def test_only_blanks_change(query: str) -> None:
    planned = planproof.plan(query, CATALOG)
    for text in (query, unparse(planned.root)):
        shown = lay_out(text, 60)
        assert re.sub(r"\s+", "", shown) == re.sub(r"\s+", "", text)
        assert [f.type for f in planproof.plan(shown, CATALOG).schema] == [f.type for f in planned.schema]
    assert max(map(len, lay_out(unparse(planned.root), 60).splitlines())) < 90


def test_a_line_for_each_clause_and_deeper_inside() -> None:
    shown = lay_out(
        "SELECT a FROM t LEFT OUTER JOIN (SELECT b FROM u) AS v ON (a = b) WHERE left(b, 1) = 'x' ORDER BY a"
    )
    assert shown.splitlines() == [
        "SELECT a",
        "FROM t",
        "LEFT OUTER JOIN (",
        "  SELECT b",
        "  FROM u",
        ") AS v ON (a = b)",
        "WHERE left(b, 1) = 'x'",
        "ORDER BY a",
    ]
