"""Geometries and geographies. Source: `stExpressions.scala`."""

from __future__ import annotations

from typing import Any

from planproof_engine import types as dt
from planproof_engine.expr.function import EITHER, Args, Coerce, Mismatch, Optional
from planproof_engine.expr.nodes import Literal
from planproof_engine.expr.traits import RAISES
from planproof_engine.functions.families.line import (
    Table, check_inputs, checks, fn, implicit, lines, lit, uncast, wants,
)
from planproof_engine.ground import Conf
from planproof_engine.types.kinds import ANY, ANY_STRING
from planproof_engine.types.srids import exists, is_geographic

_ANYWHERE = -1


_check_geo = wants(0, lambda t: isinstance(t, dt.Geo) or t == dt.VOID, "GEOMETRY")


def _srid(args: Args, place: int) -> int:
    """The reference system that a literal names; any where the query computes it."""
    given = args[place]
    if not isinstance(given, Literal) or given.value is None:
        return _ANYWHERE
    if not exists(given.value):
        raise _make_srid_mismatch(given.value)
    return int(given.value)


def _make_srid_mismatch(srid: object) -> Mismatch:
    return Mismatch("ST_INVALID_SRID_VALUE", f"Invalid or unsupported SRID (spatial reference identifier) value: {srid}.", whole=True)


def _set_type(args: Args, conf: Conf) -> dt.DataType:
    """A bare NULL counts as a geography."""
    given = args[0].type
    return dt.Geo(given.kind if isinstance(given, dt.Geo) else "geography", _srid(args, 1))


def _check_srid(args: Args, conf: Conf) -> Mismatch | None:
    refused = _check_geo(args, conf) or check_inputs(args, (None, dt.INT))
    if refused is not None:
        return refused
    srid = _srid(args, 1)
    is_geometry = isinstance(args[0].type, dt.Geo) and args[0].type.kind == "geometry"
    if srid == _ANYWHERE or is_geometry or is_geographic(srid):
        return None
    return _make_srid_mismatch(srid)


_OWN: dict[str, Any] = {"traits": RAISES, "needs": "geospatial"}
_FREE: dict[str, Any] = {"coerce": Coerce.NONE, **_OWN}

TABLE: Table = lines(
    fn("st_geogfromwkb", (dt.BINARY,), dt.Geo("geography", 4326), EITHER, **_OWN),
    fn("st_geomfromwkb", (dt.BINARY, Optional(dt.INT, lit(0))), lambda args, conf: dt.Geo("geometry", _srid(args, 1)), EITHER, since="4.2", **_OWN),
    fn("st_geomfromwkb", (dt.BINARY,), dt.Geo("geometry", 0), EITHER, until="4.2", **_OWN),
    fn("st_srid", (ANY,), dt.INT, EITHER, check=_check_geo, **_FREE),
    fn("st_asbinary", (ANY, Optional(ANY, lit("NDR"))), dt.BINARY, EITHER, coerces=implicit(None, ANY_STRING), check=checks(_check_geo, uncast(None, ANY_STRING)), since="4.2", **_FREE),
    fn("st_asbinary", (ANY,), dt.BINARY, EITHER, check=_check_geo, until="4.2", **_FREE),
    fn("st_setsrid", (ANY, ANY), _set_type, EITHER, coerces=implicit(None, dt.INT), check=_check_srid, **_FREE),
)
