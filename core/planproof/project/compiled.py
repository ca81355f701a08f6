"""Where a place in compiled SQL stands in the model's template, and where in the YAML the promise stands that a finding
is about (`models/schema.yml`, line and column).

The template's literal text is found again in what it rendered to (`alignment`). A place is exact where all readings of
the rendering agree on it. Within the text that an expression printed, the place is the expression's and is marked as
approximate. Where readings differ about the line, the place stays in the compiled file. A wrong line is never given.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from planproof.project.nodes import patch_of
from planproof.project.reads import is_file, package_folder, read_within, resolve_within
from planproof.project.texts import convert_line_ends
from planproof.project.yaml_text import load_yaml_nodes
from planproof.report import Report
from planproof_engine import ByColumn, Finding, Verdict, evolve, record, split_name
from planproof_engine.origin import Origin, place

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
        file = _name_file(node)
        where = str(node.get("compiled_path") or f"{file} (compiled)").replace("\\", "/")
        template, shown = _read_template(node, file, directory, opened or {})
        compiled = str(node.get("compiled_code") or "")
        plain = cls(shown, where, template, compiled)
        skipped = len(template) - len(template.lstrip())
        for injected in find_injections(node, compiled):
            start, stop, replaced = injected
            found = _align(template.strip(), compiled[:start] + replaced + compiled[stop:])
            if found is not None:
                return evolve(plain, skipped=skipped, injected=injected, alignment=found)
        return plain

    def locate(self, origin: Origin) -> Origin:
        """The origin in the template where sure, else in the compiled file. Lines and columns count from 1."""
        elsewhere = evolve(origin, file=self.compiled_file, start=None, stop=None)
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
        from planproof_engine import drop_terminators

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
            return evolve(finding, origin=None)
        found = mapped.locate(place(compiled, offset + skipped))
        text = mapped.quote(found)
        if text is not None:
            lines[f"{found.file}:{found.line}"] = text
        return evolve(finding, origin=found)

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
    text, shown = _read_template(node, _name_file(node), directory, opened or {})
    return shown, text[: len(text) - len(text.lstrip())], len(text)


def read_template(node: Mapping[str, Any], directory: str | Path | None) -> str:
    """The text of the file that dbt compiled, with the blanks at its top; empty where no file has it any more."""
    return _read_template(node, _name_file(node), directory, {})[0]


def _name_file(node: Mapping[str, Any]) -> str:
    return str(node.get("original_file_path") or node.get("path") or "model.sql").replace("\\", "/")


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
    for root, path in ((directory, file), *installed):
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


_KEY_OF = {"PP500": "data_type", "PP504": "data_type", "PP505": "constraints", "PP506": "constraints"}
"""Of which of a column's keys a code speaks."""
_OF_THE_MODEL = ("PP502", "PP503", "PP507", "PP508", "PP509")


@dataclass(slots=True)
class Promises:
    """The YAML files of a project in `directory`; each is read once, and only where a promise is open or broken."""

    directory: Path | None
    _models: dict[str, dict[str, _Entry]] = field(default_factory=dict)

    def place_findings(self, report: Report, node: Mapping[str, Any]) -> Report:
        """The report whose findings on the contract, unless they are proved, tell where it promises that."""
        report = _place_queries(report)
        if not any(_is_about_a_promise(f) for f in report.findings):
            return report
        package, path = patch_of(node)
        if not path or self.directory is None or ".." in Path(path).parts or Path(path).is_absolute():
            return report
        # Of an installed package the YAML lies beside its models.
        own = package in ("", str(node.get("package_name") or "")) and not _is_installed(node, self.directory, path)
        file = path if own else f"dbt_packages/{package}/{path}"
        entry = self._read_models(file).get(str(node.get("name")))
        if entry is None:
            return report
        findings = (
            evolve(f, promise=entry.find_place(f, file)) if _is_about_a_promise(f) else f for f in report.findings
        )
        return evolve(report, findings=tuple(findings))

    def _read_models(self, file: str) -> dict[str, _Entry]:
        """The models that a file describes, by name; none of a file that cannot be read."""
        try:
            real = os.path.realpath(resolve_within(str(self.directory), file))  # However a manifest spells it.
            if real not in self._models:
                self._models[real] = {}
                root = load_yaml_nodes(read_within(str(self.directory), file).decode("utf-8"))
                self._models[real] = {
                    name: _Entry(model) for model in _items(_find_child(root, "models")) if (name := _name(model))
                }
            return self._models[real]
        except (OSError, ValueError, RecursionError, yaml.YAMLError):
            return {}


def _place_queries(report: Report) -> Report:
    """A test that is a query of its own is promised by its file, which no YAML names."""
    files = {t.name: t.place for t in report.details.tests or () if t.place and t.place.endswith(".sql")}
    findings = (
        evolve(f, promise=Origin(1, 1, files[f.promised])) if _is_test(f) and f.promised in files else f
        for f in report.findings
    )
    return evolve(report, findings=tuple(findings)) if files else report


