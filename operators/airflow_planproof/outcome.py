"""How a task ends, by what its reports found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_planproof import message
from airflow_planproof.errors import PlanproofCannotRun, PlanproofRunFailed, PlanproofViolation

if TYPE_CHECKING:
    from planproof.report import Report
    from planproof.report.run import RunReport


def end_task(report: RunReport, fail_on: str | None, url: str | None) -> None:
    """Raises `PlanproofViolation` for a broken contract, else `PlanproofCannotRun` or `PlanproofRunFailed` for a model
    that could not run; returns where nothing failed."""
    reports = report.reports
    failing = report.failing(fail_on)
    if failing:
        raise PlanproofViolation(message.describe_violation(failing, reports, url), reports)
    failed = [r for r in reports if r.outcome == "failed"]
    if failed:
        kind = PlanproofCannotRun if all(map(_is_refusal, failed)) else PlanproofRunFailed
        raise kind(message.describe_failure(failed, reports, url), reports)


def end_dbt_task(report: RunReport, fail_on: str | None, url: str | None) -> None:
    """As `end_task`. A model that dbt stopped, by its own `fail_on`, breaks its contract however weak `fail_on` is."""
    end_task(report, fail_on, url)
    if any(r.outcome == "rejected" for r in report.reports):
        end_task(report, None, url)


def _is_refusal(report: Report) -> bool:
    """Whether planproof refused to publish for a reason that stays."""
    return any(f.code == "PP601" for f in report.findings) and not report.details.transient
