"""Where in the YAML a promise stands that a finding is about: `models/schema.yml`, line and column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from planproof.project.nodes import patch_of
from planproof.project.reads import is_file, read_within
from planproof.project.yaml_text import load_yaml_nodes
from planproof.report.model import Report
from planproof_engine.catalog import split_name
from planproof_engine.finding import Finding, Verdict
from planproof_engine.origin import Origin
from planproof_engine.schema import ByColumn

_KEY_OF = {"PP500": "data_type", "PP504": "data_type", "PP505": "constraints", "PP506": "constraints"}
"""Of which of a column's keys a code speaks."""
_OF_THE_MODEL = ("PP502", "PP503", "PP507", "PP508", "PP509")


@dataclass(slots=True)
class Promises:
    """The YAML files of a project in `directory`; each is read once, and only where a promise is open or broken."""

    directory: Path | None
    _models: dict[str, dict[str, Any]] = field(default_factory=dict)

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
        model = self._read_models(file).get(str(node.get("name")))
        if model is None:
            return report
        findings = (
            replace(f, promise=_find_place(f, model, file)) if _is_about_a_promise(f) else f for f in report.findings
        )
        return replace(report, findings=tuple(findings))

    def _read_models(self, file: str) -> dict[str, Any]:
        """The nodes of the models that a file describes, by name; none of a file that cannot be read."""
        if file not in self._models:
            self._models[file] = {}
            try:
                root = load_yaml_nodes(read_within(Path(str(self.directory)), file).decode("utf-8"))
                self._models[file] = {
                    name: model for model in _items(_find_child(root, "models")) if (name := _name(model))
                }
            except (OSError, ValueError, RecursionError, yaml.YAMLError):
                pass
        return self._models[file]


def _place_queries(report: Report) -> Report:
    """A test that is a query of its own is promised by its file, which no YAML names."""
    files = {t.name: t.place for t in report.details.tests or () if t.place and t.place.endswith(".sql")}
    findings = (
        replace(f, promise=Origin(1, 1, files[f.promised])) if _is_test(f) and f.promised in files else f
        for f in report.findings
    )
    return replace(report, findings=tuple(findings)) if files else report


def _is_test(finding: Finding) -> bool:
    return finding.code == "PP513" and _is_about_a_promise(finding)


def _is_about_a_promise(finding: Finding) -> bool:
    return finding.code.startswith("PP5") and finding.verdict is not Verdict.PROVED and finding.promise is None


def _is_installed(node: Mapping[str, Any], directory: Path, path: str) -> bool:
    package = patch_of(node)[0]
    return bool(package) and not is_file(directory / path) and is_file(directory / "dbt_packages" / package / path)


def _find_place(finding: Finding, model: Any, file: str) -> Origin | None:
    wanted = split_name(finding.field)[0] if finding.field else None
    columns = ByColumn((str(_name(column)), column) for column in _items(_find_child(model, "columns")))
    column = columns.get(wanted) if wanted is not None else None
    if _is_test(finding):
        return _origin_of(_test(finding, column) or _test(finding, model) or column or model, file)
    if finding.code in _OF_THE_MODEL and _find_constraint(finding, column) is None:
        listed = None if finding.code in ("PP502", "PP503") else _find_child(model, "constraints")
        found = _find_constraint(finding, model) or listed or column or model
    elif column is None:
        return None if wanted is not None else _origin_of(model, file)
    else:
        key = _KEY_OF.get(finding.code)
        found = _find_constraint(finding, column) or (_find_child(column, key) if key else None) or column
    return _origin_of(found, file)


def _test(finding: Finding, holder: Any) -> Any:
    """The data test of a column or a model that a finding speaks of: by its own name, else by the beginning of the name
    that dbt makes of it."""
    name, alike = finding.promised or "", None
    for test in (*_items(_find_child(holder, "data_tests")), *_items(_find_child(holder, "tests"))):
        pairs = test.value if isinstance(test, yaml.MappingNode) else [(test, None)]
        if name in (_name(test), *(_name(value) for _, value in pairs)):
            return test
        if alike is None and any(name.startswith(f"{str(key.value).replace('.', '_')}_") for key, _ in pairs):
            alike = test
    return alike


def _find_constraint(finding: Finding, holder: Any) -> Any:
    """The constraint of a column or a model that a finding speaks of."""
    kind = (finding.promised or "").partition("(")[0].lower().replace(" ", "_")
    kinds = {"not_null", "primary_key"} if kind == "not_null" else {kind}
    listed = [c for c in _items(_find_child(holder, "constraints")) if _find_text(c, "type") in kinds]
    return listed[0] if listed else None


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
