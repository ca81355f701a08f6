"""`planproof explain`: a model's logical plan, or the meaning of a code."""

from __future__ import annotations

import difflib
import json
import re
import shutil
import textwrap
from typing import TYPE_CHECKING

import click

from planproof.cli import options, output
from planproof.cli.code_examples import EXAMPLES, accept, render_case
from planproof.project import ProjectError, ProjectLocation
from planproof.project.explained import explain_model
from planproof.report import neutralize, neutralize_json
from planproof_engine import CODES, Unknown

if TYPE_CHECKING:
    from planproof_engine import Rewriting
    from planproof_engine.schema import LogicalSchema


@click.command(cls=options.Sectioned)
@click.argument("what", metavar="MODEL|PPnnn")
@options.location
@click.option(
    "--plan", "as_plan", is_flag=True, help="The logical plan with each node's schema, in place of the columns."
)
@click.option("--sql", "as_sql", is_flag=True, help="The plan as one SQL query, each column with a unique name.")
@click.option("--rewrites", is_flag=True, help="Also shows each rewriting that would run faster, before and after.")
@click.option("--json", "as_json", is_flag=True, help="As JSON on standard output.")
def explain(what: str, location: ProjectLocation, as_plan: bool, as_sql: bool, rewrites: bool, as_json: bool) -> None:
    """Shows the type of each column of MODEL, whether it may be null, and why; or what the code PPnnn means.

    It reads the compiled project, and needs neither Java nor Spark.
    """
    from planproof_engine import optimize
    from planproof_engine.texts import lay_out, unparse

    if re.fullmatch(r"[Pp][Pp]\d+", what):
        return _print_code(what.upper(), as_json)
    project = location.project()
    node = project.find_by_relation(what)
    if node is None or node.kind != "model":
        close = difflib.get_close_matches(what, [n.name for n in project.models], n=1)
        hint = f"did you mean {close[0]!r}?" if close else "if it is new, run `dbt compile`"
        raise ProjectError(f"{what}: dbt has compiled no such model; {hint}")
    try:
        explained = explain_model(project, node, location.conf())
        plan = explained.plan
        text = lay_out(unparse(plan.root, readable=True), _find_width()) if as_sql else str(plan)
        found = optimize(plan) if rewrites else None
    except Unknown as unknown:
        raise ProjectError(f"{node.label}: {unknown}; in a run, Spark's own plan is used") from unknown
    if as_json:
        columns = [
            {"name": f.name, "type": f.type.simple, "nullable": f.nullable, "evidence": f.evidence, "doubt": f.doubt}
            for f in plan.schema
        ]
        form: dict[str, object] = {"model": node.relation, "sql" if as_sql else "plan": text, "schema": columns}
        form |= {"changed": explained.changed} if explained.changed is not None else {}
        if found is not None:
            form["rewrites"] = [{"rule": r.rule, "before": r.before, "after": r.after} for r in found.rewrites]
        click.echo(neutralize_json(json.dumps(form, indent=2)))
        return None
    if explained.changed is not None:
        said = f"{explained.changed} since dbt compiled it; run `dbt compile`. This is what it compiled:"
        click.echo(neutralize(said), err=as_sql)
    if as_sql:
        click.echo(neutralize(text))
    else:
        file = node.file if node.package in ("", project.name) else f"dbt_packages/{node.package}/{node.file}"
        click.echo(neutralize(f"{node.relation} ({file})\n"))
        if as_plan:
            click.echo(_wrap(neutralize(text)))
        else:
            _show_columns(plan.schema, explained.reasons)
    if found is not None:
        click.echo(neutralize(f"\n{_render_rewritings(found)}"))
    return None


def _show_columns(schema: LogicalSchema, reasons: list[str]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("column", "type", "null", "why"):
        table.add_column(heading, overflow="fold")
    for field, why in zip(schema, reasons):
        null = "never" if field.evidence or not field.nullable else "maybe"
        cells = (field.name, field.type.simple, null, why)
        table.add_row(*(Text(neutralize(cell)) for cell in cells))
    out = output.console()
    out.width = _find_width()
    with out.capture() as captured:
        out.print(table)
    click.echo("\n".join(line.rstrip() for line in captured.get().splitlines()))


def _find_width() -> int:
    return max(40, shutil.get_terminal_size((120, 24)).columns)


def _wrap(text: str) -> str:
    """The plan with lines no wider than the terminal. The rest of a line that is broken is indented further."""
    rows, width = [], _find_width()
    for line in text.splitlines():
        indent = " " * min(len(line) - len(line.lstrip()), width // 2)
        wrap = textwrap.TextWrapper(width, indent, f"{indent}      ", break_long_words=False, break_on_hyphens=False)
        rows += wrap.wrap(line.strip()) or [""]
    return "\n".join(rows)


def _render_rewritings(found: Rewriting) -> str:
    """Each rewriting with its rules and its place, before and after; what was refused or dropped comes last."""
    parts = []
    for rewrite in found.rewrites:
        place = f" (line {rewrite.origin.line})" if rewrite.origin else ""
        parts.append(f"{rewrite.rule}{place}\n  before  {rewrite.before}\n  after   {rewrite.after}")
    parts += [f"{finding.code}  {finding.message}" for finding in found.findings]
    return "\n\n".join(parts) or "no rule fires: the compiled text runs byte for byte"


def _print_code(name: str, as_json: bool) -> None:
    code = CODES.get(name)
    if code is None:
        raise ProjectError(f"there is no code {name}; known: {', '.join(CODES)}")
    if as_json:
        form = {"code": code.id, "title": code.title, "meaning": code.meaning, "next_step": code.next_step}
        click.echo(neutralize_json(json.dumps(form, indent=2)))
        return
    click.echo(f"{code.id}  {code.title}\n\n{code.meaning}\n\nnext  {code.next_step}")
    example = EXAMPLES.get(code.id)
    if example is not None:
        ansi = " (ANSI on)" if example.failing.ansi else ""
        for head, case in ((f"shows it{ansi}", example.failing), ("mended", example.fixed)):
            click.echo(f"\n{head}\n\n{textwrap.indent(render_case(case), '    ')}")
    click.echo(f"\nto accept it\n\n{accept(code.id)}")
