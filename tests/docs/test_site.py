"""The site's links: to its own pages as they lie there, and files of the repository by name."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
import site_hooks
import yaml

ROOT = Path(__file__).parents[2]


def shown(markdown: str, page: str = "guarantees.md") -> str:
    return site_hooks.on_page_markdown(markdown, SimpleNamespace(file=SimpleNamespace(src_uri=page)), None, None)


@pytest.mark.parametrize(
    ("page", "link", "there"),
    [
        ("guarantees.md", "[a](iceberg.md#publishing)", "[a](iceberg.md#publishing)"),
        ("guarantees.md", "[a](#b)", "[a](#b)"),
        ("guarantees.md", "[a](https://spark.apache.org)", "[a](https://spark.apache.org)"),
        ("README.md", "[a](../README.md#install)", "[a](README.md)"),
        ("words.md", "[a](../CONTRIBUTING.md)", "[a](CONTRIBUTING.md)"),
        ("codes/PP101.md", "[a](../hazards.md)", "[a](../hazards.md)"),
        ("CONTRIBUTING.md", "[a](docs/design.md)", "[a](design.md)"),
        ("CONTRIBUTING.md", "[a](CHANGELOG.md)", "[a](CHANGELOG.md)"),
        ("support.md", "[3](support.yml#L8)", "3 (`docs/support.yml`)"),
        ("README.md", "[a](../core/planproof_engine/README.md)", "a (`core/planproof_engine/README.md`)"),
    ],
)
def test_a_link_leads_to_the_page_or_names_the_file(page: str, link: str, there: str) -> None:
    assert shown(link, page) == there


def test_a_link_that_leads_nowhere_ends_the_build() -> None:
    with pytest.raises(ValueError, match=r"docs/guarantees\.md: no such file: gone\.md"):
        shown("[a](gone.md)")


def test_code_is_left_alone() -> None:
    code = "```sh\n[a](gone.md)\n```\n"
    assert shown(code) == code


def test_every_page_is_in_the_navigation() -> None:
    named = (ROOT / "mkdocs.yml").read_text("utf-8")
    pages = {path.name for path in (ROOT / "docs").glob("*.md")}
    assert {page for page in pages if page not in named} == set()
    assert yaml.safe_load(named)["strict"] is True
