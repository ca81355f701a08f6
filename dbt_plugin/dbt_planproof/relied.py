"""Everything of dbt that the guard relies on, in one table, and whether the installed dbt has it.

`RELIANCES` is checked once per invocation, before anything runs, whatever dbt's version is. Each entry says what it is,
why the guard needs it, and what was found in its place.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, Protocol


class Reliance(Protocol):
    """One thing that the guard counts on; `str()` names it."""

    @property
    def why(self) -> str: ...

    def find_lack(self) -> str | None:
        """What was found in its place, None where it is there."""


@dataclass(frozen=True)
class Name:
    """A class or function of dbt's, with attributes that it must have."""

    module: str
    name: str
    why: str
    attributes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.module}.{self.name}" + "".join(f", its {attribute}" for attribute in self.attributes)

    def find_lack(self) -> str | None:
        found = _find_named(self.module, self.name)
        if found is None:
            return "nothing of that name"
        missing = [attribute for attribute in self.attributes if not _has(found, attribute)]
        return f"no {', no '.join(missing)}" if missing else None


@dataclass(frozen=True)
class Takes:
    """A method of a class, and the parameters that it is called with, in their order; others must have defaults."""

    module: str
    owner: str
    method: str
    parameters: tuple[str, ...]
    why: str

    def __str__(self) -> str:
        return f"{self.module}.{self.owner}.{self.method}({', '.join(self.parameters)})"

    def find_lack(self) -> str | None:
        found = getattr(_find_named(self.module, self.owner), self.method, None)
        if not callable(found):
            return "no such method"
        given = [p for p in inspect.signature(found).parameters.values() if p.name not in ("self", "cls")]
        named = [p for p in given if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        in_order = tuple(p.name for p in named[: len(self.parameters)]) == self.parameters
        needless = all(p.default is not p.empty for p in named[len(self.parameters) :])
        return None if in_order and needless else f"({', '.join(map(str, given))})"


@dataclass(frozen=True)
class Calls:
    """A class of dbt's whose own methods call these methods of the adapter."""

    module: str
    owner: str
    names: tuple[str, ...]
    why: str

    def __str__(self) -> str:
        return f"{self.module}.{self.owner} calls {' and '.join(self.names)}"

    def find_lack(self) -> str | None:
        owner = _find_named(self.module, self.owner)
        codes = [f.__code__ for f in vars(owner).values() if inspect.isfunction(f)] if owner is not None else []
        missing = [name for name in self.names if not any(name in code.co_names for code in codes)]
        return f"no call of {', '.join(missing)}" if missing else None


@dataclass(frozen=True)
class Macro:
    """A macro of a package that dbt brings along, and pieces of its text; spaces do not count."""

    package: str
    name: str
    pieces: tuple[str, ...]
    why: str

    def __str__(self) -> str:
        return f"the macro {self.package}.{self.name}"

    def find_lack(self) -> str | None:
        text = _read_macro(self.package, self.name)
        if text is None:
            return "no such macro"
        missing = [piece for piece in self.pieces if "".join(piece.split()) not in "".join(text.split())]
        return "a text without `" + "` and `".join(missing) + "`" if missing else None


@dataclass(frozen=True)
class Swapped:
    """The place where dbt takes the adapter's class from."""

    why: str

    def __str__(self) -> str:
        return "dbt.adapters.factory.FACTORY makes adapters of the class dbt.adapters.spark.Plugin.adapter"

    def find_lack(self) -> str | None:
        factory, plugin = _find_named("dbt.adapters.factory", "FACTORY"), _find_named("dbt.adapters.spark", "Plugin")
        if plugin is None or not isinstance(getattr(plugin, "adapter", None), type):
            return "no class there"
        if factory.get_adapter_class_by_name("spark") is not plugin.adapter:
            return "another class"
        made = factory.adapters.get("spark")
        # An adapter that is there before plugins are set up is not of the guarded class.
        return "an adapter that was made before plugins are set up" if made and not _is_gated(made) else None


_SPARK, _IMPL = "dbt.adapters.spark", "SparkAdapter"
_NODES, _FLAGS = "dbt.contracts.graph.nodes", "dbt.flags"
_CONFIG = "dbt.artifacts.resources.v1.model"
_STATEMENT = "planproof reads it to know what is written"
_NODE = (
    *("name", "unique_id", "resource_type", "language", "schema", "alias", "compiled_code", "config", "columns"),
    *("constraints", "original_file_path", "to_dict"),
)

RELIANCES: tuple[Reliance, ...] = (
    Name("dbt.plugins", "dbtPlugin", "planproof is loaded through it", ("initialize",)),
    Name("dbt_common.exceptions", "DbtRuntimeError", "a stopped model fails with this error"),
    Name("dbt_common.events.functions", "fire_event", "planproof logs through it"),
    Name("dbt_common.events.types", "Note", "planproof logs through it"),
    Name("dbt_common.events.base_types", "EventLevel", "planproof logs through it", ("DEBUG", "INFO", "WARN")),
    Name("dbt_common.clients.agate_helper", "empty_table", "planproof answers with it for a statement's rows"),
    Name(
        "dbt.adapters.contracts.connection",
        "AdapterResponse",
        "planproof answers a statement with it",
        ("_message", "rows_affected"),
    ),
    Name(_FLAGS, "get_flags", "it names the command that runs", ("WHICH",)),
    Swapped("planproof puts its own class there"),
    Takes(_SPARK, _IMPL, "pre_model_hook", ("config",), "it tells planproof that a node begins"),
    Takes(_SPARK, _IMPL, "post_model_hook", ("config", "context"), "it tells planproof that a node has ended"),
    Takes(_SPARK, _IMPL, "execute", ("sql", "auto_begin", "fetch", "limit"), "every statement goes through it"),
    Takes(_SPARK, _IMPL, "drop_relation", ("relation",), "planproof delays the drop before a CREATE TABLE"),
    Takes(_SPARK, _IMPL, "rename_relation", ("from_relation", "to_relation"), "planproof runs a delayed drop first"),
    Takes(_SPARK, _IMPL, "get_column_schema_from_query", ("sql",), "dbt compares a contract's columns with it"),
    Takes(_SPARK, _IMPL, "get_columns_in_relation", ("relation",), "dbt names an insert's columns with it"),
    Takes(_SPARK, _IMPL, "get_relation", ("database", "schema", "identifier"), "it says what a model replaces"),
    Takes(_SPARK, _IMPL, "list_relations_without_caching", ("schema_relation",), "it says whether a schema is empty"),
    Takes(_SPARK, _IMPL, "cache_dropped", ("relation",), "it tells dbt that a relation was replaced"),
    Takes(_SPARK, _IMPL, "cleanup_connections", (), "planproof writes its report there"),
    Takes(
        "dbt.adapters.spark.relation", "SparkRelation", "create_from", ("quoting", "relation_config"), "it gives names"
    ),
    Name(
        "dbt.adapters.spark.relation",
        "SparkRelation",
        "it says in what format a table is",
        ("schema", "identifier", "is_table", "is_view", "is_delta", "is_iceberg", "is_hudi", "information"),
    ),
    Name(
        "dbt.adapters.spark.connections",
        "SparkCredentials",
        "it says how Spark is reached",
        ("method", "server_side_parameters"),
    ),
    Calls("dbt.task.run", "ModelRunner", ("pre_model_hook", "post_model_hook"), "they say when a model runs"),
    Name(_NODES, "ModelNode", "it says what a model is", _NODE),
    Name(
        _CONFIG,
        "ModelConfig",
        "it says how a model is written",
        ("materialized", "meta", "contract", "full_refresh", "get"),
    ),
    Macro("dbt", "statement", ("adapter.execute(compiled_code",), "every statement goes through adapter.execute"),
    Macro(
        "dbt_spark",
        "materialization_table_spark",
        ("adapter.drop_relation(", "statement('main'", "create_table_as(False, target_relation, compiled_code"),
        "planproof delays its drop, and guards the statement after it",
    ),
    Macro(
        "dbt_spark",
        "materialization_incremental_spark",
        (
            *("adapter.drop_relation(", "create_table_as(False, target_relation, compiled_code"),
            *("create_table_as(True, tmp_relation, compiled_code", "dbt_spark_get_incremental_sql("),
        ),
        "it inserts new rows from a temporary view",
    ),
    Macro("dbt_spark", "materialization_view_spark", ("create_or_replace_view()",), "it makes a view at once"),
    Macro("dbt", "create_or_replace_view", ("get_create_view_as_sql(", "statement('main')"), "it makes a view at once"),
    Macro(
        "dbt_spark",
        "spark__create_table_as",
        ("create table {{ relation }}", "as {{ compiled_code }}", "create_temporary_view(relation, compiled_code)"),
        _STATEMENT,
    ),
    Macro("dbt_spark", "spark__create_view_as", ("create or replace view {{ relation }}", "as {{ sql }}"), _STATEMENT),
    Macro(
        "dbt_spark",
        "spark__create_temporary_view",
        ("create or replace temporary view {{ relation }} as {{ compiled_code }}",),
        _STATEMENT,
    ),
    Macro(
        "dbt_spark",
        "get_insert_into_sql",
        ("insert into table {{ target_relation }} select {{dest_cols_csv}} from {{ source_relation }}",),
        _STATEMENT,
    ),
    Macro(
        "dbt_spark",
        "get_insert_overwrite_sql",
        ("insert overwrite table {{ target_relation }}", "select {{dest_cols_csv}} from {{ source_relation }}"),
        _STATEMENT,
    ),
)

OF_KINDS: dict[str, tuple[Reliance, ...]] = {
    "seed": (
        Takes(
            _SPARK, _IMPL, "add_query", ("sql", "auto_begin", "bindings", "abridge_sql_log"), "it inserts a seed's rows"
        ),
        Macro(
            "dbt_spark",
            "spark__reset_csv_table",
            ("adapter.drop_relation(", "create_csv_table(model, agate_table)"),
            "planproof delays its drop, and holds what follows",
        ),
        Macro("dbt_spark", "spark__create_csv_table", ("create table {{ this.render() }} (",), _STATEMENT),
        Macro(
            "dbt_spark",
            "spark__load_csv_rows",
            ("insert into {{ this.render() }} values", "adapter.add_query(sql, bindings=bindings"),
            _STATEMENT,
        ),
    ),
    "snapshot": (
        Macro(
            "dbt_spark",
            "materialization_snapshot_spark",
            (
                *("create_table_as(False, target_relation, build_sql)", "create_columns(target_relation,"),
                *("spark_build_snapshot_staging_table(strategy, sql, target_relation)", "snapshot_merge_sql("),
            ),
            "it writes a table first, later a view and a merge from it",
        ),
        Macro(
            "dbt_spark",
            "spark_build_snapshot_staging_table",
            ("target_relation.identifier ~ '__dbt_tmp'", "{% if target_relation.is_iceberg %}", "schema=none"),
            "planproof knows its view by name",
        ),
        Macro(
            "dbt_spark",
            "spark__snapshot_merge_sql",
            ("merge into {{ target }} as DBT_INTERNAL_DEST", "as DBT_INTERNAL_SOURCE"),
            _STATEMENT,
        ),
    ),
}
"""What seeds and snapshots on Iceberg need in addition. Where a part is missing, they are left to dbt."""

_TESTS, _ASKED = "dbt.task.test", "planproof runs tests on staged rows through it"

OF_TESTS: tuple[Reliance, ...] = (
    Takes("dbt.task.run", "RunTask", "before_run", ("adapter", "selected_uids"), "it says which nodes run"),
    Name("dbt.contracts.graph.manifest", "Manifest", "it says which tests a model has", ("nodes", "sources", "macros")),
    Takes(
        "dbt.compilation",
        "Compiler",
        "compile_node",
        ("node", "manifest", "extra_context", "write"),
        "it compiles a test before its turn",
    ),
    Takes(_TESTS, "TestRunner", "__init__", ("config", "adapter", "node", "node_index", "num_nodes"), _ASKED),
    Takes(_TESTS, "TestRunner", "execute_data_test", ("data_test", "manifest"), f"{_ASKED}, and answers its node"),
    Takes(
        _TESTS, "TestRunner", "build_test_run_result", ("test", "result"), "planproof adds to a test's message there"
    ),
    Name(
        _TESTS,
        "TestResultData",
        "it holds what a test found",
        ("failures", "should_warn", "should_error", "adapter_response"),
    ),
    Name(_FLAGS, "get_flags", "it says whether tests store their failures", ("STORE_FAILURES",)),
    Name(
        "dbt.artifacts.resources.v1.config",
        "TestConfig",
        "it says how a test is judged",
        ("severity", "warn_if", "error_if", "fail_calc", "limit", "store_failures", "store_failures_as"),
    ),
)
"""What `tests: before` needs in addition. Where a part is missing, models with that setting are not published."""


def find_missing(table: tuple[Reliance, ...] | None = None) -> list[str]:
    """What of a table, by default `RELIANCES`, this dbt lacks, a line each; none where the guard can stand."""
    return [line for reliance in (RELIANCES if table is None else table) for line in _describe_lack(reliance)]


def _describe_lack(reliance: Reliance) -> Iterator[str]:
    try:
        found = reliance.find_lack()
    except Exception as error:
        found = f"{type(error).__name__}: {error}"
    if found is not None:
        yield f"{reliance} ({reliance.why}); found: {found}"


def _find_named(module: str, name: str) -> Any:
    try:
        return getattr(importlib.import_module(module), name, None)
    except ImportError:
        return None


def _has(found: Any, attribute: str) -> bool:
    """Whether a class has the attribute or the dataclass's field; of the flags, whether they have it now."""
    if not isinstance(found, type):
        return getattr(found(), attribute, None) is not None
    if is_dataclass(found) and any(f.name == attribute for f in fields(found)):
        return True
    return hasattr(found, attribute)


def _is_gated(adapter: Any) -> bool:
    return bool(getattr(adapter, "planproof_gated", False))


def _read_macro(package: str, name: str) -> str | None:
    """A macro's text in the folder from which dbt reads that package."""
    root = Path(_find_named("dbt.adapters.factory", "FACTORY").packages[package])
    kind, _, rest = name.partition("_")
    if kind == "materialization":
        what, adapter = rest.rsplit("_", 1)
        head = rf"materialization\s+{what}\s*,\s*adapter\s*=\s*'{adapter}'"
    else:
        kind, head = "macro", rf"macro\s+{re.escape(name)}\s*\("
    block = re.compile(rf"\{{%-?\s*{head}.*?\{{%-?\s*end{kind}\b", re.S)
    texts = (path.read_text("utf-8") for path in sorted(root.glob("macros/**/*.sql")))
    return next((found.group() for text in texts if (found := block.search(text))), None)
