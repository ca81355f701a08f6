"""The reports of one invocation, as a file under dbt's target directory."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

from planproof.report.model import Report


class Record:
    """Collects reports from dbt's threads and keeps `<target>/planproof/report.json` whole at every moment."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reports: list[Report] = []

    def add(self, report: Report, target: Path) -> Path:
        """Adds a report and returns the file, a JSON list of `Report.to_dict()`."""
        path = target / "planproof" / "report.json"
        with self._lock:
            self._reports.append(report)
            path.parent.mkdir(parents=True, exist_ok=True)
            draft = path.with_suffix(f".{os.getpid()}.tmp")
            draft.write_text(json.dumps([r.to_dict() for r in self._reports], indent=1, default=str), "utf-8")
            os.replace(draft, path)
        return path
