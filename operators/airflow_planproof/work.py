"""Spark work in a thread of its own, so that Airflow's timeout and kill reach a task that waits for the JVM; or in
another interpreter, over pipes: one line of JSON to it, one line per report back.

A Python thread that is inside a call to the JVM takes no signal until the call returns. The task's main thread
therefore only waits; the work runs beside it, under a Spark job tag, and the main thread cancels by that tag.
"""

from __future__ import annotations

import contextvars
import json
import os
import signal
import subprocess
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from airflow.providers.common.compat.sdk import AirflowException

from airflow_planproof.errors import PlanproofCannotRun

if TYPE_CHECKING:
    from planproof.project.request import Request
    from planproof.report import Report

T = TypeVar("T")

CANCEL_SECONDS = 4.5
"""How long a cancel is repeated and waited for: Airflow kills the process 5 s after it asked."""


class Cancellable(Protocol):
    """The part of a planproof session that a cancel needs."""

    def tag(self, tag: str) -> None: ...

    def cancel(self, tag: str) -> None: ...


class WorkCancelled(AirflowException):
    """The task was killed or timed out while it worked."""


class SparkWork(Generic[T]):
    """One function that runs in a thread and can be cancelled from another.

    The function is called with this object: it hands over its session by `watch` as soon as it has one, and asks
    `check` between two steps. Work that was cancelled ends in `WorkCancelled`, never in a result.
    """

    def __init__(self, function: Callable[[SparkWork[T]], T]) -> None:
        self.tag = f"planproof-{uuid.uuid4().hex}"
        self._function = function
        self._cancelled, self._done = threading.Event(), threading.Event()
        self._session: Cancellable | None = None
        self._result: list[T] = []
        self._error: BaseException | None = None

    def run(self) -> T:
        """Runs the function to its end and returns its result, or raises what it raised."""
        context = contextvars.copy_context()
        threading.Thread(target=context.run, args=(self._run,), name=self.tag, daemon=True).start()
        self._done.wait()
        if self._cancelled.is_set():
            raise WorkCancelled("the task was cancelled; its Spark jobs were too") from self._error
        if self._error is not None:
            raise self._error
        return self._result[0]

    def watch(self, session: Cancellable) -> None:
        """Puts the calling thread's Spark jobs under this work's tag. Call it in the thread that runs the jobs."""
        session.tag(self.tag)
        self._session = session
        self.check()

    def check(self) -> None:
        """Raises `WorkCancelled` once a cancel was asked for."""
        if self._cancelled.is_set():
            raise WorkCancelled("the task was cancelled")

    def cancel(self, seconds: float = CANCEL_SECONDS) -> bool:
        """Cancels the running job and each that follows, until the work ended (True) or `seconds` are over (False)."""
        self._cancelled.set()
        end = time.monotonic() + seconds
        while not self._done.wait(0.1):
            if self._session is not None:
                # The signal that ends a task may have reached Spark's JVM too, which then stops by itself.
                with suppress(Exception):
                    self._session.cancel(self.tag)
            if time.monotonic() > end:
                return False
        return True

    def _run(self) -> None:
        try:
            self._result.append(self._function(self))
        except BaseException as error:
            self._error = error
        finally:
            self._done.set()


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
