"""mkdocs' hooks for `make site`: pages beside README.md are part of the site, and links to files of the repository are
named, not followed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
BESIDE = ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")
"""Pages that lie above docs/."""

_LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]+)\]\((?P<target>[^)#\s]*)(?P<anchor>#[^)\s]*)?\)")
_FENCE = re.compile(r"(^```.*?^```$)", re.S | re.M)
_WEB = ("http:", "https:", "mailto:")


def on_files(files: Any, config: Any) -> Any:
    """The site's files, with the pages above docs/."""
    from mkdocs.structure.files import File  # type: ignore[import-not-found]  # .venv-site alone has it

    for name in BESIDE:
        files.append(File.generated(config, name, content=(ROOT / name).read_text("utf-8")))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """A page whose links lead to pages of the site; what only the repository has is named as a file."""
    own = ROOT / page.file.src_uri if page.file.src_uri in BESIDE else ROOT / "docs" / page.file.src_uri
    parts = _FENCE.split(markdown)
    parts[::2] = [_LINK.sub(lambda found: _follow(found, own), part) for part in parts[::2]]
    return "".join(parts)


def _follow(found: re.Match[str], page: Path) -> str:
    text, target, anchor = found["text"], found["target"], found["anchor"] or ""
    if not target or target.startswith(_WEB):
        return found[0]
    file = (page.parent / target).resolve()
    if not file.exists():
        raise ValueError(f"{page.relative_to(ROOT)}: no such file: {target}")
    if file == ROOT / "README.md":
        return f"[{text}]({_find_way('README.md', page)})"
    if file.parent == ROOT and file.name in BESIDE:
        return f"[{text}]({_find_way(file.name, page)}{anchor})"
    if file.is_relative_to(ROOT / "docs") and file.suffix == ".md":
        return f"[{text}]({_find_way(file.relative_to(ROOT / 'docs').as_posix(), page)}{anchor})"
    return f"{text} (`{file.relative_to(ROOT).as_posix()}`)"


def _find_way(name: str, page: Path) -> str:
    """From a page to another one of the site."""
    inside = page.relative_to(ROOT / "docs") if page.is_relative_to(ROOT / "docs") else Path(page.name)
    return "../" * (len(inside.parts) - 1) + name
