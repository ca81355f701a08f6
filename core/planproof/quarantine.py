"""What an author says of rows that are quarantined: how many may be, and for how long they are kept.

quarantine: {limit: 1%, keep: 30d}
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from planproof_engine import record

_SHARE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*%\s*")
_KEEP = re.compile(r"\s*(\d+)\s*d\s*")


class QuarantineError(ValueError):
    """Raised for what cannot be read as such. The message names the place."""


@record(frozen=True, slots=True)
class Quarantine:
    """At most `most` rows, or a `share` of the staged ones in percent, may be quarantined. Without both any number may
    be, but never all. They are kept for `days`."""

    most: int | None = None
    share: float | None = None
    days: int = 30

    @classmethod
    def of(cls, given: Any, where: str) -> Quarantine:
        """Of untrusted YAML. Raises `QuarantineError`, which begins with `where`."""
        if not isinstance(given, Mapping):
            raise QuarantineError(f"{where}: {given!r} is not a mapping of limit, keep")
        unknown = [str(key) for key in given if key not in ("limit", "keep")]
        if unknown:
            raise QuarantineError(f"{where}: unknown key {unknown[0]!r}; known: limit, keep")
        most, share = _read_limit(given.get("limit"), f"{where}.limit")
        return cls(most, share, _read_days(given.get("keep"), f"{where}.keep"))

    def has_room_for(self, bad: int, rows: int) -> bool:
        """Whether `bad` of so many rows may be quarantined: never all of them.

        >>> Quarantine(share=1.0).has_room_for(1, 100), Quarantine(most=1).has_room_for(2, 100)
        (True, False)
        >>> Quarantine().has_room_for(3, 3)
        False
        """
        if bad >= rows:
            return False
        if self.most is not None:
            return bad <= self.most
        return self.share is None or bad * 100 <= self.share * rows

    def __bool__(self) -> bool:
        return self != Quarantine()

    def __str__(self) -> str:
        if self.most is not None:
            return f"at most {self.most:,} rows"
        return f"at most {self.share:g} % of the rows" if self.share is not None else "not all rows"


def _read_limit(given: Any, where: str) -> tuple[int | None, float | None]:
    if given is None:
        return None, None
    if isinstance(given, int) and not isinstance(given, bool) and given >= 0:
        return given, None
    found = _SHARE.fullmatch(str(given))
    if found is None or float(found[1]) > 100:
        raise QuarantineError(f"{where}: {given!r} is neither a share such as 1% nor a number of rows")
    return None, float(found[1])


def _read_days(given: Any, where: str) -> int:
    if given is None:
        return Quarantine().days
    found = _KEEP.fullmatch(str(given))
    if found is None or int(found[1]) < 1:
        raise QuarantineError(f"{where}: {given!r} is not a number of days such as 30d")
    return int(found[1])
