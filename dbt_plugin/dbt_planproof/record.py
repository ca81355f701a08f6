"""The reports of one invocation, as a file under dbt's target directory."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from dbt_planproof import log
from dbt_planproof.absence import WRITES_NOTHING
from dbt_planproof.closing import Left, closing_line
from dbt_planproof.dbts import Node
from planproof.regular import remove, write_anew
from planproof.report.details import Details
from planproof.report.model import Report
from planproof.report.run import run_report

PAUSE = 10.0
"""For healthy models the file is written at most once in so many seconds: in a large project each write costs more."""


class Record:
    """Collects reports from dbt's threads in `<target>/planproof/report.json`.

    The file is whole at every moment. It names a stopped model at once; other news waits for a while, or for `flush`.
    It goes to $PLANPROOF_REPORT, too, where that is set: another dbt may write below the same target directory.
    """

    def __init__(self, target: Path, command: str, project: str = "") -> None:
        """`command` is dbt's, such as `build`."""
        self._lock = threading.Lock()
        self._command, self.path = command, target / "planproof" / "report.json"
        self._target = target
        self._reports: list[Report] = []
        self._started, self._project = datetime.now(timezone.utc), project
        self._remarks: dict[str, None] = {}
        self._left: dict[str, Left] = {}
        self._also = os.environ.get("PLANPROOF_REPORT")
        self._is_told = self._is_waiting = False
        self._written = float("-inf")

    def begin(self) -> None:
        """Removes the report of an earlier invocation, where this one writes models: whatever ends it, nobody takes
        that report for its own. An empty one would be taken for a proof."""
        self._is_told = self._command not in (*WRITES_NOTHING, "run-operation")
        if self._is_told:
            try:
                remove(self.path, self._target)
            except OSError as error:
                log.warn(f"planproof cannot remove the report of an earlier run: {error}")

    def add(self, report: Report) -> Path:
        """Adds a report and returns the file, a `RunReport` as `planproof run` writes one."""
        with self._lock:
            self._reports.append(report)
            self._change(urgent=report.outcome != "published")
        return self.path

    def add_failed(self, node: Node, error: str) -> Path:
        """Adds the report of a node that could not run, and that nothing else is known of."""
        form = node.to_dict()
        details = Details(unique_id=node.unique_id, name=node.name, file=form.get("original_file_path"))
        name = f"{node.schema}.{form.get('alias') or node.name}"
        return self.add(Report(name, "failed", error=error, details=details))

    def add_failures(self, results: Sequence[Any]) -> None:
        """Adds the nodes that dbt itself failed, as its results say: before the guard heard of them, or left to dbt."""
        known = {report.details.unique_id for report in self._reports}
        for result in results:
            node = getattr(result, "node", None)  # A hook's result, or one of a later dbt, may have none.
            if node is None or node.resource_type not in ("model", "seed", "snapshot"):
                continue
            if result.status == "error" and node.unique_id not in known:
                self._left.pop(node.name, None)
                self.add_failed(node, str(result.message))

    def remark(self, text: str) -> bool:
        """Adds a line about the whole invocation; False where it stands there already."""
        with self._lock:
            if text in self._remarks:
                return False
            self._remarks[text] = None
            self._change()
            return True

    def leave(self, name: str, left: Left) -> bool:
        """Adds a node that dbt writes itself; False where it is known with that reason."""
        if not self.remark(f"{name} was not guarded: {left.reason}"):
            return False
        with self._lock:
            self._left[name] = left
        return True

    def flush(self) -> None:
        """Writes what still waits."""
        with self._lock:
            if self._is_waiting:
                self._change(urgent=True)

    def close(self) -> str | None:
        """Writes what still waits, and says in one line what became of the nodes; None where there is nothing to say
        of them, and this command writes none."""
        self.flush()
        if self._is_told or self._reports or self._left:
            return closing_line(self._reports, self._left, self.path)
        return None

    def _change(self, urgent: bool = False) -> None:
        self._is_waiting = not urgent and time.monotonic() - self._written < PAUSE
        if self._is_waiting:
            return
        command = f"dbt {self._command}"
        form = run_report(command, self._reports, self._started, project=self._project, remarks=self._remarks)
        for file, home in [(self.path, self._target), *([(Path(self._also), None)] if self._also else ())]:
            try:
                write_anew(file, (f"{line}\n" for line in form.to_lines()), home)
            except OSError as error:  # No model is worse for it.
                log.warn(f"planproof cannot write its report: {error}")
        self._written = time.monotonic()
