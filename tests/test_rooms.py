"""Who may import what: each foreign library is known to the rooms named here, and to no other module."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
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
    "click": ("core/planproof/cli", "dbt_plugin/dbt_planproof/command_line.py"),
    "dbt": ("dbt_plugin/dbt_planproof", "operators/airflow_planproof/dbt_command.py"),
    "airflow": ("operators/airflow_planproof",),
    "cosmos": ("operators/airflow_planproof",),
    "airflow_planproof": ("operators/airflow_planproof",),
    # Doors hand dbt in.
    "dbt_planproof": ("dbt_plugin", "operators/airflow_planproof", "core/planproof/cli", "core/planproof/piped.py"),
}
SHIPPED = ("core", "dbt_plugin", "operators")
CORE = ROOT / "core"
FLOORS: dict[str, tuple[tuple[str, ...], ...]] = {
    "planproof_engine": (
        ("budget", "records", "zone"),
        ("codes", "conf", "depth", "origin", "quoting"),
        ("ground",),
        ("finding", "types"),
        ("schema",),
        ("catalog", "claim", "expr"),
        ("functions",),
        ("logical",),
        ("hazards", "sql"),
        ("analysis", "optimizer"),
        ("api", "plans", "python_functions", "texts"),
        ("cases",),
        ("",),
    ),
    "planproof": (
        ("confidential", "interpreter", "limits", "own_errors", "quarantine", "regular"),
        ("report", "settings"),
        ("contract",),
        ("arrow",),
        ("session",),
        ("invariants",),
        ("claims",),
        ("judge",),
        ("publish",),
        ("guard",),
        ("",),
        ("project",),
        ("lsp",),
        ("cli", "piped"),
        ("__main__",),
    ),
}
"""The rooms of each package of core/, from the ground up; `""` is what importing the package itself gives. The engine
is the lower storey: it imports nothing of the guard."""
SURFACE = frozenset(
    {
        "catalog",
        "claim",
        "conf",
        "finding",
        "functions.nested",
        "hazards",
        "origin",
        "plans",
        "python_functions",
        "schema",
        "texts",
        "types",
    }
)
"""What the guard may import of the engine, beside the names of the package itself. Its README says what each holds."""


@cache
def read(path: Path) -> str:
    return path.read_text()


def called(call: ast.Call) -> str:
    """The last name of what is called."""
    function = call.func
    return (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )


@cache
def parse(source: str) -> tuple[ast.AST, ...]:
    """The nodes of a module that several tests look at."""
    kinds = (ast.Import, ast.ImportFrom, ast.Call)
    return tuple(node for node in ast.walk(ast.parse(source)) if isinstance(node, kinds))


@cache
def imported(source: str) -> set[str]:
    """The top-level names of all modules that a text imports, wherever the import stands, and however."""
    names: set[str] = set()
    for node in parse(source):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add(node.module or "")
        elif isinstance(node, ast.Call) and called(node) in ("import_module", "__import__"):
            names |= {str(a.value) for a in node.args if isinstance(a, ast.Constant)}
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


def test_only_one_module_puts_names_into_backticks() -> None:
    doubled = "`", "``"
    writing = {
        path.relative_to(ROOT).as_posix()
        for folder in SHIPPED
        for path in (ROOT / folder).rglob("*.py")
        if doubled[1] in read(path)
        for call in ast.walk(ast.parse(read(path)))
        if isinstance(call, ast.Call) and tuple(a.value for a in call.args if isinstance(a, ast.Constant)) == doubled
    }
    assert writing == {"core/planproof_engine/quoting.py"}


def test_imports_in_functions_and_for_type_checkers_are_seen() -> None:
    text = """
def rows():
    from pyspark.sql import Row

if TYPE_CHECKING:
    import pyarrow.parquet as pq

