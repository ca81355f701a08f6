"""The end of a process that a task has started, with all that it started itself."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress

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
