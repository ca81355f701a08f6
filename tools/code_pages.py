"""Writes docs/codes: a page for every code, from `planproof_engine.codes` and the examples of `planproof.cli.pages`.

python tools/code_pages.py
"""

from __future__ import annotations

from pathlib import Path

from planproof.cli.pages import render_index, render_page
from planproof_engine.codes import CODES

FOLDER = Path(__file__).parents[1] / "docs" / "codes"


def render_pages() -> dict[str, str]:
    """The text of each file of the folder."""
    return {"README.md": render_index(), **{f"{name}.md": render_page(code) for name, code in CODES.items()}}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, text in render_pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    for stray in {path.name for path in FOLDER.iterdir()} - render_pages().keys():
        (FOLDER / stray).unlink()


if __name__ == "__main__":
    main()
