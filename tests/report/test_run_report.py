"""The report of a command: round trip, verdicts, exit codes."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from datetime import datetime, timedelta, timezone
from importlib import resources

import pytest
from jsonschema import Draft202012Validator, ValidationError

from planproof.report.details import (
    BrokenRows,
    Comparison,
    DataTestResult,
    Details,
    Example,
    Files,
    QuarantinedRows,
    TableChange,
    TableVersion,
    Values,
)
from planproof.report.model import Enforcement, PlaneReading, Report
from planproof.report.run import RunReport, run_report
from planproof.report.text import render_plain
from planproof_engine.finding import Finding, Rewrite, Verdict
from planproof_engine.origin import Origin

VIOLATED = Finding(Verdict.VIOLATED, "PP505", "files", "id", "NOT NULL", "2 nulls", "two", Origin(1, 2, "m.sql"))
UNPROVED = Finding(Verdict.UNPROVED, "PP506", "logical", "id")
WARNING = Finding(Verdict.WARNING, "PP101", "logical", "id")


def one(outcome, *findings, **details):
    return Report("m", outcome, findings, details=Details(**details))


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


def test_a_run_without_reports_proved_nothing():
    """All nodes of a build may be left to dbt: its report.json said `proved`."""
    run = RunReport((), "build")
    assert (run.verdict, run.to_dict()["verdict"], run.exit_code()) == (Verdict.UNPROVED, "unproved", 0)


def test_round_trip():
    plane = PlaneReading("logical", "read", None, (("id", "bigint", False),))
    full = Report("m", "rejected", (VIOLATED, WARNING), (plane,), rows=3, details=Details(lines={"m.sql:1": "select"}))
    began = datetime.now(timezone.utc) - timedelta(seconds=2)
    report = run_report("run", [full, one("skipped")], began, project="shop", remarks=["a note"])
    assert RunReport.from_json(report.to_json()) == report
    assert 2 <= report.seconds < 60
    assert report.versions["planproof"]
    assert json.loads(report.to_json())["verdict"] == "violated"
    assert RunReport.from_json("\n".join(report.to_lines())) == report
    assert json.loads("".join(run_report("check", [], began).to_lines(brief=True)))["reports"] == []


def test_a_brief_report_leaves_out_what_healthy_models_say_of_themselves():
    planes, held = (PlaneReading("logical", "read"),), (Enforcement("I2", True, "x"),)
    large = Details(plan={"a": 1}, lineage={"columns": []}, fail_on="violated")
    unquoted = replace(WARNING, origin=Origin(1, 2))
    reports = [
        Report("m", "checked", findings, planes, held, sql="select 1", details=large)
        for findings in ((), (replace(WARNING, verdict=Verdict.PROVED),), (WARNING,), (VIOLATED,), (unquoted,))
    ]
    text = "\n".join(RunReport(tuple(reports), "check").to_lines(brief=True))
    assert len(text.splitlines()) == len(reports) + 2
    schema().validate(json.loads(text))
    found = RunReport.from_json(text).reports
    assert [(len(r.planes), len(r.invariants), r.sql) for r in found] == [
        *2 * [(0, 0, None)],
        *2 * [(1, 1, None)],
        (1, 1, "select 1"),
    ]
    assert {r.details for r in found} == {Details(fail_on="violated")}
    assert [(r.verdict, r.findings) for r in found] == [(r.verdict, r.findings) for r in reports]


def test_another_format_is_refused():
    with pytest.raises(ValueError, match="not a run report"):
        RunReport.from_json('{"format": 99}')
    with pytest.raises(ValueError, match="not a run report"):
        RunReport.from_json("[]")


def test_what_could_not_run_is_no_finding_whatever_fail_on_says():
    from planproof.report.model import Report
    from planproof.report.run import RunReport, is_failing
    from planproof_engine.finding import Finding, Verdict

    away = Report("s.t", "failed", (Finding(Verdict.UNPROVED, "PP302", "executed", message="Spark is away"),))
    for fail_on in ("violated", "unproved", "warning", "never"):
        assert not is_failing(away, fail_on)
        assert RunReport((away,)).exit_code(fail_on) == 2
    broken = Report("s.t", "failed", (Finding(Verdict.VIOLATED, "PP505", "files"),))
    assert is_failing(broken, "violated")
    assert not is_failing(broken, "never")


def schema():
    text = resources.files("planproof.report").joinpath("report-1.schema.json").read_text(encoding="utf-8")
    return Draft202012Validator(json.loads(text))


def test_what_is_written_fits_the_schema_that_is_shipped_and_reads_back():
    """Every field is set once: a field that the schema does not name, or names otherwise, is refused."""
    kinds = {"str": "x", "bool": True, "int": 1}
    known = {f.name: kinds.get(str(f.type).split(" ")[0], {"a": "b"}) for f in fields(Details)}
    files = Files(2, 1, 10, ("SNAPPY",), ("parquet-mr",), 0)
    column = Values("id", "int", 0, "1", "2", 2, "why")
    change = TableChange(TableVersion(1, (column,), "why"), TableVersion(None, (Values("id", "int"),)))
    compared = Comparison(("id",), 1, 2, 3, {"v": 3}, {"m": "why"}, (Example("id=1", "v", None, "2"),))
    tests = (
        DataTestResult("a_test", "fail", "3 results", 3, "id", "models/m.yml", "select 1"),
        DataTestResult("other", "not run", "why"),
    )
    aside = QuarantinedRows("t__quarantine", "r_1", 1, 3, {"not_null(id)": 1})
    broken = (
        BrokenRows("PP505", "NOT NULL", "id", "SELECT *", ("k", "id"), (("1", None), ("2", None))),
        BrokenRows("PP507", "unique(id)", None, None),
    )
    parts = {
        "files": files,
        "change": change,
        "comparison": compared,
        "tests": tests,
        "broken": broken,
        "quarantine": aside,
        "uncounted": ("unique(id)",),
        "known": ("PP504 violated: id: promised int, found string",),
        "unenforced": ("types",),
    }
    details = Details(**{**known, "guard": "watch", "fail_on": "never", **parts})
    planes = (
        PlaneReading("logical", "read", None, (("id", "bigint", False),), "all", "the schema"),
        PlaneReading("batches", "read", None, (("id", "bigint", True),), "sample", "1 of 2 rows"),
        PlaneReading("files", "unreadable", "encrypted"),
    )
    invariants = (Enforcement("I2", True, "1 of 2 rows", sampled=True), Enforcement("I6", False, "rewrite: off"))
    rewrites = (Rewrite("a rule", "a", "b", True, Origin(1, 2, "m.sql", 3, 4, True)),)
    full = Report(
        "m", "published", (VIOLATED, WARNING), planes, invariants, rewrites, "s", "t", 1, 0.5, "rename", "no", details
    )
    run = run_report("run", [full, one("skipped")], datetime.now(timezone.utc))
    for form in (full.to_json(), run.to_json(), one("checked").to_json()):
        schema().validate(json.loads(form))
    assert Report.from_json(full.to_json()) == full
    assert RunReport.from_json(run.to_json()) == run
    wrong = {**json.loads(full.to_json()), "details": {"nobody": 1}}
    with pytest.raises(ValidationError):
        schema().validate(wrong)


def test_nothing_is_called_proved_of_a_model_without_a_contract():
    hazard = Finding(Verdict.PROVED, "PP126", "files", "id", message="0 values wrap", evidence="0 values wrap")
    suggested = Finding(Verdict.PROVED, "PP210", "rewritten")
    by_plane = Report("m", "checked", (suggested,), (PlaneReading("contract", "not present", "the model has none"),))
    for report in (one("checked", suggested, contract=False), one("published", hazard, contract=False), by_plane):
        assert report.said == "no contract"
        assert ">proved<" not in report.to_html()
        shown = report.to_text()
        assert "no contract" in shown
        assert "proved" not in shown
    assert one("checked", contract=True).said == "proved"


def test_what_only_rows_decide_is_not_called_proved_where_nobody_counted():
    proved = Finding(Verdict.PROVED, "PP505", "logical", "id")
    report = Report("m", "checked", (proved,), details=Details(contract=True, uncounted=("unique(id)",)))
    assert "1 proved, 1 for a run to count" in report.to_text()
    assert "keys and checks of 1 model for a run to count" in render_plain([report])
    published = replace(report, outcome="published", details=Details(contract=True))
    assert "for a run" not in render_plain([published])


def test_what_rests_on_a_sample_says_so():
    plane = PlaneReading("batches", "read", None, (), "sample", "2 of 9 rows, in 1 of 3 row groups and 1 of 3 files")
    i2 = Enforcement("I2", True, "2 of 9 rows", sampled=True)
    report = Report("m", "audited", planes=(plane,), invariants=(i2,), details=Details(contract=True))
    assert "batches sampled" in report.to_text()
    page = report.to_html()
    assert "2 of 9 rows, in 1 of 3 row groups and 1 of 3 files" in page
    assert "enforced on a sample" in page
    whole = Report("m", "audited", planes=(PlaneReading("batches", "read", None, (), "all", "9 of 9 rows"),))
    assert "sample" not in whole.to_text() + whole.to_html()
