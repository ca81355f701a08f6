"""What the documents point at is there: files, headings, commands, options."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from planproof.cli.group import COMMANDS, cli

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives a page's headings."""
    heads = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_each_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        found = page.parent / path if path else page
        assert found.exists(), target
        assert not anchor or anchor in anchors(found), target


def commands(page: Path) -> list[list[str]]:
    """The words of each `planproof ...` that a page's blocks run, up to a comment."""
    found, language = [], None
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            language = None if language is not None else line[3:]
        elif language is not None:
            starts = r"\$ " if language == "text" else r"^|\$ |run: |- "
            match = re.search(rf"(?:{starts})\s*planproof ([a-z]+(?: .*)?)$", line)
            # What a shell puts in, and where it leads the output, are no words of ours.
            words = re.sub(r"\$\([^)]*\)|\s[#|>].*", "", match[1]).split() if match else []
            found += [words] if words else []
    return found


def test_each_command_that_is_shown_takes_the_options_that_are_shown() -> None:
    shown = [(page, words) for page in PAGES for words in commands(page)]
    assert len(shown) > 15
    assert set(COMMANDS) - {"derive", "lsp"} <= {words[0] for _, words in shown}
    for page, (name, *rest) in shown:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None, (page, name)
        known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
        given = {word.partition("=")[0] for word in rest if re.match(r"--?[a-z]", word)}
        assert given <= known | {"--help"}, (page, name, given - known)
