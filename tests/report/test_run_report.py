"""The report of a command: round trip, verdicts, exit codes."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone

import pytest

from planproof.origin import Origin
from planproof.report.model import Finding, PlaneReading, Report, Verdict
from planproof.report.run import RunReport, run_report

VIOLATED = Finding(Verdict.VIOLATED, "PP505", "files", "id", "NOT NULL", "2 nulls", "two", Origin(1, 2, "m.sql"))
UNPROVED = Finding(Verdict.UNPROVED, "PP506", "logical", "id")
WARNING = Finding(Verdict.WARNING, "PP101", "logical", "id")


def one(outcome, *findings, **details):
    return Report("m", outcome, findings, details=details)


@pytest.mark.parametrize(
    ("reports", "fail_on", "code"),
    [
        ([], None, 0),
        ([one("published")], None, 0),
        ([one("checked", WARNING)], None, 0),
        ([one("checked", WARNING)], "warning", 1),
        ([one("checked", UNPROVED)], None, 0),
        ([one("checked", UNPROVED)], "unproved", 1),
        ([one("checked", UNPROVED, fail_on="unproved")], None, 1),
        ([one("checked", UNPROVED, fail_on="unproved")], "violated", 0),
        ([one("rejected", VIOLATED)], None, 1),
        ([one("published", VIOLATED)], "never", 0),
        ([one("rejected")], None, 1),
        ([one("failed")], None, 2),
        ([one("failed"), one("skipped")], "never", 2),
        ([one("failed"), one("rejected", VIOLATED)], None, 1),
        ([one("skipped")], None, 0),
    ],
)
def test_exit_codes(reports, fail_on, code):
    assert RunReport(tuple(reports)).exit_code(fail_on) == code


def test_what_was_not_run_is_no_pass():
    for outcome in ("failed", "skipped"):
        assert one(outcome).verdict is Verdict.UNPROVED
    assert RunReport((one("published"), one("skipped"))).verdict is Verdict.UNPROVED


def test_round_trip():
    plane = PlaneReading("logical", "read", None, (("id", "bigint", False),))
    full = Report("m", "rejected", (VIOLATED, WARNING), (plane,), rows=3, details={"lines": {"m.sql:1": "select"}})
    began = datetime.now(timezone.utc) - timedelta(seconds=2)
    report = run_report("run", [full, one("skipped")], began, project="shop", remarks=["a note"])
    assert RunReport.from_json(report.to_json()) == report
    assert 2 <= report.seconds < 60
    assert report.versions["planproof"]
    assert json.loads(report.to_json())["verdict"] == "violated"


def test_another_format_is_refused():
    with pytest.raises(ValueError, match="not a run report"):
        RunReport.from_json('{"format": 99}')
    with pytest.raises(ValueError, match="not a run report"):
        RunReport.from_json("[]")


def test_what_could_not_run_is_no_finding_whatever_fail_on_says():
    from planproof.report.model import Finding, Report, Verdict
    from planproof.report.run import RunReport, fails

    away = Report("s.t", "failed", (Finding(Verdict.UNPROVED, "PP302", "executed", message="Spark is away"),))
    for fail_on in ("violated", "unproved", "warning", "never"):
        assert not fails(away, fail_on)
        assert RunReport((away,)).exit_code(fail_on) == 2
    broken = Report("s.t", "failed", (Finding(Verdict.VIOLATED, "PP505", "files"),))
    assert fails(broken, "violated")
    assert not fails(broken, "never")
