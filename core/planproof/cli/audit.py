"""`planproof audit`: what is stored now against what was promised."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

import click

from planproof.cli import options, output
from planproof.project.audit import Promise, audit_all, promises
from planproof.project.contracts import read_contract
from planproof.project.place import Place
from planproof.report.run import run_report
from planproof.settings import Settings


@click.command()
@click.argument("names", nargs=-1)
@options.place
@options.selection
@options.outcome
@click.option(
    "--contract",
    "contract_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A YAML or JSON file with `columns: [{name, type, nullable}]`, in place of the project's contracts.",
)
def audit(
    names: tuple[str, ...],
    project_dir: Path,
    manifest: Path | None,
    profiles_dir: Path | None,
    target: str | None,
    select: tuple[str, ...],
    exclude: tuple[str, ...],
    fail_on: str | None,
    as_json: bool,
    html: Path | None,
    contract_file: Path | None,
) -> None:
    """Audits stored tables, or directories of Parquet files, against their contracts.

    NAMES are models, tables, or paths (with a slash). Without any, every selected model with a contract is audited.
    """
    started = datetime.now(timezone.utc)
    place = Place(project_dir, manifest, profiles_dir, target)
    if contract_file is not None:
        if not names or select or exclude:
            raise click.UsageError("--contract goes with the NAMES of the tables or paths that it is about")
        contract = read_contract(contract_file)
        wanted = [Promise(name, contract, Settings.of(options.settings(fail_on)), {"contract": True}) for name in names]
        project_name = ""
    else:
        project = place.project()
        wanted = promises(project, names, select, exclude, options.settings(fail_on), place.conf())
        project_name = project.name
    reports = audit_all(place.open_session(), wanted)
    report = run_report("audit", reports, started, project=project_name)
    output.finish(report, as_json=as_json, html=html, fail_on=fail_on)
