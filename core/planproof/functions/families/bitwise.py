"""Bits. Source: `bitwiseExpressions.scala`, `mathExpressions.scala`, `bitmapExpressions.scala`."""

from __future__ import annotations

from planproof.conf import Conf
from planproof.functions.families.line import Table, fn, lines, same
from planproof.functions.families.rules import accepted
from planproof.functions.signature import EITHER, PURE, RAISES, Args, Coerce, Mismatch
from planproof.types import BINARY, BOOLEAN, BYTE, INT, LONG
from planproof.types.kinds import INTEGRAL, OneOf


def _binary_only(args: Args, conf: Conf) -> Mismatch | None:
    return accepted(args, [BINARY])


_SHIFTED = OneOf((INT, LONG))

TABLE: Table = lines(
    fn("bit_count", (OneOf((INTEGRAL, BOOLEAN)),), INT, EITHER, coerce=Coerce.EXPECTS, effects=PURE),
    fn("bit_get getbit", (INTEGRAL, INT), BYTE, EITHER, alias=True, effects=RAISES),
    fn("shiftleft", (_SHIFTED, INT), same(0), EITHER, effects=PURE),
    fn("shiftright", (_SHIFTED, INT), same(0), EITHER, effects=PURE),
    fn("shiftrightunsigned", (_SHIFTED, INT), same(0), EITHER, effects=PURE),
    fn("bitmap_bit_position", (LONG,), LONG, EITHER, effects=PURE),
    fn("bitmap_bucket_number", (LONG,), LONG, EITHER, effects=PURE),
    fn("bitmap_count", (BINARY,), LONG, EITHER, coerce=Coerce.NONE, check=_binary_only, effects=PURE),
)
