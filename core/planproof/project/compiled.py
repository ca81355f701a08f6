"""Where a place in compiled SQL stands in the model's template.

A place is mapped only where it is sure: its line is the same text in both and occurs once in each, or it stands
between two such lines with exactly one template line that renders to it. Everything else keeps its place in the
compiled file. A wrong line is never given.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

from planproof.origin import Origin, place
from planproof.report.model import Finding, Report

_EXPRESSION = re.compile(r"\{\{.*?\}\}")
_TRIMS = ("{{-", "-}}", "{%", "%}", "{#", "#}")


@dataclass(frozen=True, slots=True)
class TemplateMap:
    """Maps places of one model's compiled SQL into its template `file`; `compiled_file` is dbt's compiled copy."""

    file: str
    compiled_file: str
    template: tuple[str, ...]
    compiled: tuple[str, ...]
    anchors: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, node: Mapping[str, Any], directory: str | Path | None = None) -> TemplateMap:
        """The map of a manifest's node whose project lies in `directory`.

        The manifest's `raw_code` lost the blank lines at the top of the file: only the file itself gives a line.
        """
        file = str(node.get("original_file_path") or node.get("path") or "model.sql").replace("\\", "/")
        where = str(node.get("compiled_path") or f"{file} (compiled)").replace("\\", "/")
        template = tuple(_template(node, file, directory).splitlines())
        compiled = tuple(str(node.get("compiled_code") or "").splitlines())
        return cls(file, where, template, compiled, _anchors(template, compiled))

    def locate(self, origin: Origin) -> Origin:
        """The origin in the template where sure, else in the compiled file. Lines and columns count from 1."""
        line = origin.line - 1
        elsewhere = replace(origin, file=self.compiled_file, start=None, stop=None)
        if not 0 <= line < len(self.compiled):
            return elsewhere
        found = self._same_line(line)
        if found is not None:
            return Origin(found + 1, origin.column, self.file)
        return self._rendered_line(line, origin.column) or elsewhere

    def quote(self, origin: Origin) -> str | None:
        """The line at an origin that `locate` gave."""
        lines = self.template if origin.file == self.file else self.compiled
        return lines[origin.line - 1] if 0 < origin.line <= len(lines) else None

    def _same_line(self, line: int) -> int | None:
        at = bisect_left(self.anchors, (line, 0))
        return self.anchors[at][1] if at < len(self.anchors) and self.anchors[at][0] == line else None

    def _rendered_line(self, line: int, column: int) -> Origin | None:
        """The one template line with `{{ }}` between the surrounding sure lines that renders to this line."""
        at = bisect_left(self.anchors, (line, 0))
        before = self.anchors[at - 1] if at else (-1, -1)
        after = self.anchors[at] if at < len(self.anchors) else (len(self.compiled), len(self.template))
        between = range(before[1] + 1, after[1])
        rendering = [i for i in between if _renders(self.template[i], self.compiled[line])]
        rivals = [
            i
            for i in range(before[0] + 1, after[0])
            if rendering and _renders(self.template[rendering[0]], self.compiled[i])
        ]
        if len(rendering) != 1 or len(rivals) != 1:
            return None
        return self._column(rendering[0], line, column)

    def _column(self, template_line: int, line: int, column: int) -> Origin:
        template, compiled = self.template[template_line], self.compiled[line]
        expressions = list(_EXPRESSION.finditer(template))
        head, tail = expressions[0].start(), len(template.rstrip()) - expressions[-1].end()
        if column <= head:
            return Origin(template_line + 1, column, self.file)
        from_end = len(compiled.rstrip()) - column
        if from_end < tail:
            return Origin(template_line + 1, len(template.rstrip()) - from_end, self.file)
        inside = head + 1 if len(expressions) == 1 else 1
        return Origin(template_line + 1, inside, self.file, approximate=True)


def _anchors(template: tuple[str, ...], compiled: tuple[str, ...]) -> tuple[tuple[int, int], ...]:
    """Pairs of equal lines, in rising order: each the only one of its text, or next to such a pair.

    Two neighbours in a template that hold no Jinja are neighbours wherever they are rendered.
    """
    plain = _plain_lines(template)
    in_template = Counter(line.rstrip() for line in template)
    in_compiled = Counter(line.rstrip() for line in compiled)
    at = {line.rstrip(): i for i, line in enumerate(template) if i in plain}
    pairs = [
        (i, at[line.rstrip()])
        for i, line in enumerate(compiled)
        if line.strip() and line.rstrip() in at and in_template[line.rstrip()] == in_compiled[line.rstrip()] == 1
    ]
    sure = dict(_uncrossed(pairs))
    for step in (1, -1):
        for c, t in sorted(sure.items(), reverse=step < 0):
            _spread(sure, c, t, step, template, compiled, plain)
    return tuple(sorted(sure.items()))


def _uncrossed(pairs: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The pairs, sorted by their first number, that cross no other: a macro may have written a line that crosses."""
    later = list(accumulate((t for _, t in reversed(pairs)), min))[::-1]
    highest = -1
    for i, (c, t) in enumerate(pairs):
        if t > highest and (i + 1 == len(pairs) or t < later[i + 1]):
            yield c, t
        highest = max(highest, t)


