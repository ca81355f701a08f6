"""`planproof recover`: finishes or undoes publishes that were killed."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

import click

from planproof.cli import options, output
from planproof.project.place import Place
from planproof.report.run import run_report


@click.command()
@options.place
@options.outcome
@click.option(
    "--force",
    is_flag=True,
    help="Also takes over locks whose owner cannot be asked (be sure that it is dead), and gives up publishes that "
    "this catalog does not know, with their files as they lie.",
)
def recover(
    project_dir: Path,
    manifest: Path | None,
    profiles_dir: Path | None,
    target: str | None,
    fail_on: str | None,
    as_json: bool,
    html: Path | None,
    force: bool,
) -> None:
    """Finishes publishes that were killed after their commit point and undoes the others."""
    started = datetime.now(timezone.utc)
    session = Place(project_dir, manifest, profiles_dir, target).open_session()
    from planproof.guard import Guard

    reports = Guard(session).recover(force=force)
    report = run_report("recover", reports, started)
    if not reports and not as_json:
        click.echo("nothing to recover: no publish was left half way")
        return
    output.finish(report, as_json=as_json, html=html, fail_on=fail_on)
