"""What changed in a stored table since it was audited last."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_planproof.errors import PlanproofCannotRun
from planproof_engine import evolve

if TYPE_CHECKING:
    from planproof.report import Report

KEY = "planproof_seen"
_MOST_BYTES = 2**28
Seen = dict[str, Any]


class Last:
    """What the last audit saw, per table: its columns and its rows. Kept in a file, else in the task's XCom."""

    def __init__(self, ti: Any, file: str | None) -> None:
        self._ti, self._file = ti, Path(file).expanduser() if file else None

    def read(self) -> Seen:
        """Nothing where there was no audit before. Raises `PlanproofCannotRun` for a file of another kind."""
        if self._file is None:
            # Without a map index Airflow 3 gives the values of all earlier runs, not the last one's.
            at = -1 if getattr(self._ti, "map_index", None) is None else self._ti.map_index
            found = self._ti.xcom_pull(task_ids=self._ti.task_id, key=KEY, include_prior_dates=True, map_indexes=at)
            return found if isinstance(found, dict) else {}
        if not self._file.exists():
            return {}
        from planproof.regular import read_regular

        try:
            found = json.loads(read_regular(self._file, _MOST_BYTES))
        except (OSError, ValueError, RecursionError) as error:
            raise PlanproofCannotRun(f"the state file {self._file} cannot be read: {error}") from error
        if not isinstance(found, dict):
            raise PlanproofCannotRun(f"the state file {self._file} is not one that planproof wrote")
        return found

    def write(self, reports: Sequence[Report]) -> None:
        """Remembers what could be read now; of other tables what was known before stays."""
        now = {
            **self.read(),
            **{report.model: _describe_report(report) for report in reports if _find_schema(report) is not None},
        }
        if self._file is None:
            self._ti.xcom_push(key=KEY, value=now)
            return
        from planproof.regular import write_anew

        write_anew(self._file, [json.dumps(now, indent=1)])


def add_drift(report: Report, seen: Mapping[str, Any]) -> tuple[Report, list[str]]:
    """The report with its drift under `details.drift`, and the drift in words."""
    before, now = seen.get(report.model), _find_schema(report)
    if now is None or not isinstance(before, Mapping):
        return report, []
    old, new = _read_columns(before.get("columns")), dict(now)
    came = {name: new[name] for name in new if name not in old}
    went = {name: old[name] for name in old if name not in new}
    retyped = {name: [old[name], new[name]] for name in new if name in old and old[name] != new[name]}
    rows = [_read_rows(before.get("rows")), report.rows]
    drift = {"came": came, "went": went, "changed": retyped, "rows": rows}
    said = [f"column {name} {kind} came" for name, kind in came.items()]
    said += [f"column {name} {kind} went" for name, kind in went.items()]
    said += [f"column {name} was {was}, is {now_is}" for name, (was, now_is) in retyped.items()]
    if None not in rows and rows[0] != rows[1]:
        said.append(f"{rows[0]:,} rows at the last audit, {rows[1]:,} now")
    return evolve(report, details=evolve(report.details, drift=drift)), said


def _read_columns(form: Any) -> dict[str, str]:
    """What was written of columns; a file that others can write to may hold anything."""
    listed = form if isinstance(form, list) else ()
    return {str(name): str(kind) for name, kind in (c for c in listed if isinstance(c, list) and len(c) == 2)}


def _read_rows(form: Any) -> int | None:
    return form if isinstance(form, int) else None


def _describe_report(report: Report) -> Seen:
    return {"columns": [list(column) for column in _find_schema(report) or ()], "rows": report.rows}


def _find_schema(report: Report) -> list[tuple[str, str]] | None:
    """What is stored, by the catalog, else by the files."""
    schemas = {reading.plane: reading.schema for reading in report.planes if reading.schema is not None}
    found = schemas.get("catalog") or schemas.get("files")
    return [(name, kind) for name, kind, _ in found] if found else None
