"""Healthy models that are nested deeply are planned, whoever calls, and never fail."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

from planproof import Catalog, Conf, Contract, Model, Settings, Unknown, optimize, plan
from planproof.judge.draft import Draft
from planproof.judge.planes import examine
from planproof_engine import depth
from planproof_engine.depth import deeply
from planproof_engine.sql.unparse import unparse

OFF = Conf(ansi=False)
WIDE = [f"c{i}" for i in range(1000)]
CATALOG = Catalog({"t": [("a", "int", True), ("c", "string", True)], "w": [(c, "string", True) for c in WIDE]})

DEEP = {
    "a surrogate key over 1,000 columns": "select md5({}) as n from w".format(
        " || '-' || ".join(f"coalesce(cast({c} as string), '_null_')" for c in WIDE)
    ),
    "a sum of 400": f"select {'+'.join(['a'] * 400)} as n from t",
    "1,000 texts": f"select {'||'.join(['c'] * 1000)} as n from t",
    "400 CTEs": "with c0 as (select a as n from t), {} select n from c399".format(
        ", ".join(f"c{i} as (select n from c{i - 1})" for i in range(1, 400))
    ),
    "a CASE in a CASE": f"select {'case when a > 1 then a else ' * 200}a{' end' * 200} as n from t",
    "subqueries": f"select n from {'(select n from ' * 200}(select a as n from t){')' * 200}",
    "arrays": f"select size({'array(' * 60}a{')' * 60}) as n from t",
}


def from_below(calls: int, work: Callable[[], Any]) -> Any:
    """What the work gives where dbt or Airflow made some calls before."""
    return work() if calls == 0 else from_below(calls - 1, work)


@pytest.mark.parametrize("name", DEEP)
def test_a_deep_model_is_planned(name: str) -> None:
    sql = DEEP[name]
    limit = sys.getrecursionlimit()
    found = from_below(600, lambda: plan(sql, CATALOG, OFF))
    assert found.schema.names == ("n",)
    assert found.findings == ()
    assert from_below(600, lambda: optimize(found)).sql == sql
    assert from_below(600, lambda: str(found)).startswith("Project")
    assert plan(from_below(600, lambda: unparse(found.root)), CATALOG, OFF).physical_schema == found.physical_schema
    (column,) = found.physical_schema
    for type_, codes in ((column.type.simple, []), ("date", ["PP504"])):
        draft = Draft(Model("s.m", sql, contract=Contract([("n", type_, True)])), Settings())
        from_below(600, lambda draft=draft: examine(draft, lambda: found))
        assert [f.code for f in draft.findings] == codes, draft.findings
    assert (sys.getrecursionlimit(), threading.stack_size()) == (limit, 0)


@pytest.mark.parametrize(("name", "value"), [("STACK", 2**60), ("CALLS", 1100)])
def test_what_is_nested_deeper_than_any_stack_is_unknown(name: str, value: int, monkeypatch: Any) -> None:
    """There is no stack to be had, or none that is large enough. A rewriting looks at lambdas alone."""
    key = DEEP["a surrogate key over 1,000 columns"].removeprefix("select ").removesuffix(" as n from w")
    sql = f"select transform(array(1), x -> {key}) as n from w"
    found = plan(sql, CATALOG, OFF)
    monkeypatch.setattr(depth, name, value)
    for work in (lambda: plan(sql, CATALOG, OFF), lambda: optimize(found), lambda: unparse(found.root)):
        with pytest.raises(Unknown, match="nested this deep"):
            work()
    draft = Draft(Model("s.m", sql), Settings())
    examine(draft, lambda: found)
    assert draft.details.plan is None


def test_errors_and_context_come_through() -> None:
    def fails(left: int) -> int:
        if left == 0:
            raise KeyError("found at the bottom")
        return fails(left - 1) + 1

    with pytest.raises(KeyError, match="at the bottom"):
        deeply(lambda: fails(5000))
    with pytest.raises(RecursionError):
        deeply(lambda: fails(10**6))
    assert deeply(lambda: deeply(threading.current_thread)) is threading.current_thread()
