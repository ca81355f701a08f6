"""A report, or a file that Airflow's operators keep, that somebody else wrote: it is read whole, or it is none."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from planproof.report import openlineage, picture
from planproof.report.details import Details
from planproof.report.formats import Form, render, render_lines
from planproof.report.model import Report
from planproof.report.run import RunReport, run_report
from planproof_engine.finding import Finding, Verdict

NOW = datetime.now(timezone.utc)
TRUE = json.loads(
    run_report("build", [Report("shop.m", "published", (Finding(Verdict.PROVED, "PP501", "files"),))], NOW).to_json()
)
DEEP = "[" * 100_000


def changed(*path: Any, to: Any) -> str:
    form = at = deepcopy(TRUE)
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = to
    return json.dumps(form)


FORGED = {
    "no JSON": "{",
    "another form": "[]",
    "deep": DEEP,
    "no reports": changed("reports", to=None),
    "reports of texts": changed("reports", to=["x"]),
    "findings of numbers": changed("reports", 0, "findings", to=[1]),
    "a verdict that is none": changed("reports", 0, "findings", 0, "verdict", to="fine"),
    "a plane of nothing": changed("reports", 0, "planes", to=[{}]),
    "an unknown field": changed("reports", 0, "__class__", to="x"),
    "details of a list": changed("reports", 0, "details", to=[1]),
    "a reading of details": changed("reports", 0, "details", to={"files": {"count": 1}}),
}


@pytest.mark.parametrize("text", FORGED.values(), ids=FORGED)
def test_what_is_no_report_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a run report of planproof"):
        RunReport.from_json(text)


@pytest.fixture
def dbt_command() -> Any:
    pytest.importorskip("airflow.providers.common.compat.sdk")
    from airflow_planproof import dbt_command

    return dbt_command


def kept(home: Path, made: Callable[[Path], Any]) -> Path:
    file = home / "target" / "planproof" / "report.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.unlink(missing_ok=True)
    made(file)
    return file


@pytest.mark.parametrize("text", FORGED.values(), ids=FORGED)
def test_a_task_takes_no_report_that_is_none(text: str, tmp_path: Path, dbt_command: Any) -> None:
    kept(tmp_path, lambda file: file.write_text(text))
    assert dbt_command.read_recorded(str(tmp_path), NOW) is None


def test_a_task_takes_the_report_of_its_own_run_alone(tmp_path: Path, dbt_command: Any) -> None:
    kept(tmp_path, lambda file: file.write_text(json.dumps(TRUE)))
    assert dbt_command.read_recorded(str(tmp_path), NOW).reports[0].model == "shop.m"
    for started in (NOW - timedelta(days=1), NOW + timedelta(days=9999), NOW.replace(tzinfo=None), "soon", 5, None):
        text = changed("started", to=started.isoformat() if isinstance(started, datetime) else started)
        kept(tmp_path, functools.partial(Path.write_text, data=text))
        assert dbt_command.read_recorded(str(tmp_path), NOW) is None, started


@pytest.mark.parametrize("made", [os.mkfifo, lambda at: at.symlink_to("/dev/zero"), Path.mkdir])
def test_a_task_reads_no_pipe_for_a_report(made: Callable[[Path], Any], tmp_path: Path, dbt_command: Any) -> None:
    kept(tmp_path, made)
    assert dbt_command.read_recorded(str(tmp_path), NOW) is None


VALUES = (None, 5, -1e400, "x" * 9, [], {}, [[]], [5], {"a": 5}, True)


def test_a_page_shows_a_report_or_says_that_there_is_none() -> None:
    pytest.importorskip("airflow.providers.common.compat.sdk")
    from airflow_planproof.xcom import render

    assert "shop.m" in (render(TRUE) or "")
    places = [(key,) for key in TRUE] + [("reports", 0, key) for key in TRUE["reports"][0]]
    places += [("reports", 0, "findings", 0, key) for key in TRUE["reports"][0]["findings"][0]]
    for place in places:
        for value in VALUES:
            page = render(json.loads(changed(*place, to=value)))
            assert page is None or page.startswith("<!doctype html>")


def test_what_was_seen_last_may_be_anything(tmp_path: Path) -> None:
    pytest.importorskip("airflow.providers.common.compat.sdk")
    from airflow_planproof.drift import Last, add_drift
    from airflow_planproof.errors import PlanproofCannotRun
    from planproof.report.model import PlaneReading

    report = Report("shop.m", "audited", planes=(PlaneReading("catalog", "read", schema=(("a", "int", True),)),))
    counted = replace(report, rows=3)
    for seen in (5, [], {"columns": 5}, {"columns": [5, ["a"], ["a", {}], "ab"]}, {"rows": "x"}, {"rows": [1]}):
        add_drift(report, {"shop.m": seen})
        assert "rows" not in " ".join(add_drift(counted, {"shop.m": seen})[1])
    assert add_drift(counted, {"shop.m": {"rows": 5}})[1][-1] == "5 rows at the last audit, 3 now"
    file, precious = tmp_path / "seen.json", tmp_path / "precious"
    for text in ("[]", "{", DEEP):
        file.write_text(text)
        with pytest.raises(PlanproofCannotRun):
            Last(None, str(file)).read()
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(PlanproofCannotRun):
        Last(None, str(file)).read()
    file.unlink()
    precious.write_text("precious")
    for name in (f"seen.json.{os.getpid()}.tmp", f".seen.json.{os.getpid()}.tmp"):
        (tmp_path / name).symlink_to(precious)
    Last(None, str(file)).write([report])
    assert Last(None, str(file)).read() == {"shop.m": {"columns": [["a", "int"]], "rows": None}}
    assert precious.read_text() == "precious"


def test_events_of_wide_models_are_told_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """400 models that read all of 5,000 columns took three GB of memory."""
    made: list[str] = []
    plain = openlineage._make_event
    monkeypatch.setattr(openlineage, "_make_event", lambda *given: made.append(given[1].model) or plain(*given))
    run = run_report("check", [Report(f"shop.{name}", "checked") for name in "abc"], datetime.now(timezone.utc))
    lines = render_lines(run, "openlineage", Form())
    assert '"shop.a"' in next(lines)
    assert made == ["shop.a"]
    assert render(run, "openlineage").count("\n") == 3


@pytest.mark.parametrize("columns", [1, 3])
def test_a_page_holds_the_ways_of_so_many_columns(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture, "MOST", 2)
    lineage = {"columns": [(f"c{i}", [("shop.a", f"c{i}", "identity")]) for i in range(columns)], "rows": []}
    broken = Finding(Verdict.VIOLATED, "PP505", "files", "c0")
    report = Report("shop.b", "checked", (broken,), details=Details(lineage=lineage))
    found = picture.Ways([report]).find_ways(report)
    assert [[stop.name for stop in way] for way in found] == ([["shop.a.c0", "shop.b.c0"]] if columns == 1 else [])
