"""Encodings, hashes and encryption. Source: `stringExpressions.scala`, `hash.scala`, `misc.scala`, `urlExpressions.scala`."""

from __future__ import annotations

from dataclasses import replace

from planproof_engine import types as dt
from planproof_engine.conf import Conf
from planproof_engine.expr.function import ALWAYS, EITHER, NEVER, Args, Coerce, Many, Mismatch, Optional
from planproof_engine.expr.traits import PURE, RAISES, Magnitude
from planproof_engine.functions.bind import cast_unless_same
from planproof_engine.functions.families.line import Table, fn, lines, lit, type_of
from planproof_engine.functions.families.rules import prove_null_for_null
from planproof_engine.types.kinds import ANY, ANY_STRING


def _check_no_map(args: Args, conf: Conf) -> Mismatch | None:
    """`HashExpression.checkInputDataTypes`: the order inside a map is open, so it has no hash."""
    if not args:
        return Mismatch("WRONG_NUM_ARGS.WITHOUT_SUGGESTION", "hash functions require at least one argument.")
    inner = [t for a in args for t in dt.walk(a.type)]
    if any(isinstance(t, dt.Map) for t in inner):
        return Mismatch("HASH_MAP_TYPE", "the input of a hash function cannot hold a map.")
    return Mismatch("HASH_VARIANT_TYPE", "the input of a hash function cannot hold a variant.") if dt.VARIANT in inner else None


_URL = (ANY_STRING, ANY_STRING, Optional(ANY_STRING))
_CIPHER = (dt.BINARY, dt.BINARY, Optional(ANY_STRING, lit("GCM")), Optional(ANY_STRING, lit("DEFAULT")))

TABLE: Table = lines(
    fn("base64, to_base32, md5, sha, sha1", (dt.BINARY,), dt.STRING, EITHER, traits=PURE),
    fn("unbase64, from_base32", (ANY_STRING,), dt.BINARY, EITHER, traits=RAISES),
    fn("encode", (ANY_STRING, ANY_STRING), dt.BINARY, ALWAYS, since="4.0", evidence=prove_null_for_null, traits=RAISES),
    fn("encode", (ANY_STRING, ANY_STRING), dt.BINARY, EITHER, until="4.0", traits=RAISES),
    fn("is_valid_utf8", (ANY_STRING,), dt.BOOLEAN, ALWAYS, evidence=prove_null_for_null, traits=PURE),
    fn("make_valid_utf8", (ANY_STRING,), type_of(0), ALWAYS, evidence=prove_null_for_null, traits=PURE),
    fn("validate_utf8", (ANY_STRING,), type_of(0), ALWAYS, evidence=prove_null_for_null, traits=RAISES),
    fn("try_validate_utf8", (ANY_STRING,), type_of(0), ALWAYS, traits=PURE),
    fn("url_encode", (ANY_STRING,), dt.STRING, ALWAYS, evidence=prove_null_for_null, traits=PURE),
    fn("url_decode", (ANY_STRING,), dt.STRING, ALWAYS, evidence=prove_null_for_null, traits=RAISES),
    fn("try_url_decode", (ANY_STRING,), dt.STRING, ALWAYS, traits=PURE),
    fn("parse_url", _URL, dt.STRING, ALWAYS, coerce=Coerce.EXPECTS, traits=RAISES),
    fn("try_parse_url", _URL, dt.STRING, ALWAYS, coerces=lambda args, conf: [cast_unless_same(x, dt.STRING, conf) if x.type == dt.VOID else x for x in args], coerce=Coerce.EXPECTS, traits=PURE),
    fn("sha2", (dt.BINARY, dt.INT), dt.STRING, ALWAYS, traits=PURE),
    fn("crc32", (dt.BINARY,), dt.LONG, EITHER, traits=replace(PURE, magnitude=Magnitude.LARGE)),
    fn("hmac", (dt.BINARY, dt.BINARY, Optional(ANY_STRING, lit("SHA-256"))), dt.BINARY, ALWAYS, evidence=prove_null_for_null, traits=RAISES),
    fn("hash", (Many(ANY),), dt.INT, NEVER, coerce=Coerce.NONE, check=_check_no_map, traits=PURE),
    fn("xxhash64", (Many(ANY),), dt.LONG, NEVER, coerce=Coerce.NONE, check=_check_no_map, traits=replace(PURE, magnitude=Magnitude.LARGE)),
    fn("aes_encrypt", (*_CIPHER, Optional(dt.BINARY, lit("")), Optional(dt.BINARY, lit(""))), dt.BINARY, ALWAYS, traits=RAISES),
    fn("aes_decrypt", (*_CIPHER, Optional(dt.BINARY, lit(""))), dt.BINARY, ALWAYS, traits=RAISES),
    fn("try_aes_decrypt", (*_CIPHER, Optional(dt.BINARY, lit(""))), dt.BINARY, ALWAYS, traits=PURE),
)
