"""A compiled dbt project as its manifest.json tells it. The file is untrusted input: values must have the types that
something reads.
"""

from __future__ import annotations

import heapq
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

from planproof.contract import FILE_FORMATS, MATERIALIZATIONS, STRATEGIES, Model
from planproof.project.behind import Behind
from planproof.project.compiler import Compiler
from planproof.project.garbage import pause_collections
from planproof.project.macro_calls import ASKING, find_call, list_macros
from planproof.project.nodes import Node, label_of, materialized_of, model_of, read_mapping, relation_of, seed_form
from planproof.project.reads import ProjectError, is_file, read_content
from planproof.project.statements import Hook, hooks_of, list_dbt_only, on_run_hooks
from planproof.project.target_folder import format_target, target_folder
from planproof.project.texts import Texts
from planproof.project.variables import read_variables
from planproof_engine import Conf

Kinds = tuple[type, ...]

_TEXT: Kinds = (str,)
_LIST: Kinds = (list,)
_FORM: Kinds = (dict, Mapping)
_SAID: Mapping[type, str] = {str: "a text", list: "a list", dict: "a mapping"}
_HOOKS: Kinds = (*_TEXT, *_FORM, *_LIST)

NODE: Mapping[str, Kinds] = {
    **dict.fromkeys(("name", "alias", "identifier", "unique_id", "resource_type", "package_name", "language"), _TEXT),
    **dict.fromkeys(("database", "schema", "relation_name", "source_name", "description"), _TEXT),
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


MANIFEST = "manifest.json"
_DIGITS = 4300
VERSIONS = (12, 20)
"""dbt 1.8 and later write v12, and so does dbt 2; its betas wrote v20: the same, with nulls for empty mappings."""
UNLOADED = "SELECT 1 AS nothing"
"""Stands for a seed's query until its rows are there."""
KINDS = ("model", "seed", "snapshot", "source")
"""The kinds of node that are relations; tests, analyses and operations are none."""


@dataclass(frozen=True)
class ProjectNode:
    """A node of the project that is, or is read like, a relation."""

    unique_id: str
    kind: str
    name: str
    relation: str
    materialized: str
    fqn: tuple[str, ...]
    tags: tuple[str, ...]
    file: str | None
    package: str
    parents: tuple[str, ...]
    raw: Node = field(repr=False, compare=False)

    @property
    def label(self) -> str:
        return label_of(self.raw)

    @property
    def sql(self) -> str | None:
        """The compiled SQL, None where the manifest holds none."""
        compiled = self.raw.get("compiled_code")
        return compiled if isinstance(compiled, str) and compiled.strip() else None

    @property
    def is_python(self) -> bool:
        return self.raw.get("language") == "python"

    def model(self, *, overrides: Mapping[str, Any] | None = None, conf: Conf | None = None) -> Model:
        """The node as a `Model`; a seed's query is not known before its rows are loaded. Raises `ProjectError`."""
        if self.kind == "seed":
            return model_of(seed_form(self.raw), sql=UNLOADED, overrides=overrides, conf=conf)
        return model_of(self.raw, overrides=overrides, conf=conf)

    def hooks(self) -> tuple[str, ...]:
        """The SQL, not rendered, of the pre-hooks and post-hooks."""
        return tuple(hook.sql for hook in hooks_of(self.raw.get("config") or {}))

    def find_obstacle(self) -> str | None:
        """Why the guard cannot run this model, or None where it can."""
        if self.is_python:
            return "a Python model"
        if self.materialized not in MATERIALIZATIONS:
            return f"materialized as {self.materialized!r}"
        config = self.raw.get("config") or {}
        strategy = config.get("incremental_strategy") or "append"
        file_format = config.get("file_format") or "parquet"
        merged = strategy == "merge" and (file_format == "parquet" or not _is_merged_plainly(config))
        if self.materialized == "incremental" and (merged or strategy not in STRATEGIES):
            return f"incremental strategy {strategy!r}"
        if self.materialized in ("table", "incremental", "seed") and file_format not in FILE_FORMATS:
            return f"file format {file_format!r}"
        skipped = self.list_left_to_dbt()
        return f"only dbt does what it asks for: {', '.join(skipped)}" if skipped else None

    def column_comments(self) -> dict[str, str]:
        """The comments that `persist_docs` asks for; dbt-spark gives them to the columns of a view, never of a Parquet
        table."""
        persist = (self.raw.get("config") or {}).get("persist_docs")
        if self.materialized != "view" or not isinstance(persist, Mapping) or not persist.get("columns"):
            return {}
        columns = self.raw.get("columns") or {}
        return {name: str(column["description"]) for name, column in columns.items() if column.get("description")}

    def list_left_to_dbt(self) -> tuple[str, ...]:
        """What the model's config asks of dbt beside its table, and `planproof run` cannot do."""
        return tuple(list_dbt_only(self.raw.get("config") or {}))


def _find_tested_column(test: Mapping[str, Any], name: str) -> str | None:
    """The column of a test that fails for one row of all; None of a test of another name, and of any other node."""
    metadata, config = test.get("test_metadata") or {}, test.get("config") or {}
    if metadata.get("name") != name or metadata.get("namespace") not in (None, "dbt"):
        return None
    usual = {"severity": "error", "error_if": "!= 0", "fail_calc": "count(*)"}
    is_whole = all(str(config.get(key) or value).lower() == value for key, value in usual.items())
    if not is_whole or config.get("where") or config.get("limit") or config.get("enabled") is False:
        return None
    column = test.get("column_name") or (metadata.get("kwargs") or {}).get("column_name")
    return column if isinstance(column, str) else None


def _is_merged_plainly(config: Mapping[str, Any]) -> bool:
    """Whether rows that match by the key are replaced whole, and the others added: what else dbt can write into a MERGE
    stands in its statement alone."""
    others = ("merge_update_columns", "merge_exclude_columns", "incremental_predicates", "predicates")
    return bool(config.get("unique_key")) and not any(config.get(key) for key in others)


@dataclass(frozen=True)
class Project:
    """`nodes` by unique id: models, seeds, snapshots and sources, parents before children."""

    name: str
    nodes: Mapping[str, ProjectNode]
    directory: Path | None = None
    dbt_version: str = ""
    adapter: str = ""
    on_run: tuple[Hook, ...] = ()
    macros: Mapping[str, Any] = field(default_factory=dict, repr=False)
    generated_at: str = ""
    manifest: Mapping[str, Any] = field(default_factory=dict, repr=False)
    compiler: Compiler | None = field(default=None, compare=False, repr=False)

    @property
    def is_of_dbt_2(self) -> bool:
        return is_of_dbt_2(self.dbt_version)

    @property
    def operations(self) -> tuple[str, ...]:
        """The SQL, not rendered, of the on-run-start and on-run-end hooks."""
        return tuple(hook.sql for hook in self.on_run)

    @cached_property
    def variables(self) -> Mapping[str, object]:
        """What the project sets for `var()`."""
        return read_variables(self.directory)

    @cached_property
    def models(self) -> tuple[ProjectNode, ...]:
        """The models in DAG order, ephemeral ones too."""
        return tuple(node for node in self.nodes.values() if node.kind == "model")

    @cached_property
    def sources(self) -> tuple[ProjectNode, ...]:
        return tuple(node for node in self.nodes.values() if node.kind == "source")

    @cached_property
    def tested_not_null(self) -> Mapping[str, tuple[str, ...]]:
        """By the unique id of a node: its columns that dbt's `not_null` test holds to it as a whole. A test that only
        warns, or looks at some rows alone, promises nothing."""
        return self._list_tested("not_null")

    @cached_property
    def tested_unique(self) -> Mapping[str, tuple[str, ...]]:
        return self._list_tested("unique")

    def _list_tested(self, name: str) -> Mapping[str, tuple[str, ...]]:
        found: dict[str, list[str]] = {}
        for node in (self.manifest.get("nodes") or {}).values():
            column = _find_tested_column(node, name) if isinstance(node, Mapping) else None
            if column is None:
                continue
            parents = list((node.get("depends_on") or {}).get("nodes") or ())
            if len(parents) == 1:
                found.setdefault(str(parents[0]), []).append(column)
        return {key: tuple(columns) for key, columns in found.items()}

    @cached_property
    def reading_macros(self) -> frozenset[str]:
        """The macros that read tables while dbt compiles, themselves or through others."""
        return list_macros(self.macros, lambda text: find_call(text) is not None)

    @cached_property
    def asking_macros(self) -> frozenset[str]:
        """The macros that ask, themselves or through others, whether the run is a later one."""
        return list_macros(self.macros, lambda text: any(word in text for word in ASKING))

    @cached_property
    def children(self) -> Mapping[str, tuple[str, ...]]:
        found: dict[str, list[str]] = {key: [] for key in self.nodes}
        for node in self.nodes.values():
            for parent in node.parents:
                found[parent].append(node.unique_id)
        return {key: tuple(ids) for key, ids in found.items()}

    def ancestors(self, unique_ids: Iterable[str], depth: int | None = None) -> set[str]:
        """The ids of everything upstream of `unique_ids`, themselves left out; at most `depth` edges away."""
        return self._reach(unique_ids, lambda key: self.nodes[key].parents, depth)

    def descendants(self, unique_ids: Iterable[str], depth: int | None = None) -> set[str]:
        return self._reach(unique_ids, lambda key: self.children[key], depth)

    @staticmethod
    def _reach(start: Iterable[str], step: Any, depth: int | None) -> set[str]:
        first = set(start)
        seen, edge = set(first), set(first)
        while edge and (depth is None or depth > 0):
            edge = {found for key in edge for found in step(key)} - seen
            seen |= edge
            depth = None if depth is None else depth - 1
        return seen - first

    def stored_parents(self, node: ProjectNode) -> tuple[ProjectNode, ...]:
        """The relations that a model's compiled SQL reads: dbt inlines ephemeral parents, so theirs stand for them."""
        found: dict[str, ProjectNode] = {}
        for key in node.parents:
            parent = self.nodes[key]
            behind = self._behind.list_stored(key) if parent.materialized == "ephemeral" else (parent,)
            found.update((one.unique_id, one) for one in behind)
        return tuple(found.values())

    def judged_parents(self, node: ProjectNode) -> tuple[ProjectNode, ...]:
        """The same, for who judges the model; none of one that is not judged (`overreaching`)."""
        return () if node.unique_id in self.overreaching else self.stored_parents(node)

    @cached_property
    def overreaching(self) -> frozenset[str]:
        """The models that are not judged, as they read too much by way of ephemeral ones."""
        return self._behind.find_overreaching()

    @cached_property
    def _behind(self) -> Behind[ProjectNode]:
        return Behind(self.nodes)

    def find_by_relation(self, name: str) -> ProjectNode | None:
        """The node whose relation or name is `name`, case aside."""
        wanted = name.lower()
        for node in self.nodes.values():
            if wanted in (node.relation.lower(), node.unique_id.lower()):
                return node
        named = [node for node in self.nodes.values() if node.name.lower() == wanted and node.kind != "source"]
        return named[0] if len(named) == 1 else None


def is_of_dbt_2(version: str) -> bool:
    """Whether dbt of that version is the one without Python.

    >>> is_of_dbt_2("2.0.0-preview.196"), is_of_dbt_2("1.12.6")
    (True, False)
    """
    return re.match(r"[2-9]\.", version) is not None


def read_project(source: str | Path | Mapping[str, Any], target_path: str | Path | None = None) -> Project:
    """The project of a directory, a manifest file, or a decoded manifest. A directory's lies in its target folder
    (`target_folder`): `target_path`, else where dbt writes it.

    Reads the manifest's schema v12, which dbt 1.8 to 1.12 and dbt 2 write, and v20 of dbt 2's betas. Compiled texts
    that dbt 2 left in files are read from the project's target folder. Raises `ProjectError`.
    """
    if isinstance(source, Mapping):
        return _build_project(source, "the manifest", None, None)
    path = Path(source)
    directory = path if path.is_dir() else _project_directory(path)
    file = target_folder(path, target_path) / MANIFEST if path.is_dir() else path
    if not os.path.exists(file):
        shown = format_target(path, target_path) / MANIFEST if path.is_dir() else path
        raise ProjectError(f"{shown}: there is no manifest; run `dbt compile`{_resolve_directory(directory, path)}")
    with pause_collections():
        return _build_project(_read_manifest(file), str(file), directory, file.parent)


def _resolve_directory(directory: Path | None, given: Path) -> str:
    """Where dbt is to compile: in the project that was `given`, or of whose manifest the path was."""
    if directory is None:
        return f" in {given.parent}"
    if not is_file(directory / "dbt_project.yml"):
        return f" in a dbt project, or give --project-dir; {directory.resolve()} has no dbt_project.yml"
    return "" if directory.resolve() == Path.cwd() else f" in {directory}"


def _project_directory(manifest: Path) -> Path | None:
    for directory in manifest.resolve().parents:
        if is_file(directory / "dbt_project.yml"):
            return directory
    return None


def _read_manifest(file: Path) -> Mapping[str, Any]:
    try:
        found = _parse_manifest(read_content(file).decode("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ProjectError(f"{file}: cannot be read: {error}") from error
    except (ValueError, RecursionError) as error:
        raise ProjectError(f"{file}: is no JSON: {error}; run `dbt compile` again") from error
    if not isinstance(found, Mapping):
        raise ProjectError(f"{file}: is a JSON {type(found).__name__}, not a manifest")
    return found


def _parse_manifest(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except ValueError:
        # Python reads no number of more than 4,300 digits: it is a text, and who has use for it says what is wrong.
        return json.loads(text, parse_int=lambda digits: int(digits) if len(digits) < _DIGITS else digits)


def _build_project(manifest: Mapping[str, Any], where: str, directory: Path | None, target: Path | None) -> Project:
    metadata = read_mapping(manifest, "metadata", where)
    version = str(metadata.get("dbt_schema_version") or "")
    if not version.rstrip("/").endswith(tuple(f"/manifest/v{known}.json" for known in VERSIONS)):
        raise ProjectError(
            f"{where}: its schema is {version or 'not stated'}; planproof reads manifest v12 (dbt 1.8 to 1.12, dbt 2) "
            "and v20 (betas of dbt 2). Compile the project with one of these"
        )
    adapter = str(metadata.get("adapter_type") or "")
    if adapter not in ("", "spark", "databricks"):
        raise ProjectError(f"{where}: it was compiled for {adapter}; planproof proves models on Spark")
    dbt_version = str(metadata.get("dbt_version") or "")
    texts = Texts(directory, target, of_dbt_2=is_of_dbt_2(dbt_version))
    raw = {**read_mapping(manifest, "nodes", where), **read_mapping(manifest, "sources", where)}
    nodes = dict(_build_nodes(raw, where, texts))
    on_run = on_run_hooks(node for node in raw.values() if isinstance(node, Mapping))
    return Project(
        str(metadata.get("project_name") or ""),
        {key: nodes[key] for key in _dag_order(nodes, where)},
        directory,
        dbt_version,
        adapter,
        on_run,
        read_mapping(manifest, "macros", where),
        str(metadata.get("generated_at") or ""),
        manifest,
    )


def _build_nodes(raw: Mapping[str, Any], where: str, texts: Texts) -> Iterator[tuple[str, ProjectNode]]:
    relations = {
        key for key, node in raw.items() if isinstance(node, Mapping) and str(node.get("resource_type")) in KINDS
    }
    for key, node in raw.items():
        if not isinstance(node, Mapping):
            raise ProjectError(f"{where}: node {key!r} is {type(node).__name__}, not a mapping")
        if key in relations:
            yield key, _build_node(key, texts.complete_node(node), relations, where)
        elif node.get("resource_type") == "test":
            check_test(node, f"{where}: {key}")


def _build_node(key: str, node: Node, relations: set[str], where: str) -> ProjectNode:
    check_node(node, f"{where}: {key}")
    kind = str(node["resource_type"])
    config = read_mapping(node, "config", f"{where}: {key}")
    depends_on = read_mapping(node, "depends_on", f"{where}: {key}")
    tags = {str(tag) for tag in [*_list(node, "tags", key, where), *_list(config, "tags", key, where)]}
    parents = [str(parent) for parent in _list(depends_on, "nodes", key, where)]
    file = node.get("original_file_path")
    return ProjectNode(
        key,
        kind,
        str(node.get("name") or key),
        relation_of(node),
        kind if kind in ("source", "snapshot") else materialized_of(node),
        tuple(str(part) for part in _list(node, "fqn", key, where)),
        tuple(sorted(tags)),
        file if isinstance(file, str) else None,
        str(node.get("package_name") or ""),
        tuple(dict.fromkeys(parent for parent in parents if parent in relations)),
        node,
    )


def _dag_order(nodes: Mapping[str, ProjectNode], where: str) -> list[str]:
    """Parents before children, and by unique id where the graph leaves a choice."""
    sorter = TopologicalSorter({key: node.parents for key, node in nodes.items()})
    try:
        sorter.prepare()
    except CycleError as error:
        circle = ", ".join(sorted(set(error.args[1]))[:5])
        raise ProjectError(f"{where}: these nodes depend on each other in a circle: {circle}") from error
    ready = sorted(sorter.get_ready())
    order: list[str] = []
    while ready:
        order.append(heapq.heappop(ready))
        sorter.done(order[-1])
        for key in sorter.get_ready():
            heapq.heappush(ready, key)
    return order


def _list(form: Mapping[str, Any], key: str, node: str, where: str) -> list[Any]:
    given = form.get(key)
    if given is None:
        return []
    if isinstance(given, str):
        return [given]
    if not isinstance(given, list):
        raise ProjectError(f"{where}: {node}: `{key}` is {type(given).__name__}, not a list")
    return given
