"""`planproof diff --staged`: what a publish of one model would change, row by row."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

import click

from dbt_planproof.compiler import DBT
from planproof.cli import options, output
from planproof.project.errors import ProjectError
from planproof.project.request import Progress, Request
from planproof.report.model import Report
from planproof.report.parts import neutralize
from planproof.report.run import run_report


def run(model: str, keys: Sequence[str], wanted: output.Wanted, given: Mapping[str, Any]) -> None:
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
