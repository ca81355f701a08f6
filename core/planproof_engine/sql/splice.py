"""Replaces spans of a text and leaves every other byte as it is."""

from __future__ import annotations

from collections.abc import Iterable


def splice(text: str, edits: Iterable[tuple[int, int, str]]) -> str:
    """`text` with each span `start:stop` replaced; spans are in characters of the original text, in any order.

    An edit with `start == stop` inserts. Edits that overlap, two at one place, or a span outside the text, raise
    `ValueError`: nothing says which of them should win.

    >>> splice("a + b", [(4, 5, "c"), (0, 1, "(a)")])
    '(a) + c'
    """
    pieces: list[str] = []
    at = 0
    last: tuple[int, int] | None = None
    for start, stop, replacement in sorted(edits, key=lambda edit: edit[:2]):
        if not 0 <= start <= stop <= len(text):
            raise ValueError(f"cannot splice {start}:{stop} into a text of {len(text)} characters")
        if start < at or (start, stop) == last or (last is not None and start == last[0]):
            raise ValueError(f"cannot splice {start}:{stop}: it overlaps the edit {last}")
        pieces.append(text[at:start])
        pieces.append(replacement)
        at, last = stop, (start, stop)
    pieces.append(text[at:])
    return "".join(pieces)
