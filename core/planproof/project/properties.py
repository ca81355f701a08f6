"""Contracts in dbt's property files: comments, order and quotes of what stands there already are kept."""

from __future__ import annotations

import io
from collections.abc import Iterable, MutableMapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import YAMLError
from ruamel.yaml.scalarstring import DoubleQuotedScalarString
from yaml import YAMLError as PlainYAMLError

from planproof.project.errors import ProjectError
from planproof.project.infer import Inferred, InferredColumn
from planproof.project.kept_lines import keep_own_lines, keep_tail
from planproof.project.reads import read_content
from planproof.project.yaml_text import is_plain, refuse_large
from planproof_engine import OverBudget, bounded
from planproof_engine.schema import ByColumn, fold_name


def add_contracts(file: Path, inferred: Iterable[Inferred]) -> tuple[str, list[str]]:
    """The file's text with the contracts added, and what was added, a line each. Nothing is written.

    What the author declared stays: a column's own type and constraints are never changed. Raises `ProjectError` for a
    file that cannot be read, or in which an anchor shares between models what is to differ.
    """
    try:
        with bounded():
            return _add_contracts(file, inferred)
    except OverBudget as over:
        raise ProjectError(
            f"{file}: keeping its comments and order takes more {over} than planproof spends; split it"
        ) from None


def _add_contracts(file: Path, inferred: Iterable[Inferred]) -> tuple[str, list[str]]:
    yaml = _make_yaml()
    own = _read_text(file)
    form, inferred = _load(yaml, file, _end_line(own)), list(inferred)
    unchanged = _dump(yaml, form)
    meant = _copy_values(form)
    said = _add_promises(file, form, inferred)
    _add_promises(file, meant, inferred)
    text = _dump(yaml, form)
    written = _copy_values(yaml.load(text))
    if written != meant:
        shared = [m["name"] for m, found in zip(meant["models"], written["models"], strict=True) if m != found]
        raise ProjectError(
            f"{file}: {', '.join(shared)} would get what another model is promised, as a YAML anchor shares it; "
            "write it out for each, or leave these models out by --exclude"
        )
    kept = keep_own_lines(own.replace("\r\n", "\n"), unchanged, text) if own.strip() else text
    text = kept if _is_read_as(yaml, _end_line(kept), meant) else text
    return text.replace("\n", "\r\n") if "\r\n" in own else text, said


def _end_line(text: str) -> str:
    """The text with its last line ended, as it is where something stands behind it: a block scalar's value has the end
    of its last line."""
    return text if text.endswith("\n") or not text else f"{text}\n"


def _read_text(file: Path) -> str:
    if not file.exists():
        return ""
    try:
        text = read_content(file).decode("utf-8")
        refuse_large(text)
        return text
    except (OSError, UnicodeDecodeError, PlainYAMLError) as error:
        raise ProjectError(f"{file}: cannot be read: {error}") from error


def _dump(yaml: YAML, form: Any) -> str:
    text = io.StringIO()
    yaml.dump(form, text)
    return text.getvalue()


def _is_read_as(yaml: YAML, text: str, meant: Any) -> bool:
    try:
        return bool(_copy_values(yaml.load(text)) == meant)
    except YAMLError:
        return False


def _add_promises(file: Path, form: Any, inferred: Iterable[Inferred]) -> list[str]:
    models = form.setdefault("models", CommentedSeq())
    if not isinstance(models, list):
        raise ProjectError(f"{file}: `models` is {type(models).__name__}, not a list")
    said: list[str] = []
    for one in inferred:
        found = [m for m in models if isinstance(m, MutableMapping) and m.get("name") == one.node.name]
        if not found:
            with keep_tail(models):
                models.append(CommentedMap(name=_quote_name(one.node.name)))
        entry = found[0] if found else models[-1]
        with keep_tail(entry):
            said += [f"{one.node.name}: {line}" for line in _add_promise(file, entry, one.columns)]
    return said


