"""Builds the wheel and the sdist, checks both, and tries them as people will: in clean environments.

python tools/release_check.py

It needs a way to PyPI, for twine and for what planproof depends on. Everything lies in a temporary folder. The exit
code is 0 where all holds; else the first thing that does not is said.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("planproof", "planproof_engine", "airflow_planproof", "dbt_planproof")
EXTRAS = {"airflow", "all", "connect", "dbt", "lsp", "spark", "thrift"}

_INSTALLED = """
import importlib.metadata as m, json, planproof
entries = {(e.group, e.name): e.value for e in m.distribution("planproof").entry_points}
print(json.dumps({"version": m.version("planproof"), "file": planproof.__file__,
                  "entries": sorted("/".join(key) for key in entries)}))
"""
_ENTRIES = [
    "airflow.plugins/planproof",
    "apache_airflow_provider/provider_info",
    "console_scripts/planproof",
]
_MANIFEST = {
    "metadata": {
        "dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v12.json",
        "project_name": "shop",
        "adapter_type": "spark",
    },
    "nodes": {},
    "sources": {},
}
_MODEL = {
    "resource_type": "model",
    "package_name": "shop",
    "schema": "shop",
    "language": "sql",
    "tags": [],
    "depends_on": {"nodes": []},
}


class Broken(Exception):
    """What does not hold of the release."""


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        try:
            _check(Path(folder))
        except Broken as broken:
            print(f"release: {broken}", file=sys.stderr)
            return 1
    print("release: wheel and sdist hold")
    return 0


def _check(folder: Path) -> None:
    tools, dist = _make_environment(folder / "tools"), folder / "dist"
    _run(tools, "-m", "pip", "install", "-q", "build>=1,<2", "twine>=6,<7")
    _run(tools, "-m", "build", "-q", "--outdir", str(dist), str(ROOT))
    wheel, sdist = _find_one(dist, "*.whl"), _find_one(dist, "*.tar.gz")
    _run(tools, "-m", "twine", "check", "--strict", str(wheel), str(sdist))
    version = _read_version()
    _look_into(wheel, sdist, version)
    for name, built in (("wheel", wheel), ("sdist", sdist)):
        _try(_make_environment(folder / name), built, version, folder / f"{name}-project")
    _try_hook(folder / "hook", wheel)


def _read_version() -> str:
    """The version of pyproject.toml, which the dbt package and the editor's extension repeat."""
    found = {
        name: re.findall(r'^ *"?version"?(?: =|:) "([^"]+)"', (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
        for name in ("pyproject.toml", "macros/dbt_project.yml", "editors/vscode/package.json")
    }
    if len({tuple(versions) for versions in found.values()}) != 1:
        raise Broken(f"the versions differ: {found}")
    return str(found["pyproject.toml"][0])


def _look_into(wheel: Path, sdist: Path, version: str) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(f"planproof-{version}.dist-info/METADATA").decode()
    top = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    if top != set(PACKAGES):
        raise Broken(f"the wheel holds {sorted(top)}")
    if missing := [p for p in PACKAGES if f"{p}/py.typed" not in names]:
        raise Broken(f"no py.typed in {', '.join(missing)}")
    if (extras := set(re.findall(r"^Provides-Extra: (\S+)$", metadata, re.MULTILINE))) != EXTRAS:
        raise Broken(f"the extras are {sorted(extras)}")
    with tarfile.open(sdist) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    if lacking := {"README.md", "LICENSE", "NOTICE", "pyproject.toml", "macros/dbt_project.yml"} - held:
        raise Broken(f"the sdist lacks {', '.join(sorted(lacking))}")


def _try(python: Path, built: Path, version: str, project: Path) -> None:
    """Installs what was built, without extras, and checks a compiled project: that needs neither Spark nor dbt."""
    _run(python, "-m", "pip", "install", "-q", str(built))
    _run(python, "-m", "pip", "check")
    found = json.loads(_run(python, "-I", "-c", _INSTALLED))
    if found["version"] != version or found["entries"] != _ENTRIES:
        raise Broken(f"{built.name} installs {found}")
    command = str(python.parent / "planproof")
    if _call([command, "--version"]).stdout.split()[-1] != version:
        raise Broken(f"{built.name}: `planproof --version` says another version")
    for data_type, code in (("int", 0), ("string", 1)):
        _write_project(project, data_type)
        checked = _call([command, "check", "--project-dir", str(project)])
        if checked.returncode != code:
            said = checked.stdout + checked.stderr
            raise Broken(f"{built.name}: a check of {data_type} ends with {checked.returncode}, not {code}: {said}")


def _write_project(project: Path, data_type: str) -> None:
    model = {
        **_MODEL,
        "unique_id": "model.shop.m",
        "name": "m",
        "alias": "m",
        "relation_name": "shop.m",
        "fqn": ["shop", "m"],
        "original_file_path": "models/m.sql",
        "raw_code": "select 1 as id",
        "compiled_code": "select 1 as id",
        "config": {"materialized": "table", "contract": {"enforced": True}},
        "columns": {"id": {"name": "id", "data_type": data_type, "constraints": []}},
    }
    (project / "target").mkdir(parents=True, exist_ok=True)
    (project / "dbt_project.yml").write_text("name: shop\nprofile: shop\n")
    form = {**_MANIFEST, "nodes": {"model.shop.m": model}}
    (project / "target" / "manifest.json").write_text(json.dumps(form))


def _try_hook(folder: Path, wheel: Path) -> None:
    """What .pre-commit-hooks.yaml runs is a command that the wheel installs, and it fails a commit that breaks a
    promise."""
    text = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
    entry = re.search(r"^  entry: (.+)$", text, re.MULTILINE)
    if entry is None:
        raise Broken(".pre-commit-hooks.yaml names no entry")
    python = _make_environment(folder / "env")
    _run(python, "-m", "pip", "install", "-q", str(wheel))
    program, *args = entry[1].split()
    for data_type, code in (("int", 0), ("string", 1)):
        _write_project(folder / "project", data_type)
        done = _call([str(python.parent / program), *args], folder / "project")
        if done.returncode != code:
            raise Broken(f"the hook ends with {done.returncode}, not {code}: {done.stdout}{done.stderr}")


def _make_environment(folder: Path) -> Path:
    venv.create(folder, with_pip=True)
    return folder / "bin" / "python"


def _find_one(folder: Path, pattern: str) -> Path:
    found = list(folder.glob(pattern))
    if len(found) != 1:
        raise Broken(f"{len(found)} files {pattern} were built")
    return found[0]


def _run(python: Path, *args: str) -> str:
    done = _call([str(python), *args])
    if done.returncode != 0:
        raise Broken(f"{' '.join(args[:4])} ends with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def _call(command: Sequence[str], folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


if __name__ == "__main__":
    sys.exit(main())
