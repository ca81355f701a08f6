"""`planproof check`: offline, planes 1 to 3."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import click

from dbt_planproof.compiler import DBT
from planproof.cli import baseline as baselines
from planproof.cli import options, output
from planproof.project.request import Request
from planproof.report.run import run_report


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
@click.option("--sources", type=click.Path(dir_okay=False, path_type=Path), help="A freeze file with source schemas.")
@click.option("--compile", "compiles", is_flag=True, help="Runs `dbt compile` first, in a target folder of its own.")
@click.option("--vars", "given_vars", metavar="YAML", help="Variables for dbt, with --compile.")
@options.spark
@click.option(
    "--baseline",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A file of known findings: only new ones are shown, and fail. `planproof run` takes none.",
)
@click.option(
    "--write-baseline",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Writes today's findings as the baseline.",
)
@options.verbose
@click.option("--jobs", type=click.IntRange(min=1), help="How many processes check models. Default: one per core.")
@click.option("--cache/--no-cache", default=True, help="Whether results of earlier checks are used. Default: yes.")
@click.option("--ansi/--no-ansi", default=None, help="ANSI mode. Default: off, as dbt-spark runs.")
def check(
    settings: dict[str, Any],
    wanted: output.Wanted,
    conf: tuple[str, ...],
    given_vars: str | None,
    ansi: bool | None,
    baseline: Path | None,
    write_baseline: Path | None,
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
    wanted = replace(wanted, is_verbose=verbose)
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
    if write_baseline is not None:
        remarks.append(baselines.write_baseline(write_baseline, reports))
        baseline = write_baseline
    if baseline is not None:
        known = baselines.read_baseline(baseline)
        reports, more = baselines.drop_known(reports, known, baseline)
        remarks += more
    report = run_report("check", reports, started, project=shown.name, remarks=remarks)
    output.finish(report, wanted, fail_on=settings.get("fail_on"), project_dir=given["project_dir"])
