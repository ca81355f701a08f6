"""Blank lines and comments between an entry of a YAML file and the next one. ruamel.yaml keeps them at the entry's last
leaf: where something is added behind that one, they go to the new last leaf."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import CommentMark
from ruamel.yaml.tokens import CommentToken

_AT = {CommentedMap: 2, CommentedSeq: 0}
"""At which place of a leaf's comments the one behind it stands, by what holds the leaf."""


@contextmanager
def keep_tail(entry: Any) -> Iterator[None]:
    """Within the block something may be added to the entry's end; what stood behind it stands behind that."""
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
