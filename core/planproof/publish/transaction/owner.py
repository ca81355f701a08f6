"""Who holds a lock: a run in a process on a host, and whether that process is dead."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

_running: set[str] = set()


@dataclass(frozen=True, slots=True)
class Owner:
    """`started` is the process's start time in the kernel's ticks, None where it cannot be read: pids are reused.

    `space` is the kernel's name of the pid's namespace: containers may have a host's name and pids of their own.
    """

    host: str
    pid: int
    run: str
    started: str | None = None
    space: str | None = None

    @classmethod
    def here(cls, run: str) -> Owner:
        pid = os.getpid()
        return cls(socket.gethostname(), pid, run, _started(pid), _space())

    @classmethod
    def read(cls, form: Mapping[str, Any]) -> Owner:
        return cls(str(form["host"]), int(form["pid"]), str(form["run"]), form.get("started"), form.get("space"))

    def form(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def is_dead(self) -> bool:
        """True only where it is certain that the owner is dead: it is of this host, its pids are visible from here, and
        the process is gone or has given the run up. A clock never decides."""
        if self.host != socket.gethostname() or self.space != _space():
            return False
        if self.pid == os.getpid() and self.started == _started(self.pid):
            return self.run not in _running
        if not _exists(self.pid):
            return True
        return self.started is not None and _started(self.pid) not in (None, self.started)

    def __str__(self) -> str:
        return f"run {self.run}, process {self.pid} on {self.host}"


def begin(run: str) -> None:
    """This process works on `run`."""
    _running.add(run)


def end(run: str) -> None:
    """Notes that a run of this process is over: a lock or journal entry of it that is left is a dead one's."""
    _running.discard(run)


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _space() -> str | None:
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return None


def _started(pid: int) -> str | None:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            # The command, in parentheses, may hold anything; the start time is the 20th field after it.
            return file.read().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return None
