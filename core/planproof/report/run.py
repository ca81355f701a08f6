"""What one command found out about many models."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from datetime import datetime, timezone
from functools import cache
from typing import Any

from planproof.report.model import WRITERS, Report, find_worst
from planproof.report.parts import is_failing, neutralize_json
from planproof_engine import Verdict, record

PACKAGES = ("planproof", "pyspark", "pyarrow", "dbt-core", "dbt-spark", "apache-airflow")
FORMAT = 1
HOW = ("checked by the rules of Spark", "checked for Databricks by the rules of Spark")
"""How a remark begins that says how was checked; the others say what was not, or what is left to do."""


@record(frozen=True, slots=True)
class RunReport:
    """The reports of one command. `started` is ISO 8601 in UTC, `seconds` wall-clock time."""

    reports: tuple[Report, ...] = ()
    command: str = ""
    project: str = ""
    started: str = ""
    seconds: float = 0.0
    versions: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        return find_worst(self.reports)

    @property
    def counts(self) -> Counter[str]:
        return Counter([r.outcome for r in self.reports] + [r.verdict.value for r in self.reports])

    def failing(self, fail_on: str | None = None) -> tuple[Report, ...]:
        """The reports at or above `fail_on`; unless it is given, each model's own setting decides."""
        return tuple(r for r in self.reports if is_failing(r, fail_on))

    def exit_code(self, fail_on: str | None = None) -> int:
        """0 nothing at or above `fail_on`, 1 findings, 2 something could not run. Findings go before crashes."""
        if self.failing(fail_on):
            return 1
        return 2 if any(r.outcome == "failed" for r in self.reports) else 0

    def __str__(self) -> str:
        return WRITERS["text"](self.reports)

    def _repr_html_(self) -> str:
        """What a notebook shows: the text."""
        from html import escape

        return f"<pre>{escape(str(self))}</pre>"

    def to_dict(self, *, brief: bool = False) -> dict[str, Any]:
        """The fields of `to_json`. `brief`: as `Report.to_brief`."""
        return {**self._head(), "reports": [r.to_brief() if brief else r.to_dict() for r in self.reports]}

    def to_lines(self, *, brief: bool = False) -> Iterator[str]:
        """What `to_json` gives, one report a line, each written as it comes: a report of many models is never held
        twice. `brief`: as `Report.to_brief`."""
        head = neutralize_json(json.dumps(self._head(), default=str))
        yield f'{head[:-1]}, "reports": ['
        last = len(self.reports) - 1
        for at, report in enumerate(self.reports):
            form = report.to_brief() if brief else report.to_dict()
            yield neutralize_json(json.dumps(form, default=str)) + ("," if at < last else "")
        yield "]}"

    def _head(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "command": self.command,
            "project": self.project,
            "started": self.started,
            "seconds": self.seconds,
            "verdict": self.verdict.value,
            "versions": dict(self.versions),
            "remarks": list(self.remarks),
        }

    def to_json(self, indent: int | None = None) -> str:
        return neutralize_json(json.dumps(self.to_dict(), indent=indent, default=str))

    @classmethod
    def from_json(cls, text: str) -> RunReport:
        """The report that `to_json` wrote. Raises ValueError for anything else."""
        try:
            form = json.loads(text)
            if form["format"] != FORMAT:
                raise ValueError(f"its format is {form['format']!r}")
            return cls(
                tuple(Report.from_dict(report) for report in form["reports"]),
                form["command"],
                form["project"],
                form["started"],
                form["seconds"],
                form["versions"],
                tuple(form["remarks"]),
            )
        except (ValueError, AttributeError, KeyError, TypeError, RecursionError) as error:
            raise ValueError(f"not a run report of planproof in format {FORMAT}: {error}") from error


def run_report(
    command: str, reports: Sequence[Report], started: datetime, *, project: str = "", remarks: Iterable[str] = ()
) -> RunReport:
    """The report of a command that began at `started` (aware) and ends now."""
    seconds = (datetime.now(timezone.utc) - started).total_seconds()
    began = started.astimezone(timezone.utc).isoformat(timespec="microseconds")
    return RunReport(tuple(reports), command, project, began, round(seconds, 3), _Installed(), tuple(remarks))


class _Installed(Mapping[str, str]):
    """The installed versions of what a result depends on, read where a form of the report tells them."""

    def __getitem__(self, package: str) -> str:
        return _list_versions()[package]

    def __iter__(self) -> Iterator[str]:
        return iter(_list_versions())

    def __len__(self) -> int:
        return len(_list_versions())


@cache
def _list_versions() -> Mapping[str, str]:
    import platform
    from importlib.metadata import PackageNotFoundError, version

    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
