"""Whether a model's files are still those that dbt compiled: its text, its YAML, the project's macros that it calls.

Only what is certain is said. Files that are not there, templates in YAML and what dbt_project.yml sets are nobody's
evidence that something changed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any

from planproof.project import Project, ProjectNode
from planproof.project.contracts import load_file
from planproof.project.nodes import patch_of
from planproof.project.reads import (
    ProjectError,
    is_file,
    is_later,
    list_yaml_files,
    package_folder,
    resolve_within,
)
from planproof.project.texts import FileTexts, convert_line_ends

_BLANK = re.compile(r"\s+")


@dataclass(slots=True)
class Files:
    """The files of a project whose manifest was read; each is read once. `opened` is the text of the model that was
    asked for last, by its path. `of_yaml`: whether what YAML files say of a model counts, too."""

    project: Project
    of_yaml: bool = True
    opened: dict[str, str] = field(default_factory=dict)
    _texts: FileTexts = field(default_factory=FileTexts)
    _yaml: dict[str, Any] = field(default_factory=dict)
    _later: dict[str, Path | None] = field(default_factory=dict)
    _described: dict[PurePosixPath, dict[str, tuple[str, Any]]] = field(default_factory=dict)
    _called: dict[str, str | None] = field(default_factory=dict)
    _any: list[bool] = field(default_factory=list)

    def find_change(self, node: ProjectNode) -> str | None:
        """What of the model changed since dbt compiled it, None where nothing is known to have."""
        directory = self.project.directory
        if directory is None or node.file is None:
            return None
        own = node.package == self.project.name
        installed = "" if own else package_folder(node.package)
        if installed is None:
            return None
        home = directory / installed
        path = os.path.join(home, node.file)
        text = self._texts.read(home, node.file)
        if text is None and not is_file(path):
            return f"{node.file} is gone" if own and self._has_models(directory) else None
        self.opened = {node.file: text.plain} if text is not None and own else {}
        if text is not None and not text.is_of(node.raw):
            return f"{node.file} changed"
        if not own:
            return None
        patch = self._read_patch(node, directory) if self.of_yaml and node.raw.get("version") is None else None
        return f"{patch[0]} changed ({patch[1]})" if patch else self._find_macro_change(node, directory)

    def _has_models(self, directory: Path) -> bool:
        """A folder that holds no model at all is a manifest that was carried elsewhere."""
        if not self._any:
            own = (n for n in self.project.models if n.package == self.project.name and n.file)
            self._any.append(any(is_file(directory / str(n.file)) for n in own))
        return self._any[0]

    # --- the YAML ---------------------------------------------------------------------------------------------------

    def _read_patch(self, node: ProjectNode, directory: Path) -> tuple[str, str] | None:
        package, name = patch_of(node.raw)
        if not name:
            return self._find_first_patch(node, directory)
        path = self._find_newer_yaml(name, directory) if package in ("", self.project.name) else None
        if path is None:
            return None
        entries = [form for form in _list_models(self._read_yaml(path)) if form.get("name") == node.name]
        if not entries:
            return name, f"it no longer describes {node.name}"
        difference = _find_difference(entries[0], node.raw) if len(entries) == 1 else None
        return (name, difference) if difference else None

    def _find_first_patch(self, node: ProjectNode, directory: Path) -> tuple[str, str] | None:
        """What a YAML file, beside the model or in a folder above, says of a model that none described for dbt."""
        file = PurePosixPath(str(node.file))
        for folder in file.parents if not file.is_absolute() and ".." not in file.parts else ():
            if folder not in self._described:
                self._described[folder] = dict(self._read_descriptions(folder, directory))
            name, entry = self._described[folder].get(node.name, ("", None))
            difference = _find_difference(entry, node.raw) if entry else None
            if difference:
                return name, difference
        return None

    def _read_descriptions(self, folder: PurePosixPath, directory: Path) -> Iterator[tuple[str, tuple[str, Any]]]:
        """The models that the folder's YAML files describe, of those that were written after dbt compiled."""
        if is_file(directory / ".dbtignore"):
            return  # dbt may not read them.
        for name in list_yaml_files(directory / folder):
            path = self._find_newer_yaml(str(folder / name), directory)
            for entry in _list_models(self._read_yaml(path)) if path is not None else ():
                yield str(entry.get("name")), (str(folder / name), entry)

    def _find_newer_yaml(self, name: str, directory: Path) -> Path | None:
        if name not in self._later:
            yaml = directory / name
            self._later[name] = yaml if is_file(yaml) and _is_inside(directory, name) and self._is_newer(yaml) else None
        return self._later[name]

    def _is_newer(self, path: Path) -> bool:
        try:
            compiled = datetime.fromisoformat(self.project.generated_at.replace("Z", "+00:00"))
            return is_later(path, compiled.timestamp())
        except (ValueError, OSError):
            return True

    def _read_yaml(self, path: Path) -> Any:
        real = os.path.realpath(path)  # However a manifest spells it.
        if real not in self._yaml:
            try:
                self._yaml[real] = load_file(path, self.project.directory)
            except ProjectError:
                self._yaml[real] = None
        return self._yaml[real]

    # --- the macros -------------------------------------------------------------------------------------------------

    def _find_macro_change(self, node: ProjectNode, directory: Path) -> str | None:
        """dbt 1 keeps a macro's text as its file has it; of dbt 2 that is not known."""
        if not self.project.dbt_version.startswith("1."):
            return None
        asked = _list_ids(node.raw)
        self._note_macros(asked, directory)
        return self._find_called(asked)

    def _find_called(self, keys: list[str]) -> str | None:
        return next((said for key in reversed(keys) if (said := self._called.get(key)) is not None), None)

    def _note_macros(self, asked: Iterable[str], directory: Path) -> None:
        """Notes in `_called` what changed of each macro and of those that it calls, itself before them. A macro is
        looked at once, whoever calls it."""
        waiting, opened, done = [(key, False) for key in asked], set[str](), list[str]()
        while waiting:
            key, is_left = waiting.pop()
            if is_left:
                called = _list_ids(self.project.macros[key])
                self._called[key] = self._describe_macro(key, directory) or self._find_called(called)
                done.append(key)
            elif key not in opened and key not in self._called and isinstance(self.project.macros.get(key), Mapping):
                opened.add(key)
                waiting += [(key, True), *((other, False) for other in _list_ids(self.project.macros[key]))]
        self._note_circles(done)

    def _note_circles(self, keys: Iterable[str]) -> None:
        """In a circle one macro was left before another that it calls."""
        callers: dict[str, list[str]] = {}
        for key in keys:
            for called in _list_ids(self.project.macros[key]):
                callers.setdefault(called, []).append(key)
        waiting = [key for key in callers if self._called.get(key) is not None]
        while waiting:
            key = waiting.pop()
            for caller in callers.pop(key, ()):
                if self._called[caller] is None:
                    self._called[caller] = self._called[key]
                    waiting.append(caller)

    def _describe_macro(self, key: str, directory: Path) -> str | None:
        macro = self.project.macros[key]
        if macro.get("package_name") != self.project.name or not self._is_gone(macro, directory):
            return None
        return f"the macro {macro.get('name')} changed ({macro.get('original_file_path')})"

    def _is_gone(self, macro: Mapping[str, Any], directory: Path) -> bool:
        file, text = macro.get("original_file_path"), macro.get("macro_sql")
        if not isinstance(file, str) or not isinstance(text, str) or not text.strip():
            return False
        found = self._texts.read(directory, file)
        return found is not None and convert_line_ends(text).strip() not in found.plain


