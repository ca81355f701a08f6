"""Reports: verdicts, findings, and their JSON, HTML and terminal forms."""

from __future__ import annotations

from collections.abc import Sequence

from planproof.report.details import DataTestResult, Details, TableChange
from planproof.report.model import WRITERS, Report
from planproof.report.parts import format_count, join_lines, neutralize, neutralize_json
from planproof.report.run import RunReport, run_report


def _render_html(reports: Sequence[Report]) -> str:
    from planproof.report.html import render

    return render(reports)


def _render_text(reports: Sequence[Report]) -> str:
    from planproof.report.text import render_plain

    return render_plain(reports)


# Both are read when they are first asked for: most who make a report do not print it.
WRITERS.update(html=_render_html, text=_render_text)
