"""What one piece of work may cost: a thousand characters of SQL can stand for a plan that no machine holds.

What grows is counted where it grows (`analysis.growth`). This is what stands behind that: the processor's time and
memory, whatever they go into.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SECONDS = 10.0
"""Seconds of the processor for one model. Large models of public projects take a tenth of a second."""
BYTES = 2**30
"""Bytes by which the process may grow for one model."""
_TICK = 0.2


class OverBudget(BaseException):
    """Raised in the midst of work that costs more than it may. `budget` names what was used up.

    It is no `Exception`: who makes do without a part that failed must not make do without this.
    """

    def __init__(self, budget: str) -> None:
        super().__init__(budget)
        self.budget = budget


_until: tuple[float, int] | None = None
"""The seconds of this process and the bytes at which the work that is going on ends; None where none is bounded."""


@contextmanager
def bounded(seconds: float = SECONDS, size: int = BYTES) -> Iterator[None]:
    """Bounds what the block costs. Within a block that is bounded, that one's bounds hold.

    The system tells the main thread alone. In another thread, and where the system cannot, nothing is bounded. Raises
    `OverBudget`, again and again where it is not heeded.
    """
    global _until
    if _until is not None or not _can_tell():
        yield
        return
    _until = time.process_time() + seconds, _resident() + size
    try:
        signal.setitimer(signal.ITIMER_PROF, _TICK, _TICK)
        yield
    finally:
        _until = None
        signal.setitimer(signal.ITIMER_PROF, 0)


def _can_tell() -> bool:
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
    until = _until
    if until is None:
        return
    if time.process_time() > until[0]:
        raise OverBudget("seconds of the processor")
    if _resident() > until[1]:
        raise OverBudget("memory")


def _resident() -> int:
    """Bytes of memory that the process has; 0 where the system does not say."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0