def _copy_values(form: Any) -> Any:
    """The values alone, each in its own place: what an anchor shares is repeated."""
    if isinstance(form, MutableMapping):
        return {key: _copy_values(value) for key, value in form.items()}
    return [_copy_values(value) for value in form] if isinstance(form, list) else form


def _make_yaml() -> YAML:
    yaml = YAML(typ="rt")
    yaml.preserve_quotes = True
    yaml.width = 4096
    yaml.indent(mapping=2, sequence=4, offset=2)
    return yaml


def _load(yaml: YAML, file: Path, text: str) -> Any:
    try:
        form = yaml.load(text)
    except (YAMLError, ValueError, AttributeError, TypeError, RecursionError) as error:  # Of `a: &a {<<: *a}`, say.
        raise ProjectError(f"{file}: cannot be read: {error}") from error
    if form is None:
        return CommentedMap(version=2)
    if not isinstance(form, MutableMapping):
        raise ProjectError(f"{file}: is a YAML {type(form).__name__}, not a mapping with `models`")
    return form


def _add_promise(file: Path, entry: Any, columns: Iterable[InferredColumn]) -> list[str]:
    said, columns = [], list(columns)
    contract = _find_mapping(file, _find_mapping(file, entry, "config"), "contract")
    if contract.get("enforced") is not True:
        contract["enforced"] = True
        said.append("contract enforced")
    given = entry.setdefault("columns", CommentedSeq())
    if not isinstance(given, list):
        raise ProjectError(f"{file}: `columns` of {entry.get('name')} is {type(given).__name__}, not a list")
    known = ByColumn((str(c.get("name")), c) for c in given if isinstance(c, MutableMapping))
    for column in columns:
        form = known.get(column.name)
        if form is None:
            form = CommentedMap(name=_quote_name(column.name))
            with keep_tail(given):
                given.append(form)
        with keep_tail(form):
            said += _add_column(file, form, column)
    if said:
        said += _compare_order(given, columns)
    return said


def _compare_order(given: Iterable[Any], columns: Iterable[InferredColumn]) -> list[str]:
    """Said where the YAML's columns stand in another order than the query's: dbt stores a table in the contract's."""
    wanted = [fold_name(column.name) for column in columns]
    stand = [fold_name(str(c.get("name"))) for c in given if isinstance(c, MutableMapping)]
    known = set(wanted)
    stand = [name for name in stand if name in known]
    if stand == wanted:
        return []
    return [
        f"the YAML lists its columns in another order than the query, and the next build stores them in that order: "
        f"{', '.join(stand)}; to keep the table's order, list them as {', '.join(wanted)}"
    ]


def _add_column(file: Path, form: Any, column: InferredColumn) -> list[str]:
    said = []
    if not form.get("data_type"):
        form["data_type"] = column.data_type
        said.append(f"{column.name} {column.data_type}")
    if column.quote and form.get("quote") is None:
        form["quote"] = True
        said.append(f"{column.name} quoted")
    constraints = form.get("constraints") or []
    if column.not_null and not any(c.get("type") in ("not_null", "primary_key") for c in constraints):
        listed = form.setdefault("constraints", CommentedSeq())
        listed.append(CommentedMap(type="not_null"))
        said.append(f"{column.name} NOT NULL ({column.not_null})")
    return said


def _quote_name(name: str) -> str:
    """A name that dbt reads back as one: its YAML is 1.1, where a plain `no` is false."""
    quoted: str = DoubleQuotedScalarString(name)
    return name if is_plain(name) else quoted


def _find_mapping(file: Path, form: Any, key: str) -> Any:
    if form.get(key) is None:
        form[key] = CommentedMap()
    if not isinstance(form[key], MutableMapping):
        raise ProjectError(f"{file}: `{key}` is {type(form[key]).__name__}, not a mapping")
    return form[key]
