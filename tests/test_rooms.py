"""Who may import what: each foreign library is known to the rooms named here, and to no other module."""

from __future__ import annotations

import ast
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS: dict[str, tuple[str, ...]] = {
    "sqlglot": (),
    "pyspark": ("core/planproof/session",),
    "py4j": ("core/planproof/session",),
    "pyarrow": ("core/planproof/arrow",),
    "ruamel": ("core/planproof/project",),
    "pygls": ("core/planproof/lsp",),
    "lsprotocol": ("core/planproof/lsp",),
    # dbt's own command line is click's: its context tells which profile was loaded.
    "click": ("core/planproof/cli", "dbt_plugin/dbt_planproof/install.py"),
    "dbt": ("dbt_plugin/dbt_planproof", "operators/airflow_planproof/dbt_command.py"),
    "airflow": ("operators/airflow_planproof",),
    "cosmos": ("operators/airflow_planproof",),
    "airflow_planproof": ("operators/airflow_planproof",),
    "dbt_planproof": ("dbt_plugin/dbt_planproof",),
}
SHIPPED = ("core", "dbt_plugin", "operators")
CORE = ROOT / "core"
FLOORS: tuple[tuple[str, ...], ...] = (
    ("codes", "conf", "limits", "origin", "quarantine", "quoting", "records"),
    ("report", "settings", "types"),
    ("schema",),
    ("catalog", "claim", "contract", "expr"),
    ("functions", "paths"),
    ("arrow", "plan"),
    ("hazards", "sql"),
    ("analysis", "optimizer", "session"),
    ("api", "invariants"),
    ("claims", "example"),
    ("judge",),
    ("publish",),
    ("guard",),
    ("",),
    ("project",),
    ("lsp",),
    ("cli", "piped"),
    ("__main__",),
)
"""The rooms of core/planproof, from the ground up; `""` is what `import planproof` gives."""
SHOWS_ITSELF = ("planproof.report.model", "planproof.report.run")
"""A report has methods that print it: what they import stands inside them, and is left out here."""


@cache
def read(path: Path) -> str:
    return path.read_text()


@cache
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
        if library in imported(read(path))
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


def modules() -> dict[str, Path]:
    """Every module of core/, by the name under which it is imported."""
    found = {}
    for path in CORE.rglob("*.py"):
        parts = path.relative_to(CORE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def imports() -> dict[str, set[str]]:
    """The modules of core/ that each of them imports, wherever the import stands."""
    known = modules()
    found: dict[str, set[str]] = {}
    for name, path in known.items():
        tree = ast.parse(read(path))
        for node in tree.body if name in SHOWS_ITSELF else ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module in known:
                wanted = {inner if (inner := f"{node.module}.{a.name}") in known else node.module for a in node.names}
            elif isinstance(node, ast.Import):
                wanted = {a.name for a in node.names if a.name in known}
            else:
                continue
            found.setdefault(name, set()).update(wanted - {name})
    return found


def room_of(module: str) -> str:
    return [*module.split("."), ""][1]


def test_a_room_imports_from_lower_floors_only() -> None:
    floor = {room: at for at, rooms in enumerate(FLOORS) for room in rooms}
    assert {room_of(name) for name in modules()} - floor.keys() == set(), "a room that FLOORS does not name"
    upward = [
        f"{name} -> {other}"
        for name, others in sorted(imports().items())
        for other in sorted(others)
        if room_of(name) != room_of(other) and floor[room_of(other)] >= floor[room_of(name)]
    ]
    assert upward == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    try:
        list(TopologicalSorter(imports()).static_order())
    except CycleError as circle:
        raise AssertionError(" -> ".join(circle.args[1])) from None
