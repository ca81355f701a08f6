"""How `diff` and `freeze --check` end: the changes on the terminal or as JSON, and the exit code."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

import click
from rich.table import Table

from planproof.cli import output
from planproof.project.diff import BREAKING, Comparison, SchemaChange
from planproof.report.folding import list_names
from planproof.report.parts import format_count, join_lines, neutralize, neutralize_json

F = TypeVar("F", bound=Callable[..., Any])
FAIL_ON = ("breaking", "change", "never")
_WIDE, _TEXT = 10_000, 60
"""Off a terminal no name is folded, so that it can be searched for; what stands before and after is."""


def fail_on(function: F) -> F:
    """--fail-on."""
    choice = click.Choice(FAIL_ON)
    return click.option("--fail-on", type=choice, default="breaking", help="What makes the exit code 1.")(function)


def finish(found: Comparison, fail_on: str, as_json: bool, quiet: bool = False) -> None:
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
    failed = found.breaking if fail_on == "breaking" else bool(found.changes)
    click.get_current_context().exit(1 if failed and fail_on != "never" else 0)


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
    reaches = between.join(map(_escape_cell, (*change.reaches, *change.describe_reach())))
    return [*(escape(_escape_cell(cell or "")) for cell in cells), escape(reaches)]


def _escape_cell(text: str) -> str:
    return neutralize(join_lines(text))
