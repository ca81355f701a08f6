"""The reports of one invocation, as a file under dbt's target directory."""

from __future__ import annotations

import os
import threading
import time
from datetime import datetime, timezone
from pathlib import Path

from dbt_planproof import log
from dbt_planproof.closing import Left, closing_line
from planproof.regular import write_anew
from planproof.report.model import Report
from planproof.report.run import run_report

PAUSE = 10.0
"""For healthy models the file is written at most once in so many seconds: in a large project each write costs more."""


class Record:
    """Collects reports from dbt's threads in `<target>/planproof/report.json`.

    The file is whole at every moment. It names a stopped model at once; other news waits for a while, or for `flush`.
    It goes to $PLANPROOF_REPORT, too, where that is set: another dbt may write below the same target directory.
    """

    def __init__(self, project: str = "") -> None:
        self._lock = threading.Lock()
        self._reports: list[Report] = []
        self._started, self._project = datetime.now(timezone.utc), project
        self._remarks: dict[str, None] = {}
        self._left: dict[str, Left] = {}
        self._place: Path | None = None
        self._also = os.environ.get("PLANPROOF_REPORT")
        self._waiting: tuple[Path, str] | None = None
        self._written = float("-inf")

    def add(self, report: Report, target: Path, command: str) -> Path:
        """Adds a report and returns the file, a `RunReport` as `planproof run` writes one; `command` is dbt's."""
        with self._lock:
            self._reports.append(report)
            return self._change(target, command, urgent=report.outcome != "published")

    def remark(self, text: str, target: Path, command: str) -> bool:
        """Adds a line about the whole invocation; False where it stands there already."""
        with self._lock:
            if text in self._remarks:
                return False
            self._remarks[text] = None
            self._change(target, command)
            return True

    def leave(self, name: str, left: Left, target: Path, command: str) -> bool:
        """Adds a node that dbt writes itself; False where it is known with that reason."""
        if not self.remark(f"{name} was not guarded: {left.reason}", target, command):
            return False
        with self._lock:
            self._left[name] = left
        return True

    def flush(self) -> None:
        """Writes what still waits."""
        with self._lock:
            if self._waiting is not None:
                self._change(*self._waiting, urgent=True)

    def close(self) -> str | None:
        """Writes what still waits, and says in one line what became of the nodes; None where none was written."""
        self.flush()
        return None if self._place is None else closing_line(self._reports, self._left, self._place)

    def _change(self, target: Path, command: str, urgent: bool = False) -> Path:
        path = self._place = target / "planproof" / "report.json"
        if not urgent and time.monotonic() - self._written < PAUSE:
            self._waiting = (target, command)
            return path
        form = run_report(f"dbt {command}", self._reports, self._started, project=self._project, remarks=self._remarks)
        for file, home in [(path, target), *([(Path(self._also), None)] if self._also else ())]:
            try:
                write_anew(file, (f"{line}\n" for line in form.to_lines()), home)
            except OSError as error:  # No model is worse for it.
                log.warn(f"planproof cannot write its report: {error}")
        self._waiting, self._written = None, time.monotonic()
        return path
