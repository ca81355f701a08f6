"""A CHAR(n) column beside a text of another kind: the one is padded with blanks, the other is not, and they never meet.

Spark pads literals and shorter CHAR columns that are compared with it (ApplyCharTypePadding), and no STRING column.
"""

from __future__ import annotations

from collections.abc import Iterator

from planproof_engine import types as dt
from planproof_engine.catalog import split_name
from planproof_engine.conf import Conf
from planproof_engine.expr.nodes import Column, Expr, InSubquery, Literal, Outer, Span
from planproof_engine.expr.pretty import pretty
from planproof_engine.hazards.definitions import Definitions
from planproof_engine.hazards.join_casts import equalities
from planproof_engine.hazards.suspicion import Count, Suspicion, make_warning
from planproof_engine.logical.nodes import Filter, Join, Scan
from planproof_engine.quoting import quote_name, quote_parts

_Stored = tuple[Scan, Column]


def padding(definitions: Definitions, conf: Conf) -> Iterator[Suspicion]:
    """PP137: a char is compared with a string, and blanks count."""
    if conf.preserve_char_varchar:
        return  # Types keep their lengths then, and Spark compares CHAR with STRING by them.
    for node in definitions.nodes:
        if isinstance(node, (Join, Filter)) and node.condition is not None:
            for call in equalities(node.condition):
                yield from _judge(call.args[0], call.args[1], call.span, definitions)
    for _, expr in definitions.operations:
        if isinstance(expr, InSubquery):
            for value, column in zip(expr.values, expr.plan.output):
                yield from _judge(value, column, None, definitions)


def _judge(one: Expr, other: Expr, span: Span | None, definitions: Definitions) -> Iterator[Suspicion]:
    for padded, text in ((one, other), (other, one)):
        found, beside = _find_stored(padded, definitions), _find_stored(text, definitions)
        if found is None or not _is_padded(found) or not _is_plain(text, beside, definitions):
            continue
        length = found[0].padded[found[1].name]
        name, given = pretty(_drop_outer(padded)), f"char({length})"
        message = (
            f"{name} is {given}, which Spark pads with blanks, and is "
            f"compared with {pretty(_drop_outer(text))}, a string, "
            "which it does not: shorter values never match"
        )
        yield Suspicion(make_warning("PP137", name, given, "string", message), span, _count(found, beside, span))


def _drop_outer(expr: Expr) -> Expr:
    return expr.column if isinstance(expr, Outer) else expr


def _find_stored(expr: Expr, definitions: Definitions) -> _Stored | None:
    return definitions.find_stored(_drop_outer(expr))


def _is_padded(found: _Stored) -> bool:
    return found[1].name in found[0].padded


def _is_plain(expr: Expr, beside: _Stored | None, definitions: Definitions) -> bool:
    """Whether it is a text that nobody padded: no constant, no CHAR column, and nothing made of one."""
    if not dt.is_string(expr.type) or isinstance(definitions.of(_drop_outer(expr)), Literal):
        return False
    if beside is not None:
        return not _is_padded(beside)
    inside = (definitions.find_stored(e) for e in definitions.of(_drop_outer(expr)).walk())
    return not any(found is not None and _is_padded(found) for found in inside)


def _count(padded: _Stored, text: _Stored | None, span: Span | None) -> Count | None:
    """The values that would meet without their blanks; None where a side is computed."""
    if text is None:
        return None
    (left, ours), (right, theirs) = padded, text
    own, other = quote_name(ours.name), quote_name(theirs.name)
    sql = (
        f"SELECT count(*) FROM (SELECT DISTINCT rtrim({own}) AS v FROM {quote_parts(split_name(left.relation))} "
        f"WHERE {own} <> rtrim({own})) AS padded LEFT SEMI JOIN {quote_parts(split_name(right.relation))} AS plain "
        f"ON plain.{other} = padded.v"
    )
    return Count(span or (-1, -1), "", "values meet only without their blanks", sql=sql)
