"""Reads what others wrote in a process beside this one: pyarrow ends its process over a damaged file as often as it
raises an error."""

from __future__ import annotations

import os
import pickle
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from planproof.interpreter import python_command, python_environment

if TYPE_CHECKING:
    from subprocess import Popen

T = TypeVar("T")


class CannotRead(Exception):
    """Raised where the process came to no answer; the message says why."""


class NoProcess(CannotRead):
    """Raised where there is no such process to be had."""


class _Reader:
    """The process, started when it is first asked. It answers one call after another until one ends it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: Popen[bytes] | None = None

    def call(self, function: Callable[..., Any], arguments: tuple[Any, ...], seconds: float | None) -> tuple[bool, Any]:
        with self._lock:
            process = self._started()
            assert process.stdin is not None
            assert process.stdout is not None
            # Without a limit the timer is never started.
            late = threading.Timer(seconds or 0, process.kill)
            if seconds is not None:
                late.start()
            try:
                pickle.dump((function, arguments), process.stdin)
                process.stdin.flush()
                found: tuple[bool, Any] = pickle.load(process.stdout)
                return found
            except (OSError, EOFError, pickle.UnpicklingError):
                self._process = None
                raise _ended(process) from None
            except BaseException:
                self._process = None
                process.kill()
                raise
            finally:
                late.cancel()

    def _started(self) -> Popen[bytes]:
        import subprocess  # It takes a while to import, and few projects need it.

        if self._process is None or self._process.poll() is not None:
            try:
                self._process = subprocess.Popen(
                    python_command(sys.executable, __name__, "answer"),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    env=python_environment(os.environ),
                )
            except OSError as error:
                raise NoProcess(str(error)) from error
        return self._process


def _ended(process: Popen[bytes]) -> CannotRead:
    from subprocess import TimeoutExpired

    try:
        code = process.wait(1)
    except TimeoutExpired:
        process.kill()
        code = process.wait()
    kind = NoProcess if code == 1 else CannotRead  # Python's own end: it could not begin.
    return kind(f"the process that read it ended with {code}")


_reader = _Reader()


def _after_fork() -> None:
    """The process of a parent is not its child's to ask."""
    global _reader
    _reader = _Reader()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def isolated(function: Callable[..., T], *arguments: Any, seconds: float | None = None) -> T:
    """What a function of planproof's returns, or raises, in a process that it may end. Function, arguments and answer
    are pickled. Raises `CannotRead` where it ended, or took more than `seconds`."""
    is_raised, found = _reader.call(function, arguments, seconds)
    if is_raised:
        raise found
    given: T = found
    return given


def answer() -> int:
    """What the process does: it reads calls from standard input until that ends, and writes what becomes of them."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # What a library prints is no answer.
    while True:
        try:
            function, arguments = pickle.load(sys.stdin.buffer)
        except EOFError:
            return 0
        try:
            told = pickle.dumps((False, function(*arguments)))
        except Exception as error:
            told = pickle.dumps((True, error))
        answers.write(told)
        answers.flush()
