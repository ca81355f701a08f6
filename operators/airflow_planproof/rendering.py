"""A report in XCom's form as a page."""

from __future__ import annotations

import json
from typing import Any

HEADERS = {
    # The page loads nothing and runs nothing; only Airflow itself may frame it.
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "private, no-store",
}


def rendered(form: Any) -> str:
    """The page of a report that a task pushed. Raises ValueError for one of another format."""
    from planproof.report.html import render_run
    from planproof.report.run import RunReport

    page: str = render_run(RunReport.from_json(json.dumps(form)))
    return page
