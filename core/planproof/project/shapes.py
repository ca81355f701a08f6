"""The types that a manifest's values must have where something reads them: the file is untrusted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planproof.project.errors import ProjectError

Kinds = tuple[type, ...]

_TEXT: Kinds = (str,)
_LIST: Kinds = (list,)
_FORM: Kinds = (dict, Mapping)
_SAID: Mapping[type, str] = {str: "a text", list: "a list", dict: "a mapping"}
_HOOKS: Kinds = (*_TEXT, *_FORM, *_LIST)

NODE: Mapping[str, Kinds] = {
    **dict.fromkeys(("name", "alias", "identifier", "unique_id", "resource_type", "package_name", "language"), _TEXT),
    **dict.fromkeys(("database", "schema", "relation_name", "source_name", "description", "root_path"), _TEXT),
    **dict.fromkeys(("original_file_path", "patch_path", "compiled_path", "compiled_code", "raw_code"), _TEXT),
    **dict.fromkeys(("config", "depends_on", "columns", "meta", "checksum", "contract"), _FORM),
    **dict.fromkeys(("constraints", "extra_ctes"), _LIST),
}
CONFIG: Mapping[str, Kinds] = {
    **dict.fromkeys(("materialized", "file_format", "incremental_strategy", "on_schema_change"), _TEXT),
    **dict.fromkeys(("sql_header", "delimiter"), _TEXT),
    **dict.fromkeys(("meta", "grants", "column_types", "contract", "persist_docs"), _FORM),
    **dict.fromkeys(("pre-hook", "post-hook", "pre_hook", "post_hook"), _HOOKS),
}
COLUMN: Mapping[str, Kinds] = {"name": _TEXT, "data_type": _TEXT, "description": _TEXT, "constraints": _LIST}

TEST: Mapping[str, Kinds] = dict.fromkeys(("config", "depends_on", "test_metadata"), _FORM)


def check_node(node: Mapping[str, Any], where: str) -> None:
    """Raises `ProjectError` for the first value of another type than something reads; null stands for none."""
    _check(node, NODE, where)
    config = node.get("config") or {}
    _check(config, CONFIG, f"{where}: config")
    grants = config.get("grants") or {}
    _check(grants, dict.fromkeys(grants, (*_TEXT, *_LIST)), f"{where}: config: grants")
    for name, column in (node.get("columns") or {}).items():
        if not isinstance(column, Mapping):
            raise ProjectError(f"{where}: column {name!r} is {column!r}, not a mapping")
        _check(column, COLUMN, f"{where}: column {name!r}")
    for i, cte in enumerate(node.get("extra_ctes") or ()):
        if not isinstance(cte, Mapping):
            raise ProjectError(f"{where}: extra_ctes[{i}] is {cte!r}, not a mapping")


def check_test(node: Mapping[str, Any], where: str) -> None:
    """The same of a data test."""
    _check(node, TEST, where)
    _check(node.get("depends_on") or {}, {"nodes": _LIST}, f"{where}: depends_on")
    _check(node.get("test_metadata") or {}, {"kwargs": _FORM}, f"{where}: test_metadata")


def _check(form: Mapping[str, Any], kinds: Mapping[str, Kinds], where: str) -> None:
    for key, allowed in kinds.items():
        given = form.get(key)
        if given is not None and type(given) not in allowed and not isinstance(given, allowed):
            said = " or ".join(_SAID[kind] for kind in allowed if kind in _SAID)
            raise ProjectError(f"{where}: `{key}` is {type(given).__name__}, not {said}")
