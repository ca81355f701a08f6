"""Who may import what: each foreign library is known to the rooms named here, and to no other module."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS: dict[str, tuple[str, ...]] = {
    "sqlglot": (),
    "pyspark": ("core/planproof/session",),
    "py4j": ("core/planproof/session",),
    "pyarrow": ("core/planproof/arrow",),
    "ruamel": ("core/planproof/project",),
    # dbt's own command line is click's: its context tells which profile was loaded.
    "click": ("core/planproof/cli", "dbt_plugin/dbt_planproof/install.py"),
    "dbt": ("dbt_plugin/dbt_planproof", "operators/airflow_planproof/dbt_command.py"),
    "airflow": ("operators/airflow_planproof",),
    "cosmos": ("operators/airflow_planproof",),
    "airflow_planproof": ("operators/airflow_planproof",),
    "dbt_planproof": ("dbt_plugin/dbt_planproof",),
}
SHIPPED = ("core", "dbt_plugin", "operators")


def imported(source: str) -> set[str]:
    """The top-level names of all modules that a text imports, wherever the import stands."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add(node.module or "")
    return {name.split(".")[0] for name in names}


@pytest.mark.parametrize("library", ROOMS)
def test_a_library_is_imported_in_its_rooms_only(library: str) -> None:
    importing = {
        path.relative_to(ROOT).as_posix()
        for folder in SHIPPED
        for path in (ROOT / folder).rglob("*.py")
        if library in imported(path.read_text())
    }
    assert [path for path in sorted(importing) if not path.startswith(ROOMS[library])] == []


def test_imports_in_functions_and_for_type_checkers_are_seen() -> None:
    text = """
def rows():
    from pyspark.sql import Row

if TYPE_CHECKING:
    import pyarrow.parquet as pq
"""
    assert imported(text) == {"pyspark", "pyarrow"}