def _is_inside(directory: Path, name: str) -> bool:
    try:
        resolve_within(directory, name)
    except (OSError, ValueError):
        return False
    return True


def _list_ids(form: Mapping[str, Any]) -> list[str]:
    depends_on = form.get("depends_on")
    found = depends_on.get("macros") if isinstance(depends_on, Mapping) else None
    return [str(key) for key in found] if isinstance(found, list) else []


def _list_models(form: Any) -> Iterator[Mapping[str, Any]]:
    listed = form.get("models") if isinstance(form, Mapping) else None
    yield from (entry for entry in listed if isinstance(entry, Mapping)) if isinstance(listed, list) else ()


def _find_difference(entry: Mapping[str, Any], raw: Mapping[str, Any]) -> str | None:
    """The first promise that the YAML makes in other words than the manifest."""
    written = {str(column.get("name")): column for column in _select_mappings(entry.get("columns"))}
    known = {str(c.get("name") or key): c for key, c in (raw.get("columns") or {}).items() if isinstance(c, Mapping)}
    if any("{" in name for name in written) or "versions" in entry:
        return None
    for name in [*(n for n in written if n not in known), *(n for n in known if n not in written)]:
        return f"column `{name}`"
    for name, column in written.items():
        data_type = column.get("data_type")
        plain = isinstance(data_type, str) and "{" not in data_type
        if (plain or data_type is None) and data_type != known[name].get("data_type"):
            return f"the type of `{name}`"
        if _read_constraints(column) != _read_constraints(known[name]):
            return f"the constraints of `{name}`"
    return _compare_contract(entry, raw)


def _compare_contract(entry: Mapping[str, Any], raw: Mapping[str, Any]) -> str | None:
    config, known = entry.get("config"), raw.get("config")
    stated = config.get("contract") if isinstance(config, Mapping) else None
    now = stated.get("enforced") if isinstance(stated, Mapping) else None
    before = known.get("contract") if isinstance(known, Mapping) else None
    was = bool(before.get("enforced")) if isinstance(before, Mapping) else False
    # The model's own text may say otherwise, and goes before.
    return (
        "its contract" if isinstance(now, bool) and now != was and "contract" not in str(raw.get("raw_code")) else None
    )


def _read_constraints(form: Mapping[str, Any]) -> set[tuple[str, str]] | None:
    listed = list(_select_mappings(form.get("constraints")))
    found = {(str(c.get("type")), _BLANK.sub(" ", str(c.get("expression") or "")).strip()) for c in listed}
    return {(kind, "" if kind == "foreign_key" or "{" in text else text) for kind, text in found}


def _select_mappings(given: Any) -> Iterable[Mapping[str, Any]]:
    return (item for item in given if isinstance(item, Mapping)) if isinstance(given, list) else ()
