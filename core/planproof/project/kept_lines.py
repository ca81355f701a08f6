"""A YAML file's own lines where nothing was changed: to write a file anew normalizes its indentation and its blanks.

The file is written twice, without and with the change. What differs between these two is all that the file gets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import SequenceMatcher
from typing import Any

from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import CommentMark
from ruamel.yaml.tokens import CommentToken


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


_AT = {CommentedMap: 2, CommentedSeq: 0}
"""At which place of a leaf's comments the one behind it stands, by what holds the leaf."""


@contextmanager
def keep_tail(entry: Any) -> Iterator[None]:
    """Within the block something may be added to the entry's end; what stood behind it stands behind that.

    Blank lines and comments behind an entry ruamel.yaml keeps at the entry's last leaf: they go to the new last one.
    """
    tail = "".join(_take_tail(_find_leaves(entry)))
    yield
    leaves = _find_leaves(entry)
    if not tail or not leaves:
        return
    comments, place = _find_comments(*leaves[-1])
    token = comments[place]
    own = token.value.rstrip("\n") if isinstance(token, CommentToken) else ""
    comments[place] = CommentToken(f"{own}\n{tail}", getattr(token, "start_mark", None) or CommentMark(0), None)


def _take_tail(leaves: list[tuple[Any, Any]]) -> Iterator[str]:
    """Takes away what follows the last leaf's own line. Behind what stands between brackets it is a holder's."""
    if leaves and leaves[-1][1] in leaves[-1][0].ca.items:
        comments, place = _find_comments(*leaves[-1])
        token = comments[place]
        if isinstance(token, CommentToken):
            own, _, rest = token.value.partition("\n")
            comments[place] = CommentToken(f"{own}\n", token.start_mark, None) if own.strip() else None
            yield rest
    for holder, _ in reversed(leaves):
        yield from (token.value for token in holder.ca.end or ())
        holder.ca.end = []


def _find_comments(holder: Any, key: Any) -> tuple[list[Any], int]:
    """A leaf's comments, and at which place of them the one behind it stands."""
    found: list[Any] = holder.ca.items.setdefault(key, [])
    found += [None] * (4 - len(found))
    return found, _AT[type(holder)]


def _find_leaves(node: Any) -> list[tuple[Any, Any]]:
    """The last entry of a node, that entry's last, and so on: each as what holds it and its key or number there. What
    stands between brackets is a leaf."""
    found: list[tuple[Any, Any]] = []
    while type(node) in _AT and node and not node.fa.flow_style():
        key = next(reversed(node)) if isinstance(node, CommentedMap) else len(node) - 1
        found.append((node, key))
        node = node[key]
    return found
