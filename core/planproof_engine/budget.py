"""What one piece of work may cost: a thousand characters of SQL can stand for a plan that no machine holds.

What grows is counted where it grows (`analysis.growth`). This is what stands behind that: the processor's time and
memory, whatever they go into, in any thread. The work itself asks nothing and pays nothing. A signal tells the main
thread that it is over its budget; a thread that lives only while such work goes on tells the others.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import _GeneratorContextManager, contextmanager, suppress
from contextvars import ContextVar
from types import FrameType

SECONDS = 5.0
"""Seconds of the processor for one model. Large models of public projects take a tenth of a second."""
BYTES = 2**30
"""Bytes by which the process may grow for one model."""
_TICK = 0.2
_FIRST = 0.01
"""Seconds of the processor after which a signal looks first. Work that is done before, as most plans are, asks for no
memory."""
_SURE = 1.0
"""Seconds after which a thread that is not the only one is asked for the memory by which the process grew."""


class OverBudget(BaseException):
    """Raised in the midst of work that costs more than it may. `budget` names what was used up.

    It is no `Exception`, so that no handler of ordinary errors swallows it.
    """

    budget = ""

    def __str__(self) -> str:
        return self.budget


class _OverSeconds(OverBudget):
    budget = "seconds of the processor"


class _OverMemory(OverBudget):
    budget = "memory"


class _Work:
    """Work that is bounded: what it may cost, and what it has cost."""

    def __init__(self, seconds: float, size: int) -> None:
        self.thread = threading.get_ident()
        self.is_going, self.spared = True, 0
        self.over: type[OverBudget] | None = None
        self.spent = 0.0
        """Seconds of threads that are through with it."""
        self._seconds, self._size = seconds, size
        self._most: int | None = None
        self._began: dict[int, tuple[Callable[[], float], float]] = {}
        self.count()

    def count(self) -> None:
        """Counts this thread's time from now on."""
        clock = _make_clock()
        self._began[threading.get_ident()] = clock, clock()

    def leave(self) -> None:
        """Counts this thread's time no longer."""
        clock, began = self._began.pop(threading.get_ident())
        self.spent += clock() - began

    def weigh(self, patience: float) -> type[OverBudget] | None:
        """What is used up, once something is. Memory is all threads': it is asked for at the first look, and again
        after `patience` seconds of this work."""
        if self._most is None:
            self._most = _measure_memory() + self._size
        spent = self.spent
        for clock, began in list(self._began.values()):
            with suppress(OSError):  # A thread that has ended meanwhile.
                spent += clock() - began
        if spent > self._seconds:
            self.over = _OverSeconds
        elif spent >= patience and _measure_memory() > self._most:
            self.over = _OverMemory
        return self.over


_work: ContextVar[_Work | None] = ContextVar("planproof's bounded work", default=None)
_lock = threading.RLock()
"""Held between the look whether work may be ended and its end. A signal's handler may find its thread holding it."""
_in_main: _Work | None = None
"""The work that a signal ends."""


@contextmanager
def bounded(seconds: float = SECONDS, size: int = BYTES) -> Iterator[None]:
    """Bounds what the block costs, in threads of its own (`depth.deeply`) too. Within a block that is bounded, that
    one's bounds hold. Raises `OverBudget`, again and again where it is not heeded."""
    global _in_main
    if _work.get() is not None:
        yield
        return
    work, outer, is_signalled = _Work(seconds, size), _in_main, _can_signal()
    token = _work.set(work)
    try:
        if is_signalled:
            _in_main = work
            signal.setitimer(signal.ITIMER_PROF, _FIRST, _TICK)
        else:
            _watch.add(work)
        yield
    finally:
        # The first statement, before which nothing can be raised here: from now on the work is not ended.
        work.is_going = False
        try:
            if is_signalled:
                _in_main = outer
                if outer is None:
                    signal.setitimer(signal.ITIMER_PROF, 0)
            else:
                _take_back(work)
        finally:
            _work.reset(token)


def is_bounded() -> bool:
    """Whether an outer block bounds what this costs."""
    return _work.get() is not None


