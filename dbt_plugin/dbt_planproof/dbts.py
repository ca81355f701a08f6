"""The few things of dbt that the plugin calls, as protocols. `relied.py` checks that the installed dbt has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from planproof_engine import RelationName


def parents_of(node: Any) -> list[str]:
    """The nodes that a node of dbt's manifest is built from. Seeds and sources have none: what a seed depends on are
    macros alone, and a source has no such part at all."""
    return [str(parent) for parent in getattr(getattr(node, "depends_on", None), "nodes", None) or ()]


class Relation(Protocol):
    """A relation as dbt-spark knows it. `information` is what DESCRIBE TABLE EXTENDED says."""

    database: Any
    schema: Any
    identifier: Any
    is_table: bool
    is_delta: bool | None
    is_iceberg: bool | None
    is_hudi: bool | None
    information: str | None

    def replace(self, *, is_iceberg: bool) -> Relation: ...


class Column(Protocol):
    """A column as dbt knows it; `dtype` is its type as Spark prints it."""

    @property
    def name(self) -> str: ...

    dtype: str


class Credentials(Protocol):
    """A target of the profile; `method` is a text, or an enum whose value is one."""

    method: Any
    server_side_parameters: Mapping[str, str]


class Project(Protocol):
    """dbt's configuration of an invocation."""

    project_name: str
    project_root: str
    project_target_path: str
    credentials: Credentials


class NodeConfig(Protocol):
    """A node's configuration; `get` knows the adapter's own keys, too."""

    materialized: str
    meta: Mapping[str, Any] | None
    contract: Any
    full_refresh: bool | None

    def get(self, key: str) -> Any: ...


class Node(Protocol):
    """A node that runs."""

    name: str
    unique_id: str
    resource_type: Any
    language: str
    schema: str
    compiled_code: str | None
    config: NodeConfig

    def to_dict(self) -> dict[str, Any]: ...


class Adapter(Protocol):
    """The guarded adapter, as the gate calls it."""

    config: Project
    connections: Any
    Relation: Any
    Column: Any

    def get_relation(self, database: Any, schema: Any, identifier: Any) -> Relation | None: ...

    def cache_dropped(self, relation: Relation) -> Any: ...

    def drop_now(self, relation: Relation) -> None:
        """dbt's own drop, for one that was put off."""

    def execute_now(self, sql: str) -> None:
        """dbt's own way to run a statement, for one that was put off."""


def compile_test(adapter: Adapter, test: Any, manifest: Any) -> None:
    """Gives a copy of a test's node its compiled SQL, and writes no file."""
    from dbt.compilation import Compiler

    Compiler(adapter.config).compile_node(test, manifest, {}, write=False)


def run_test(adapter: Adapter, test: Any, manifest: Any) -> Any:
    """dbt's result (`failures`, `should_warn`, `should_error`) of a test by its compiled SQL, as dbt asks it."""
    from dbt.task.test import TestRunner

    return TestRunner(adapter.config, adapter, test, 0, 0).execute_data_test(test, manifest)


def test_result(failures: int, warns: bool, fails: bool) -> Any:
    """What dbt makes of a test's one row, as dbt-spark answers its query."""
    from dbt.task.test import TestResultData

    return TestResultData(failures, warns, fails, {"_message": "OK"})


def read_flags() -> Any:
    """The flags of this invocation."""
    from dbt.flags import get_flags

    return get_flags()  # type: ignore[no-untyped-call]


def names_of(relation: Relation) -> RelationName:
    """Schema and name."""
    return RelationName((str(relation.schema), str(relation.identifier)))
