"""A report in XCom's form as a page."""

from __future__ import annotations

import json
import logging
from typing import Any

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
    from planproof.report.html import render_run
    from planproof.report.run import RunReport

    try:
        page: str = render_run(RunReport.from_json(json.dumps(form)), script=False)
    except Exception:  # Whatever somebody pushed may fail in any part of the page.
        _log.info("what was pushed is no report", exc_info=True)
        return None
    return page
