"""How a command ends: the report on the terminal, as JSON, as a page, and its exit code."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click
from rich.console import Console

from planproof.project.errors import ProjectError
from planproof.project.manifest import Project
from planproof.project.request import Progress
from planproof.report.run import RunReport
from planproof.report.text import show


class Named(Progress):
    """The name of the project that a request is about, once it was read."""

    name = ""

    def read(self, project: Project) -> None:
        self.name = project.name


def console(stderr: bool = False) -> Console:
    """A console on the stream as it is now; wide enough for a line per model where nobody looks."""
    stream = sys.stderr if stderr else sys.stdout
    found = Console(file=stream, highlight=False)
    if not found.is_terminal:
        found = Console(file=stream, highlight=False, width=120)
    return found


def finish(
    report: RunReport,
    *,
    as_json: bool,
    html: Path | None,
    markdown: Path | None = None,
    fail_on: str | None,
    lines: bool = True,
    record: Path | None = None,
) -> None:
    """Shows and writes the report, and exits with its code. `lines` is False where each model was shown already."""
    if record is not None:
        write(record, report.to_json(indent=1))
    if html is not None:
        from planproof.report.html import render_run

        write(html, render_run(report))
    if markdown is not None:
        from planproof.report.markdown import render

        write(markdown, render(report.reports))
    if as_json:
        click.echo(report.to_json(indent=2))
    else:
        out = console()
        show(report.reports, out, lines=lines, seconds=report.seconds)
        for remark in report.remarks:
            out.print(f"note: {remark}", style="dim", markup=False)
        for path in (html, markdown, record):
            if path is not None:
                out.print(f"report: {path}", style="dim", markup=False, soft_wrap=True)
    click.get_current_context().exit(report.exit_code(fail_on))


def write(path: Path, text: str) -> None:
    """Writes a file and its directories; a reader sees the old text or the new one. Raises `ProjectError`."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(text, encoding="utf-8")
        os.replace(draft, path)
    except OSError as error:
        raise ProjectError(f"{path}: cannot be written: {error}") from error
