"""What others do to a table right after a publish's commit: it is told, and nothing of theirs is taken for proved."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from test_every_format import cases, once, said
from under_test import APPEND, Place

from planproof import Contract, Guard, Model
from planproof.publish.kernel import Publish
from planproof.publish.swaps import STRATEGIES

Make = Callable[[str, str], Place]
PROMISED = Contract([("id", "int", False), ("s", "string", True)])
TOLD = re.compile("took back or replaced rows of it right after")
PARQUET = {
    "location": ["insert overwrite {t} values (9, 'x')", "alter table {t} set location '{old}'", "truncate table {t}"],
    "rename": ["insert overwrite {t} values (9, 'x')", "truncate table {t}", "drop table {t}"],
    "append": ["insert overwrite {t} values (9, 'x')", "truncate table {t}"],
    "partitions": [
        "insert overwrite {t} partition (d='x') values (9)",
        "alter table {t} partition (d='x') set location '{old}/d=x'",
        "alter table {t} drop partition (d='z')",
    ],
}


def location(there: Place) -> str:
    shown = there.other.sql(f"describe table extended {there.t}").collect()
    return str(next(row[1] for row in shown if row[0] == "Location")).replace("file:/", "/").replace("//", "/")


@pytest.mark.parametrize(("case", "act"), [(case, act) for case, acts in PARQUET.items() for act in acts])
def test_rows_that_others_take_back_right_after_the_swap_are_told(
    case: str, act: str, place: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = place("parquet", case)
    strategy, old = type(STRATEGIES[case]), location(there)
    swap = strategy.swap

    def late(self: Any, publication: Any) -> None:
        swap(self, publication)
        there.other.catalog.refreshTable(there.t)
        there.carry_out([act.format(t=there.t, old=old)])

    monkeypatch.setattr(strategy, "swap", late)
    report = there.publish()
    assert report.outcome == "published", said(report)
    assert [bool(TOLD.search(f.message or "")) for f in report.findings if f.code == "PP623"] == [True], said(report)


@pytest.mark.parametrize("act", ["insert into {t} values (9, 'x')", "refresh table {t}"])
@pytest.mark.parametrize("case", PARQUET)
def test_rows_that_others_add_right_after_the_swap_are_no_news(
    case: str, act: str, place: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = place("parquet", case)
    strategy = type(STRATEGIES[case])
    swap = strategy.swap

    def late(self: Any, publication: Any) -> None:
        swap(self, publication)
        there.other.catalog.refreshTable(there.t)
        there.carry_out([act])

    monkeypatch.setattr(strategy, "swap", late)
    report = there.publish()
    assert (report.outcome, [f.code for f in report.findings if f.code == "PP623"]) == ("published", []), said(report)


@pytest.mark.parametrize("case", PARQUET)
def test_a_failure_to_look_for_others_is_said_and_undoes_no_publish(
    case: str, place: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = place("parquet", case)
    monkeypatch.setattr("planproof.publish.parquet.is_intact", lambda publication: 1 / 0)
    report = there.publish()
    assert (report.outcome, [f.code for f in report.findings if f.code in ("PP403", "PP603")]) == (
        "published",
        ["PP403"],
    ), said(report)


@pytest.mark.parametrize("has_others", [True, False])
@pytest.mark.parametrize("moment", ["after", "before"])
@cases("location", "append", "replace", but=("first", "partitions", "merge", "view", "rename"))
def test_what_others_add_beside_a_publish_is_not_remembered_as_proved(
    name: str, case: str, moment: str, has_others: bool, place: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`before`: between audit and commit, which a replacement replaces."""
    there, look = place(name, case), Publish.look
    guard = Guard(there.spark)
    # Else Iceberg's other writers fail at a null.
    options = {"options": {"tblproperties": {"planproof-not-null": "off"}}} if name == "iceberg" else {}
    kept: dict[str, Any] = {"contract": PROMISED, **options}
    if case == "append":
        assert guard.publish(there.model(**kept, materialized="table", incremental_strategy=None)).verdict == "proved"

    def act() -> None:
        if has_others:
            there.other.catalog.refreshTable(there.t)
            there.carry_out(["insert into {t} values (null, 'theirs')"])

    def late(publish: Publish[Any]) -> Any:
        act()
        return look(publish)

    with monkeypatch.context() as patch:
        if moment == "before":
            once(patch, "commit", act)
        else:
            patch.setattr(Publish, "look", late)
        report = guard.publish(there.model(**kept, **(APPEND if case == "append" else {})))
    assert (report.outcome, report.verdict) == ("published", "proved"), said(report)
    reader = Model(f"{there.database}.v_reader", f"select id, s from {there.t}", contract=PROMISED, materialized="view")
    found = guard.check(reader)
    holds_null = any(row[0] is None for row in there.rows() or [])
    assert holds_null == (has_others and (moment == "after" or case == "append"))
    if holds_null:
        assert found.verdict != "proved", found.findings
    elif not has_others:
        assert found.verdict == "proved", found.findings
