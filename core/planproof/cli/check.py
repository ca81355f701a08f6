"""`planproof check`: offline, planes 1 to 3."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

import click

from planproof.cli import options, output
from planproof.project.offline import check_project
from planproof.project.place import Place
from planproof.report.run import run_report


@click.command()
@options.place
@options.selection
@options.outcome
@click.option("--sources", type=click.Path(dir_okay=False, path_type=Path), help="A freeze file with source schemas.")
@click.option("--conf", multiple=True, metavar="KEY=VALUE", help="A Spark setting of the session. May be repeated.")
@click.option("--ansi/--no-ansi", default=None, help="ANSI mode. Default: off, as dbt-spark runs.")
def check(
    project_dir: Path,
    manifest: Path | None,
    profiles_dir: Path | None,
    target: str | None,
    select: tuple[str, ...],
    exclude: tuple[str, ...],
    fail_on: str | None,
    as_json: bool,
    html: Path | None,
    sources: Path | None,
    conf: tuple[str, ...],
    ansi: bool | None,
) -> None:
    """Checks the models of a compiled project offline: contract, logical plan, rewritten plan.

    Needs the manifest of `dbt compile`, neither Java nor Spark. Schemas and evidence of non-null flow through ref().
    """
    started = datetime.now(timezone.utc)
    settings = options.spark_settings(conf)
    if ansi is not None:
        settings["spark.sql.ansi.enabled"] = str(ansi).lower()
    place = Place(project_dir, manifest, profiles_dir, target)
    project = place.project()
    reports = check_project(
        project, select, exclude, place.conf(settings), frozen=sources, overrides=options.settings(fail_on)
    )
    report = run_report("check", reports, started, project=project.name)
    output.finish(report, as_json=as_json, html=html, fail_on=fail_on)