@contextmanager
def spared() -> Iterator[None]:
    """Ends nothing in the midst of the block, and does not count its time: it asks another program, whose answer must
    be read to its end, or does work that has a budget of its own. Raises `OverBudget` before the block."""
    work = _work.get()
    if work is None:
        yield
        return
    with _lock:
        work.spared += 1
    token, clock = _work.set(None), _make_clock()
    began = clock()
    try:
        if work.over is not None:
            raise work.over
        yield
    finally:
        work.spent -= clock() - began
        _work.reset(token)
        with _lock:
            work.spared -= 1


@contextmanager
def counted() -> Iterator[None]:
    """Counts this thread's time as that of the work that is bounded in its context."""
    work = _work.get()
    if work is None:
        yield
        return
    work.count()
    try:
        yield
    finally:
        work.leave()


def raise_in(thread: int, error: type[BaseException] | None) -> None:
    """Raises an error in another thread, where that runs Python; None takes back one that was not raised yet."""
    import ctypes

    raised = None if error is None else ctypes.py_object(error)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), raised)


def _is_leaving(frame: FrameType | None) -> bool:
    """Whether a thread is about to leave a block: what is raised there keeps the block from ending its work."""
    return frame is not None and frame.f_code is _GeneratorContextManager.__exit__.__code__


# --- the main thread --------------------------------------------------------------------------------------------------


def _can_signal() -> bool:
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "ITIMER_PROF"):
        return False
    found = signal.getsignal(signal.SIGPROF)
    if found is _tick:
        return True
    if found is not signal.SIG_DFL:  # A profiler's.
        return False
    # It stays: a signal that comes late would end the process.
    signal.signal(signal.SIGPROF, _tick)
    return True


def _tick(number: int, frame: FrameType | None) -> None:
    with _lock:
        work = _in_main
        if work is None or not work.is_going or work.spared or _is_leaving(frame):
            return
        if (over := work.weigh(0)) is not None:
            raise over


# --- other threads ----------------------------------------------------------------------------------------------------


class _Watch:
    """A thread that ends the work of others. It lives as long as there is some."""

    def __init__(self) -> None:
        self._works: list[_Work] = []
        self._thread: threading.Thread | None = None

    def add(self, work: _Work) -> None:
        work.weigh(_SURE)  # How much memory there is. What looks later sleeps first.
        with _lock:
            self._works.append(work)
            if self._thread is None:
                self._thread = threading.Thread(target=self._look, name="planproof: budget", daemon=True)
                try:
                    self._thread.start()
                except RuntimeError:  # The system has no thread to give.
                    self._thread = None

    def _look(self) -> None:
        while True:
            time.sleep(_TICK)
            with _lock:
                self._works = [work for work in self._works if work.is_going]
                if not self._works:
                    self._thread = None
                    return
                for work in self._works:
                    over = work.weigh(_SURE) if not work.spared else None
                    if over is not None and work.is_going and not _is_leaving(sys._current_frames().get(work.thread)):
                        raise_in(work.thread, over)


_watch = _Watch()


def _take_back(work: _Work) -> None:
    """Sees to it that this thread hears nothing of work that has ended. The watch raises nothing for it any more."""
    is_done = False
    while not is_done:
        try:
            with _lock:
                if work.over is not None:
                    raise_in(work.thread, None)
                is_done = True
        except OverBudget:
            continue


def _after_fork() -> None:
    """The threads of a process are not its child's."""
    global _watch, _lock
    _watch, _lock = _Watch(), threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


# --- what is measured -------------------------------------------------------------------------------------------------


def _make_clock() -> Callable[[], float]:
    """The seconds of the processor that this thread has had, for another thread to read; the process's where the system
    does not tell them apart."""
    if not hasattr(time, "pthread_getcpuclockid"):
        return time.process_time
    clock = time.pthread_getcpuclockid(threading.get_ident())
    return lambda: time.clock_gettime(clock)


def _measure_memory() -> int:
    """Bytes of memory that the process has; 0 where the system does not say."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0
