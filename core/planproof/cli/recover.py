"""`planproof recover`: finishes or undoes publishes that were killed."""

from __future__ import annotations

from datetime import datetime, timezone

import click

from planproof.cli import options, output
from planproof.project import ProjectLocation
from planproof.report import neutralize, run_report


@click.command(cls=options.Sectioned)
@options.location
@options.spark
@options.report_options
@click.option(
    "--force",
    is_flag=True,
    help="Takes over every lock at once, without waiting for 60 seconds in which nobody renews it. A run that is still "
    "alive stops before its next step, and no table is harmed: run its model again. Also gives up publishes that "
    "this catalog does not know, and leaves their files.",
)
def recover(
    location: ProjectLocation, conf: tuple[str, ...], fail_on: str | None, wanted: output.Wanted, force: bool
) -> None:
    """Finishes the publishes that were killed after their commit point, and undoes the others.

    Looks in the locations of all databases that the target's catalog lists, and says where it looked.
    """
    started = datetime.now(timezone.utc)
    spark = options.parse_conf(conf)
    # Asked before Spark starts: where no Spark is named, one of our own would know no tables.
    where = location.describe_spark(spark)
    session = location.open_session(spark)
    from planproof.guard import Guard
    from planproof.publish.transaction.recover import list_roots

    looked = list_roots(session, None)
    reports = Guard(session).recover(force=force)
    where = f"{where}: looked in {', '.join(looked)}"
    report = run_report("recover", reports, started, remarks=[where])
    if not reports and wanted.is_text and not wanted.files:
        click.echo(neutralize(f"nothing to recover: no publish was left half way ({where})"))
        return
    output.finish(report, wanted, fail_on=fail_on, project_dir=location.project_dir)
