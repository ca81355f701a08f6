"""Pictures for the README, of the demo's model that `planproof run` stops: a terminal, and the report's page.

python tools/pictures.py [--home .demo]    # writes docs/pictures

Both are SVG, so that they need no browser to be made and load nothing when they are shown.
"""

from __future__ import annotations

import argparse
import io
import re
import sys
from html import escape
from html.parser import HTMLParser
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import SVG_EXPORT_THEME

from planproof.report.html import render
from planproof.report.parts import is_stopped
from planproof.report.run import RunReport
from planproof.report.text import render_panel, render_summary

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "pictures"
REPORT = "project/target/planproof/report.json"
COLUMNS = 116
PAGE = (1120, 1080)
"""Width and height, in pixels, of what is shown of the page: its beginning."""

_FONT_FACE = re.compile(r"@font-face\s*\{.*?\}", re.S)
_DARK = re.compile(r"@media \(prefers-color-scheme: dark\) \{.*?\} \}", re.S)
_VOID = {"meta", "link", "br", "hr", "img", "input"}


def draw_terminal(run: RunReport) -> str:
    """Why a model was stopped, as `planproof run` prints it; the query below the frame is left out."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, legacy_windows=False)
    console.print(
        "$ planproof run --select customer_activity --vars '{customer_join: left}'\n",
        style="bold",
        markup=False,
        highlight=False,
    )
    for report in filter(is_stopped, run.reports):
        console.print(render_panel(report))
    console.print(render_summary(run.reports))
    drawn = console.export_svg(title="planproof run", theme=SVG_EXPORT_THEME, unique_id="planproof")
    lines = (line.rstrip() for line in _FONT_FACE.sub("", drawn).splitlines())
    return "\n".join(line for line in lines if line) + "\n"


def draw_page(run: RunReport) -> str:
    """The beginning of the report's HTML page, of the models that were stopped."""
    rejected = [report for report in run.reports if report.outcome == "rejected"]
    body = _Xhtml.of(render(rejected, run, "planproof: make demo", script=False))
    width, height = PAGE
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">\n'
        f'<rect width="100%" height="100%" fill="#fff"/>\n'
        f'<foreignObject width="{width}" height="{height}">\n{body}\n</foreignObject>\n</svg>\n'
    )


class _Xhtml(HTMLParser):
    """A page of HTML as XML, which an SVG can hold: elements closed, text escaped, head and scripts left out."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.styles: list[str] = []
        self.left_out: list[str] = []

    @classmethod
    def of(cls, html: str) -> str:
        parser = cls()
        parser.feed(html)
        style = "\n".join(parser.styles)
        shown = "".join(parser.parts)
        return f'<div xmlns="http://www.w3.org/1999/xhtml" class="page"><style>{style}</style>{shown}</div>'

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("head", "script", "style", "title"):
            self.left_out.append(tag)
        elif not self.left_out and tag not in ("html", "link", "meta"):
            given = "".join(f' {name}="{escape(value or name)}"' for name, value in attrs)
            name = "div" if tag == "body" else tag
            self.parts.append(f"<{name}{given}/>" if tag in _VOID else f"<{name}{given}>")

    def handle_endtag(self, tag: str) -> None:
        if self.left_out:
            self.left_out = self.left_out[:-1] if tag == self.left_out[-1] else self.left_out
        elif tag not in {*_VOID, "html"}:
            self.parts.append(f"</{'div' if tag == 'body' else tag}>")

    def handle_data(self, data: str) -> None:
        if self.left_out and self.left_out[-1] == "style":
            # The README's paper may be white where its reader prefers the dark.
            light = _DARK.sub("", data).replace("light dark", "light")
            self.styles.append(escape(re.sub(r"\bbody\b", ".page", light), quote=False))
        elif not self.left_out:
            self.parts.append(escape(data))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--home", type=Path, default=ROOT / ".demo", help="where `make demo` left its report")
    report = parser.parse_args().home / REPORT
    if not report.is_file():
        print(f"{report} is not there: run `make demo` first", file=sys.stderr)
        return 2
    run = RunReport.from_json(report.read_text("utf-8"))
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / "stopped.svg").write_text(draw_terminal(run), "utf-8")
    (FOLDER / "report.svg").write_text(draw_page(run), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
