"""The report's forms: one JSON schema, and what CI servers read."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from datetime import datetime, timezone
from importlib.resources import files
from xml.etree import ElementTree

import jsonschema
import pytest

from planproof.report.details import Details
from planproof.report.formats import FORMATS, Form, prefix_of, render
from planproof.report.model import Enforcement, PlaneReading, Report
from planproof.report.run import RunReport, run_report
from planproof_engine.finding import Finding, Rewrite, Verdict
from planproof_engine.origin import Origin

PLACE = Origin(24, 5, "models/marts/a b.sql")
HOSTILE = "</failure>]]>\x00\x1b::error::x\n%0A,:é"
BROKEN = Report(
    "shop.marts",
    "rejected",
    (
        Finding(Verdict.VIOLATED, "PP505", "files", "n", "NOT NULL", "3 nulls", "n: 3 nulls", PLACE),
        Finding(Verdict.VIOLATED, "PP504", "analyzed", "m", "int", "string", HOSTILE),
        Finding(Verdict.PROVED, "PP504", "analyzed", "n", "int", "int"),
    ),
    (PlaneReading("files", "read", None, (("n", "int", True),), "sample", "1 of 2 files"),),
    (Enforcement("I5", True, "compared"),),
    (Rewrite("hoist_invariants", "a", "b", False, PLACE),),
    "select 1",
    rows=3,
    seconds=1.5,
    details=Details(file="models/marts/a b.sql", unique_id="model.shop.marts", contract=True),
)
RUN = run_report(
    "check",
    [
        BROKEN,
        Report("shop.fine", "checked", details=Details(file="models/fine.sql")),
        Report(
            "shop.open",
            "checked",
            (
                Finding(
                    Verdict.UNPROVED, "PP111", "logical", message="unknown", origin=replace(PLACE, approximate=True)
                ),
                Finding(Verdict.WARNING, "PP129", "logical"),
            ),
            details=Details(file="models/open.sql"),
        ),
        Report("shop.child", "skipped", error="its parent shop.marts was not published"),
        Report("shop.gone", "failed", error=HOSTILE),
    ],
    datetime.now(timezone.utc),
    project="shop",
)


@pytest.mark.parametrize("name", FORMATS)
def test_each_form_ends_with_a_line_break_and_an_empty_run_has_one_too(name: str) -> None:
    assert render(RUN, name).endswith("\n")
    assert render(run_report("check", [], datetime.now(timezone.utc)), name).endswith("\n")


def test_json_keeps_the_schema_that_is_published_with_it() -> None:
    validator = jsonschema.Draft202012Validator(
        json.loads((files("planproof.report") / "report-1.schema.json").read_text("utf-8"))
    )
    form = json.loads(render(RUN, "json"))
    validator.validate(form)
    assert RunReport.from_json(render(RUN, "json")) == RUN
    for broken in ({"verdict": "fine"}, {"format": 2}, {"reports": [{}]}):
        assert not validator.is_valid({**form, **broken})


def test_sarif_fits_its_official_schema() -> None:
    """The classes of pydantic-sarif are generated from OASIS's schema of 2.1.0, and forbid what it does not name."""
    official = pytest.importorskip("pydantic_sarif.model").StaticAnalysisResultsFormatSarifVersion210JsonSchema
    log = json.loads(render(RUN, "sarif", Form("dbt/")))
    promised = replace(RUN.reports[0].findings[0], promise=Origin(12, 9, "models/schema.yml"))
    related = replace(RUN, reports=(replace(RUN.reports[0], findings=(promised,)),))
    for form in (log, json.loads(render(related, "sarif")), json.loads(render(RunReport(), "sarif"))):
        official.model_validate(form)
    log["runs"][0]["results"][0]["nobody"] = 1
    with pytest.raises(ValueError, match="nobody"):
        official.model_validate(log)


def test_sarif_has_what_code_scanning_asks_for() -> None:
    log = json.loads(render(RUN, "sarif", Form("dbt/")))
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-2.1.0.json")
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["PP111", "PP129", "PP504", "PP505"]
    assert all(rule["shortDescription"]["text"] and rule["help"]["text"] for rule in rules)
    assert run["invocations"][0]["executionSuccessful"] is False
    results = run["results"]
    assert [(r["ruleId"], r["level"]) for r in results] == [
        ("PP505", "error"),
        ("PP504", "error"),
        ("PP111", "warning"),
        ("PP129", "note"),
    ]
    for result in results:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["message"]["text"]
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uriBaseId"] in run["originalUriBaseIds"]
        assert place["region"]["startLine"] >= 1
    first = results[0]["locations"][0]
    assert first["physicalLocation"]["artifactLocation"]["uri"] == "dbt/models/marts/a%20b.sql"
    assert first["physicalLocation"]["region"] == {"startLine": 24, "startColumn": 5}
    assert first["logicalLocations"][0]["fullyQualifiedName"] == "shop.marts.n"
    assert results[2]["locations"][0]["physicalLocation"]["region"] == {"startLine": 24}, "an approximate place"


def test_a_fingerprint_outlives_a_moved_line_and_another_count() -> None:
    def marks(report: Report) -> list[str]:
        log = json.loads(render(replace(RUN, reports=(report,)), "sarif"))
        return [r["partialFingerprints"]["planproof/v1"] for r in log["runs"][0]["results"]]

    first = BROKEN.findings[0]
    moved = replace(first, origin=Origin(30, 1, "models/marts/a b.sql"), found="9 nulls", message="n: 9 nulls")
    assert marks(replace(BROKEN, findings=(moved,))) == marks(replace(BROKEN, findings=(first,)))
    assert len(set(marks(replace(BROKEN, findings=(first, moved))))) == 2
    assert marks(replace(BROKEN, findings=(replace(first, field="o"),))) != marks(replace(BROKEN, findings=(first,)))


