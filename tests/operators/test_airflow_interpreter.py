"""Other interpreters and dbts: what they answer, how they end, and that a kill reaches them. No Spark."""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

pytest.importorskip("airflow")

from airflow.providers.common.compat.sdk import AirflowException

from airflow_planproof.dbt_command import DbtElsewhere, find_target_path, read_recorded
from airflow_planproof.errors import PlanproofCannotRun
from airflow_planproof.work import Interpreter
from planproof.project.request import Request
from planproof.report.model import Report

LOG = logging.getLogger("tested")
REPORT = Report("/data/x", "audited", rows=3).to_dict()
WORK = Request("audit", names=("/data/x",), contract={"columns": [{"name": "id", "type": "int"}]})


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str], str]:
    """`program(code)`: an executable that runs Python code, whatever its arguments."""

    def made(code: str) -> str:
        file = tmp_path / "program"
        file.write_text(f"#!{sys.executable}\nimport json, os, sys, time\n{code}\n")
        file.chmod(0o755)
        return str(file)

    return made


def test_reports_come_back_line_by_line(program: Callable[[str], str]) -> None:
    code = f"""
asked = json.loads(sys.stdin.readline())["request"]
assert (asked["purpose"], asked["names"]) == ("audit", ["/data/x"])
print(json.dumps({{"note": "only dbt runs hooks"}}), flush=True)
print(json.dumps({{"report": json.loads({json.dumps(json.dumps(REPORT))})}}), flush=True)
print(json.dumps({{"end": "done"}}), flush=True)
"""
    told: list[Report] = []
    notes: list[str] = []
    (found,) = Interpreter(program(code), LOG).run(WORK, told.append, notes.append)
    assert (found.model, found.outcome, found.rows) == ("/data/x", "audited", 3)
    assert (told, notes) == ([found], ["only dbt runs hooks"])


@pytest.mark.parametrize(
    ("code", "kind", "said"),
    [
        ("print(json.dumps({'end': 'cannot run', 'message': 'no project'}))", PlanproofCannotRun, "no project"),
        ("print(json.dumps({'end': 'failed', 'message': 'Spark is away'}))", AirflowException, "Spark is away"),
        ("sys.exit(1)", PlanproofCannotRun, "did not start"),
        ("os.kill(os.getpid(), 9)", AirflowException, "ended with code -9 before its work was done"),
    ],
)
def test_how_it_ends(program: Callable[[str], str], code: str, kind: type, said: str) -> None:
    with pytest.raises(kind, match=said) as raised:
        Interpreter(program(code), LOG).run(WORK, lambda report: None)
    assert type(raised.value) is kind


@pytest.mark.parametrize(
    ("does", "seconds", "ended"), [("sys.stdin.read()", 60, True), ("time.sleep(10_000)", 0.5, False)]
)
def test_a_kill_ends_it_at_once_or_by_force(
    program: Callable[[str], str], does: str, seconds: float, ended: bool
) -> None:
    begun = f"sys.stdin.readline(); print({json.dumps(json.dumps({'report': REPORT}))}, flush=True)"
    interpreter = Interpreter(program(f"{begun}; {does}"), LOG)
    works, found = threading.Event(), []

    def kill() -> None:
        works.wait()
        found.append(interpreter.cancel(seconds))

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(AirflowException):
        interpreter.run(WORK, lambda report: works.set())
    killer.join()
    assert found == [ended]


def test_a_real_interpreter_refuses_a_wrong_request() -> None:
    """`planproof.piped` itself: the error of a project that is not there comes back as one that stays."""
    request = Request("audit", project_dir="/no/such/project")
    with pytest.raises(PlanproofCannotRun, match="/no/such/project"):
        Interpreter(sys.executable, LOG).run(request, lambda report: None)


def test_dbt_elsewhere_says_what_it_said(program: Callable[[str], str]) -> None:
    failed = DbtElsewhere(program("print('Runtime Error in model x'); sys.exit(1)"), LOG).run(["test"])
    assert (failed.success, failed.lasting) == (False, False)
    assert "Runtime Error in model x" in failed.message
    usage = DbtElsewhere(program("print('No such option'); sys.exit(2)"), LOG).run(["test", "--wrong"])
    assert (usage.success, usage.lasting) == (False, True)
    assert DbtElsewhere(program("pass"), LOG).run(["test"]).success
    with pytest.raises(PlanproofCannotRun, match="cannot be started"):
        DbtElsewhere("/no/such/dbt", LOG).run(["test"])


def test_only_a_report_of_this_run_is_brought_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from datetime import datetime, timedelta, timezone

    from planproof.report.run import run_report

    monkeypatch.delenv("DBT_TARGET_PATH", raising=False)
    (tmp_path / "dbt_project.yml").write_text("name: x\ntarget-path: out\n")
    assert find_target_path(tmp_path, os.environ) == tmp_path / "out"
    now = datetime.now(timezone.utc)
    assert read_recorded(str(tmp_path), now) is None
    file = tmp_path / "out" / "planproof" / "report.json"
    file.parent.mkdir(parents=True)
    file.write_text(run_report("dbt build", [Report("m", "published")], now).to_json())
    found = read_recorded(str(tmp_path), now)
    assert found is not None
    assert found.reports[0].model == "m"
    for later in (timedelta(minutes=1), timedelta(microseconds=1)):
        assert read_recorded(str(tmp_path), now + later) is None, "the run before left it"
    file.write_text(json.dumps({"format": 99}))
    assert read_recorded(str(tmp_path), now) is None
    monkeypatch.setenv("DBT_TARGET_PATH", "/elsewhere")
    assert find_target_path(tmp_path, os.environ) == Path("/elsewhere")


@pytest.mark.parametrize("own", [True, False])
def test_a_task_takes_no_report_of_another_dbt_in_its_project(
    own: bool, tmp_path: Path, program: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both write below one target directory at the same time; a task whose dbt guarded nothing has no report."""
    from datetime import datetime, timedelta, timezone

    from airflow_planproof import PlanproofDbtOperator
    from planproof.report.run import run_report

    def publish(
        task: PlanproofDbtOperator, _: object, reports: Sequence[Report], started: object, remarks: list[str]
    ) -> dict[str, None]:
        task.report = run_report("dbt", reports, now)
        told.extend(remarks)
        found.extend(report.model for report in reports)
        return {"url": None}

    (tmp_path / "dbt_project.yml").write_text("name: x\n")
    now = datetime.now(timezone.utc) + timedelta(seconds=1)
    others = run_report("dbt build", [Report("others", "violated")], now).to_json()
    mine = run_report("dbt build", [Report("mine", "published")], now).to_json()
    target = tmp_path / "target" / "planproof"
    wrote = f'open(os.environ["PLANPROOF_REPORT"], "w").write({mine!r})' if own else "pass"
    code = [f"os.makedirs({str(target)!r})", f"open({f'{target}/report.json'!r}, 'w').write({others!r})", wrote]
    dbt = program("\n".join([*code, "time.sleep(1)"]))
    found, told = list[str](), list[str]()
    monkeypatch.setattr(PlanproofDbtOperator, "publish_report", publish)
    PlanproofDbtOperator(task_id="t", command="build", project_dir=str(tmp_path), dbt_executable_path=dbt).execute({})  # type: ignore[typeddict-item]
    assert found == (["mine"] if own else [])
    # A wrapper that drops the environment leaves none either: which it was, nobody has looked at.
    assert [f"or {dbt} does not pass PLANPROOF_REPORT on" in remark for remark in told] == ([] if own else [True])
