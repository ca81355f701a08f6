"""The formats of `to_number` and `to_char`: `S$9,999.90PR`. Source: `ToNumberParser.check`."""

from __future__ import annotations

import re

_TOKENS = re.compile(r"[09,G]+|MI|PR|S|\$|[.D]|.", re.DOTALL)
_ORDER = re.compile(r"[SM]?\$?#?(\.#?)?\$?[PMS]?")
_ONCE = ("S", "M", "$", "P", ".")


def find_refusal(shape: str) -> str | None:
    """Which part of INVALID_FORMAT a format in upper case is refused with; None where it is well formed."""
    if not shape:
        return "EMPTY"
    tokens = _TOKENS.findall(shape)
    groups = [t for t in tokens if t[0] in "09,G"]
    kinds = "".join(map(_kind, tokens))
    if not any(set(g) & {"0", "9"} for g in groups):
        return "WRONG_NUM_DIGIT"
    return _find_misplaced(kinds, groups) or _find_repeated(kinds)


def _kind(token: str) -> str:
    if token[0] in "09,G":
        return "#"
    if token in (".", "D"):
        return "."
    return token[0] if token in ("S", "MI", "PR", "$") else "?"


def _find_misplaced(kinds: str, groups: list[str]) -> str | None:
    currency, digits, point = kinds.find("$"), kinds.find("#"), kinds.find(".")
    if 0 <= digits < currency:
        return "CUR_MUST_BEFORE_DIGIT"
    if 0 <= point < currency:
        return "CUR_MUST_BEFORE_DEC"
    if any(re.search(r"^[,G]|[,G]$|[,G][,G]", g) for g in groups):
        return "CONT_THOUSANDS_SEPS"
    if point >= 0 and any(set(g) & {",", "G"} for g in groups[kinds[:point].count("#") :]):
        return "THOUSANDS_SEPS_MUST_BEFORE_DEC"
    return None


def _find_repeated(kinds: str) -> str | None:
    if any(kinds.count(kind) > 1 for kind in _ONCE):
        return "WRONG_NUM_TOKEN"
    return None if _ORDER.fullmatch(kinds) else "UNEXPECTED_TOKEN"
