"""Where a place in compiled SQL stands in the model's template.

The template's literal text is found again in what it rendered to (`alignment`). A place is exact where all readings of
the rendering agree on it. Within the text that an expression printed, the place is the expression's and is marked as
approximate. Where readings differ about the line, the place stays in the compiled file. A wrong line is never given.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planproof.project.reads import package_folder, read_within
from planproof.project.texts import convert_line_ends
from planproof.report.model import Report
from planproof_engine.finding import Finding
from planproof_engine.origin import Origin, place
from planproof_engine.records import evolve, record

# It needs jinja2, which takes a while to import: a healthy model has no place to be found.
if TYPE_CHECKING:
    from planproof.project.alignment import Alignment


@record(frozen=True, slots=True)
class TemplateMap:
    """Maps places of one model's compiled SQL into its template `file`; `compiled_file` is dbt's compiled copy.

    `template` is the file's text, whose part that dbt renders begins at `skipped`; `injected` the span of the compiled
    SQL that dbt wrote around the rendering, and what it replaced there.
    """

    file: str
    compiled_file: str
    template: str
    compiled: str
    skipped: int = 0
    injected: tuple[int, int, str] = (0, 0, "")
    alignment: Alignment | None = None

    @classmethod
    def of(
        cls, node: Mapping[str, Any], directory: str | Path | None = None, opened: Mapping[str, str] | None = None
    ) -> TemplateMap:
        """The map of a manifest's node whose project lies in `directory`; `opened` are texts that stand for files.

        The manifest's `raw_code` lost the blank lines at the top of the file: only the file itself gives a line.
        """
        file = str(node.get("original_file_path") or node.get("path") or "model.sql").replace("\\", "/")
        where = str(node.get("compiled_path") or f"{file} (compiled)").replace("\\", "/")
        template, shown = _read_template(node, file, directory, opened or {})
        compiled = str(node.get("compiled_code") or "")
        plain = cls(shown, where, template, compiled)
        skipped = len(template) - len(template.lstrip())
        for injected in find_injections(node, compiled):
            start, stop, replaced = injected
            found = _align(template.strip(), compiled[:start] + replaced + compiled[stop:])
            if found is not None:
                return replace(plain, skipped=skipped, injected=injected, alignment=found)
        return plain

    def locate(self, origin: Origin) -> Origin:
        """The origin in the template where sure, else in the compiled file. Lines and columns count from 1."""
        elsewhere = replace(origin, file=self.compiled_file, start=None, stop=None)
        offset = self._rendering_offset(_offset(self.compiled, origin))
        if self.alignment is None or offset is None:
            return elsewhere
        places = self.alignment.places(offset)
        found = {(p.at, p.inside): place(self.template, p.at + self.skipped) for p in places}
        if len({o.line for o in found.values()}) != 1:
            return elsewhere
        (_at, inside), first = min(found.items(), key=lambda pair: pair[0])
        return Origin(first.line, first.column, self.file, approximate=inside or len(found) > 1)

    def template_offset(self, offset: int) -> int | None:
        """The offset in the template of the literal character that wrote the one at `offset` of the compiled SQL."""
        rendered = self._rendering_offset(offset)
        places = self.alignment.places(rendered) if self.alignment is not None and rendered is not None else set()
        place = next(iter(places)) if len(places) == 1 else None
        return place.at + self.skipped if place is not None and not place.inside else None

    def compiled_offset(self, offset: int) -> int | None:
        """The offset in the compiled SQL of what the template's literal character at `offset` wrote, where sure."""
        rendered = self.alignment.rendering_offset(offset - self.skipped) if self.alignment is not None else None
        if rendered is None:
            return None
        start, stop, replaced = self.injected
        if rendered < start:
            return rendered
        return rendered + stop - start - len(replaced) if rendered >= start + len(replaced) else None

    def _rendering_offset(self, offset: int) -> int | None:
        """The offset in what the template rendered to; None outside of it."""
        start, stop, replaced = self.injected
        if not 0 <= offset < len(self.compiled) or start <= offset < stop:
            return None
        return offset if offset < start else offset - (stop - start) + len(replaced)

    def quote(self, origin: Origin) -> str | None:
        """The line at an origin that `locate` gave."""
        lines = (self.template if origin.file == self.file else self.compiled).split("\n")
        return lines[origin.line - 1] if 0 < origin.line <= len(lines) else None


