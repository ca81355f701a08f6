"""The spatial reference systems that Spark 4.3 knows, by number.

`srids.txt` lists them in ranges: those that measure in degrees (`geographic`), all others (`other`), and which numbers
are ESRI's (`esri`), where all others are EPSG's. Source: Spark's `srs_registry.csv`.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cache
from pathlib import Path


@cache
def _read_ranges(section: str) -> tuple[list[int], list[int]]:
    """The first and the last number of each range in a section of the file."""
    text = Path(__file__).with_name("srids.txt").read_text("utf-8")
    ranges = text.partition(f"[{section}]")[2].partition("[")[0]
    pairs = [part.partition("-") for part in ranges.split()]
    return [int(first) for first, _, _ in pairs], [int(last or first) for first, _, last in pairs]


def _is_among(srid: int, section: str) -> bool:
    firsts, lasts = _read_ranges(section)
    at = bisect_right(firsts, srid) - 1
    return at >= 0 and srid <= lasts[at]


def is_geographic(srid: int) -> bool:
    """Whether the system measures in degrees, as a geography must."""
    return _is_among(srid, "geographic")


def exists(srid: int) -> bool:
    """Whether Spark knows a spatial reference system of this id."""
    return _is_among(srid, "geographic") or _is_among(srid, "other")


def crs_of(srid: int) -> str:
    """The system's name in the JSON of a type."""
    known = {-1: "SRID:ANY", 0: "SRID:0", 4326: "OGC:CRS84", 4267: "OGC:CRS27", 4269: "OGC:CRS83"}
    authority = "ESRI" if _is_among(srid, "esri") else "EPSG"
    return known.get(srid, f"{authority}:{srid}")
