"""A model's columns across its planes: what each plane claims of each column, and where a promise first breaks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from planproof.report.model import PLANES, PlaneReading, Report
from planproof_engine.catalog import split_name
from planproof_engine.finding import Finding, Verdict


class Cell(NamedTuple):
    """What one plane says of one column. `style` is `said`; `nothing`, where the plane has no such column or was not
    read; or `first`, for the first plane that breaks the column's promise. `why` says how it does."""

    text: str
    style: str
    why: str = ""


class Row(NamedTuple):
    """One column of the model with its cell for each plane."""

    name: str
    cells: Sequence[Cell]


class Matrix(NamedTuple):
    """`planes` are those that show a column; `rows` has a broken column before the others."""

    planes: Sequence[str]
    rows: Sequence[Row]


def build_matrix(report: Report) -> Matrix | None:
    """The report's columns by its planes, None where no plane was read with its columns."""
    schemas = {reading.plane: _format_columns(reading) for reading in report.planes if reading.schema is not None}
    first = _find_first_breaks(report)
    if not schemas:
        return None
    broken_at = {finding.plane for finding in first.values()}
    shown = [plane for plane in PLANES if plane in schemas or plane in broken_at]
    names = dict.fromkeys(name for plane in shown for name in schemas.get(plane, {}))
    names.update(dict.fromkeys(name for name in first if name not in names))
    rows = [Row(name, [_make_cell(name, plane, schemas, first.get(name)) for plane in shown]) for name in names]
    rows.sort(key=lambda row: row.name not in first)
    return Matrix(shown, rows)


def _format_columns(reading: PlaneReading) -> Mapping[str, str]:
    return {name: f"{kind}{'' if nullable else ' NOT NULL'}" for name, kind, nullable in reading.schema or ()}


def _find_first_breaks(report: Report) -> dict[str, Finding]:
    """For each column whose promise is violated, the finding of the first plane that shows it."""
    found: dict[str, Finding] = {}
    for finding in sorted(report.of(Verdict.VIOLATED), key=lambda f: PLANES.index(f.plane)):
        if finding.field:
            found.setdefault(split_name(finding.field)[0], finding)
    return found


def _make_cell(name: str, plane: str, schemas: Mapping[str, Mapping[str, str]], broken: Finding | None) -> Cell:
    text = schemas.get(plane, {}).get(name, "")
    if broken is not None and broken.plane == plane:
        return Cell(broken.found or text or "missing", "first", f"promised {broken.promised or 'otherwise'}")
    return Cell(text or "-", "said" if text else "nothing")
