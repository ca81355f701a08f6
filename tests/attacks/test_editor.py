"""A project of others in an editor: what it names is text there, neither an image that is fetched nor a link."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pygls")

from planproof.lsp import answers
from planproof.lsp.server import diagnostic
from planproof.lsp.workspace import Workspace
from planproof.project.location import ProjectLocation

IMAGE = "![](http://e.co/x)"
NAMES = (
    IMAGE,
    f"a\n```\n{IMAGE}",
    f"a\r```\r{IMAGE}",
    f"a\u2028{IMAGE}",
    "<img src=x>",
    "[a](command:x)",
    "a\x1b[2Jb\u202ec",
)
FILE = "models/m.sql"


def shown(workspace: Workspace, text: str) -> Iterator[str]:
    """Every text that an editor shows as Markdown, or as it is."""
    for column in range(len(text)):
        found = answers.hover(workspace, FILE, 0, column)
        if found is not None:
            _, code, _, why = found.split("\n")
            assert not code.startswith("```")
            # What is escaped is no markup.
            assert not re.search(r"(?<!\\)[<\]!`]", why), why
            yield found
    for hint in answers.hints(workspace, FILE, 0, 0):
        yield hint.label
        yield hint.why
    yield from (diagnostic(placed).message for placed in workspace.findings(FILE))
    yield from (mend.title for mend in answers.mends(workspace, FILE, 0, 9))


@pytest.mark.parametrize("name", NAMES)
def test_no_name_is_markup_of_an_editor(name: str, tmp_path: Path, dbt_manifest: Any) -> None:
    quoted = f"`{name.replace('`', '``')}`"
    text = f"select struct(k as {quoted}) as s, k as {quoted}, concat('{name[:40]}', k) as c from shop.up"
    models = {
        "up": {
            "sql": "select max(k) as k from (select '1' as k)",
            "relation_name": f"shop.{quoted}",
            "contract": True,
            "columns": {"k": {"data_type": "string", "constraints": [{"type": "not_null"}]}},
        },
        "m": {"sql": text.replace("shop.up", f"shop.{quoted}"), "parents": ["up"]},
    }
    text = models["m"]["sql"]
    (tmp_path / "dbt_project.yml").write_text("name: shop\nprofile: shop\n")
    for folder in ("target", "models"):
        (tmp_path / folder).mkdir()
    (tmp_path / FILE).write_text(text, newline="")
    (tmp_path / "target" / "manifest.json").write_text(json.dumps(dbt_manifest(models)))
    workspace = Workspace(ProjectLocation(tmp_path))
    workspace.load()
    workspace.edit(FILE, text)
    found = list(shown(workspace, text))
    # dbt writes no lone CR, and a text with one is not shown.
    assert any("the contract of" in one for one in found) or "\r" in name
    unseen = {c for one in found for c in one if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")} - {"\n", "\u200b"}
    assert not unseen, unseen
