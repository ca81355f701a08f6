"""Reports as JUnit's XML, as CI servers read it: one test case per model."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from planproof.report.model import Report
from planproof.report.parts import Parts, format_place, is_failing, message_of, neutralize, next_steps
from planproof.report.run import RunReport
from planproof_engine import Verdict

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(run: RunReport, fail_on: str | None = None) -> str:
    """A suite of the command. A model at or above `fail_on` (unless given, its own) is a failure, one that could not
    run an error, one that was not run skipped; what else is unproved stands in the case's output. The
    remarks on the project as a whole are properties of the suite."""
    cases = [_make_case(report, fail_on) for report in run.reports]
    counts = {
        "tests": str(len(cases)),
        "failures": str(sum(case.find("failure") is not None for case in cases)),
        "errors": str(sum(case.find("error") is not None for case in cases)),
        "skipped": str(sum(case.find("skipped") is not None for case in cases)),
        "time": f"{run.seconds:.3f}",
    }
    name = _clean_text(" ".join(filter(None, ("planproof", run.command, run.project))))
    suites = ElementTree.Element("testsuites", {"name": name, **counts})
    suite = ElementTree.SubElement(suites, "testsuite", {"name": name, "timestamp": run.started, **counts})
    if run.remarks:
        properties = ElementTree.SubElement(suite, "properties")
        for remark in run.remarks:
            ElementTree.SubElement(properties, "property", {"name": "note", "value": _clean_text(remark)})
    suite.extend(cases)
    ElementTree.indent(suites)
    text: bytes = ElementTree.tostring(suites, encoding="utf-8", xml_declaration=True)
    return text.decode() + "\n"


def _make_case(report: Report, fail_on: str | None) -> ElementTree.Element:
    schema, _, name = report.model.rpartition(".")
    given = {"classname": schema or report.model, "name": name or report.model, "time": f"{report.seconds or 0:.3f}"}
    if report.details.file:
        given["file"] = report.details.file
    case = ElementTree.Element("testcase", {key: _clean_text(value) for key, value in given.items()})
    if report.outcome == "skipped":
        ElementTree.SubElement(case, "skipped", {"message": _clean_text(report.error or "")})
    elif is_failing(report, fail_on):
        _add_reason(case, "failure", report)
    elif report.outcome == "failed":
        _add_reason(case, "error", report)
    elif open_ones := report.of(Verdict.VIOLATED, Verdict.UNPROVED, Verdict.WARNING):
        out = ElementTree.SubElement(case, "system-out")
        out.text = _clean_text("\n".join(map(str, open_ones)))
    return case


def _add_reason(case: ElementTree.Element, kind: str, report: Report) -> None:
    parts = Parts.of(report)
    codes = ", ".join(dict.fromkeys(finding.code for finding in parts.findings))
    given = {"message": _clean_text(f"{report.model} {parts.heading}: {parts.reason}"), "type": codes or kind}
    lines = [f"{f.code}{f' at {format_place(f.origin)}:' if f.origin else ''} {message_of(f)}" for f in parts.findings]
    lines += [parts.error] if parts.error else []
    lines += [f"next ({', '.join(asking)}): {step}" for step, asking in next_steps(parts.findings).items()]
    ElementTree.SubElement(case, kind, given).text = _clean_text("\n".join([*lines, parts.fate]))


def _clean_text(text: str) -> str:
    """The text without what XML cannot hold."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", neutralize(text))
