"""How a command ends: the report on the terminal, as JSON, as a page, and its exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, cast

import click
from rich.console import Console

from planproof.project import Project, ProjectError
from planproof.project.request import Progress
from planproof.regular import checkout_of, write_anew
from planproof.report import RunReport, neutralize
from planproof.report.text import Lines, show
from planproof_engine import record


class NamedProgress(Progress):
    """The name of the project that a request is about, once it was read."""

    name = ""

    def on_project(self, project: Project) -> None:
        self.name = project.name

    def on_project_name(self, project: str) -> None:
        self.name = project


_WIDTH = 120
"""Columns off a terminal, where COLUMNS does not say: wide enough for one line per model."""


def console(stderr: bool = False) -> Console:
    """A console on the current stream, as wide as the terminal, or as COLUMNS says."""
    stream = cast("IO[str]", Lines(sys.stderr if stderr else sys.stdout))
    found = Console(file=stream, highlight=False, emoji=False)
    if not found.is_terminal and not os.environ.get("COLUMNS", "").isdigit():
        found = Console(file=stream, highlight=False, emoji=False, width=_WIDTH)
    return found


@record(frozen=True, slots=True)
class Wanted:
    """Which forms of the report were asked for: one on standard output, and files."""

    stdout: str = "text"
    files: tuple[tuple[str, Path], ...] = ()
    is_verbose: bool = True

    @property
    def is_text(self) -> bool:
        return self.stdout == "text"

    @property
    def is_brief(self) -> bool:
        """Whether every form that was asked for leaves out plans and the texts of healthy models."""
        whole = {"html", "openlineage", *(("json",) if self.is_verbose else ())}
        return not {self.stdout, *(name for name, _ in self.files)} & whole

    @classmethod
    def of(
        cls, as_json: bool, html: Path | None, markdown: Path | None, formats: Sequence[str], files: Sequence[Path]
    ) -> Wanted:
        """What the options say: `--format` once for standard output, or as often as `-o`, each with its file. Raises
        click's UsageError where they do not go together."""
        named = [(name, path) for name, path in (("html", html), ("markdown", markdown)) if path is not None]
        if files and len(files) != len(formats):
            raise click.UsageError(f"each -o FILE goes with one --format; {len(files)} and {len(formats)} were given")
        if not files and len(formats) > 1:
            raise click.UsageError("standard output takes one --format; give the others a file with -o")
        if as_json and formats and not files:
            raise click.UsageError("--json is --format json; give one of them")
        stdout = "json" if as_json else formats[0] if formats and not files else "text"
        return cls(stdout, (*named, *zip(formats, files)))


def finish(
    report: RunReport,
    wanted: Wanted,
    *,
    fail_on: str | None,
    lines: bool = True,
    record: Path | None = None,
    project_dir: Path | str | None = None,
) -> None:
    """Shows and writes the report, and exits with its code. `lines` is False where each model was shown already."""
    write_forms(report, wanted, fail_on=fail_on, record=record, project_dir=project_dir)
    if wanted.is_text:
        out = console()
        show(report.reports, out, lines=lines, seconds=report.seconds)
        for remark in report.remarks:
            out.print(neutralize(f"note: {remark}"), style="dim", markup=False)
        for path in (*(path for _, path in wanted.files), record):
            if path is not None:
                out.print(neutralize(f"report: {path}"), style="dim", markup=False, soft_wrap=True)
    click.get_current_context().exit(report.exit_code(fail_on))


def write_forms(
    report: RunReport,
    wanted: Wanted,
    *,
    fail_on: str | None = None,
    record: Path | None = None,
    project_dir: Path | str | None = None,
) -> None:
    """Writes the files that were asked for, and standard output where it is not the text for people."""
    from planproof.report.formats import Form, prefix_of, render_lines

    form, brief = Form(prefix_of(Path(project_dir or ".")), fail_on), not wanted.is_verbose
    if record is not None:
        # dbt, too, follows a link in the place of the target folder.
        write(record, report.to_lines(brief=brief), home=record.parent.parent)
    for name, path in wanted.files:
        write(path, render_lines(report, name, form, brief=brief))
    if not wanted.is_text:
        for line in render_lines(report, wanted.stdout, form, brief=brief):
            # For programs, which read UTF-8 whatever the locale of this process is; JSON is ASCII.
            click.echo(line if wanted.stdout == "json" else line.encode("utf-8", "backslashreplace"))


def write(path: Path, text: str | Iterable[str], home: Path | None = None) -> None:
    """Writes a file, from its text or its lines, and its directories; a reader sees the old text or the new one. No
    link leads out of `home`, where none is given out of the checkout. Raises `ProjectError`."""
    lines = [text] if isinstance(text, str) else (f"{line}\n" for line in text)
    try:
        write_anew(path, lines, home or checkout_of(path))
    except ProjectError:
        raise
    except (OSError, ValueError) as error:  # A name that no file has.
        raise ProjectError(f"{path}: cannot be written: {error}") from error
