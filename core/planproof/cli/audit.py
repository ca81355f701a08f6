"""`planproof audit`: what is stored now against what was promised."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import click

from dbt_planproof.compiler import DBT
from planproof.cli import options, output
from planproof.project.request import Request
from planproof.report import run_report


@click.command(cls=options.Sectioned)
@click.argument("names", nargs=-1)
@options.project
@options.selection
@options.settings("audit")
@options.report
@options.spark
@click.option(
    "--contract",
    "contract_file",
    type=options.FILE,
    help="A YAML or JSON file with `columns: [{name, type, nullable}]`, in place of the project's contracts.",
)
@click.option(
    "--at", help="A snapshot, tag or branch of Iceberg tables, a version or timestamp of Delta's, in place of now."
)
def audit(
    settings: dict[str, Any], wanted: output.Wanted, conf: tuple[str, ...], contract_file: Path | None, **given: Any
) -> None:
    """Audits stored tables, or folders of Parquet files, against their contracts.

    NAMES are models, tables, or paths (with a slash). Without any, every selected model with a contract is audited.
    """
    started = datetime.now(timezone.utc)
    if contract_file is not None and (not given["names"] or given["select"] or given["exclude"]):
        raise click.UsageError("--contract goes with the NAMES of the tables or paths that it is about")
    request = Request(
        "audit",
        compiler=DBT,
        **options.convert_to_plain(given),
        settings=settings,
        spark=options.parse_conf(conf),
        contract_file=str(contract_file) if contract_file is not None else None,
    )
    shown = output.NamedProgress()
    reports = request.reports(request.open_session(), shown)
    if not reports and wanted.is_text and not wanted.files:
        click.echo("nothing to audit: no model is selected that has changed, or whose result was asked for")
        return
    report = run_report("audit", reports, started, project=shown.name)
    output.finish(report, wanted, fail_on=settings.get("fail_on"), project_dir=given["project_dir"])
