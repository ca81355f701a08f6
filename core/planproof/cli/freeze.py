"""`planproof freeze`: the sources' schemas, read from Spark and written down."""

from __future__ import annotations

import json
from pathlib import Path

import click

from planproof.cli import options, output
from planproof.cli.diff import fail_on_option, finish_comparison
from planproof.project import ProjectLocation
from planproof.project.freeze import find_drift, freeze_relations, render_form
from planproof.project.sources import FREEZE_FILES, read_frozen
from planproof.report import format_count, neutralize, neutralize_json


@click.command(cls=options.Sectioned)
@options.location
@options.spark
@fail_on_option
@click.option("--json", "as_json", is_flag=True, help="As JSON on standard output.")
@click.option("--output", "-o", "file", type=options.FILE, help="Default: in the project.")
@click.option("--check", is_flag=True, help="Writes nothing: compares the live sources with the file.")
def freeze(
    location: ProjectLocation, conf: tuple[str, ...], fail_on: str, as_json: bool, file: Path | None, check: bool
) -> None:
    """Writes the schemas of sources, seeds and snapshots, as Spark reports them, to planproof_sources.json.

    `planproof check` and `diff` read that file. What Spark does not know is listed and left out; the models that read
    it are unproved. With --check the exit code is 1 where a source broke since.
    """
    project, spark = location.project(), options.parse_conf(conf)
    if check:
        frozen = read_frozen(project, file)
        found = find_drift(project, location.open_session(spark), frozen, location.conf(spark))
        return finish_comparison(found, fail_on, as_json)
    form, missing = freeze_relations(project, location.open_session(spark))
    where = file or (project.directory or location.project_dir or Path()) / FREEZE_FILES[0]
    output.write(where, render_form(form))
    said = (
        neutralize_json(json.dumps(form, indent=2))
        if as_json
        else neutralize(f"{where}: {format_count(len(form['sources']), 'schema')}")
    )
    click.echo(said)
    for relation, why in missing.items():
        click.echo(neutralize(f"not frozen: {relation}: {why}"), err=True)
    return None