def _is_test(finding: Finding) -> bool:
    return finding.code == "PP513" and _is_about_a_promise(finding)


def _is_about_a_promise(finding: Finding) -> bool:
    return finding.code.startswith("PP5") and finding.verdict is not Verdict.PROVED and finding.promise is None


def _is_installed(node: Mapping[str, Any], directory: Path, path: str) -> bool:
    package = patch_of(node)[0]
    return bool(package) and not is_file(directory / path) and is_file(directory / "dbt_packages" / package / path)


class _Entry:
    """The entry of a model in a YAML file. Its parts are asked for by each finding, and looked through once."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self._constraints: dict[int, dict[str | None, tuple[int, Any]]] = {}
        self._tests: dict[int, _Tests] = {}

    @cached_property
    def _columns(self) -> ByColumn[Any]:
        return ByColumn((str(_name(column)), column) for column in _items(_find_child(self.model, "columns")))

    @cached_property
    def _listed(self) -> Any:
        return _find_child(self.model, "constraints")

    def find_place(self, finding: Finding, file: str) -> Origin | None:
        wanted = split_name(finding.field)[0] if finding.field else None
        column, model = self._columns.get(wanted) if wanted is not None else None, self.model
        if _is_test(finding):
            return _origin_of(
                self._find_test(finding, column) or self._find_test(finding, model) or column or model, file
            )
        if finding.code in _OF_THE_MODEL and self._find_constraint(finding, column) is None:
            listed = None if finding.code in ("PP502", "PP503") else self._listed
            found = self._find_constraint(finding, model) or listed or column or model
        elif column is None:
            return None if wanted is not None else _origin_of(model, file)
        else:
            key = _KEY_OF.get(finding.code)
            found = self._find_constraint(finding, column) or (_find_child(column, key) if key else None) or column
        return _origin_of(found, file)

    def _find_test(self, finding: Finding, holder: Any) -> Any:
        """The data test of a column or a model that a finding speaks of."""
        if id(holder) not in self._tests:
            self._tests[id(holder)] = _Tests(holder)
        return self._tests[id(holder)].find(finding.promised or "")

    def _find_constraint(self, finding: Finding, holder: Any) -> Any:
        """The constraint of a column or a model that a finding speaks of."""
        if id(holder) not in self._constraints:
            first = self._constraints[id(holder)] = {}
            for at, constraint in enumerate(_items(_find_child(holder, "constraints"))):
                first.setdefault(_find_text(constraint, "type"), (at, constraint))
        kind = (finding.promised or "").partition("(")[0].lower().replace(" ", "_")
        kinds = ("not_null", "primary_key") if kind == "not_null" else (kind,)
        listed = [found for kind in kinds if (found := self._constraints[id(holder)].get(kind)) is not None]
        return min(listed, key=lambda found: found[0])[1] if listed else None


class _Tests:
    """The data tests of a column or a model, by their names and by the beginnings of those that dbt makes of them."""

    def __init__(self, holder: Any) -> None:
        self._named: dict[str | None, Any] = {}
        self._begun: dict[str, tuple[int, Any]] = {}
        listed = (*_items(_find_child(holder, "data_tests")), *_items(_find_child(holder, "tests")))
        for at, test in enumerate(listed):
            pairs = test.value if isinstance(test, yaml.MappingNode) else [(test, None)]
            for name in (_name(test), *(_name(value) for _, value in pairs)):
                self._named.setdefault(name, test)
            for key, _ in pairs:
                self._begun.setdefault(f"{str(key.value).replace('.', '_')}_", (at, test))
        self._lengths = sorted({len(begin) for begin in self._begun})

    def find(self, name: str) -> Any:
        """The test of this name, else the first whose name may begin so."""
        if name in self._named:
            return self._named[name]
        lengths = self._lengths[: bisect_right(self._lengths, len(name))]
        alike = [found for length in lengths if (found := self._begun.get(name[:length])) is not None]
        return min(alike, key=lambda found: found[0])[1] if alike else None


def _origin_of(node: Any, file: str) -> Origin:
    return Origin(node.start_mark.line + 1, node.start_mark.column + 1, file)


def _find_child(node: Any, key: str) -> Any:
    pairs = node.value if isinstance(node, yaml.MappingNode) else ()
    return next((value for name, value in pairs if name.value == key), None)


def _items(node: Any) -> Iterator[Any]:
    yield from node.value if isinstance(node, yaml.SequenceNode) else ()


def _name(node: Any) -> str | None:
    return _find_text(node, "name")


def _find_text(node: Any, key: str) -> str | None:
    found = _find_child(node, key)
    return found.value if isinstance(found, yaml.ScalarNode) else None
