"""A YAML file's own lines where nothing was changed: to write a file anew normalizes its indentation and its blanks.

The file is written twice, without and with the change. What differs between these two is all that the file gets.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher


def keep_own_lines(own: str, unchanged: str, changed: str) -> str:
    """The text `own` with what `changed` has beside `unchanged`, which is `own` as the writer writes it.

    >>> plain, more = "a:\\n  - b: 1\\n  - c: 2\\n", "a:\\n  - b: 1\\n    d: 3\\n  - c: 2\\n"
    >>> print(keep_own_lines("a:\\n- b:   1\\n- c: 2\\n", plain, more))
    a:
    - b:   1
      d: 3
    - c: 2
    <BLANKLINE>
    """
    base, new = unchanged.splitlines(), changed.splitlines()
    owned, rest = _assign_lines(own.splitlines(), base)
    found: list[str] = []
    placed: list[tuple[str, str]] = []
    for tag, first, last, start, stop in _match_lines(base, new):
        if tag == "equal":
            found += [line for lines in owned[first:last] for line in lines]
            placed += [(line, lines[-1]) for line, lines in zip(base[first:last], owned[first:last]) if lines]
            continue
        for line in new[start:stop]:
            placed.append((line, _indent_line(line, placed)))
            found.append(placed[-1][1])
    found += rest
    ends = "\n" if own.endswith("\n") or not found or found[-1:] != own.splitlines()[-1:] else ""
    return "\n".join(found) + ends


def _match_lines(before: list[str], after: list[str]) -> Sequence[tuple[str, int, int, int, int]]:
    return SequenceMatcher(None, before, after, autojunk=False).get_opcodes()


def _assign_lines(own: list[str], base: list[str]) -> tuple[list[list[str]], list[str]]:
    """For each line of `base` the lines that stand for it in the file, and those at its end that the writer drops."""
    owned: list[list[str]] = [[] for _ in base]
    waiting: list[str] = []
    for _, first, last, start, stop in _match_lines(
        [_strip_line(line) for line in own], [_strip_line(line) for line in base]
    ):
        pairs = last - first == stop - start
        if start == stop:
            waiting += own[first:last]
            continue
        for at in range(start, stop):
            owned[at] = own[first + at - start : first + at - start + 1] if pairs else []
        if not pairs:
            owned[start] = own[first:last]
        owned[start], waiting = [*waiting, *owned[start]], []
    return owned, waiting


def _strip_line(line: str) -> str:
    return " ".join(line.split())


def _indent_line(line: str, placed: Sequence[tuple[str, str]]) -> str:
    """A new line as far to the right as the one before it of its depth, else of its holder, stands in the file."""
    text, (depth, *_) = line.lstrip(), _depths(line)
    if not text:
        return line
    for normal, stands in reversed(placed):
        if not normal.strip() or normal.lstrip().startswith("#"):
            continue
        above = [(at, there) for at, there in zip(_depths(normal), _depths(stands)) if at <= depth]
        if above:
            at, there = above[-1]
            return " " * (there + depth - at) + text
    return line


def _depths(line: str) -> list[int]:
    """Where the line begins, and where what a dash makes an item of does."""
    found = [len(line) - len(line.lstrip())]
    while line[found[-1] :].startswith("- "):
        rest = line[found[-1] + 1 :]
        found.append(len(line) - len(rest.lstrip()))
    return found
