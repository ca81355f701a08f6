"""Avro and Protobuf: their schemas and packages lie outside the query.

Spark refuses them where the package is not on its class path, which no query tells; so they are known by name only.
Source: `avroSqlFunctions.scala`, `toFromProtobufSqlFunctions.scala`.
"""

from __future__ import annotations

from planproof_engine import types as dt
from planproof_engine.conf import Conf
from planproof_engine.expr.function import ALWAYS, Args, Coerce, Input, Optional, TypeRule
from planproof_engine.expr.traits import RAISES
from planproof_engine.functions.families.line import Table, fn, lines
from planproof_engine.functions.families.rules import is_foldable, must
from planproof_engine.origin import Unknown
from planproof_engine.types.kinds import ANY


def _make_unknown_type(what: str) -> TypeRule:
    def rule(args: Args, conf: Conf) -> dt.DataType:
        raise Unknown(what)

    return rule


_check_name = must(
    lambda args, conf: len(args) < 2 or (is_foldable(args[1]) and (dt.is_string(args[1].type) or args[1].type == dt.VOID)),
    "TYPE_CHECK_FAILURE_WITH_HINT", "the second argument must be a constant string.",
)
"""The schema, or the message's name, is a constant text: so much is looked at without the package."""


def _line(name: str, what: str, least: int, more: int) -> Table:
    inputs: tuple[Input, ...] = (*[ANY] * least, *[Optional(ANY)] * more)
    return fn(name, inputs, _make_unknown_type(what), ALWAYS, coerce=Coerce.NONE, check=_check_name, traits=RAISES)


TABLE: Table = lines(
    _line("from_avro", "Avro data", 2, 1),
    _line("to_avro", "Avro data", 1, 1),
    _line("schema_of_avro", "an Avro schema", 1, 1),
    _line("from_protobuf", "Protobuf data", 2, 2),
    _line("to_protobuf", "Protobuf data", 2, 2),
)
