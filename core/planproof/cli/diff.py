"""`planproof diff`: two compiled projects side by side, or with `--staged` what a publish of one model would change,
row by row; and how `diff` and `freeze --check` end.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource
from rich.table import Table

from dbt_planproof.compiler import DBT
from planproof.cli import options, output
from planproof.project import Cache, ProjectError, read_project
from planproof.project.diff import BREAKING, MOST_NAMED, Comparison, SchemaChange, compare_projects, report_changes
from planproof.project.request import Progress, Request
from planproof.project.schedule import count_cores
from planproof.report import Report, format_count, join_lines, neutralize, neutralize_json, run_report
from planproof.report.folding import list_names

F = TypeVar("F", bound=Callable[..., Any])
FAIL_ON = ("breaking", "change", "never")
_WIDE, _TEXT = 10_000, 60
"""Off a terminal no name is folded, so that it can be searched for; what stands before and after is."""


def fail_on_option(function: F) -> F:
    """--fail-on."""
    choice = click.Choice(FAIL_ON)
    return click.option("--fail-on", type=choice, default="breaking", help="What makes the exit code 1.")(function)


def finish_comparison(found: Comparison, fail_on: str, as_json: bool, quiet: bool = False) -> None:
    """Shows the comparison, unless `quiet`, and exits with its code."""
    if quiet:
        pass
    elif as_json:
        form = {
            "breaking": found.breaking,
            "changes": [change.to_dict() for change in found.changes],
            "unread": dict(found.unread),
            "remarks": list(found.remarks),
        }
        click.echo(neutralize_json(json.dumps(form, indent=2)))
    else:
        _show(found)
    broken = found.breaking if fail_on == "breaking" else bool(found.changes)
    # As of a check: findings go before failures of planproof's own, which nothing hides.
    click.get_current_context().exit(1 if broken and fail_on != "never" else 2 if found.failed else 0)


def _show(found: Comparison) -> None:
    out = output.console()
    if not out.is_terminal:
        out.width = _WIDE
    if found.changes:
        table = Table(box=None, header_style="bold", pad_edge=False)
        for head in ("effect", "relation", "column", "change"):
            table.add_column(head, overflow="fold")
        for head in ("before", "after"):
            table.add_column(head, overflow="fold", max_width=None if out.is_terminal else _TEXT)
        table.add_column("reaches", overflow="fold")
        for change in sorted(found.changes, key=lambda c: (c.effect != BREAKING, c.relation, c.column or "")):
            table.add_row(
                *_format_cells(change, ", " if out.is_terminal else ",\n"),
                style="red" if change.effect == BREAKING else None,
            )
        out.print(table)
    by_reason: dict[str, list[str]] = {}
    for name, why in found.unread.items():
        by_reason.setdefault(why, []).append(name)
    for why, names in by_reason.items():
        many = f"{len(names)} relations: " if len(names) > 1 else ""
        said = neutralize(f"not compared: {many}{list_names(names)}: {why}")
        out.print(said, style="dim", markup=False, soft_wrap=True)
    for remark in found.remarks:
        out.print(neutralize(f"note: {remark}"), markup=False, soft_wrap=True)
    breaking = sum(change.effect == BREAKING for change in found.changes)
    said = f"{breaking} breaking, {len(found.changes) - breaking} safe"
    if found.unread:
        said += f"; {format_count(len(found.unread), 'relation')} not compared"
    out.print(said if found.compared else f"nothing was compared{said[said.find(';') :]}", markup=False)


def _format_cells(change: SchemaChange, between: str) -> list[str]:
    from rich.markup import escape

    cells = (change.effect, change.relation, change.column, change.said, change.before, change.after)
    more = len(change.reaches) - MOST_NAMED
    named = (*change.reaches[:MOST_NAMED], *([f"{more} more (--json names them)"] if more > 0 else ()))
    reaches = between.join(map(_escape_cell, (*named, *change.describe_reach())))
    return [*(escape(_escape_cell(cell or "")) for cell in cells), escape(reaches)]


def _escape_cell(text: str) -> str:
    return neutralize(join_lines(text))


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
@fail_on_option
@options.report
@options.sources
@options.cache
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
    cache: bool,
    model: str | None,
    keys: tuple[str, ...],
    **given: Any,
) -> None:
    """Shows what readers of each model lose or gain between two compiled projects, OLD and NEW (default: the one here).

    OLD and NEW are manifest.json files or project directories. Exit codes: 0 nothing breaking, 1 breaking changes,
    2 could not run, or planproof itself failed on a model. Needs neither Java nor Spark.

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
    judged = Cache.of_user() if cache else None
    found = compare_projects(read_project(old), after, frozen=sources, cache=judged, jobs=count_cores())
    # `--json` is older than the report's one schema, and keeps its own form.
    remarks = [*found.remarks, *([] if found.compared else ["nothing was compared"])]
    report = run_report("diff", report_changes(found), started, project=after.name, remarks=remarks)
    plain = replace(wanted, stdout="text") if click.get_current_context().params.get("as_json") else wanted
    output.write_forms(report, plain, project_dir=new if new.is_dir() else new.parent)
    finish_comparison(found, fail_on, as_json=wanted.stdout != plain.stdout, quiet=not plain.is_text)
