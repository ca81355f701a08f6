"""Contracts written down outside dbt: a YAML or JSON file with `columns: [{name, type, nullable}]`."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from planproof.contract import Contract, ContractError
from planproof.project.reads import ProjectError, read_content, read_within
from planproof.project.yaml_text import load_yaml
from planproof.regular import checkout_of, real_path

_COLUMN_KEYS = {"name", "type", "data_type", "nullable", "constraints", "description"}


def read_contract(path: str | Path) -> Contract:
    """The contract in a YAML or JSON file. Raises `ProjectError` with the file and the column.

    A column has `name`, `type` (DDL with nested `NOT NULL`, or Spark's type JSON) and `nullable` (true unless stated).
    Beside `columns` stand `constraints: [{type, columns, expression, name}]`.
    """
    file = Path(path)
    form = load_file(file)
    if not isinstance(form, Mapping):
        raise ProjectError(f"{file}: is no mapping; write `columns: [{{name: id, type: bigint, nullable: false}}]`")
    return parse_contract(form, str(file))


def parse_contract(form: Mapping[str, Any], where: str) -> Contract:
    """The contract that a decoded file describes. Raises `ProjectError`."""
    unknown = sorted(set(form) - {"columns", "constraints"})
    if unknown:
        raise ProjectError(f"{where}: unknown key {unknown[0]!r}; known: columns, constraints")
    columns = form.get("columns")
    if not isinstance(columns, list) or not columns:
        raise ProjectError(f"{where}: `columns` is not a list of columns")
    try:
        return Contract(
            [parse_column(column, f"{where}: columns[{i}]") for i, column in enumerate(columns)],
            _parse_constraints(form.get("constraints"), where),
            {str(column["name"]): where for column in columns},
        )
    except ContractError as error:
        raise ProjectError(f"{where}: {error}") from error


def contract_form(contract: Contract) -> dict[str, Any]:
    """What `parse_contract` reads back, in JSON's types."""
    return {
        "columns": [{"name": f.name, "type": f.type.json, "nullable": f.nullable} for f in contract.schema],
        "constraints": [
            {"type": c.kind, "columns": list(c.columns), "expression": c.expression, "name": c.name}
            for c in contract.constraints
        ],
    }


def parse_column(form: Any, where: str) -> tuple[str, Any, bool]:
    """(name, type, nullable) of one column. Raises `ProjectError`."""
    if not isinstance(form, Mapping):
        raise ProjectError(f"{where}: is no mapping with `name` and `type`")
    unknown = sorted(set(map(str, form)) - _COLUMN_KEYS)
    if unknown:
        raise ProjectError(f"{where}: unknown key {unknown[0]!r}; known: {', '.join(sorted(_COLUMN_KEYS))}")
    name, data_type, nullable = form.get("name"), form.get("type", form.get("data_type")), form.get("nullable", True)
    if not isinstance(name, str) or not name:
        raise ProjectError(f"{where}: has no name")
    if data_type is None:
        raise ProjectError(f"{where} ({name!r}): has no type")
    if not isinstance(nullable, bool):
        raise ProjectError(f"{where} ({name!r}): nullable is {nullable!r}, not true or false")
    return name, data_type, nullable


def load_file(file: Path, home: Path | None = None) -> Any:
    """What a YAML or JSON file holds; `home` is the folder that it must lie in, links followed, where an artifact names
    it. Raises `ProjectError`."""
    try:
        content = read_content(file) if home is None else read_within(home, os.path.relpath(file, home))
        text = content.decode("utf-8")
        return _parse_json(text) if file.suffix == ".json" else load_yaml(text)
    except FileNotFoundError:
        raise ProjectError(f"{file}: there is no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ProjectError(f"{file}: cannot be read: {error}") from error
    except (yaml.YAMLError, RecursionError) as error:
        raise ProjectError(f"{file}: is neither YAML nor JSON: {error}") from error


def load_own(file: Path, *others: Path) -> Any:
    """What a file holds that a project has by its name, and that no user named: it lies, links followed, in the
    checkout of the project, or in one of the folders `others`. Raises `ProjectError`."""
    real, place = real_path(file), real_path(file.parent) / file.name
    if any(real.is_relative_to(real_path(folder)) for folder in others):
        return load_file(file)
    return load_file(file, checkout_of(place) or place.parent)


def _parse_json(text: str) -> Any:
    """Read a hundred times faster than as YAML, which a file of this name may be nevertheless."""
    try:
        return json.loads(text)
    except ValueError:
        return load_yaml(text)


def _parse_constraints(given: Any, where: str) -> list[Mapping[str, Any]]:
    if given is None:
        return []
    if not isinstance(given, list) or not all(isinstance(form, Mapping) for form in given):
        raise ProjectError(f"{where}: `constraints` is not a list of mappings")
    return given
