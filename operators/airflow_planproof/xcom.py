"""The report of a task in its XCom, with the address of the page that shows it, and as that page."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import redact

from airflow_planproof.links import PlanproofReportLink, report_url

if TYPE_CHECKING:
    from planproof.report import RunReport

KEY = "planproof_report"
MOST_CHARACTERS = 1_000_000
"""The length of a report's JSON above which XCom holds its brief form: Airflow keeps each run's in its database."""
BRIEF = "the whole report would be {size} MB in XCom: plans, and what was read of healthy models, are left out"


def report_form(report: RunReport, ti: Any, more: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What XCom holds of a report: its JSON form, `more`, and the page's address as `url`.

    A long report is held in its brief form, as `Report.to_brief` says, and a remark tells so.
    """
    form: dict[str, Any] = report.to_dict()
    size = len(json.dumps(form, default=str))
    if size > MOST_CHARACTERS:
        form = report.to_dict(brief=True)
        form["remarks"].append(BRIEF.format(size=f"{size / 1_000_000:.1f}"))
    return {**make_plain({**form, **(more or {})}), "url": report_url(ti)}


def push(ti: Any, form: Mapping[str, Any]) -> None:
    """Leaves the report's short form, and its link, in XCom."""
    ti.xcom_push(key=KEY, value=form)
    ti.xcom_push(key=PlanproofReportLink.key, value=form["url"])


def make_plain(form: Any) -> Any:
    """`form` with JSON's types only: tuples as lists, everything else that JSON does not know as text.

    Secrets that Airflow knows of are masked in every text.
    """
    if isinstance(form, dict):
        return {str(key): make_plain(value) for key, value in form.items()}
    if isinstance(form, (list, tuple, set, frozenset)):
        return [make_plain(item) for item in form]
    if form is None or isinstance(form, (bool, int, float)):
        return form
    return redact(str(form))


_log = logging.getLogger(__name__)
HEADERS = {
    # The page loads nothing and runs nothing; only Airflow itself may frame it.
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "private, no-store",
}
NOTHING = "this task has no report yet, or its report was not pushed to XCom (do_xcom_push=False)"
OTHER = "what this task pushed to XCom is not a report of this version of planproof"


def render(form: Any) -> str | None:
    """The page of a report that a task pushed; None for anything else, which a task may push under the same key."""
    from planproof.report import RunReport
    from planproof.report.html import render_run

    try:
        page: str = render_run(RunReport.from_json(json.dumps(form)), script=False)
    except Exception:  # Whatever somebody pushed may fail in any part of the page.
        _log.info("what was pushed is no report", exc_info=True)
        return None
    return page
