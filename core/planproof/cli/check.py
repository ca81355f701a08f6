"""`planproof check`: offline, planes 1 to 3."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import click

from planproof.cli import options, output
from planproof.project.request import Request
from planproof.report.run import run_report


@click.command()
@options.place
@options.selection
@options.settings
@options.report
@click.option("--sources", type=click.Path(dir_okay=False, path_type=Path), help="A freeze file with source schemas.")
@options.spark
@click.option("--ansi/--no-ansi", default=None, help="ANSI mode. Default: off, as dbt-spark runs.")
def check(
    settings: dict[str, Any],
    as_json: bool,
    html: Path | None,
    markdown: Path | None,
    conf: tuple[str, ...],
    ansi: bool | None,
    **given: Any,
) -> None:
    """Checks the models of a compiled project offline: contract, logical plan, rewritten plan.

    Needs the manifest of `dbt compile`, neither Java nor Spark. Schemas and evidence of non-null flow through ref().
    """
    started = datetime.now(timezone.utc)
    spark = options.spark_settings(conf)
    if ansi is not None:
        spark["spark.sql.ansi.enabled"] = str(ansi).lower()
    request = Request("check", **options.plain(given), settings=settings, spark=spark)
    shown = output.Named()
    reports = request.reports(None, shown)
    report = run_report("check", reports, started, project=shown.name)
    output.finish(report, as_json=as_json, html=html, markdown=markdown, fail_on=settings.get("fail_on"))
