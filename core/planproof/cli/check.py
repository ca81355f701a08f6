"""`planproof check`: offline, planes 1 to 3, and its baseline: the findings that a project had when it began to check,
which fail its checks no more.

A finding of a baseline is known by its model, code, column and promise, and by how many of them there were, so that
lines may move.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import redirect_stdout
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import click

from dbt_planproof.compiler import DBT
from planproof.cli import options, output
from planproof.project.reads import ProjectError
from planproof.project.request import Request
from planproof.regular import read_regular
from planproof.report import Report, run_report
from planproof_engine import Finding, Verdict, evolve

_VERSION = 1
_LARGEST = 2**25
"""Bytes, some 200,000 findings: what JSON says in one byte takes thirty once it is read."""
_MOST = 2**31
"""Findings of one key: Python does not print a number of thousands of digits."""

Key = tuple[str, str, str, str]
"""Model, code, column, promise."""


def write_baseline(file: Path, reports: Iterable[Report]) -> str:
    """Writes what the reports of a check found, and says so. What the file holds of models that were not checked this
    time, because they were not selected or not compiled, stays. Raises `ProjectError`."""
    reports = list(reports)
    found = Counter(_key(report, f) for report in reports for f in report.findings if f.verdict is not Verdict.PROVED)
    checked = {_name(report) for report in reports if report.outcome == "checked"}
    kept = Counter({key: count for key, count in _read_earlier(file).items() if key[0] not in checked})
    found |= kept
    names = ("model", "code", "column", "promised", "count")
    rows = [json.dumps(dict(zip(names, (*key, found[key]))), ensure_ascii=False) for key in sorted(found)]
    listed = ",\n".join(f"  {row}" for row in rows)
    output.write(file, f'{{"version": {_VERSION}, "findings": [\n{listed}\n]}}\n')
    many, rest = sum(found.values()), sum(kept.values())
    of_others = f", {rest} of them of models that were not checked now" if rest else ""
    return f"wrote {many} {'finding' if many == 1 else 'findings'} to {file}{of_others}"


def read_baseline(file: Path) -> Counter[Key]:
    """How many of each finding are known. Raises `ProjectError` for a file that is no baseline."""
    try:
        form = json.loads(read_regular(file, _LARGEST).decode("utf-8"))
        if form["version"] != _VERSION:
            raise ProjectError(f"{file}: its version is {form['version']!r}, and this planproof reads {_VERSION}")
        known: Counter[Key] = Counter()
        for row in form["findings"]:
            count = row["count"]
            if type(count) is not int or not 0 <= count <= _MOST:
                raise ValueError(count)
            known[(str(row["model"]), str(row["code"]), str(row["column"]), str(row["promised"]))] += count
        return known
    except ProjectError:
        raise
    except OSError as error:
        raise ProjectError(f"{file}: cannot be read ({error.strerror or error}); --write-baseline writes it") from error
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise ProjectError(f"{file}: is no baseline of planproof; --write-baseline writes one") from error


def _read_earlier(file: Path) -> Counter[Key]:
    """The baseline that is about to be replaced; empty where a link, or something else, is."""
    try:
        return Counter() if file.is_symlink() else read_baseline(file)
    except ProjectError:
        return Counter()


def drop_known(reports: Sequence[Report], known: Counter[Key], file: Path) -> tuple[list[Report], list[str]]:
    """The reports without the findings that are known, and what is to be said of the baseline. An entry of a model that
    was judged, and is not found any more, is named as gone."""
    left = known.copy()
    kept = [_drop_from_report(report, left) for report in reports]
    judged = {_name(report) for report in reports if report.outcome == "checked"}
    many = sum(len(report.details.known or ()) for report in kept)
    gone = sum(count for key, count in left.items() if key[0] in judged)
    remarks = [f"of {file} {many} known {_format_findings(many)} left out"] if many else []
    if gone:
        remarks.append(f"of {file} {gone} {_format_findings(gone)} no longer there; --write-baseline writes it anew")
    return kept, remarks


def _format_findings(number: int) -> str:
    return "finding is" if number == 1 else "findings are"


def _drop_from_report(report: Report, left: Counter[Key]) -> Report:
    """Takes the known findings out of a report, and off `left`. What could not run is judged as it is."""
    if report.outcome != "checked":
        return report
    new, known = [], []
    for finding in report.findings:
        key = _key(report, finding)
        if finding.verdict is Verdict.PROVED or left[key] < 1:
            new.append(finding)
            continue
        left[key] -= 1
        known.append(f"{finding.code} {finding.verdict}: {finding.message}")
    if not known:
        return report
    return evolve(report, findings=tuple(new), details=evolve(report.details, known=tuple(known)))


def _key(report: Report, finding: Finding) -> Key:
    return _name(report), finding.code, finding.field or "", finding.promised or ""


def _name(report: Report) -> str:
    return report.details.unique_id or report.model


class _CheckProgress(output.NamedProgress):
    """Also the remarks on the project as a whole, and on standard error what takes long."""

    def __init__(self) -> None:
        self.remarks: list[str] = []

    def on_spark_start(self) -> None:
        click.echo("Spark starts", err=True)

    def on_compile(self) -> None:
        click.echo("dbt compiles the project", err=True)

    def on_remark(self, remark: str) -> None:
        self.remarks.append(remark)


@click.command(cls=options.Sectioned)
@options.project
@options.selection
@options.settings("check")
@options.report
@options.sources
@click.option("--compile", "compiles", is_flag=True, help="Runs `dbt compile` first, in a target folder of its own.")
@click.option("--vars", "given_vars", metavar="YAML", help="Variables for dbt, with --compile.")
@options.spark
@click.option(
    "--baseline",
    type=options.FILE,
    help="A file of known findings: only new ones are shown, and fail. `planproof run` takes none.",
)
@click.option("--write-baseline", "written", type=options.FILE, help="Writes today's findings as the baseline.")
@options.verbose
@click.option("--jobs", type=click.IntRange(min=1), help="How many processes check models. Default: one per core.")
@options.cache
@click.option("--ansi/--no-ansi", default=None, help="ANSI mode. Default: off, as dbt-spark runs.")
def check(
    settings: dict[str, Any],
    wanted: output.Wanted,
    conf: tuple[str, ...],
    given_vars: str | None,
    ansi: bool | None,
    baseline: Path | None,
    written: Path | None,
    verbose: bool,
    **given: Any,
) -> None:
    """Checks the compiled models against their contracts, offline.

    Needs the manifest of `dbt compile`, but neither Java nor Spark. What is known of a model's columns is used in the
    models that read it. A model whose files changed since it was compiled is unproved; --compile runs dbt again, which
    needs its warehouse.
    """
    if given_vars and not given["compiles"]:
        raise click.UsageError("--vars changes what dbt compiles: it goes with --compile")
    wanted = evolve(wanted, is_verbose=verbose)
    started = datetime.now(timezone.utc)
    spark = options.parse_conf(conf)
    if ansi is not None:
        spark["spark.sql.ansi.enabled"] = str(ansi).lower()
    variables = options.parse_vars(given_vars)
    request = Request(
        "check", compiler=DBT, **options.convert_to_plain(given), settings=settings, spark=spark, vars=variables
    )
    shown = _CheckProgress()
    # dbt prints to standard output, which is the report's.
    with redirect_stdout(sys.stderr):
        reports = request.reports(None, shown, brief=wanted.is_brief)
    remarks = shown.remarks
    if written is not None:
        remarks.append(write_baseline(written, reports))
        baseline = written
    if baseline is not None:
        reports, more = drop_known(reports, read_baseline(baseline), baseline)
        remarks += more
    report = run_report("check", reports, started, project=shown.name, remarks=remarks)
    output.finish(report, wanted, fail_on=settings.get("fail_on"), project_dir=given["project_dir"])