own = importlib.import_module("dbt_planproof.compiler")
other = __import__("airflow.sdk")
"""
    assert imported(text) == {"pyspark", "pyarrow", "dbt_planproof", "airflow"}


@cache
def modules(folder: str = "core") -> dict[str, Path]:
    """Every module of a folder that is shipped, by the name under which it is imported."""
    found = {}
    for path in (ROOT / folder).rglob("*.py"):
        parts = path.relative_to(ROOT / folder).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported_modules(source: str, known: Collection[str]) -> set[str]:
    """The `known` modules that a text imports: wherever the import stands, and `import_module` of a constant too."""
    found: set[str] = set()
    for node in parse(source):
        if isinstance(node, ast.ImportFrom) and node.module in known:
            found |= {inner if (inner := f"{node.module}.{a.name}") in known else node.module for a in node.names}
        elif isinstance(node, ast.Import):
            found |= {a.name for a in node.names if a.name in known}
        elif isinstance(node, ast.Call) and called(node) == "import_module":
            found |= {a.value for a in node.args if isinstance(a, ast.Constant) and a.value in known}
    return found


@cache
def imports(folder: str = "core") -> dict[str, set[str]]:
    """The modules of a folder that each of them imports."""
    known = modules(folder)
    return {name: imported_modules(read(path), known.keys()) - {name} for name, path in known.items()}


def room_of(module: str) -> tuple[str, str]:
    """The package of a module, and its room there."""
    package, room = [*module.split("."), ""][:2]
    return package, room


def upward(graph: Mapping[str, set[str]]) -> list[str]:
    """The imports from a room into another one on the same floor or a higher one."""
    storeys = [((package, room), floor) for package, floors in FLOORS.items() for floor in floors for room in floor]
    order: dict[tuple[str, ...], int] = {}
    floor = {home: order.setdefault((home[0], *rooms), len(order)) for home, rooms in storeys}
    return [
        f"{name} -> {other}"
        for name, others in sorted(graph.items())
        for other in sorted(others)
        if room_of(name) != room_of(other) and floor[room_of(other)] >= floor[room_of(name)]
    ]


def circle(graph: Mapping[str, set[str]]) -> str:
    """Modules that import each other in a circle, one such circle; empty where there is none."""
    try:
        list(TopologicalSorter(graph).static_order())
    except CycleError as found:
        return " -> ".join(found.args[1])
    return ""


def test_a_room_imports_from_lower_floors_only() -> None:
    floors = [(package, room) for package, floors in FLOORS.items() for rooms in floors for room in rooms]
    assert sorted(floors) == sorted({room_of(name) for name in modules()}), "FLOORS names each room once, and no other"
    assert upward(imports()) == []


def test_the_guard_sees_the_engines_surface_alone() -> None:
    used = {other for name, others in imports().items() if not name.startswith("planproof_engine") for other in others}
    used = {name.partition(".")[2] for name in used if name.startswith("planproof_engine.")}
    assert used == SURFACE, "what the guard needs of the engine is one list: the shorter, the better"


def naming_formats(graph: Mapping[str, set[str]]) -> list[str]:
    """The imports of a format's own modules from outside of them."""
    rooms = ("planproof.publish.parquet", "planproof.publish.iceberg", "planproof.publish.delta")
    return [
        f"{name} -> {other}"
        for name, others in sorted(graph.items())
        for other in sorted(others)
        for room in rooms
        if f"{other}.".startswith(f"{room}.") and not f"{name}.".startswith(f"{room}.")
    ]


def test_only_one_module_knows_the_formats_by_name() -> None:
    found = naming_formats(imports())
    assert {line.split(" -> ")[0] for line in found} == {"planproof.publish.formats"}
    worse = naming_formats({**imports(), "planproof.publish.kernel": {"planproof.publish.delta.left"}})
    assert set(worse) - set(found) == {"planproof.publish.kernel -> planproof.publish.delta.left"}


@pytest.mark.parametrize("folder", SHIPPED)
def test_no_modules_import_each_other_in_a_circle(folder: str) -> None:
    assert circle(imports(folder)) == ""


def test_an_import_upward_and_a_circle_would_be_seen() -> None:
    """Each form of import is added to a module of the ground floor."""
    known = modules().keys()
    assert len(known) > 250
    assert "planproof.publish.transaction.lock" in imports()["planproof.guard"]
    assert all(not node.level for path in modules().values() for node in _from_imports(path)), "a relative import"
    for statement in (
        "from planproof import guard",
        "from planproof.guard import Guard",
        "import planproof.guard",
        "def late():\n    from planproof.guard import Guard",
        "if TYPE_CHECKING:\n    from planproof.guard import Guard",
        "importlib.import_module('planproof.guard')",
    ):
        worse = {**imports(), "planproof_engine.quoting": imported_modules(statement, known)}
        assert upward(worse) == ["planproof_engine.quoting -> planproof.guard"], statement
        assert "planproof_engine.quoting" in circle(worse)
    # The text report reads the model's, so that the model may not read the text report's, in a method neither.
    assert circle({**imports(), "planproof.report.model": {"planproof.report.text"}})


def _from_imports(path: Path) -> list[ast.ImportFrom]:
    if "from ." not in read(path):
        return []
    return [node for node in parse(read(path)) if isinstance(node, ast.ImportFrom)]
