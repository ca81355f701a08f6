"""Dotted names of columns and relations, as findings and lineage spell them."""

from __future__ import annotations

import re

_PART = re.compile(r"`((?:[^`]|``)*)`|([^.`]+)")


def parts(name: str) -> list[str]:
    """The parts of a dotted name, without their backticks; a text of another form is one part.

    >>> parts("shop.`a.b`.id"), parts("")
    (['shop', 'a.b', 'id'], [''])
    """
    found = [quoted.replace("``", "`") or plain for quoted, plain in _PART.findall(name)]
    return found or [name]
