"""The forms in which a command gives its report: one table, which every door offers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from planproof.report.parts import join_lines, neutralize, neutralize_json
from planproof.report.run import RunReport
from planproof_engine import record

FORMATS = ("text", "json", "markdown", "html", "junit", "sarif", "github", "openlineage")


@record(frozen=True, slots=True)
class Form:
    """What a form needs beside the report: `prefix`, the project's folder below the repository's root (`dbt/`), and
    the command's `fail_on`."""

    prefix: str = ""
    fail_on: str | None = None


def render(run: RunReport, name: str, form: Form | None = None) -> str:
    """The report in the form `name`, one of `FORMATS`. Its text ends with a line break. Raises KeyError."""
    form = form or Form()
    text = _render(run, name, form)
    return text if text.endswith("\n") else f"{text}\n"


def render_lines(run: RunReport, name: str, form: Form, *, brief: bool = False) -> Iterator[str]:
    """As `render`, a line as it comes where the form has one for each model, else all at once. `brief`: JSON as
    `Report.to_brief`. Raises KeyError."""
    if name == "json":
        yield from run.to_lines(brief=brief)
    elif name == "openlineage":
        from planproof.report import openlineage

        yield from openlineage.render_lines(run)
    else:
        yield render(run, name, form).removesuffix("\n")


def _render(run: RunReport, name: str, form: Form) -> str:
    # Each form is imported where it is asked for: jinja2 and rich take a while.
    if name == "json":
        return run.to_json(indent=1)
    if name == "html":
        from planproof.report.html import render_run

        return render_run(run)
    if name == "markdown":
        from planproof.report import markdown

        return markdown.render(run.reports, run.command, run.remarks)
    if name == "junit":
        from planproof.report import junit

        return junit.render(run, form.fail_on)
    if name == "sarif":
        from planproof.report import sarif

        return neutralize_json(sarif.render(run, form.prefix))
    if name == "github":
        from planproof.report import github

        return github.render(run, form.prefix)
    if name == "openlineage":
        from planproof.report import openlineage

        return openlineage.render(run)
    if name == "text":
        from planproof.report.text import render_plain

        return render_plain(run.reports) + "".join(f"note: {neutralize(join_lines(r))}\n" for r in run.remarks)
    raise KeyError(name)


def prefix_of(project: Path) -> str:
    """Where a project lies below the root of its repository, with a slash at the end; empty at the root itself, and
    where there is no repository. git is not asked: the root is the nearest folder with a `.git`."""
    start = project.resolve()
    for folder in (start, *start.parents):
        if (folder / ".git").exists():
            below = start.relative_to(folder).as_posix()
            return "" if below == "." else f"{below}/"
    return ""
