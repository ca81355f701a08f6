"""The report of a task in its XCom, with the address of the page that shows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import redact

from airflow_planproof.links import PlanproofReportLink, report_url

if TYPE_CHECKING:
    from planproof.report.run import RunReport

KEY = "planproof_report"


def report_form(report: RunReport, ti: Any, more: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What XCom holds of a report: its JSON form, `more`, and the page's address as `url`."""
    form: dict[str, Any] = make_plain({**report.to_dict(), **(more or {})})
    return {**form, "url": report_url(ti)}


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
