"""One word per idea: what docs/words.md says is not used stands in no page, setting, code or name.

Names of code may still have a few of these words: `LEFT` counts them, and may only become smaller.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from planproof.settings import SETTINGS
from planproof_engine.codes import CODES

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/words.md"
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("core/*/*.md")])
HOMES = ("core", "dbt_plugin", "operators", "tools")
PROSE = ("set aside", "set apart", "whoever", "whosoever", "thereof", "of which", "is told", "as it stands")
"""Turns that no page, setting or code has."""

NAMES = ("parted", "parting", "rest", "aside", "apart", "told", "stands", "manager", "handler", "helper", "util")
"""Words that no function, class or argument is called by."""

LEFT = {"told": 10, "apart": 5, "rest": 2, "manager": 2, "stands": 2}


def rows() -> Iterator[list[str]]:
    """The cells of each row of the page's tables."""
    for line in PAGE.read_text("utf-8").splitlines():
        if line.startswith("| ") and not line.startswith("| idea"):
            yield [cell.strip() for cell in line.strip("|").split("|")]


def test_each_idea_has_a_word_of_its_own() -> None:
    found = Counter(word for _, noun, _, _ in rows() for word in re.split(r"[,;] ", noun) if word)
    assert len(found) > 30
    assert [word for word, times in found.items() if times > 1 and word != "schema"] == []


def test_a_word_that_is_not_used_is_no_idea_s_word() -> None:
    used = {word for _, noun, verb, _ in rows() for word in re.split(r"[,;] ?", f"{noun}, {verb}") if word}
    unused = {word for *_, words in rows() for word in words.split(", ") if word}
    assert unused
    assert unused & used == set()


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page != PAGE],
    ids=lambda page: page.name,
)
def test_a_page_has_no_turn_that_is_not_used(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.S)
    assert found(text) == []


def test_settings_and_codes_have_no_turn_that_is_not_used() -> None:
    texts = {setting.name: setting.sentence for setting in SETTINGS}
    texts |= {code.id: f"{code.title} {code.meaning} {code.next_step}" for code in CODES.values()}
    assert {name: found(text) for name, text in texts.items() if found(text)} == {}


def test_messages_have_no_turn_that_is_not_used() -> None:
    """ "Of which" has a plain meaning in some of them, and is left there."""
    said = {}
    for home in HOMES:
        for path in sorted((ROOT / home).rglob("*.py")):
            turns = {turn for text in messages(path) for turn in found(text)} - {"of which"}
            said |= {path.relative_to(ROOT).as_posix(): turns} if turns else {}
    assert said == {}


def messages(path: Path) -> Iterator[str]:
    """The texts of a module that are no docstrings."""
    tree = ast.parse(path.read_text("utf-8"))
    documented = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented:
            yield node.value


def found(text: str) -> list[str]:
    """The turns of `PROSE` in a text, wherever its lines break."""
    plain = " ".join(text.split()).lower()
    return [turn for turn in PROSE if re.search(rf"\b{turn}\b", plain)]


def test_a_turn_is_found_across_lines() -> None:
    assert found("rows that are Set\n   aside, as it\nstands") == ["set aside", "as it stands"]


def test_names_become_better_and_never_worse() -> None:
    counted: Counter[str] = Counter()
    for home in HOMES:
        for path in (ROOT / home).rglob("*.py"):
            counted.update(word for name in defined(path) for word in spoken(name) if word in NAMES)
    assert {word: times for word, times in counted.items() if times > LEFT.get(word, 0)} == {}


def defined(path: Path) -> Iterator[str]:
    """The functions, classes and arguments that a module defines."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg


def spoken(name: str) -> list[str]:
    """The words of a name: `StagedWrite` and `staged_write` are two each."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().split("_")


def test_a_name_is_taken_apart() -> None:
    assert spoken("_StagedWrite2") == ["", "staged", "write2"]
