"""Numbers of 32 and 64 bits, as Java holds and writes them."""

from __future__ import annotations

import struct
from decimal import Decimal as Number


def round_float(value: float) -> float:
    """The nearest number of 32 bits."""
    try:
        found: float = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
    return found


def format_java_double(value: float, *, single: bool = False) -> str:
    """Java's `Double.toString` (or `Float.toString`), which Spark prints."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    shortest = _write_shortest(round_float(value)) if single else repr(value)
    if value == 0:
        return shortest if "." in shortest else f"{shortest}.0"
    mantissa, exponent = f"{Number(shortest):e}".lower().split("e")
    digits = mantissa.replace(".", "").replace("-", "").rstrip("0") or "0"
    power = int(exponent)
    sign = "-" if value < 0 else ""
    if -3 <= power < 7:
        plain = f"{Number(shortest):f}"
        return plain if "." in plain else f"{plain}.0"
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{power}"


def is_written_alike(value: float, *, single: bool = False) -> bool:
    """Whether every Java writes a number as `format_java_double` does. Before 19 some had more digits than they need
    (JDK-4511638): whole numbers that have no neighbour at a distance of one, up to some size, and the very small; Java
    17 was asked of 800,000 numbers."""
    size, (least, first, last) = abs(value), (1.2e-38, 2.0**24, 1e20) if single else (2.3e-308, 2.0**53, 1e30)
    return value == 0 or value != value or (least <= size and not first <= size < last)


def _write_shortest(value: float) -> str:
    """The fewest digits that tell a number of 32 bits from its neighbours."""
    return next((t for n in range(1, 9) if round_float(float(t := f"{value:.{n}g}")) == value), f"{value:.9g}")
