"""Defects that were mended: where one of them is back, a test fails.

`defects.yml` has a row for each: what went wrong, the text that stands in a file now, and the text that brings the
defect back. The defect is put into a copy of the packages, which the named tests then import. The working tree stays as
it is.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PACKAGES = {"core": "planproof", "dbt_plugin": "dbt_planproof", "operators": "airflow_planproof"}
"""The folders that hold our packages."""
SECONDS = 900


@dataclass(frozen=True)
class Defect:
    """`now` stands once in `file`; with `defect` in its place each of `tests` fails."""

    wrong: str
    file: str
    now: str
    defect: str
    tests: tuple[str, ...]

    def put_into(self, text: str) -> str:
        """The file's text with the defect. Raises ValueError where `now` does not stand there once."""
        found = text.count(self.now)
        if found != 1:
            raise ValueError(f"{self.file} has the text of {self.wrong!r} {found} times, not once: mend its row")
        return text.replace(self.now, self.defect)


DEFECTS = [
    Defect(**{**row, "tests": tuple(row["tests"])})
    for row in yaml.safe_load(Path(__file__).with_name("defects.yml").read_text("utf-8"))
]


def copied(to: Path) -> dict[str, str]:
    """A copy of the packages, and the environment in which Python imports it."""
    for folder in PACKAGES:
        shutil.copytree(ROOT / folder, to / folder, ignore=shutil.ignore_patterns("__pycache__"))
    # `make conformance` sets CATALOG, which `make test` does not.
    kept = {k: v for k, v in os.environ.items() if k != "CATALOG" and not k.startswith("PYTEST_")}
    return {
        **kept,
        "PYTHONPATH": os.pathsep.join(str(to / folder) for folder in PACKAGES),
        "PLANPROOF_CACHE_DIR": str(to / "cache"),
    }


def refuse_other_packages(to: Path, environment: dict[str, str]) -> None:
    """Fails where Python would import another planproof than the copy."""
    names = tuple(PACKAGES.values())
    asked = f"import importlib.util as u; [print(u.find_spec(name).origin) for name in {names!r}]"
    run = [sys.executable, "-c", asked]
    found = subprocess.run(run, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout
    assert found.split() == [str(to / folder / name / "__init__.py") for folder, name in PACKAGES.items()]


def run_tests(tests: Iterable[str], environment: dict[str, str], to: Path) -> subprocess.CompletedProcess[str]:
    options = ["-q", "-rf", "-p", "no:cacheprovider", "--basetemp", str(to / "tests")]
    command = [sys.executable, "-m", "pytest", *options, *dict.fromkeys(tests)]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=SECONDS)


def has_failed(test: str, output: str) -> bool:
    return re.search(rf"^FAILED {re.escape(test)}(?![\w.])", output, re.M) is not None


@cache
def functions(file: str) -> frozenset[str]:
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.wrong)
def test_a_row_fits_the_code(defect: Defect) -> None:
    """What stands in a file is to be changed together with its rows, tests too."""
    text = (ROOT / defect.file).read_text("utf-8")
    compile(defect.put_into(text), defect.file, "exec")
    assert defect.file.split("/")[0] in PACKAGES
    assert defect.tests
    for test in defect.tests:
        file, _, function = test.partition("::")
        assert function in functions(file), f"there is no {test}"


def test_a_row_whose_text_is_gone_is_named() -> None:
    row = Defect("rows were lost", "core/a.py", "kept = True", "kept = False", ("tests/test_a.py::test_rows",))
    assert row.put_into("kept = True\n") == "kept = False\n"
    for text in ("kept = rows\n", "kept = True\nkept = True\n"):
        with pytest.raises(ValueError, match=r"core/a\.py has the text of 'rows were lost' \d times, not once"):
            row.put_into(text)


@pytest.mark.conformance
@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.wrong)
def test_a_defect_that_is_back_fails_its_tests(defect: Defect, tmp_path: Path) -> None:
    environment = copied(tmp_path)
    file = tmp_path / defect.file
    file.write_text(defect.put_into(file.read_text("utf-8")), "utf-8")
    refuse_other_packages(tmp_path, environment)
    run = run_tests(defect.tests, environment, tmp_path)
    said = (run.stdout + run.stderr)[-4000:]
    # 1: tests have failed. Where they cannot be collected it is another code.
    assert run.returncode == 1, said
    assert [test for test in defect.tests if not has_failed(test, run.stdout)] == [], said


@pytest.mark.conformance
def test_without_a_defect_the_same_tests_pass(tmp_path: Path) -> None:
    environment = copied(tmp_path)
    refuse_other_packages(tmp_path, environment)
    run = run_tests((test for defect in DEFECTS for test in defect.tests), environment, tmp_path)
    assert run.returncode == 0, (run.stdout + run.stderr)[-4000:]
