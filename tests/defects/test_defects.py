"""Defects that were mended: where one of them is back, a test fails.

`defects.yml` has a row for each: what went wrong, the function or class, the code that stands there now, and the code
that brings the defect back. Code is compared token by token, so that a row survives what moves or reformats it. The
defect is put into a copy of the packages, which the named tests then import. The working tree stays as it is.
"""

from __future__ import annotations

import ast
import io
import os
import re
import shutil
import subprocess
import sys
import tokenize
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from textwrap import dedent

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PACKAGES = {
    "planproof": "core",
    "planproof_engine": "core",
    "dbt_planproof": "dbt_plugin",
    "airflow_planproof": "operators",
}
"""Our packages, and the folders that hold them."""
FOLDERS = sorted(set(PACKAGES.values()))
_LAYOUT = {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT, tokenize.ENDMARKER}
SECONDS = 900


@dataclass(frozen=True)
class Defect:
    """`now` stands once in the definition `at` (`module:Class.method`); with `defect` in its place each of `tests`
    fails."""

    wrong: str
    at: str
    now: str
    defect: str
    tests: tuple[str, ...]

    @property
    def file(self) -> str:
        """The module's file, below the root."""
        module, _, _ = self.at.partition(":")
        place = Path(PACKAGES[module.split(".")[0]], *module.split("."))
        return str(place / "__init__.py" if (ROOT / place).is_dir() else place.with_suffix(".py"))

    def put_into(self, text: str) -> str:
        """The file's text with the defect. Raises ValueError where `now` does not stand there once."""
        node = definition(ast.parse(text), self.at.partition(":")[2])
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
        lines = text.splitlines(keepends=True)
        before, own = "".join(lines[: first - 1]), "".join(lines[first - 1 : node.end_lineno])
        found = places(own, self.now)
        if len(found) != 1:
            raise ValueError(f"{self.at} has the code of {self.wrong!r} {len(found)} times, not once: mend its row")
        start, end = found[0]
        return (
            before
            + own[:start]
            + self.defect.strip().removesuffix(",")
            + own[end:]
            + "".join(lines[node.end_lineno or 0 :])
        )


def definition(tree: ast.Module, name: str) -> ast.stmt:
    """The function, class or constant of a dotted name. Raises ValueError where there is none."""
    body = tree.body
    for part in name.split("."):
        found = next((node for node in body if _name(node) == part), None)
        if found is None:
            raise ValueError(f"there is no {name}")
        body = getattr(found, "body", [])
    return found


def _name(node: ast.stmt) -> str | None:
    if isinstance(node, ast.Assign):
        return getattr(node.targets[0], "id", None)
    return getattr(node, "name", None) or getattr(getattr(node, "target", None), "id", None)


def tokens(text: str) -> list[tuple[str, int, int]]:
    """The tokens of a part of a program, without its layout, each with its span in the text."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type not in _LAYOUT:
                (row, column), (last, end) = token.start, token.end
                found.append((token.string, starts[row - 1] + column, starts[last - 1] + end))
    except (tokenize.TokenError, IndentationError):
        pass  # A part of a statement ends in the middle.
    return found


def places(text: str, code: str) -> list[tuple[int, int]]:
    """The spans of a text that have the same tokens as the code. A comma before a closing bracket is layout."""
    whole, wanted = (
        _without_last_commas(tokens(text)),
        [t for t, *_ in _without_last_commas(tokens(dedent(code).rstrip().removesuffix(",")))],
    )
    return [
        (whole[at][1], whole[at + len(wanted) - 1][2])
        for at in range(len(whole) - len(wanted) + 1)
        if [t for t, *_ in whole[at : at + len(wanted)]] == wanted
    ]


def _without_last_commas(found: list[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
    behind = [*(t for t, *_ in found[1:]), ""]
    return [token for token, after in zip(found, behind, strict=True) if not (token[0] == "," and after in ")]}")]


DEFECTS = [
    Defect(**{**row, "tests": tuple(row["tests"])})
    for row in yaml.safe_load(Path(__file__).with_name("defects.yml").read_text("utf-8"))
]


def copied(to: Path) -> dict[str, str]:
    """A copy of the packages, and the environment in which Python imports it."""
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, to / folder, ignore=shutil.ignore_patterns("__pycache__"))
    # `make conformance` sets CATALOG, which `make test` does not.
    kept = {k: v for k, v in os.environ.items() if k != "CATALOG" and not k.startswith("PYTEST_")}
    return {
        **kept,
        "PYTHONPATH": os.pathsep.join(str(to / folder) for folder in FOLDERS),
        "PLANPROOF_CACHE_DIR": str(to / "cache"),
    }


def refuse_other_packages(to: Path, environment: dict[str, str]) -> None:
    """Fails where Python would import another planproof than the copy."""
    names = tuple(PACKAGES)
    asked = f"import importlib.util as u; [print(u.find_spec(name).origin) for name in {names!r}]"
    run = [sys.executable, "-c", asked]
    found = subprocess.run(run, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout
    assert found.split() == [str(to / folder / name / "__init__.py") for name, folder in PACKAGES.items()]


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
    assert defect.tests
    for test in defect.tests:
        file, _, function = test.partition("::")
        assert function in functions(file), f"there is no {test}"


def test_a_row_whose_text_is_gone_is_named() -> None:
    row = Defect("rows were lost", "planproof.a:keep", "kept = f(a, True)", "kept = False", ("tests/test_a.py::t",))
    assert row.put_into("x = 1\n\ndef keep():\n    kept = f(\n        a,\n        True,\n    )\n") == (
        "x = 1\n\ndef keep():\n    kept = False\n"
    )
    for body in ("kept = rows", "kept = f(a, True)\n    kept = f(a, True)"):
        with pytest.raises(ValueError, match=r"planproof\.a:keep has the code of 'rows were lost' \d times, not once"):
            row.put_into(f"def keep():\n    {body}\n")
    with pytest.raises(ValueError, match="there is no keep"):
        row.put_into("kept = f(a, True)\n")


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
