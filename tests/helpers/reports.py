"""What the tests of the guard ask of a report, and the rows that they publish."""

from __future__ import annotations

from planproof import Report, Verdict

ROWS = "select * from values (1, 'a'), (2, 'b') as v(id, name)"
SCHEMA = [("id", "int", False), ("name", "string", True)]


def codes(report: Report, *verdicts: Verdict) -> list[str]:
    return [f.code for f in report.findings if f.verdict in (verdicts or tuple(Verdict))]
