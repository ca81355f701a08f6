"""The time zone of this machine, which Spark takes where no setting names one (`TimeZone.getDefault` of the JVM)."""

from __future__ import annotations

import datetime as dt
import os
from functools import cache
from pathlib import Path

LOCALTIME = Path("/etc/localtime")
"""A link to the zone's rules, on Linux and macOS: `/usr/share/zoneinfo/Europe/Berlin`."""


def system_zone() -> str:
    """The machine's zone by its name (`Europe/Berlin`), or by its offset (`+01:00`) where nothing names it."""
    return _resolve_zone(os.environ.get("TZ", "").removeprefix(":").removeprefix("posix/"))


@cache
def _resolve_zone(given: str) -> str:
    """A `TZ` that names no zone (`CET-1CEST`) has an offset: Java takes that, too, and does not look at the link
    (TimeZone.setDefaultZone; TimeZone_md.c, findJavaTZ_md)."""
    name = (given if is_region(given) else None) if given else _find_linked()
    return name or _format_offset(dt.datetime.now().astimezone().utcoffset() or dt.timedelta())


def _find_linked() -> str | None:
    _, folder, name = LOCALTIME.resolve().as_posix().rpartition("/zoneinfo/")
    return name if folder and is_region(name) else None


def is_region(name: str) -> bool:
    """Whether Python's time zones have one of this name. To list them all takes as long as to plan ten models."""
    from zoneinfo import ZoneInfo

    try:
        return not name.startswith(("posix", "right/")) and ZoneInfo(name).key == name
    except (KeyError, ValueError, OSError):
        return False


def _format_offset(offset: dt.timedelta) -> str:
    """
    >>> _format_offset(dt.timedelta(hours=-3, minutes=-30)), _format_offset(dt.timedelta())
    ('-03:30', 'UTC')
    """
    minutes = int(offset.total_seconds() // 60)
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}" if minutes else "UTC"
