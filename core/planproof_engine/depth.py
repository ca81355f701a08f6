"""Work on deeply nested trees: a surrogate key over 300 columns is a chain of 600 calls, each within the next.

Recursive functions walk such a tree. Python allows 1,000 calls within each other, and dbt or Airflow has used some of
them before.
"""

from __future__ import annotations

import contextvars
import sys
import threading
from collections.abc import Callable
from typing import TypeVar

from planproof_engine.budget import counted, raise_in

T = TypeVar("T")

CALLS = 50_000
"""Calls within each other, in a thread of our own."""
STACK = 256 * 2**20
"""Bytes of that thread's stack: address space, of which the system gives what is written to."""

_here = threading.local()
_lock = threading.Lock()
_limits: list[int] = []
"""Python's limit of calls before each thread raised it that works deeply now."""


def deeply(work: Callable[[], T]) -> T:
    """What `work` returns. Where it runs into Python's limit of calls, it starts again in a thread that allows many
    more. `work` must therefore do no harm when it starts twice. Raises `RecursionError` where not even these are
    enough."""
    if getattr(_here, "is_deep", False):
        return work()
    try:
        return work()
    except RecursionError as error:
        failed: list[BaseException] = [error.with_traceback(None)]
    found: list[T] = []
    context = contextvars.copy_context()
    ended = threading.Event()

    def run() -> None:
        _here.is_deep = True
        try:
            found.append(context.run(_run_counted, work))
        except BaseException as error:
            failed.append(error)
        finally:
            ended.set()

    _raise_limit()
    try:
        thread = _start(run)
        if thread is not None:
            _wait(thread, ended)
    finally:
        _lower_limit()
    if not found:
        raise failed.pop()  # A frame that holds the error it raises would keep all frames above it, too.
    return found[0]


def _run_counted(work: Callable[[], T]) -> T:
    with counted():
        return work()


_LOOK = 0.1


class _Left(BaseException):
    """Raised in a thread whose work nobody waits for any more."""


def _wait(thread: threading.Thread, ended: threading.Event) -> None:
    """Waits for the event, and not for the thread: a `join` that a signal interrupts takes it for one that is over
    in Python before 3.13."""
    try:
        while not ended.wait(_LOOK):  # A signal reaches this thread when it wakes.
            pass
    except BaseException:
        _stop(thread, ended)
        raise


def _stop(thread: threading.Thread, ended: threading.Event) -> None:
    """Ends a thread whose work the user, or a budget, has ended. A budget says so again and again: that is not heeded
    until the thread has left, for one that is deeper than the limit of calls would end the process."""
    while not ended.is_set():
        try:
            raise_in(thread.ident or 0, _Left)
            ended.wait(_LOOK)
        except BaseException:
            continue


def _start(run: Callable[[], None]) -> threading.Thread | None:
    """The thread that runs it; None where the system has no such stack to give."""
    with _lock:
        before = threading.stack_size(STACK)  # Python gives a thread the stack that is set when it starts.
        thread = threading.Thread(target=run, name="planproof: deep", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            return None
        finally:
            threading.stack_size(before)
    return thread


def _raise_limit() -> None:
    """Python has one limit for all threads: the first thread that needs it raises it, and the last one puts it back."""
    with _lock:
        _limits.append(sys.getrecursionlimit())
        sys.setrecursionlimit(max(CALLS, _limits[0]))


def _lower_limit() -> None:
    with _lock:
        first = _limits[0]
        _limits.pop()
        if not _limits:
            sys.setrecursionlimit(first)
