"""`planproof diff`: two compiled projects side by side, or one model's staged rows beside the published ones.

`planproof diff --staged`: what a publish of one model would change, row by row.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from dbt_planproof.compiler import DBT
from planproof.cli import comparing, options, output
from planproof.project.diff import compare_projects, report_changes
from planproof.project.manifest import read_project
from planproof.project.reads import ProjectError
from planproof.project.request import Progress, Request
from planproof.report.model import Report
from planproof.report.parts import neutralize
from planproof.report.run import run_report


def _compare_staged(model: str, keys: Sequence[str], wanted: output.Wanted, given: Mapping[str, Any]) -> None:
    """Compares one model, shows what was found, and exits with the report's code."""
    started = datetime.now(timezone.utc)
    place = {key: value for key, value in given.items() if key not in ("conf", "given_vars", "full_refresh")}
    request = Request(
        "run",
        compiler=DBT,
        **options.convert_to_plain(place),
        select=(model,),
        spark=options.parse_conf(given["conf"]),
        vars=options.parse_vars(given["given_vars"]),
        full_refresh=given["full_refresh"],
        threads=1,
    )
    request = replace(request, keys=tuple(keys) or _find_unique_key(request, model))
    told = Progress()
    with output.console(stderr=True).status("staging the model"), redirect_stdout(sys.stderr):
        reports = request.reports(request.open_session(told), told)
    if len(reports) != 1:
        raise ProjectError(f"--staged: {model!r} selects {len(reports)} models; name one")
    run = run_report("diff", reports, started)
    if wanted.is_text:
        out = output.console()
        for line in _render_lines(reports[0]):
            out.print(neutralize(line), markup=False, soft_wrap=True)
    output.finish(run, wanted, fail_on=None, project_dir=request.project_dir)


def _find_unique_key(request: Request, model: str) -> tuple[str, ...]:
    """The key by which dbt matches the model's rows, as it was compiled last. Raises `click.UsageError`."""
    try:
        node = request.location.project().find_by_relation(model)
    except ProjectError:
        node = None
    key = (node.raw.get("config") or {}).get("unique_key") if node is not None else None
    found = (key,) if isinstance(key, str) else tuple(map(str, key or ()))
    if not found:
        raise click.UsageError(f"{model} has no unique_key that is known here; give --key COLUMNS")
    return found


def _render_lines(report: Report) -> list[str]:
    change, found = report.details.change, report.details.comparison
    lines = [f"{report.model}: {change.line(20)}"] if change is not None else []
    if found is not None:
        lines += found.lines()
    return [*lines, "Nothing was published."] if lines else []


_PROJECT = click.Path(path_type=Path)


def _format_flag(name: str) -> str:
    """How the parameter of this command is written on the command line."""
    written = {p.name: p.opts for p in click.get_current_context().command.params}
    return max(written[name], key=len)


@click.command(cls=options.Sectioned)
@click.argument("old", type=_PROJECT, required=False)
@click.argument("new", type=_PROJECT, default=Path())
@comparing.fail_on
@options.report
@click.option("--sources", type=click.Path(dir_okay=False, path_type=Path), help="A freeze file with source schemas.")
@click.option("--staged", "model", metavar="MODEL", help="Compares this model's rows, staged, with the published ones.")
@click.option(
    "--key", "keys", multiple=True, metavar="COLUMNS", help="With a model: the columns that make a row unique."
)
@click.option("--vars", "given_vars", metavar="YAML", help="With --staged: variables for dbt.")
@click.option("--full-refresh", is_flag=True, help="With a model: builds an incremental one anew.")
@options.project
@options.python_functions
@options.spark
def diff(
    old: Path | None,
    new: Path,
    fail_on: str,
    wanted: output.Wanted,
    sources: Path | None,
    model: str | None,
    keys: tuple[str, ...],
    **given: Any,
) -> None:
    """Shows what readers of each model lose or gain between two compiled projects, OLD and NEW (default: the one here).

    OLD and NEW are manifest.json files or project directories. Exit codes: 0 nothing breaking, 1 breaking changes,
    2 could not run. Needs neither Java nor Spark.

    With --staged MODEL --key COLUMNS: builds the model beside its table, on Spark, shows which rows a publish would
    add, remove and change, with examples of both values, and publishes nothing; no hook runs. Exit codes: 0 the model
    would be published, 1 it would be stopped, 2 could not run.

    With --full-refresh MODEL: the same for an incremental model, built anew: its table is compared with
    what a full refresh would make. Without --key its `unique_key` is the key.
    """
    named = click.get_current_context().get_parameter_source
    if model is None and old is not None and given["full_refresh"] and named("new") is ParameterSource.DEFAULT:
        model, old = str(old), None
    if model is not None:
        listed = [name.strip() for text in keys for name in text.split(",") if name.strip()]
        if old is not None or not (listed or given["full_refresh"]):
            raise click.UsageError("--staged takes --key COLUMNS, and neither OLD nor NEW")
        _compare_staged(model, listed, wanted, given)
        return
    wrong = [name for name in (*given, "keys") if named(name) is ParameterSource.COMMANDLINE]
    if wrong or old is None:
        without = "give OLD, the manifest or project to compare with, or --staged MODEL"
        raise click.UsageError(f"{_format_flag(wrong[0])} goes with --staged" if wrong else without)
    started, after = datetime.now(timezone.utc), read_project(new)
    found = compare_projects(read_project(old), after, frozen=sources)
    # `--json` is older than the report's one schema, and keeps its own form.
    remarks = [*found.remarks, *([] if found.compared else ["nothing was compared"])]
    report = run_report("diff", report_changes(found), started, project=after.name, remarks=remarks)
    plain = replace(wanted, stdout="text") if click.get_current_context().params.get("as_json") else wanted
    output.write_forms(report, plain, project_dir=new if new.is_dir() else new.parent)
    comparing.finish(found, fail_on, as_json=wanted.stdout != plain.stdout, quiet=not plain.is_text)
