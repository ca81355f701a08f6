"""Casts under the name of their type, such as `int(x)`. Source: `FunctionRegistry.castAlias`, `Cast.scala`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from planproof_engine import types as dt
from planproof_engine.conf import Conf
from planproof_engine.expr.function import Args, Coerce, Mismatch
from planproof_engine.expr.traits import ANSI_RAISES, Cost
from planproof_engine.functions.bind import check_cast, check_time_cast, is_cast_nullable
from planproof_engine.functions.families.line import Table, fn, lines
from planproof_engine.types.kinds import ANY


def _to(name: str, target: dt.DataType) -> Table:
    """The cast to `target`. Spark prints what is cast, as for a cast that the query did not write."""

    def nullable(args: Args, conf: Conf) -> bool:
        return is_cast_nullable(args[0], target, "ansi" if conf.ansi else "legacy")

    def check(args: Args, conf: Conf) -> Mismatch | None:
        refused = check_cast(args[0].type, target, "ansi" if conf.ansi else "legacy")
        return refused or check_time_cast(args[0].type, target, conf)

    own: dict[str, Any] = {"coerce": Coerce.NONE, "check": check, "traits": replace(ANSI_RAISES, cost=Cost.FEW), "needs": "time_type" if target == dt.Time(6) else ""}
    return fn(name, (ANY,), target, nullable, show=lambda call, pretty: pretty(call.args[0]), **own)


TABLE: Table = lines(
    _to("bigint", dt.LONG),
    _to("binary", dt.BINARY),
    _to("boolean", dt.BOOLEAN),
    _to("date", dt.DATE),
    _to("decimal", dt.Decimal(10, 0)),
    _to("double", dt.DOUBLE),
    _to("float", dt.FLOAT),
    _to("int", dt.INT),
    _to("smallint", dt.SHORT),
    _to("string", dt.STRING),
    _to("time", dt.Time(6)),
    _to("timestamp", dt.TIMESTAMP),
    _to("tinyint", dt.BYTE),
)

CASTS = frozenset(name for name, _ in TABLE)
