"""All forms of one report give one answer: what the exit code calls a failure, no form calls fine."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import datetime, timezone
from xml.etree import ElementTree

import pytest

from planproof.report.details import Details
from planproof.report.formats import FORMATS, Form, render
from planproof.report.model import Report
from planproof.report.run import run_report
from planproof_engine.finding import Finding, Verdict

OF_CONTRACT, HAZARD = "PP506", "PP127"
SEVERITIES = [v.value for v in Verdict]


def run_of(outcome, verdict, fail_on, code=OF_CONTRACT):
    finding = Finding(Verdict(verdict), code, "logical", "id", "NOT NULL", "nullable", "id may be null")
    details = Details(file="models/m.sql", fail_on=fail_on, contract=True)
    error = "its parent was stopped" if outcome in ("skipped", "failed") else None
    report = Report("shop.m", outcome, (finding,) if error is None else (), error=error, details=details)
    return run_report("check", [report], datetime.now(timezone.utc))


def answers(run, fail_on):
    """What each form says of the one model: `stopped`, `failed`, `skipped`, or `passed`."""
    form = Form(fail_on=fail_on)
    said = {name: render(run, name, form) for name in FORMATS}
    case = ElementTree.fromstring(said["junit"].encode()).find(".//testcase")
    kinds = {"failure": "stopped", "error": "failed", "skipped": "skipped"}
    page = re.search(r'class="model s-(\w+)', said["html"])[1]
    log = json.loads(said["sarif"])["runs"][0]
    levels = {result["level"] for result in log["results"]}
    done = log["invocations"][0]["executionSuccessful"]
    heads = {"was not published", "breaks its promise", "cannot be published", "is not proved", "is warned of"}
    framed = "stopped" if any(f"shop.m {head}" in said["text"] for head in heads) else "passed"
    quoted = "stopped" if any(f"### shop.m {head}" in said["markdown"] for head in heads) else "passed"
    stops = "::error" in said["github"]
    assert stops == ("(nothing failed)" not in said["github"])
    return {
        "junit": next((kinds[child.tag] for child in case if child.tag in kinds), "passed"),
        "html": {"violated": "stopped"}.get(page, page if page == "skipped" else "passed"),
        "sarif": "failed" if not done else "stopped" if "error" in levels else "passed",
        "github": "stopped" if stops else "passed",
        "text": framed,
        "markdown": quoted,
    }


@pytest.mark.parametrize("code", [OF_CONTRACT, HAZARD])
@pytest.mark.parametrize("verdict", SEVERITIES)
@pytest.mark.parametrize("fail_on", ["violated", "unproved", "warning"])
@pytest.mark.parametrize("outcome", ["checked", "audited"])
def test_what_was_checked(outcome, fail_on, verdict, code):
    run = run_of(outcome, verdict, fail_on, code)
    expected = "stopped" if run.exit_code(fail_on) == 1 else "passed"
    assert set(answers(run, fail_on).values()) == {expected}
    assert run.exit_code() == run.exit_code(fail_on)


@pytest.mark.parametrize("verdict", ["unproved", "violated"])
def test_what_was_refused(verdict):
    run = run_of("rejected", verdict, verdict)
    assert run.exit_code() == 1
    assert set(answers(run, None).values()) == {"stopped"}


def test_what_was_refused_for_what_fail_on_does_not_name():
    run = run_of("rejected", "unproved", "violated")
    assert set(answers(run, None).values()) == {"stopped"}
    assert "which fail_on stops" not in render(run, "junit")


def test_a_warning_beside_a_violation_stays_one():
    (report,) = run_of("rejected", "violated", "violated").reports
    warning = Finding(Verdict.WARNING, HAZARD, "logical", message="a hazard")
    run = run_report("run", [replace(report, findings=(*report.findings, warning))], datetime.now(timezone.utc))
    levels = [result["level"] for result in json.loads(render(run, "sarif"))["runs"][0]["results"]]
    assert levels == ["error", "note"]
    assert [line.split()[0] for line in render(run, "github").splitlines()[:2]] == ["::error", "::notice"]


def test_what_was_skipped_is_not_called_unproved():
    run = run_of("skipped", "proved", None)
    found = answers(run, None)
    assert found.pop("html") == "skipped"
    assert found.pop("junit") == "skipped"
    assert set(found.values()) == {"passed"}
    page = render(run, "html")
    assert "Not all was run." in page
    assert ">unproved<" not in page


@pytest.mark.parametrize(
    ("verdict", "fail_on", "heading"),
    [
        ("unproved", "unproved", "is not proved: 1 unproved, which fail_on stops"),
        ("warning", "warning", "is warned of: 1 warning, which fail_on stops"),
        ("violated", "violated", "breaks its promise: 1 violation"),
    ],
)
def test_the_heading_says_what_stops_the_model(verdict, fail_on, heading):
    run = run_of("checked", verdict, fail_on)
    assert heading in render(run, "junit")
    assert heading in render(run, "markdown")


def test_a_model_below_an_unproved_one_is_told_with_it():
    """Each would have a frame of its own, and one cause is behind all."""
    root = Finding(Verdict.UNPROVED, "PP111", "logical", message="planproof does not know the function foo")
    details = Details(fail_on="unproved")
    reports = [Report("shop.root", "checked", (root,), details=details)]
    for child, parent in (("shop.a", "shop.root"), ("shop.b", "shop.a")):
        message = f"planproof does not know the schema of {parent}: not read offline"
        finding = Finding(Verdict.UNPROVED, "PP111", "logical", message=message)
        reports.append(Report(child, "checked", (finding,), details=details))
    run = run_report("check", reports, datetime.now(timezone.utc))
    assert run.exit_code() == 1
    for name, head in (("text", "shop.a is not proved"), ("markdown", "### shop.a")):
        text = render(run, name)
        assert head not in text
        assert "o 2 models that read it cannot be judged: shop.a, shop.b" in text
