"""Spark work in another interpreter, over pipes: one line of JSON to it, one line per report back.

The end of a process that a task has started, with all that it started itself.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowException

from airflow_planproof.errors import PlanproofCannotRun
from airflow_planproof.work import CANCEL_SECONDS

if TYPE_CHECKING:
    from planproof.project.request import Request
    from planproof.report import Report

Process = subprocess.Popen[str]


def end_process(child: Process | None, ask: Callable[[Process], None], seconds: float) -> bool:
    """`ask` asks the process, a group's leader, to end; after `seconds` it is killed. True where it ended by itself."""
    if child is None or child.poll() is not None:
        return True
    ask(child)
    with suppress(subprocess.TimeoutExpired):
        child.wait(seconds)
    ended = child.poll() is not None
    with suppress(ProcessLookupError):  # Spark's JVM is in the same group.
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    return ended


class Interpreter:
    """A process of another Python; the main thread reads its answers and stays open for a timeout or a kill."""

    def __init__(self, python: str, log: Any) -> None:
        self._python, self._log = python, log
        self._child: Process | None = None

    def run(
        self,
        request: Request,
        on_report: Callable[[Report], None],
        on_remark: Callable[[str], None] = lambda remark: None,
    ) -> list[Report]:
        """The reports of what is asked, each given to `on_report` as it comes; `on_remark` gets those on the project.

        Raises `PlanproofCannotRun`, and AirflowException for what a retry may mend.
        """
        from planproof.interpreter import python_command, python_environment

        command = python_command(self._python, "planproof.piped", "main")
        try:
            child = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                start_new_session=True,
                env=python_environment(os.environ),
            )
        except OSError as error:
            raise PlanproofCannotRun(f"the interpreter {self._python} cannot be started: {error}") from error
        self._child = child
        try:
            assert child.stdin is not None
            assert child.stdout is not None
            with suppress(BrokenPipeError):
                child.stdin.write(json.dumps({"request": request.to_dict()}) + "\n")
                child.stdin.flush()
            return self._read_answers(child.stdout, on_report, on_remark)
        finally:
            self.cancel()

    def _read_answers(
        self, lines: IO[str], on_report: Callable[[Report], None], on_remark: Callable[[str], None]
    ) -> list[Report]:
        from planproof.report import Report

        reports = []
        for line in lines:
            answer = json.loads(line)
            if "report" in answer:
                reports.append(Report.from_dict(answer["report"]))
                on_report(reports[-1])
            elif "note" in answer:
                on_remark(answer["note"])
            elif answer["end"] == "done":
                return reports
            elif answer["end"] == "cannot run":
                raise PlanproofCannotRun(f"planproof could not run: {answer['message']}", reports)
            else:
                raise AirflowException(f"{self._python}: {answer['message']}")
        assert self._child is not None
        code = self._child.wait()
        if code == 1 and not reports:
            raise PlanproofCannotRun(f"{self._python} -m planproof.piped did not start; see its output above")
        raise AirflowException(f"the interpreter {self._python} ended with code {code} before its work was done")

    def cancel(self, seconds: float = CANCEL_SECONDS) -> bool:
        """Ends the process, which cancels its Spark job first; after `seconds` it is killed. True where it ended."""
        return end_process(self._child, _close_input, seconds)


def _close_input(child: Process) -> None:
    with suppress(OSError):
        assert child.stdin is not None
        child.stdin.close()
