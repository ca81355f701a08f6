"""`planproof infer`: contracts for models that have none."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click

from dbt_planproof.compiler import DBT
from planproof.cli import options, output
from planproof.project import ProjectError, ProjectLocation
from planproof.project.infer import group_by_file, infer_project
from planproof.report import join_lines, neutralize, neutralize_json
from planproof_engine import evolve


@click.command(cls=options.Sectioned)
@options.location
@options.selection
@options.sources
@click.option(
    "--into", type=options.FILE, help="The YAML for models that none describes yet. Default: one in their folder."
)
@click.option("--tighten", is_flag=True, help="Also adds NOT NULL where the plan proves it, to existing contracts too.")
@click.option("--dry-run", is_flag=True, help="Shows what would be written, and writes nothing.")
@click.option("--json", "as_json", is_flag=True, help="What was inferred, as JSON on standard output.")
def infer(
    location: ProjectLocation,
    select: tuple[str, ...],
    exclude: tuple[str, ...],
    selector: str | None,
    state: Path | None,
    sources: Path | None,
    into: Path | None,
    tighten: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Writes a contract into the YAML of each selected model that has none: the columns its query has today.

    Needs the manifest of `dbt compile`, neither Java nor Spark. Comments and order of the YAML are kept, and what its
    author declared is not changed. A model whose schema is not known offline is left out, with the reason.
    """
    # It needs ruamel.yaml, which no other command does.
    from planproof.project.properties import add_contracts

    project = evolve(location, compiler=DBT).project()
    found = infer_project(
        project, select, exclude, location.conf(), frozen=sources, tighten=tighten, selector=selector, state=state
    )
    left = {one.node.name: one.reason for one in found if one.reason}
    texts: dict[Path, tuple[str, list[str]]] = {}
    files = group_by_file(project, found, into)
    for file, inferred in files.items():
        try:
            texts[file] = add_contracts(file, inferred)
        except ProjectError as error:
            if len(files) == 1:
                raise
            left |= {one.node.name: str(error) for one in inferred}
    written = {file: (text, said) for file, (text, said) in texts.items() if said}
    for file, (text, _) in written.items():
        if not dry_run:
            output.write(file, text)
    changed = {os.path.relpath(file): said for file, (_, said) in written.items()}
    if as_json:
        click.echo(neutralize_json(json.dumps({"written": not dry_run, "files": changed, "left": left}, indent=2)))
        return
    for shown, said in changed.items():
        click.echo(neutralize(f"{'would write' if dry_run else 'wrote'} {shown}"))
        click.echo("\n".join(f"  {neutralize(join_lines(line))}" for line in said))
    for reason in dict.fromkeys(left.values()):
        names = [name for name, why in left.items() if why == reason]
        more = f" and {len(names) - _NAMED} more (--json names them)" if len(names) > _NAMED else ""
        click.echo(neutralize(f"left out {', '.join(names[:_NAMED])}{more}: {reason}"))
    if not changed:
        click.echo("nothing to write")
    elif not dry_run:
        click.echo("next: `dbt compile`, then `planproof check`")


_NAMED = 5
"""How many models are named that are left out for one reason."""
