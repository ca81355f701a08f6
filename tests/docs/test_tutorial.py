"""docs/tutorial.md is walked: its files are written, its commands typed, and what it shows is what is said.

Of a `planproof` command the page shows all that is said. Of a `dbt` command it shows nothing, or planproof's part.
`PLANPROOF_WRITE_DOCS=1` writes the outputs anew. The project is dags_examples/gym, and its files are those that the
page shows first.
"""

from __future__ import annotations

import difflib
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from gym import GYM, Typed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGE = Path(__file__).parents[2] / "docs/tutorial.md"
BLOCK = re.compile(r"^```(?P<info>[^\n]*)\n(?P<text>.*?)^```$", re.S | re.M)


def masked(text: str) -> str:
    """What may differ from run to run: seconds, and how wide a number of them is."""
    return re.sub(r" +\d+\.\d s\b", " # s", text)


def of_planproof(said: str) -> str:
    """planproof's part of what dbt says: the message of the model that it stopped, and its last line."""
    lines = [re.sub(r"^\d\d:\d\d:\d\d  ", "", line) for line in said.splitlines()]
    first = next((n for n, line in enumerate(lines) if line.startswith("  planproof stopped")), len(lines))
    message = [line for line in lines[first:] if line.startswith("  ") and "compiled code at" not in line]
    return "".join(f"{line}\n" for line in [*message, *(x for x in lines if x.startswith("planproof: "))])


class Walk:
    """A reader who does what the page says."""

    def __init__(self, root: Path, typed: Typed) -> None:
        self.root, self.typed = root, typed

    def done(self, info: str, text: str) -> str:
        """Does what a block asks for; returns the block as it ought to be."""
        kind, _, path = info.partition(" ")
        if path.endswith(" now"):
            return (self.root / path.removesuffix(" now")).read_text("utf-8")
        if path:
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text, "utf-8")
            return text
        if kind == "sh":
            for command in re.findall(r"^dbt [^#\n]*", text, re.M):
                code, said = self.typed(command)
                assert code == 0, said
            return text
        assert kind == "text", info
        commands = [line.removeprefix("$ ") for line in text.splitlines() if line.startswith("$ ")]
        return "".join(f"$ {command}\n{self.said(command)}" for command in commands)

    def said(self, command: str) -> str:
        code, said = self.typed(command)
        if command.startswith("dbt"):
            said = of_planproof(said) if "build" in command else ""
        assert code == int(re.search(r"\d (stopped|violated)\b", said) is not None), said
        return said.replace(f"{self.root}/", "")


@pytest.fixture
def gym(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the project."""
    root = tmp_path / "gym"
    shutil.copytree(GYM, root, ignore=shutil.ignore_patterns("target", "logs", "*metastore*", "spark-warehouse"))
    for name, value in {
        "PROFILES_DIR": str(root),
        "SEND_ANONYMOUS_USAGE_STATS": "false",
        "USE_COLORS": "0",
    }.items():
        monkeypatch.setenv(f"DBT_{name}", value)
    monkeypatch.delenv("PLANPROOF", raising=False)
    monkeypatch.chdir(root)
    yield root
    for database in ("gym", "raw_gym"):
        spark.sql(f"drop database if exists {database} cascade")


def test_the_tutorial_is_walked(spark: SparkSession, gym: Path, capfd: pytest.CaptureFixture[str]) -> None:
    walk, page, at = Walk(gym, Typed(capfd)), PAGE.read_text("utf-8"), 0
    now: list[str] = []
    for block in BLOCK.finditer(page):
        now += [page[at : block.start("text")], walk.done(block["info"], block["text"])]
        at = block.end("text")
    written = "".join((*now, page[at:]))
    assert spark.table("gym.member_months").count() == 2
    if os.environ.get("PLANPROOF_WRITE_DOCS"):
        PAGE.write_text(written, "utf-8")
    else:
        differences = difflib.unified_diff(masked(page).splitlines(), masked(written).splitlines(), lineterm="", n=1)
        assert masked(written) == masked(page), "run `make docs`:\n" + "\n".join(differences)


def test_the_page_shows_the_projects_files() -> None:
    shown: dict[str, str] = {}
    for block in BLOCK.finditer(PAGE.read_text("utf-8")):
        path = block["info"].partition(" ")[2]
        if path and not path.endswith(" now"):
            shown.setdefault(path, block["text"])
    assert shown == {path: (GYM / path).read_text("utf-8") for path in shown}
    assert len(shown) == 2
