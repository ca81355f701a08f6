"""Reports as SARIF 2.1.0, for code scanning: what is violated, unproved or a hazard, at its place in a model's file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from posixpath import normpath
from typing import Any
from urllib.parse import quote

from planproof.report.model import Report
from planproof.report.parts import is_stopping, message_of, neutralize
from planproof.report.run import RunReport
from planproof_engine import CODES, Finding, Verdict

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {Verdict.VIOLATED: "error", Verdict.UNPROVED: "warning", Verdict.WARNING: "note"}
FINGERPRINT = "planproof/v1"


def render(run: RunReport, prefix: str = "") -> str:
    """The log of one command. `prefix` is the dbt project's folder below the repository's root, such as `dbt/`: a
    place is told from that root, as the raw model's file, line and column."""
    found = [(report, finding) for report in run.reports for finding in report.of(*LEVELS)]
    codes = sorted({finding.code for _, finding in found})
    failed = [report for report in run.reports if report.outcome == "failed"]
    driver = {
        "name": "planproof",
        "version": run.versions.get("planproof", ""),
        "rules": [_make_rule(code) for code in codes],
    }
    notes = [{"level": "note", "message": {"text": _escape_message(remark)}} for remark in run.remarks]
    log = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"%SRCROOT%": {"description": {"text": "The root of the repository."}}},
        "invocations": [
            {
                "executionSuccessful": not failed,
                "toolExecutionNotifications": [*map(_make_notification, failed), *notes],
            }
        ],
        "results": list(_make_results(found, codes, prefix)),
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [log]}, indent=1)


def _make_rule(code: str) -> dict[str, Any]:
    known = CODES[code]
    return {
        "id": code,
        "name": "".join(word.capitalize() for word in known.title.split()),
        "shortDescription": {"text": known.title},
        "fullDescription": {"text": known.meaning},
        "help": {"text": f"{known.meaning} Next: {known.next_step}"},
    }


def _make_results(
    found: Sequence[tuple[Report, Finding]], codes: Sequence[str], prefix: str
) -> Iterator[dict[str, Any]]:
    seen: dict[str, int] = {}
    for report, finding in found:
        mark = fingerprint(report, finding)
        # Two findings that differ in nothing but their place are told apart by their order.
        number = seen[mark] = seen.get(mark, 0) + 1
        yield {
            "ruleId": finding.code,
            "ruleIndex": codes.index(finding.code),
            "level": "error" if is_stopping(report, finding) else LEVELS[finding.verdict],
            "message": {"text": _escape_message(f"{report.model}: {message_of(finding)}")},
            "locations": [_make_location(report, finding, prefix)],
            **_make_related(finding, prefix),
            "partialFingerprints": {FINGERPRINT: f"{mark}:{number}"},
            "properties": {"verdict": finding.verdict.value, "plane": finding.plane},
        }


def fingerprint(report: Report, finding: Finding) -> str:
    """What stays the same of a finding while lines move and counts change: model, code, column, promise, plane."""
    model = report.details.unique_id or report.model
    parts = (model, finding.code, finding.field or "", finding.promised or "", finding.plane)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "backslashreplace")).hexdigest()[:32]


def _make_location(report: Report, finding: Finding, prefix: str) -> dict[str, Any]:
    column = f".{finding.field}" if finding.field else ""
    logical = {"fullyQualifiedName": f"{report.model}{column}", "kind": "member" if column else "module"}
    location: dict[str, Any] = {"logicalLocations": [logical]}
    origin = finding.origin
    file = origin.file if origin is not None and origin.file else report.details.file
    region = {"startLine": 1}
    if finding.promise is not None and (origin is None or not origin.file):
        # A column that is not there has no place in the model; its promise has one.
        file, region = finding.promise.file, {"startLine": finding.promise.line}
    if file is None:
        return location
    if origin is not None and origin.file:
        region = {"startLine": origin.line, **({} if origin.approximate else {"startColumn": origin.column})}
    place = {"uri": _make_uri(prefix, file), "uriBaseId": "%SRCROOT%"}
    return {"physicalLocation": {"artifactLocation": place, "region": region}, **location}


def _make_uri(prefix: str, file: str) -> str:
    """The file from the repository's root on. What leads out of it, and `//host/share`, which a viewer would ask for,
    is taken for a place below it."""
    return quote(normpath(f"/{prefix}{file}").lstrip("/"), errors="backslashreplace")


def _make_related(finding: Finding, prefix: str) -> dict[str, Any]:
    """Where the promise stands that a finding is about."""
    promise = finding.promise
    if promise is None:
        return {}
    place = {"uri": _make_uri(prefix, str(promise.file)), "uriBaseId": "%SRCROOT%"}
    region = {"startLine": promise.line, "startColumn": promise.column}
    location = {"physicalLocation": {"artifactLocation": place, "region": region}}
    return {"relatedLocations": [{"id": 1, **location, "message": {"text": "what is promised"}}]}


def _make_notification(report: Report) -> dict[str, Any]:
    said = f"{report.model} could not run: {report.error or 'no reason given'}"
    return {"level": "error", "message": {"text": _escape_message(said)}}


def _escape_message(text: str) -> str:
    """A message of others. SARIF has `[text](target)` for a link, and a backslash before a bracket that is none."""
    text = neutralize(text)
    return text.replace("\\", "\\\\").replace("](", "\\](") if "](" in text else text
