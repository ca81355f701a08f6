"""Reports as one HTML page: no script, nothing loaded from elsewhere, no row of data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

from jinja2 import Environment, StrictUndefined, Template

from planproof.report.model import PLANES, Report, Verdict
from planproof.report.parts import fate, stopped, where
from planproof.report.picture import picture
from planproof.report.run import RunReport
from planproof.report.text import quote, summary


class PlaneBox(NamedTuple):
    """One box of a model's plane picture."""

    name: str
    status: str
    reason: str
    style: str
    sampled: bool = False


def render(reports: Iterable[Report], run: RunReport | None = None, title: str = "planproof") -> str:
    """The page of some reports; `run` adds when they were made and with which versions. All text is escaped."""
    shown = list(reports)
    return _template().render(
        title=title,
        summary=summary(shown).plain,
        run=run,
        reports=shown,
        planes=lambda report: list(plane_boxes(report)),
        picture=picture,
        stopped=stopped,
        fate=fate,
        quote=quote,
        where=where,
    )


def render_run(run: RunReport) -> str:
    """The page of one command."""
    project = f" · {run.project}" if run.project else ""
    return render(run.reports, run, f"planproof {run.command}{project}")


def plane_boxes(report: Report) -> Iterator[PlaneBox]:
    """The nine planes in order: `broken` where a finding was violated, else by how the plane was read."""
    readings = {reading.plane: reading for reading in report.planes}
    broken = {finding.plane for finding in report.of(Verdict.VIOLATED)}
    for plane in PLANES:
        reading = readings.get(plane)
        status = reading.status if reading is not None else "not present"
        style = {"read": "read", "unreadable": "unreadable"}.get(status, "absent")
        reason = (reading.reason or reading.what if reading is not None else None) or ""
        sampled = reading is not None and reading.looked_at == "sample"
        yield PlaneBox(plane, status, reason, "broken" if plane in broken else style, sampled)


@lru_cache(maxsize=1)
def _template() -> Template:
    source = files("planproof.report").joinpath("page.html").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(source)
