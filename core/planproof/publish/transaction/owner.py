"""Who holds a lock: a run in a process on a host, and whether that process is alive."""

from __future__ import annotations

import os
import socket
from dataclasses import asdict, dataclass
from typing import Any

_running: set[str] = set()
_ENDED = ("Z", "X")
"""The states of processes that have ended (proc(5))."""


@dataclass(frozen=True, slots=True)
class Owner:
    """`started` is the process's start time in the kernel's ticks, because pids are reused. `space` is the kernel's
    name of the pid's namespace, and `boot` its id of the boot: the first namespace has the same name on every Linux,
    and cloned machines share a host's name. All three are None where the system does not tell them."""

    host: str
    pid: int
    run: str
    started: str | None = None
    space: str | None = None
    boot: str | None = None

    @classmethod
    def here(cls, run: str) -> Owner:
        pid = os.getpid()
        return cls(socket.gethostname(), pid, run, _read_state(pid)[1], _read_pid_namespace(), _read_boot_id())

    def form(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def is_seen(self) -> bool:
        """Whether the owner's process, if it lives, can be seen from here: the same boot and the same pids."""
        return None not in (self.boot, self.space) and (self.boot, self.space) == (
            _read_boot_id(),
            _read_pid_namespace(),
        )

    @property
    def is_dead(self) -> bool:
        """True only where it is certain that the owner is dead: its process would be seen from here, and is gone or has
        given the run up. Of any other owner only its lease tells (`lock`)."""
        return self.is_seen and not self._is_at_work()

    @property
    def is_alive(self) -> bool:
        """True only where it is certain that the owner is alive, at work or paused."""
        return self.is_seen and self._is_at_work()

    def _is_at_work(self) -> bool:
        if self.pid == os.getpid() and self.started == _read_state(self.pid)[1]:
            return self.run in _running
        state, started = _read_state(self.pid)
        # A process that nobody has waited for keeps its number, and does nothing any more.
        return (
            _is_running(self.pid)
            and state not in _ENDED
            and (None in (started, self.started) or started == self.started)
        )

    def __str__(self) -> str:
        return f"run {self.run}, process {self.pid} on {self.host}"


def begin(run: str) -> None:
    """This process works on `run`."""
    _running.add(run)


def note_end(run: str) -> None:
    """Notes that a run of this process is over: a lock or journal entry of it that is left is a dead one's."""
    _running.discard(run)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def _read_pid_namespace() -> str | None:
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return None


def _read_boot_id() -> str | None:
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip() or None
    except (OSError, ValueError):
        return None


def _read_state(pid: int) -> tuple[str | None, str | None]:
    """What a process does, as one letter, and when it started; None where nobody tells."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            # The command, in parentheses, may hold anything; the start time is the 20th field after it.
            fields = file.read().rpartition(")")[2].split()
        return fields[0], fields[19]
    except (OSError, IndexError):
        return None, None
