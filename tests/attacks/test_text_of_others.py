"""Names and messages of others in every form of a report: no line is a runner's command, no mark turns the writing."""

from __future__ import annotations

import unicodedata
from datetime import datetime, timezone

import pytest

from planproof.report.formats import render
from planproof.report.model import Report
from planproof.report.run import run_report
from planproof_engine.finding import Finding, Verdict

TEXTS = (
    "a\n::error::b",
    "a\r\n  ::stop-commands::x",
    "::add-mask::x",
    "\n##[error]b",
    "a##vso[task.setvariable variable=x]b ##[group]",
    "a\x1b]0;title\x07\x1b[2Jb",
    "a\u202eb\u2066c\u200fd\u061ce",
    "a\u2028::error::b",
    "a\x85::error::b\x0b::error::c\x0c::error::d",
)
FORMS = ("text", "github", "markdown", "html", "junit")
KEPT = {"\n"}


def foreign(text: str) -> Report:
    found = Finding(Verdict.VIOLATED, "PP505", "files", text, text, text, text)
    return Report(f"shop.{text}", "rejected", (found,), error=text, sql=f"select '{text}'")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("text", TEXTS)
def test_text_of_others_is_text(text: str, form: str) -> None:
    run = run_report("check", [foreign(text), foreign("fine")], datetime.now(timezone.utc))
    shown = render(run, form)
    lines = [line.strip() for line in shown.splitlines()]
    if form == "github":
        lines = [line.split("::", 2)[2] for line in lines if line.startswith("::")]
    if form != "html":
        assert not [line for line in lines if line.startswith("::")]
        assert "##[" not in shown
    own = "\u200b" if form == "markdown" else ""
    unseen = {c for c in shown if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")} - {*KEPT, *own}
    assert not unseen, unseen


@pytest.mark.parametrize("text", TEXTS)
def test_a_task_of_airflow_logs_text(text: str) -> None:
    """Airflow's page of a log obeys escape sequences, and folds lines by `::group::`."""
    pytest.importorskip("airflow.providers.common.compat.sdk")
    from airflow_planproof import message

    reports = [foreign(text), foreign("fine")]
    said = [message.violation(reports, reports), message.failure(reports, reports), message.breaking([text], text)]
    for shown in (*said, message.dbt_failed("build", text), *message.summary(reports)):
        assert not [line for line in shown.splitlines() if line.strip().startswith("::") or "##[" in line]
        unseen = {c for c in shown if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")} - KEPT
        assert not unseen, unseen
    assert all("\n" not in line for line in message.summary(reports))
