"""The reports of one invocation, as a file under dbt's target directory, and as the one line with which the invocation
ends: what was published, stopped, and left to dbt.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

from dbt_planproof import log
from dbt_planproof.absence import WRITES_NOTHING
from dbt_planproof.dbts import Node
from dbt_planproof.message import shorten_path
from planproof.regular import remove, write_anew
from planproof.report import Details, Report, run_report
from planproof.report.parts import format_count, is_counted, would_stop
from planproof_engine import Verdict

NAMED = 3
"""At most so many models that dbt wrote itself are named with the reason. The report has them all."""


class Left(NamedTuple):
    """A node that dbt wrote itself: what it is (`seed`, `snapshot`, `model`), and why."""

    kind: str
    reason: str


def closing_line(reports: Iterable[Report], left: Mapping[str, Left], path: Path) -> str:
    """`planproof: 12 published (5 contracts proved, 3 counted, 4 without a contract), 1 stopped, 2 left to dbt (1 seed,
    1 snapshot); report ...`. Where there is none of these, there is no report either."""
    last = {report.model: report for report in reports}
    watched = [report for report in last.values() if report.details.guard == "watch"]
    parts = _list_outcomes([report for report in last.values() if report not in watched])
    parts += [_describe_watched(watched)] if watched else []
    if left:
        parts.append(f"{len(left):,} left to dbt ({', '.join(_count_kinds(left))})")
    if not parts:
        return "planproof: nothing was published"
    return f"planproof: {', '.join(parts)}; report {shorten_path(path)}"


def _list_outcomes(reports: Sequence[Report]) -> list[str]:
    outcomes = Counter(report.outcome for report in reports)
    published = [report for report in reports if report.outcome == "published"]
    contracts = _count_contracts(published)
    parts = [f"{len(published):,} published{f' ({contracts})' if contracts else ''}"] if reports else []
    ends = (("rejected", "stopped"), ("failed", "could not run"), ("audited", "audited after dbt wrote it"))
    parts += [f"{outcomes[outcome]:,} {word}" for outcome, word in ends if outcomes[outcome]]
    rewritings = sum(f.code == "PP210" for report in published for f in report.findings)
    return [*parts, *([f"{format_count(rewritings, 'rewriting')} suggested"] if rewritings else [])]


def _count_contracts(published: Sequence[Report]) -> str:
    """How the contracts of the published models were found to hold: each model counts once, by its weakest term."""
    found = Counter(_describe_proof(report) for report in published if report.has_contract)
    words = [
        f"{found[word]:,} {word}"
        for word in ("proved", "counted", "enforced in part", "unproved", "violated")
        if found[word]
    ]
    if words:
        first, _, how = words[0].partition(" ")
        words[0] = f"{first} {'contract' if first == '1' else 'contracts'} {how}"
    without = len(published) - sum(found.values())
    return ", ".join([*words, *([f"{without:,} without a contract"] if without else [])])


def _describe_watched(reports: Sequence[Report]) -> str:
    """Those that were only watched; what would have been stopped is named."""
    names = sorted(report.details.name or report.model for report in reports if would_stop(report))
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    said = f" ({len(names):,} would have been stopped: {', '.join(names[:NAMED])}{more})" if names else ""
    return f"{len(reports):,} watched{said}"


def _describe_proof(report: Report) -> str:
    if report.verdict is not Verdict.PROVED:
        return str(report.verdict)
    if report.details.unenforced:
        return "enforced in part"
    return "counted" if any(is_counted(finding) for finding in report.of(Verdict.PROVED)) else "proved"


def _count_kinds(left: Mapping[str, Left]) -> list[str]:
    """Seeds and snapshots counted, then models, the first ones with their names and reasons: by name, since threads
    end in any order."""
    kinds = Counter(node.kind for node in left.values())
    parts = [format_count(number, kind) for kind, number in sorted(kinds.items()) if kind != "model"]
    models = [f"{name}: {node.reason}" for name, node in sorted(left.items()) if node.kind == "model"]
    if models:
        more = f"; and {len(models) - NAMED} more" if len(models) > NAMED else ""
        parts.append(f"{format_count(len(models), 'model')}: {'; '.join(models[:NAMED])}{more}")
    return parts


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
