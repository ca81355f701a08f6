"""The reports of one invocation, as a file under dbt's target directory."""

from __future__ import annotations

import os
import threading
from datetime import datetime, timezone
from pathlib import Path

from planproof.report.model import Report
from planproof.report.run import run_report


class Record:
    """Collects reports from dbt's threads and keeps `<target>/planproof/report.json` whole at every moment."""

    def __init__(self, project: str = "") -> None:
        self._lock = threading.Lock()
        self._reports: list[Report] = []
        self._started, self._project = datetime.now(timezone.utc), project
        self._remarks: dict[str, None] = {}

    def add(self, report: Report, target: Path, command: str) -> Path:
        """Adds a report and returns the file, a `RunReport` as `planproof run` writes one; `command` is dbt's."""
        with self._lock:
            self._reports.append(report)
            return self._write(target, command)

    def remark(self, text: str, target: Path, command: str) -> bool:
        """Adds a line about the whole invocation; False where it stands there already."""
        with self._lock:
            if text in self._remarks:
                return False
            self._remarks[text] = None
            self._write(target, command)
            return True

    def _write(self, target: Path, command: str) -> Path:
        path = target / "planproof" / "report.json"
        form = run_report(f"dbt {command}", self._reports, self._started, project=self._project, remarks=self._remarks)
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(f".{os.getpid()}.tmp")
        draft.write_text(form.to_json(indent=1), "utf-8")
        os.replace(draft, path)
        return path
