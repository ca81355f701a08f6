"""`planproof clean`: leaves planproof. Tables then lie where dbt would have put them, and planproof's folders are
gone."""

from __future__ import annotations

from datetime import datetime, timezone

import click

from planproof.cli import options, output
from planproof.project import ProjectLocation
from planproof.report import neutralize, run_report


@click.command(cls=options.Sectioned)
@options.location
@options.report_options
@click.option(
    "--force", is_flag=True, help="Also deletes old versions of tables that this catalog does not know (any more)."
)
def clean(location: ProjectLocation, fail_on: str | None, wanted: output.Wanted, force: bool) -> None:
    """Prepares to remove planproof: moves each table's files to where dbt puts them, and deletes its folders.

    Killed publishes are settled first. If it is killed, run it again: no file is deleted before the catalog
    knows its new place. Run it while nobody publishes or reads: a reader that listed a table's files before it moved
    has to refresh it. Afterwards uninstall planproof, or set PLANPROOF=off.
    """
    started = datetime.now(timezone.utc)
    profile = location.profile()
    session = location.open_session()
    from planproof.guard import Guard
    from planproof.publish.transaction.leave import move_back
    from planproof.publish.transaction.recover import list_roots
    from planproof.session import store_of

    looked = list_roots(session, None)
    reports = Guard(session).recover()
    if all(report.outcome != "failed" for report in reports):
        reports += move_back(session, store_of(session), looked, force)
    where = f"target {profile.target} of {profile.file}: looked in {', '.join(looked)}"
    if not reports and wanted.is_text and not wanted.files:
        click.echo(neutralize(f"nothing of planproof is left ({where})"))
        return
    report = run_report("clean", reports, started, remarks=[where])
    output.finish(report, wanted, fail_on=fail_on, project_dir=location.project_dir)
