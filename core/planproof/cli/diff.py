"""`planproof diff`: two compiled projects side by side."""

from __future__ import annotations

from pathlib import Path

import click

from planproof.cli import comparing
from planproof.project.diff import compare_projects
from planproof.project.manifest import read_project

_PROJECT = click.Path(path_type=Path)


@click.command()
@click.argument("old", type=_PROJECT)
@click.argument("new", type=_PROJECT, default=Path())
@comparing.outcome
@click.option("--sources", type=click.Path(dir_okay=False, path_type=Path), help="A freeze file with source schemas.")
def diff(old: Path, new: Path, fail_on: str, as_json: bool, sources: Path | None) -> None:
    """Shows what readers of each model lose or gain between two manifests, OLD and NEW (default: the project here).

    OLD and NEW are manifest.json files or project directories. Exit codes: 0 nothing breaking, 1 breaking changes,
    2 could not run. Needs neither Java nor Spark.
    """
    comparing.finish(compare_projects(read_project(old), read_project(new), frozen=sources), fail_on, as_json)
