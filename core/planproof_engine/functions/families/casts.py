"""Casts under the name of their type, such as `int(x)`. Source: `FunctionRegistry.castAlias`, `Cast.scala`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from planproof_engine.conf import Conf
from planproof_engine.expr.function import Args, Coerce, Mismatch
from planproof_engine.expr.traits import ANSI_RAISES, Cost
from planproof_engine.functions.bind import check_cast, check_time_cast, is_cast_nullable
from planproof_engine.functions.families.line import Table, fn, lines
from planproof_engine.types import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    DataType,
    Decimal,
    Time,
)
from planproof_engine.types.kinds import ANY


def _to(name: str, target: DataType) -> Table:
    """The cast to `target`. Spark prints what is cast, as for a cast that the query did not write."""

    def nullable(args: Args, conf: Conf) -> bool:
        return is_cast_nullable(args[0], target, "ansi" if conf.ansi else "legacy")

    def check(args: Args, conf: Conf) -> Mismatch | None:
        refused = check_cast(args[0].type, target, "ansi" if conf.ansi else "legacy")
        return refused or check_time_cast(args[0].type, target, conf)

    own: dict[str, Any] = {"coerce": Coerce.NONE, "check": check, "traits": replace(ANSI_RAISES, cost=Cost.FEW), "needs": "time_type" if target == Time(6) else ""}
    return fn(name, (ANY,), target, nullable, show=lambda call, pretty: pretty(call.args[0]), **own)


TABLE: Table = lines(
    _to("bigint", LONG),
    _to("binary", BINARY),
    _to("boolean", BOOLEAN),
    _to("date", DATE),
    _to("decimal", Decimal(10, 0)),
    _to("double", DOUBLE),
    _to("float", FLOAT),
    _to("int", INT),
    _to("smallint", SHORT),
    _to("string", STRING),
    _to("time", Time(6)),
    _to("timestamp", TIMESTAMP),
    _to("tinyint", BYTE),
)

CASTS = frozenset(name for name, _ in TABLE)
