"""What the documentation says of commands, files and findings is so."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import shlex
from pathlib import Path
from typing import Any

import click
import docs_examples
import pytest
import settings_page

import planproof
from planproof.cli.group import COMMANDS, cli

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("core/*/*.md")])
NAMED = sorted(page.relative_to(ROOT).as_posix() for page in PAGES if page.name != "CHANGELOG.md")
_SHELL = re.compile(r"```(sh|console|bash|text)\n(.*?)```", re.S)
_LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)?(#[^)\s]+)?\)")
_PATH = re.compile(r"`((?:core|operators|dbt_plugin|macros|dags_examples|tests|tools|docs|editors)/[\w./-]+)`")
_TARGET = re.compile(r"^([a-z0-9-]+):", re.M)


def shown(page: str) -> list[str]:
    """The lines of a page that a reader is to type: of what a terminal showed those behind a `$`."""
    blocks = _SHELL.findall((ROOT / page).read_text("utf-8"))
    lines = [(kind, line.strip()) for kind, block in blocks for line in block.splitlines()]
    typed = [line for kind, line in lines if kind != "text" or line.startswith("$ ")]
    return [line.removeprefix("$ ").partition("  #")[0].strip() for line in typed]


@pytest.mark.parametrize("page", NAMED)
def test_every_command_and_option_that_is_shown_exists(page: str) -> None:
    targets = set(_TARGET.findall((ROOT / "Makefile").read_text("utf-8")))
    for line in shown(page):
        if line.startswith("make "):
            assert line.split()[1] in targets, line
        if line.startswith(("planproof ", ".venv/bin/planproof ")):
            _known(line)
        for path in re.findall(r"\b(?:tools|tests)/[\w/]+\.py\b", line):
            assert (ROOT / path).is_file(), line


def test_every_command_is_shown_somewhere() -> None:
    lines = [line.removeprefix(".venv/bin/") for page in NAMED for line in shown(page)]
    said = {line.split()[1] for line in lines if line.startswith("planproof ")}
    assert set(COMMANDS) - {"derive", "lsp"} <= said


def _known(line: str) -> None:
    line = re.sub(r"\$\(.*?\)", "IT", line.partition(" > ")[0].partition(" | ")[0])
    words = shlex.split(line)
    command = cli.get_command(click.Context(cli), words[1])
    assert command is not None or words[1].startswith("-"), line
    if command is not None:
        options = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
        given = {word.partition("=")[0] for word in words[2:] if re.match(r"--?[a-z]", word)}
        assert given <= {*options, "--help"}, line


@pytest.mark.parametrize("page", NAMED)
def test_every_link_and_every_file_that_is_named_exists(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    for target, anchor in _LINK.findall(re.sub(r"```.*?```", "", text, flags=re.S)):
        found = (ROOT / page).parent / target if target else ROOT / page
        assert found.exists(), target
        if anchor and found.suffix == ".md":
            assert anchor[1:] in anchors(found), f"{target}{anchor}"
    for path in _PATH.findall(text):
        assert (ROOT / path).exists() or list(ROOT.glob(f"{path}*")), path


def anchors(page: Path) -> set[str]:
    """The names that GitHub gives to a page's headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", docs_examples.PAGES)
def test_every_example_says_what_the_page_shows(page: str) -> None:
    text = (docs_examples.DOCS / page).read_text("utf-8")
    found = list(docs_examples.find_examples(text))
    assert found
    assert all(example.said for example in found)
    now = docs_examples.list_answers(text)
    assert [example.said for example in found] == now, "run `python tools/docs_examples.py`"


def test_the_page_of_settings_is_what_the_tool_writes() -> None:
    assert settings_page.PAGE.read_text("utf-8") == settings_page.render_page(), "run `python tools/settings_page.py`"


def python_blocks() -> list[tuple[str, str]]:
    texts = {page: (ROOT / page).read_text("utf-8") for page in NAMED}
    return [(page, code) for page, text in texts.items() for code in re.findall(r"```python\n(.*?)```", text, re.S)]


OURS = ("planproof", "airflow_planproof")


@pytest.mark.parametrize(("page", "code"), python_blocks())
def test_python_that_is_shown_imports_and_calls_what_there_is(page: str, code: str) -> None:
    """What it takes from our packages is there, and knows the arguments that are given by name."""
    tree = ast.parse(code)
    ours = {f"planproof.{name}": getattr(planproof, name) for name in planproof.__all__}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and str(node.module).partition(".")[0] in OURS:
            if str(node.module).startswith("airflow"):
                pytest.importorskip("airflow")
            module = importlib.import_module(str(node.module))
            ours |= {alias.asname or alias.name: getattr(module, alias.name) for alias in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node).startswith("planproof."):
            assert hasattr(planproof, node.attr), ast.unparse(node)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ours:
            given = {keyword.arg for keyword in node.keywords if keyword.arg}
            assert given <= parameters(ours[ast.unparse(node.func)]), ast.unparse(node)


def parameters(called: Any) -> set[str]:
    """The names of what a function, or a class with those that it is made of, takes."""
    functions = [c.__init__ for c in inspect.getmro(called)] if inspect.isclass(called) else [called]
    return set().union(*(inspect.signature(function).parameters for function in functions))
