"""Pages are short: lines that a screen holds, a short first page, and an answer at the top of each page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LEFT_OUT = ("tests/", ".venv", ".demo", "site/", "node_modules")
PAGES = sorted(
    page.relative_to(ROOT).as_posix()
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("core/*/*.md")]
)
WIDTH, WORDS, FIRST_PAGE = 100, 20_000, 120
_FENCED = re.compile(r"^\s*```.*?^\s*```$", re.S | re.M)


def prose(page: str) -> list[str]:
    """The lines of a page that are neither code nor a table's row nor one word that cannot be broken."""
    lines = _FENCED.sub("", (ROOT / page).read_text("utf-8")).splitlines()
    return [line for line in lines if not line.lstrip().startswith("|") and len(line.split()) > 2]


@pytest.mark.parametrize("page", PAGES)
def test_no_line_of_prose_is_long(page: str) -> None:
    lines = prose(page)
    pictures = [line for line in lines if line.startswith("![")]
    assert [line for line in lines if len(line) > WIDTH and line not in pictures] == []


def test_the_documentation_stays_short() -> None:
    """Counted are words, in examples and tables too; a table's strokes are none."""
    pages = ROOT.glob("docs/**/*.md")
    counted = {
        page.relative_to(ROOT).as_posix(): len(re.findall(r"\S*\w\S*", page.read_text("utf-8"))) for page in pages
    }
    assert sum(counted.values()) <= WORDS, sorted(counted.items(), key=lambda item: -item[1])[:12]


def test_the_first_page_is_short() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= FIRST_PAGE


@pytest.mark.parametrize("page", sorted(path.name for path in (ROOT / "docs").glob("*.md")))
def test_a_page_begins_with_its_answer(page: str) -> None:
    """Below the title stands a paragraph, not a table, a list, an example or another title."""
    title, blank, first = (ROOT / "docs" / page).read_text("utf-8").splitlines()[:3]
    assert title.startswith("# ")
    assert blank == ""
    assert re.match(r"[\w`*(\[]", first), first
    assert not re.match(r"[-*] ", first), first
