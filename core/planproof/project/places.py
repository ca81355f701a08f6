"""Places in compiled SQL, carried back to the author's file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from difflib import SequenceMatcher

from planproof.origin import Origin, place

# A template is one token: it never equals compiled text, and it is the place of what it expands to.
_TOKEN = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}|\w+|\s+|.", re.DOTALL)


def in_source(origin: Origin, sql: str, compiled: str, raw: str, file: str | None = None) -> Origin:
    """The place in the author's file (`raw`, with templates) of a place in `sql`, a statement that holds `compiled`.

    What a template wrote stands at the template, marked approximate. Where `sql` does not hold `compiled`, or the place
    lies outside it, the origin comes back as it is.

    >>> sql, raw = "select\\n  id from s.t", "select\\n  id from {{ ref('t') }}"
    >>> str(in_source(Origin(2, 3), sql, sql, raw))
    'line 2:3'
    """
    at, offset = sql.find(compiled), _offset(sql, origin)
    if at < 0 or not raw or not at <= offset <= at + len(compiled):
        return origin
    start, exact = _matched(compiled, raw, offset - at)
    return replace(place(raw, start, file=file), approximate=origin.approximate or not exact)


def _offset(text: str, origin: Origin) -> int:
    if origin.start is not None:
        return origin.start
    lines = text.split("\n")
    return sum(len(line) + 1 for line in lines[: origin.line - 1]) + origin.column - 1


def _matched(compiled: str, raw: str, offset: int) -> tuple[int, bool]:
    """The offset in `raw` of `offset` in `compiled`, and whether the same text stands there.

    Lines are matched first: they seldom repeat, so this stays fast. Only lines that differ are matched by tokens.
    """
    ours, theirs = compiled.splitlines(keepends=True), raw.splitlines(keepends=True)
    index, within = _part(ours, offset)
    # The last line of a file ends without a newline in one text and with one in the other.
    for tag, i1, i2, j1, j2 in _opcodes([line.rstrip() for line in ours], [line.rstrip() for line in theirs]):
        if not i1 <= index < i2:
            continue
        if tag == "equal":
            line = j1 + index - i1
            return sum(map(len, theirs[:line])) + min(within, len(theirs[line])), True
        block, inside = "".join(ours[i1:i2]), sum(map(len, ours[i1:index])) + within
        start, exact = _by_token(block, "".join(theirs[j1:j2]), inside)
        return sum(map(len, theirs[:j1])) + start, exact
    return len(raw), False


def _by_token(compiled: str, raw: str, offset: int) -> tuple[int, bool]:
    ours, theirs = _TOKEN.findall(compiled), _TOKEN.findall(raw)
    index, within = _part(ours, offset)
    for tag, i1, i2, j1, j2 in _opcodes(ours, theirs):
        if i1 <= index < i2:
            if tag == "equal":
                return sum(map(len, theirs[: j1 + index - i1])) + within, True
            template = next((j for j in range(j1, j2) if theirs[j][:2] in ("{{", "{%")), j1)
            return sum(map(len, theirs[:template])), False
    return 0, False


def _part(parts: Sequence[str], offset: int) -> tuple[int, int]:
    """The part that holds `offset` of the joined text, and the offset within it."""
    for index, part in enumerate(parts):
        if offset < len(part):
            return index, offset
        offset -= len(part)
    return max(len(parts) - 1, 0), len(parts[-1]) if parts else 0


def _opcodes(ours: Sequence[str], theirs: Sequence[str]) -> list[tuple[str, int, int, int, int]]:
    return SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes()
