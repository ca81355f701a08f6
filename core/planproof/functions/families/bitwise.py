"""Bits. Source: `bitwiseExpressions.scala`, `mathExpressions.scala`, `bitmapExpressions.scala`."""

from __future__ import annotations

from planproof.functions.families.line import Table, binary, fn, lines, same
from planproof.functions.signature import EITHER, PURE, RAISES, Coerce
from planproof.types import BINARY, BOOLEAN, BYTE, INT, LONG
from planproof.types.kinds import INTEGRAL, OneOf

_SHIFTED = OneOf((INT, LONG))

TABLE: Table = lines(
    fn("bit_count", (OneOf((INTEGRAL, BOOLEAN)),), INT, EITHER, coerce=Coerce.EXPECTS, effects=PURE),
    fn("bit_get getbit", (INTEGRAL, INT), BYTE, EITHER, alias=True, effects=RAISES),
    fn("shiftleft", (_SHIFTED, INT), same(0), EITHER, effects=PURE),
    fn("shiftright", (_SHIFTED, INT), same(0), EITHER, effects=PURE),
    fn("shiftrightunsigned", (_SHIFTED, INT), same(0), EITHER, effects=PURE),
    fn("bitmap_bit_position", (LONG,), LONG, EITHER, effects=PURE),
    fn("bitmap_bucket_number", (LONG,), LONG, EITHER, effects=PURE),
    fn("bitmap_count", (BINARY,), LONG, EITHER, effects=PURE),
)

__all__ = ["TABLE", "binary"]