def _spread(
    sure: dict[int, int],
    c: int,
    t: int,
    step: int,
    template: tuple[str, ...],
    compiled: tuple[str, ...],
    plain: set[int],
) -> None:
    """Adds the run of equal lines that begins beside the sure pair (c, t)."""
    while True:
        c, t = c + step, t + step
        if c in sure or t not in plain or not 0 <= c < len(compiled) or template[t].rstrip() != compiled[c].rstrip():
            return
        sure[c] = t


def _plain_lines(template: tuple[str, ...]) -> set[int]:
    """The indexes of the lines outside comments and multi-line expressions, which hold no Jinja themselves."""
    text = "\n".join(template)
    masked = re.sub(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", lambda m: re.sub(r"[^\n]", "\0", m[0]), text, flags=re.S)
    return {i for i, line in enumerate(masked.split("\n")) if "\0" not in line and "{" + "{" not in line}


def _renders(template: str, compiled: str) -> bool:
    """True where `compiled` is `template` with each `{{ }}` replaced by some text."""
    if not _EXPRESSION.search(template) or any(mark in template for mark in _TRIMS):
        return False
    first, *middle, last = _EXPRESSION.split(template.rstrip())
    text = compiled.rstrip()
    if not any(part.strip() for part in (first, *middle, last)) or len(first) + len(last) > len(text):
        return False
    if not (text.startswith(first) and text.endswith(last)):
        return False
    at, end = len(first), len(text) - len(last)
    for part in middle:
        found = text.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True


def relocate(report: Report, node: Mapping[str, Any], directory: str | Path | None = None) -> Report:
    """The report with its places, given in the SQL that was planned, moved to the template; `details` quotes the lines.

    What was planned (`report.sql`) holds the node's compiled SQL; a place outside of it is nobody's and is dropped. A
    report that was moved once is returned as it is.
    """
    if "lines" in report.details:
        return report
    compiled = str(node.get("compiled_code") or "")
    planned = report.sql or compiled
    start = planned.find(compiled.strip())
    if not compiled.strip() or start < 0:
        return report
    mapped = TemplateMap.of(node, directory)
    lines: dict[str, str] = {}
    skipped = len(compiled) - len(compiled.lstrip())

    def moved(finding: Finding) -> Finding:
        origin = finding.origin
        if origin is None or origin.file not in (None, mapped.file):
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
    return replace(report, findings=findings, details={**report.details, "lines": lines})


def _offset(text: str, origin: Origin) -> int:
    if origin.start is not None:
        return origin.start
    lines = text.split("\n")
    return sum(len(line) + 1 for line in lines[: origin.line - 1]) + origin.column - 1


def _template(node: Mapping[str, Any], file: str, directory: str | Path | None) -> str:
    raw = str(node.get("raw_code") or "")
    for root in (directory, node.get("root_path")):
        path = Path(str(root)) / file if root else None
        if path is None or not raw:
            continue
        try:
            text = path.read_text(encoding="utf-8").replace("\r\n", "\n")
        except (OSError, UnicodeDecodeError):
            continue
        # A file that was edited since it was compiled has other lines.
        if text.strip() == raw.replace("\r\n", "\n").strip():
            return text
    return ""
