"""Spark work in a thread of its own, so that Airflow's timeout and kill reach a task that waits for the JVM.

A Python thread that is inside a call to the JVM takes no signal until the call returns. The task's main thread
therefore only waits; the work runs beside it, under a Spark job tag, and the main thread cancels by that tag.
"""

from __future__ import annotations

import contextvars
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, Protocol, TypeVar

from airflow.providers.common.compat.sdk import AirflowException

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
