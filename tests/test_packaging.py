"""What is shipped, what an import costs, and whom other tools find."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import os
import pkgutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import planproof
import planproof_engine

ROOT = Path(__file__).parents[1]
PACKAGES = ("planproof", "planproof_engine", "airflow_planproof", "dbt_planproof")
HEAVY = ("pyspark", "py4j", "dbt", "airflow", "pyarrow", "rich", "jinja2", "pandas", "numpy")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel, built from this tree without reaching a network."""
    to = tmp_path_factory.mktemp("wheel")
    build = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"
    built = subprocess.run(
        [sys.executable, "-c", build, str(to)], cwd=ROOT, check=True, capture_output=True, text=True, timeout=120
    )
    return zipfile.ZipFile(to / built.stdout.strip().splitlines()[-1])


def test_the_wheel_holds_the_packages_and_no_more(wheel: zipfile.ZipFile) -> None:
    top = {name.split("/")[0] for name in wheel.namelist() if ".dist-info" not in name}
    assert top == set(PACKAGES)


def test_the_wheel_holds_every_module_and_the_type_marker(wheel: zipfile.ZipFile) -> None:
    shipped = set(wheel.namelist())
    for folder in ("core", "operators", "dbt_plugin"):
        tracked = {
            path.relative_to(ROOT / folder).as_posix()
            for path in (ROOT / folder).rglob("*.py")
            if "__pycache__" not in path.parts
        }
        assert tracked, folder
        assert tracked <= shipped
    assert "planproof/py.typed" in shipped


def test_the_wheel_brings_its_data_files(wheel: zipfile.ZipFile) -> None:
    kinds = {".html", ".css", ".js", ".j2", ".json", ".yml", ".sql"}
    data = {
        path.relative_to(ROOT / folder).as_posix()
        for folder in ("core", "operators", "dbt_plugin")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in kinds and "__pycache__" not in path.parts
    }
    assert data <= set(wheel.namelist())


def test_the_wheel_states_its_licence_and_python(wheel: zipfile.ZipFile) -> None:
    names = wheel.namelist()
    metadata = wheel.read(next(n for n in names if n.endswith(".dist-info/METADATA"))).decode()
    assert "License-Expression: Apache-2.0" in metadata
    assert "Requires-Python: <3.14,>=3.10" in metadata
    assert any(n.endswith("licenses/LICENSE") for n in names)


def _wanted() -> list[str]:
    """The modules without which a test skips itself: every `importorskip` of the tests, which names its module."""
    calls = [
        node
        for file in sorted((ROOT / "tests").rglob("*.py"))
        if "importorskip" in (text := file.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "importorskip"
    ]
    return sorted({ast.literal_eval(call.args[0]) for call in calls})


@pytest.mark.parametrize("name", _wanted())
def test_nothing_is_skipped_for_want_of_a_package(name: str) -> None:
    importlib.import_module(name)


@pytest.mark.parametrize("package", PACKAGES)
def test_an_import_loads_nothing_heavy(package: str) -> None:
    code = f"import sys, {package}; print(*sorted({{m.split('.')[0] for m in sys.modules}} & set({HEAVY!r})))"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60)
    assert loaded.stdout.split() == []


def test_no_module_bears_a_public_name() -> None:
    """Importing it would put the module in the place of the class or function of that name."""
    for package, module in ((planproof, "contract"), (planproof_engine, "logical")):
        modules = {found.name for found in pkgutil.iter_modules(package.__path__)}
        assert module in modules
        assert not modules & set(package.__all__)


def test_the_import_test_sees_a_heavy_import() -> None:
    code = f"import sys, pyarrow; print(*sorted({{m.split('.')[0] for m in sys.modules}} & set({HEAVY!r})))"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60)
    assert "pyarrow" in loaded.stdout.split()


def test_offline_commands_work_without_spark_dbt_airflow_and_arrow(tmp_path: Path) -> None:
    """`python -m planproof --help` where these cannot be imported at all."""
    for name in ("pyspark", "pyarrow", "dbt", "airflow"):
        (tmp_path / f"{name}.py").write_text(f"raise ImportError('{name} is not installed')\n")
    run = subprocess.run(
        [sys.executable, "-m", "planproof", "--help"],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(tmp_path), "COLUMNS": "100"},
    )
    assert run.returncode == 0, run.stderr
    for command in ("check", "run", "audit", "derive"):
        assert command in run.stdout


def test_entry_points_are_found() -> None:
    found = importlib.metadata.entry_points()
    (command,) = found.select(group="console_scripts", name="planproof")
    assert callable(command.load())
    (provider,) = (e for e in found.select(group="apache_airflow_provider") if e.value.startswith("airflow_planproof"))
    assert provider.load()()["package-name"] == "planproof"


def test_dbt_finds_the_plugin() -> None:
    """dbt looks for top-level modules named dbt_* that hold a list named `plugins`."""
    from dbt.plugins.manager import PluginManager, dbtPlugin

    modules = PluginManager.get_prefixed_modules()
    assert "dbt_planproof" in modules
    assert all(issubclass(plugin, dbtPlugin) for plugin in modules["dbt_planproof"].plugins)
    assert len(modules["dbt_planproof"].plugins) == 1
