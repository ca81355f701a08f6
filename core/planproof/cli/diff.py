"""`planproof diff`: two compiled projects side by side."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import click

from planproof.cli import comparing, options, output
from planproof.project.changed import reports_of
from planproof.project.diff import compare_projects
from planproof.project.manifest import read_project
from planproof.report.run import run_report

_PROJECT = click.Path(path_type=Path)


@click.command()
@click.argument("old", type=_PROJECT)
@click.argument("new", type=_PROJECT, default=Path())
@comparing.fail_on
@options.report
@click.option("--sources", type=click.Path(dir_okay=False, path_type=Path), help="A freeze file with source schemas.")
def diff(old: Path, new: Path, fail_on: str, wanted: output.Wanted, sources: Path | None) -> None:
    """Shows what readers of each model lose or gain between two manifests, OLD and NEW (default: the project here).

    OLD and NEW are manifest.json files or project directories. Exit codes: 0 nothing breaking, 1 breaking changes,
    2 could not run. Needs neither Java nor Spark.
    """
    started, after = datetime.now(timezone.utc), read_project(new)
    found = compare_projects(read_project(old), after, frozen=sources)
    # `--json` is older than the report's one schema, and keeps its own form.
    report = run_report("diff", reports_of(found), started, project=after.name)
    plain = replace(wanted, stdout="text") if click.get_current_context().params.get("as_json") else wanted
    output.written(report, plain, project_dir=new if new.is_dir() else new.parent)
    comparing.finish(found, fail_on, as_json=wanted.stdout != plain.stdout, quiet=not plain.is_text)