def _align(template: str, rendering: str) -> Alignment | None:
    """How the template wrote the rendering: with what is believed of its expressions if that can be, else without."""
    from planproof.project.alignment import Alignment, TooManyWays, build_automaton

    for strict in (True, False):
        made = build_automaton(template, strict)
        if made is None:
            return None
        try:
            found = Alignment(made, rendering)
        except TooManyWays:
            return None
        if found.possible or not made.believes:
            return found if found.possible else None
    return None


def find_injections(node: Mapping[str, Any], compiled: str) -> Iterator[tuple[int, int, str]]:
    """The spans that dbt may have put into the rendering, with what stood there: the CTEs of ephemeral models."""
    yield 0, 0, ""
    ctes = ", ".join(str(c.get("sql") or "") for c in node.get("extra_ctes") or ())
    start = compiled.find(ctes) if ctes else -1
    if start < 0:
        return
    stop = start + len(ctes)
    before = re.search(r"with\s*\Z", compiled[:start], re.I)
    behind = re.match(r"\s*,", compiled[stop:])
    if behind is not None:
        yield from ((at, stop + behind.end(), "") for at in (start, start - 1))
    if before is not None:
        yield before.start(), stop, ""


def relocate(
    report: Report,
    node: Mapping[str, Any],
    directory: str | Path | None = None,
    opened: Mapping[str, str] | None = None,
) -> Report:
    """The report with its places, given in the SQL that was planned, moved to the template; `details` quotes the lines.

    What was planned (`report.sql`) holds the node's compiled SQL; a place outside of it is nobody's and is dropped. A
    report that was moved once is returned as it is.
    """
    if report.details.lines is not None:
        return report
    if not any(finding.origin for finding in report.findings):
        return evolve(report, details=evolve(report.details, lines={}))
    compiled = str(node.get("compiled_code") or "")
    planned = report.sql or compiled
    start = planned.find(compiled.strip())
    if start < 0:
        from planproof_engine.texts import drop_terminators

        # Closing semicolons, and what follows them, are left out where the text stands inside another one.
        start = planned.find(drop_terminators(compiled))
    if not compiled.strip() or start < 0:
        return report
    mapped = TemplateMap.of(node, directory, opened)
    lines: dict[str, str] = {}
    skipped = len(compiled) - len(compiled.lstrip())

    def moved(finding: Finding) -> Finding:
        origin = finding.origin
        if origin is None or origin.file not in (None, mapped.file, node.get("original_file_path")):
            return finding
        offset = _offset(planned, origin) - start
        if not 0 <= offset <= len(compiled.strip()):
            return replace(finding, origin=None)
        found = mapped.locate(place(compiled, offset + skipped))
        text = mapped.quote(found)
        if text is not None:
            lines[f"{found.file}:{found.line}"] = text
        return replace(finding, origin=found)

    findings = tuple(moved(finding) for finding in report.findings)
    return evolve(report, findings=findings, details=evolve(report.details, lines=lines))


def _offset(text: str, origin: Origin) -> int:
    if origin.start is not None:
        return origin.start
    lines = text.split("\n")
    return sum(len(line) + 1 for line in lines[: origin.line - 1]) + origin.column - 1


def template_of(
    node: Mapping[str, Any], directory: str | Path | None, opened: Mapping[str, str] | None = None
) -> tuple[str, str, int]:
    """All that places in a node's template depend on besides the node: the file's path, the blanks at its top, and how
    long it is. `opened` are texts that were read already, by path."""
    file = str(node.get("original_file_path") or node.get("path") or "model.sql").replace("\\", "/")
    text, shown = _read_template(node, file, directory, opened or {})
    return shown, text[: len(text) - len(text.lstrip())], len(text)


def _read_template(
    node: Mapping[str, Any], file: str, directory: str | Path | None, opened: Mapping[str, str]
) -> tuple[str, str]:
    """The template's text, and its path from the project's directory: a package's models lie where dbt installs it."""
    raw = convert_line_ends(str(node.get("raw_code") or "")).strip()
    if file in opened and opened[file].strip() == raw:
        return opened[file], file
    package = str(node.get("package_name") or "")
    below = package_folder(package)
    installed = [(os.path.join(str(directory), below), f"{below}/{file}")] if directory and below else []
    for root, path in ((directory, file), *installed, (node.get("root_path"), file)):
        if not root or not raw:
            continue
        try:
            text = convert_line_ends(read_within(str(root), file).decode("utf-8"))
        except (OSError, ValueError):
            continue
        # A file that was edited since it was compiled has other lines.
        if text.strip() == raw:
            return text, path
    return "", file
