"""A publish of a view was killed, others took its name, and only then somebody recovers it or publishes again: what
they left stands, and a table that had stepped aside is not dropped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from killed import kill
from quick import keep_quick
from test_every_format import said
from under_test import OLD, PARQUET, Place

from planproof import Guard

VIEW = {"sql": "select 2 as id, 'b' as s", "materialized": "view"}
CASES = {
    "view": PARQUET.cases["view"],
    "view over a table": replace(PARQUET.cases["view"], before=OLD, is_view=False),
    "table over a view": replace(PARQUET.cases["rename"], before="create view {t} as select 1 as id, 'a' as s"),
}
ACTS = {
    "replaced": ["create or replace view {t} as select 8 as id, 'x' as s"],
    "dropped": ["drop"],
    "made a view": ["drop", "create view {t} as select 8 as id, 'x' as s"],
    "made a table": ["drop", "create table {t} using parquet as select 8 as id, 'x' as s"],
    "renamed": ["rename"],
    "renamed and made anew": ["rename", "create view {t} as select 8 as id, 'x' as s"],
}


def carry_out(there: Place, act: str) -> None:
    """Whatever stands there is dropped, or renamed; where nothing does, the rest is done."""
    shown = there.other.sql(f"show views in {there.database}").collect()
    kind = "view" if there.t.rpartition(".")[2] in [row["viewName"] for row in shown] else "table"
    is_there = there.rows() is not None
    for statement in ACTS[act]:
        if statement == "drop" and is_there:
            there.other.sql(f"drop {kind} {there.t}")
        elif statement == "rename" and is_there:
            there.other.sql(f"alter {kind} {there.t} rename to {there.t}_moved")
        elif statement not in ("drop", "rename"):
            there.other.sql(statement.format(t=there.t))


def play(there: Place, act: str, follow: str) -> Iterator[str]:
    killed = there.rows()
    try:
        carry_out(there, act)
    except Exception as error:
        yield f"{act} refused: {str(error).splitlines()[0][:150]}"
        return
    left, moved = there.rows(), there.rows(f"{there.t}_moved")
    old, new = there.case.old, there.case.new
    aside = [row["tableName"] for row in there.other.sql(f"show tables in {there.database}").collect()]
    waits = [name for name in aside if name.endswith("_old") and is_table(there, name)]
    if follow == "recover":
        there.recover()
        found, allowed, told = there.rows(), [left, *([old, new] if left is None else [])], ""
    else:
        report = there.publish(Guard(there.other))
        found, told = there.rows(), said(report)[:300]
        allowed = [new] if report.outcome == "published" else [left]
        if report.outcome != "published":
            yield told
    where = f"killed with {killed}, {act}: {left}, {follow}: {told}"
    if found not in allowed:
        yield f"{where}; {found}"
    if there.rows(f"{there.t}_moved") != moved:
        yield f"{where}; moved {moved} -> {there.rows(f'{there.t}_moved')}"
    still = [row["tableName"] for row in there.other.sql(f"show tables in {there.database}").collect()]
    if found == left == [(8, "x")] and killed is None and not {*waits} <= {*still}:
        yield f"{where}; {waits} of a table that had stepped aside are gone"
    there.recover()
    if there.rows() != found:
        yield f"{where}; recovered: {found} -> {there.rows()}"


def is_table(there: Place, name: str) -> bool:
    views = [row["viewName"] for row in there.other.sql(f"show views in {there.database}").collect()]
    return name not in views


@pytest.mark.parametrize("every", [8, pytest.param(1, marks=pytest.mark.faults)])
@pytest.mark.parametrize("follow", ["recover", "publish"])
@pytest.mark.parametrize("act", keep_quick(ACTS, "made a view"))
@pytest.mark.parametrize("case", keep_quick(CASES, "view over a table"))
def test_what_others_put_in_a_views_place_stands(case: str, act: str, follow: str, every: int, spark: Any) -> None:
    tables = Guard(spark).session.transactions()
    if case == "view over a table" and tables is not None and tables.is_in_catalog("spark_catalog.default.t"):
        pytest.skip("a view of Iceberg's takes no Parquet table's place: tests/iceberg/test_iceberg_views.py")
    assert find_harm(spark, case, act, follow, every) == []


def find_harm(spark: Any, case: str, act: str, follow: str, every: int = 1) -> list[str]:
    at, harms, format = 0, list[str](), replace(PARQUET, cases=CASES)
    while True:
        with format.database(spark) as database:
            there = Place(spark, format, case, database)
            report = kill(at, there, there.publish)
            if report is not None:
                assert report.outcome == "published", said(report)
                return harms
            harms += [f"killed at {at}: {harm}" for harm in play(there, act, follow)]
        at += every