def test_junit_has_one_case_per_model() -> None:
    text = render(RUN, "junit")
    suites = ElementTree.parse(io.BytesIO(text.encode())).getroot()
    (suite,) = suites
    counts = {key: suite.get(key) for key in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "5", "failures": "1", "errors": "1", "skipped": "1"}
    cases = {case.get("name"): case for case in suite}
    assert cases["marts"].get("classname") == "shop"
    failure = cases["marts"].find("failure")
    assert failure.get("type") == "PP505, PP504"
    assert "PP505 at models/marts/a b.sql:24:5: n: 3 nulls" in failure.text
    assert "]]>" in failure.text, "markup of others is text"
    assert not {"\x00", "\x1b"} & set("".join(suites.itertext()))
    assert len(cases["fine"]) == 0
    assert "PP111" in cases["open"].find("system-out").text
    stricter = ElementTree.fromstring(render(RUN, "junit", Form(fail_on="unproved")).partition("\n")[2])
    assert stricter.get("failures") == "2"


def test_github_gets_one_annotation_per_finding_the_worst_first() -> None:
    lines = render(RUN, "github", Form("dbt/")).splitlines()
    assert lines[0] == (
        "::error title=PP505 shop.marts,file=dbt/models/marts/a b.sql,line=24,col=5::n: 3 nulls. Next: "
        "Filter the nulls, fill them with coalesce(...), or drop the promise."
    )
    assert [line.partition(" ")[0] for line in lines] == [
        "::error",
        "::error",
        "::error",
        "::warning",
        "::notice",
        "planproof:",
    ]
    assert "%250A,:é" in lines[1]
    assert "%0A" in lines[1]


FAILED = Report(
    "shop.late",
    "failed",
    (
        Finding(Verdict.UNPROVED, "PP506", "analyzed", "n", "NOT NULL", "nullable", "n: nothing proves it yet"),
        Finding(Verdict.UNPROVED, "PP302", "executed", found="DIVIDE_BY_ZERO", message="Division by zero."),
    ),
    error="Division by zero.",
    details=Details(file="models/late.sql"),
)


def test_of_what_could_not_run_the_error_alone_is_said_with_sparks_condition() -> None:
    run = run_report("run", [FAILED], datetime.now(timezone.utc))
    line, *rest = render(run, "github").splitlines()
    said = "shop.late could not run: Spark: [DIVIDE_BY_ZERO] Division by zero."
    assert line == f"::error title=planproof%3A shop.late,file=models/late.sql::{said}"
    assert len(rest) == 1
    assert "Spark: [DIVIDE_BY_ZERO] Division by zero." in render(run, "text")
    assert "nothing proves it" not in render(run, "text")
    assert "### shop.late could not run\n" in render(run, "markdown")


def test_tables_that_an_audit_does_not_find_are_one_cause() -> None:
    absent = [
        Report(f"shop.m{i}", "failed", error=f"the table shop.m{i} does not exist", details=Details(absent=True))
        for i in range(3)
    ]
    run = run_report("audit", absent, datetime.now(timezone.utc))
    text = render(run, "text")
    assert text.count("shop.m0 does not exist") == 3, "its line, the heading, and the cause"
    assert "the same in 2 other models: shop.m1, shop.m2" in text
    assert "Nothing was published" not in text
    assert render(run, "markdown").count("###") == 1


def test_what_nobody_counted_of_a_stopped_model_is_named() -> None:
    stopped = replace(BROKEN, details=replace(BROKEN.details, uncounted=("unique(n)",)))
    run = run_report("run", [stopped], datetime.now(timezone.utc))
    assert "not counted, because this stopped the model first: unique(n)" in render(run, "text")
    assert "not counted, because this stopped the model first: unique\\(n\\)" in render(run, "markdown")


def test_the_prefix_is_the_projects_folder_in_its_repository(tmp_path) -> None:
    (tmp_path / "repo/.git").mkdir(parents=True)
    (tmp_path / "repo/etl/dbt").mkdir(parents=True)
    assert prefix_of(tmp_path / "repo/etl/dbt") == "etl/dbt/"
    assert prefix_of(tmp_path / "repo") == ""


def test_the_remarks_on_the_project_stand_in_each_form() -> None:
    official = pytest.importorskip("pydantic_sarif.model").StaticAnalysisResultsFormatSarifVersion210JsonSchema
    run = replace(RUN, remarks=("1 model is not [judged](http://a)", HOSTILE))
    log = json.loads(render(run, "sarif"))
    official.model_validate(log)
    failed, note, _ = log["runs"][0]["invocations"][0]["toolExecutionNotifications"]
    assert (failed["level"], note["level"]) == ("error", "note")
    assert note["message"]["text"] == "1 model is not [judged\\](http://a)"
    suite = ElementTree.fromstring(render(run, "junit").partition("\n")[2])[0]
    assert suite[0].tag == "properties"
    assert suite[0][0].attrib == {"name": "note", "value": "1 model is not [judged](http://a)"}
    first, second, *_ = render(run, "github").splitlines()
    assert first.startswith("::notice title=planproof::1 model is not [judged](http://a)%0A")
    assert second.startswith("::error ")
    assert "\n- note: 1 model is not \\[judged\\]" in render(run, "markdown")
    assert "\nnote: 1 model is not [judged]" in render(run, "text")
