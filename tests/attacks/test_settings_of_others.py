"""What a pull request says in a model's config cannot make a report, or dbt's log, say more than was looked at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from planproof.project.check import check_project
from planproof.project.manifest import read_project
from planproof.report.model import Report
from planproof.report.text import render_plain

BROKEN = {
    "sql": "select 'x' as a, cast(null as int) as b, 1 as c",
    "contract": True,
    "columns": {"a": "int", "b": {"data_type": "int", "constraints": [{"type": "not_null"}]}},
}


def checked(dbt_manifest: Any, **settings: Any) -> Report:
    model = {**BROKEN, "config": {"meta": {"planproof": settings}}}
    return check_project(read_project(dbt_manifest({"m": model})))[0]


@pytest.mark.parametrize("terms", [[], ["order"], ["types"], ["nullability"], ["types", "nullability"]])
def test_a_contract_of_which_terms_do_not_count_is_not_said_to_hold(terms: list[str], dbt_manifest: Any) -> None:
    report = checked(dbt_manifest, enforce=terms)
    shown = render_plain([report])
    left = [term for term in ("types", "nullability", "extra_columns") if term not in terms]
    assert f"not enforced: {', '.join(left)}" in shown
    assert "1 contract enforced in part" in shown
    assert "contract holds" not in shown
    assert Report.from_json(report.to_json()).details.unenforced == tuple(left)


def test_of_one_that_counts_as_a_whole_nothing_is_said(dbt_manifest: Any) -> None:
    assert "enforced" not in render_plain([checked(dbt_manifest)])
    without = {"sql": "select 1 as a", "config": {"meta": {"planproof": {"enforce": []}}}}
    assert "enforced" not in render_plain(check_project(read_project(dbt_manifest({"m": without}))))


def test_the_closing_line_does_not_count_it_as_proved() -> None:
    pytest.importorskip("dbt.adapters.spark")
    from dbt_planproof.record import closing_line
    from planproof.report.details import Details

    partly = Report("s.m", "published", details=Details(contract=True, unenforced=("types",)))
    said = closing_line([partly], {}, Path("report.json")) or ""
    assert "1 contract enforced in part" in said
    assert "proved" not in said.removeprefix("planproof")


@pytest.mark.parametrize("text", ["a\n::error::b", "a\n##[error]b", "a\x1b]0;title\x07b", "a\u202eb"])
def test_dbts_log_gets_no_commands(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """How a model is materialized, its file format and its strategy stand in the line with which dbt ends."""
    pytest.importorskip("dbt.adapters.spark")
    import dbt_common.events.functions as functions

    from dbt_planproof import log
    from dbt_planproof.questions import Stopped
    from dbt_planproof.record import Left, closing_line

    said: list[str] = []
    monkeypatch.setattr(functions, "fire_event", lambda event, level: said.append(event.msg))
    log.info(closing_line([], {"m": Left("model", f"it is materialized as {text}")}, Path("report.json")) or "")
    said.append(str(Stopped(f"planproof: {text}").msg))
    for shown in said:
        assert not any(line.startswith(("::", "##[")) for line in map(str.strip, shown.splitlines()))
        assert shown.replace("\n", "").isprintable()
