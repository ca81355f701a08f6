"""From reports to how a task ends: the kind of its exception decides whether Airflow retries. No Spark."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

pytest.importorskip("airflow")

from airflow_planproof.errors import AirflowFailException, PlanproofCannotRun, PlanproofRunFailed, PlanproofViolation
from airflow_planproof.message import end_dbt_task, end_task, summary
from airflow_planproof.operators.run import PlanproofRunOperator
from planproof.report.details import Details
from planproof.report.model import Report
from planproof.report.run import RunReport
from planproof_engine.finding import Finding, Verdict

BROKEN = Finding(Verdict.VIOLATED, "PP505", "files", "id", "NOT NULL", "1 null")
REFUSED = Finding(Verdict.UNPROVED, "PP601", "catalog")
LOCKED = Finding(Verdict.UNPROVED, "PP604", "catalog")
REPORTS = {
    "rejected": Report("m", "rejected", (BROKEN,)),
    "rejected by the model's own setting": Report("m", "rejected", (BROKEN,), details=Details(fail_on="warning")),
    "refused": Report("m", "failed", (REFUSED,), error="no"),
    "refused for now": Report("m", "failed", (REFUSED,), error="no", details=Details(transient=True)),
    "locked": Report("m", "failed", (LOCKED,), error="busy", details=Details(transient=True)),
    "Spark is away": Report("m", "failed", error="away"),
}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("rejected", PlanproofViolation),
        ("rejected by the model's own setting", PlanproofViolation),
        ("refused", PlanproofCannotRun),
        ("refused for now", PlanproofRunFailed),
        ("locked", PlanproofRunFailed),
        ("Spark is away", PlanproofRunFailed),
    ],
)
def test_how_a_task_ends(name: str, kind: type[Exception]) -> None:
    with pytest.raises(kind) as raised:
        end_task(RunReport((Report("n", "published"), REPORTS[name])), None, "http://page")
    assert issubclass(kind, AirflowFailException) is (kind is not PlanproofRunFailed)
    assert str(raised.value).endswith("report: http://page")


def test_a_broken_contract_goes_before_trouble() -> None:
    with pytest.raises(PlanproofViolation):
        end_task(RunReport((REPORTS["Spark is away"], REPORTS["rejected"])), None, None)


def test_what_is_only_watched_fails_no_task() -> None:
    end_task(RunReport((Report("m", "published", (BROKEN,), details=Details(guard="watch")),)), "violated", None)


def test_a_watched_model_that_nobody_could_publish_fails_its_task() -> None:
    refused = Finding(Verdict.VIOLATED, "PP110", "analyzed", message="no such column")
    with pytest.raises(PlanproofViolation):
        end_task(RunReport((Report("m", "rejected", (refused,), details=Details(guard="watch")),)), "violated", None)


def test_nothing_is_called_proved_of_a_model_without_a_contract() -> None:
    reports = [Report("m", "published", details=Details(contract=known)) for known in (False, True)]
    bare, promised = summary(reports)
    assert (bare[:11], promised[:11].strip()) == ("no contract", "proved")


def test_what_was_skipped_is_called_nothing_else_and_one_row_is_one() -> None:
    reports = [Report("m", "skipped", details=Details(contract=True)), Report("n", "published", rows=1)]
    left, made = summary(reports)
    assert left == "not judged  skipped    m"
    assert made.endswith("n  1 row")


def test_never_is_never_but_for_what_dbt_stopped() -> None:
    for name in ("rejected", "rejected by the model's own setting"):
        stopped = RunReport((REPORTS[name],))
        end_task(stopped, "never", None)
        with pytest.raises(PlanproofViolation):
            end_dbt_task(stopped, "never", None)
    end_dbt_task(RunReport((Report("m", "published", (BROKEN,)),)), "never", None)


def test_the_log_calls_nothing_proved_that_promises_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    operator, said = PlanproofRunOperator(task_id="run", project_dir="/nowhere"), []
    log = SimpleNamespace(info=lambda text, *values: said.append(text % values))
    monkeypatch.setattr(PlanproofRunOperator, "log", log)
    operator.log_report(Report("m", "published", details=Details(contract=False)))
    operator.log_report(Report("n", "published", details=Details(contract=True)))
    assert said == ["m: published, no contract", "n: published, proved"]
