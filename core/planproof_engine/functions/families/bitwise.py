"""Bits. Source: `bitwiseExpressions.scala`, `mathExpressions.scala`, `bitmapExpressions.scala`."""

from __future__ import annotations

from typing import Any

from planproof_engine import types as dt
from planproof_engine.expr.function import EITHER, Coerce
from planproof_engine.expr.nodes import Call
from planproof_engine.expr.traits import PURE, RAISES
from planproof_engine.functions.families.line import Pretty, Table, fn, lines, type_of
from planproof_engine.functions.families.rules import uncast
from planproof_engine.types.kinds import INTEGRAL, OneOf

_SHIFTED = OneOf((dt.INT, dt.LONG))


def _shift(name: str, symbol: str) -> Table:
    """A shift is printed as it was written: by its name, or by its symbol."""

    def show(call: Call, pretty: Pretty) -> str:
        left, right = (pretty(a) for a in call.args)
        return f"({left} {symbol} {right})" if call.shown == symbol else f"{call.shown}({left}, {right})"

    own: dict[str, Any] = {"alias": True, "show": show, "traits": PURE}
    return fn(f"{name} {symbol}", (_SHIFTED, dt.INT), type_of(0), EITHER, **own)


TABLE: Table = lines(
    fn("bit_count", (OneOf((INTEGRAL, dt.BOOLEAN)),), dt.INT, EITHER, coerce=Coerce.EXPECTS, traits=PURE),
    fn("bit_get getbit", (INTEGRAL, dt.INT), dt.BYTE, EITHER, alias=True, traits=RAISES),
    _shift("shiftleft", "<<"),
    _shift("shiftright", ">>"),
    _shift("shiftrightunsigned", ">>>"),
    fn("bitmap_bit_position, bitmap_bucket_number", (dt.LONG,), dt.LONG, EITHER, traits=PURE),
    fn("bitmap_count", (dt.BINARY,), dt.LONG, EITHER, coerce=Coerce.NONE, check=uncast(dt.BINARY), traits=PURE),
)
