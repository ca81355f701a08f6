"""Examples in docstrings hold: a reader takes them for what the code does."""

from __future__ import annotations

import doctest
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = [
    (home, path.relative_to(ROOT / home))
    for home in ("core", "dbt_plugin", "operators", "tools")
    for path in sorted((ROOT / home).rglob("*.py"))
    if re.search(r"^ *>>> ", path.read_text("utf-8"), re.M)
]


@pytest.mark.parametrize(("home", "file"), FILES, ids=lambda part: str(part))
def test_examples_hold(home: str, file: Path) -> None:
    found = doctest.testmod(importlib.import_module(".".join(file.with_suffix("").parts).removesuffix(".__init__")))
    assert found.attempted > 0
    assert found.failed == 0
