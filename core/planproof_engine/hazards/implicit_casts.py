"""What Spark does to values that meet those of another type, though nobody wrote a cast."""

from __future__ import annotations

import re
from collections.abc import Iterator

from planproof_engine import types as dt
from planproof_engine.catalog import split_name
from planproof_engine.expr import Category
from planproof_engine.expr import nodes as x
from planproof_engine.expr.pretty import print_as_written
from planproof_engine.finding import Finding
from planproof_engine.ground import Conf, quote_name, quote_parts
from planproof_engine.hazards.definitions import Definitions
from planproof_engine.hazards.filters import drop_casts
from planproof_engine.hazards.loss import loss, make_change_condition
from planproof_engine.hazards.suspicion import Count, Suspicion, find_place_in_rows, make_warning, subject
from planproof_engine.logical.nodes import Filter, Join, Plan, Project, Scan, SetOperation
from planproof_engine.types.coercion import find_wider
from planproof_engine.zone import is_region


def set_casts(definitions: Definitions, conf: Conf) -> Iterator[Suspicion]:
    """PP125: a set operation casts a column to the other side's type, and loses something.

    A union of a string and a number is a number under ANSI: '007' becomes 7. A bigint beside a double is rounded.
    """
    for node in definitions.nodes:
        if isinstance(node, SetOperation):
            for at, side in enumerate(node.inputs):
                span = node.spans[at] if at < len(node.spans) else None
                for place, item in _list_casts(side):
                    found = _judge_member(node.kind, item, place, definitions)
                    if found is not None:
                        yield Suspicion(found[0], span, _count_members(span, found[1], len(side.output)))


def _list_casts(side: Plan) -> Iterator[tuple[int, x.Alias]]:
    """The casts that the set operation added, with their places."""
    if isinstance(side, Project):
        for place, item in enumerate(side.items):
            if not isinstance(item, x.Alias) or item.explicit or not isinstance(item.child, x.Cast):
                continue
            if not item.child.written and isinstance(item.child.child, x.Column):
                yield place, item


def _judge_member(kind: str, item: x.Alias, place: int, definitions: Definitions) -> tuple[Finding, str] | None:
    """The finding, and the condition for which a value is not what it was."""
    cast = item.child
    assert isinstance(cast, x.Cast)
    given, used = cast.child.type, cast.type
    lost = loss(given, used)
    if lost is None or isinstance(definitions.of(cast.child), x.Literal):
        return None
    message = f"the {kind} makes {item.name} of {given.simple} a {used.simple}: {lost}"
    finding = make_warning("PP125", item.name, given.simple, used.simple, message)
    return finding, make_change_condition(f"c{place}", given, used)


def _count_members(span: tuple[int, int] | None, condition: str, columns: int) -> Count | None:
    return None if span is None else Count(span, condition, "rows hold another value than before", columns)


def join_casts(definitions: Definitions, conf: Conf) -> Iterator[Suspicion]:
    """PP124: a join compares columns of different types, and Spark casts one of them, which loses something.

    `a.code = b.id` with a string and a number compares numbers: '007' meets 7, and '7' too. The same holds for two
    columns that a WHERE compares, be it over a comma join or in a correlated subquery.
    """
    for node in definitions.nodes:
        if isinstance(node, (Join, Filter)) and node.condition is not None:
            for call in equalities(node.condition):
                if isinstance(node, Filter) and not all(_varies(side, definitions) for side in call.args):
                    continue
                for side in call.args:
                    if isinstance(side, x.Cast) and not side.written:
                        yield from _judge_key(side.child, side.type, call.span)
    for _, expr in definitions.operations:
        if isinstance(expr, x.InSubquery):
            for value, column in zip(expr.values, expr.plan.output):
                common = find_wider(value.type, column.type, conf)
                if common is not None:
                    yield from _judge_key(value, common, None)
                    yield from _judge_key(column, common, None)


def equalities(condition: x.Expr) -> Iterator[x.Call]:
    """The equalities that must all hold for a condition to."""
    for one in x.conjuncts(condition):
        if isinstance(one, x.Call) and one.function.name in ("=", "<=>"):
            yield one


def _varies(expr: x.Expr, definitions: Definitions) -> bool:
    """Whether a side is a column: what is compared with a constant is no key."""
    expr = drop_casts(expr)
    return isinstance(expr, x.Outer) or isinstance(definitions.of(expr), x.Column)


def _judge_key(key: x.Expr, used: dt.DataType, span: tuple[int, int] | None) -> Iterator[Suspicion]:
    lost = None if isinstance(key, x.Literal) else loss(key.type, used)
    if lost is not None:
        name, given = print_as_written(key.column if isinstance(key, x.Outer) else key), key.type.simple
        message = f"the join key {name} is {given} and is compared as {used.simple}: {lost}"
        yield Suspicion(make_warning("PP124", name, given, used.simple, message), span)


def value_casts(definitions: Definitions, conf: Conf) -> Iterator[Suspicion]:
    """PP132: texts that become numbers on their way through CASE, IF or COALESCE: under ANSI `coalesce(zip, 0)` is a
    number, and '01234' becomes 1234. What is computed with a text is meant as a number."""
    for column, expr in definitions.operations:
        if isinstance(expr, x.Call) and expr.function.category in (Category.SCALAR, Category.OPERATOR):
            for value in (expr.args[place] for place in expr.function.traits.hands_on(len(expr.args))):
                if _loses(value, definitions) and definitions.computes(expr):
                    assert isinstance(value, x.Cast)
                    name, given, used = print_as_written(value.child), value.child.type.simple, value.type.simple
                    message = (
                        f"{subject(column, name)} is {given} and is made a {used} beside the other values: leading "
                        "zeros and the text's spelling are dropped, and other texts fail"
                    )
                    yield Suspicion(
                        make_warning("PP132", column or name, given, used, message),
                        expr.span,
                        _count_texts(value, definitions),
                    )


def _count_texts(value: x.Cast, definitions: Definitions) -> Count | None:
    span = find_place_in_rows(value.child)
    condition = make_change_condition("({x})", value.child.type, value.type)
    return None if span not in definitions.always else Count(span, condition, "texts change")


def _loses(value: x.Expr, definitions: Definitions) -> bool:
    """Whether a text that is not a constant becomes a number."""
    if (
        not isinstance(value, x.Cast)
        or value.written
        or not dt.is_string(value.child.type)
        or not dt.is_numeric(value.type)
    ):
        return False
    return any(isinstance(e, (x.Column, x.Outer, x.Variable)) for e in definitions.of(value.child).walk())


_Stored = tuple[Scan, x.Column]


def padding(definitions: Definitions, conf: Conf) -> Iterator[Suspicion]:
    """PP137: a CHAR(n) column is compared with a text of another kind: the one is padded with blanks, the other is not,
    and they never meet.

    Spark pads literals and shorter CHAR columns that are compared with it (ApplyCharTypePadding), and no STRING column.
    """
    if conf.preserve_char_varchar:
        return  # Types keep their lengths then, and Spark compares CHAR with STRING by them.
    for node in definitions.nodes:
        if isinstance(node, (Join, Filter)) and node.condition is not None:
            for call in equalities(node.condition):
                yield from _judge_padding(call.args[0], call.args[1], call.span, definitions)
    for _, expr in definitions.operations:
        if isinstance(expr, x.InSubquery):
            for value, column in zip(expr.values, expr.plan.output):
                yield from _judge_padding(value, column, None, definitions)


def _judge_padding(one: x.Expr, other: x.Expr, span: x.Span | None, definitions: Definitions) -> Iterator[Suspicion]:
    for padded, text in ((one, other), (other, one)):
        found, beside = _find_stored(padded, definitions), _find_stored(text, definitions)
        if found is None or not _is_padded(found) or not _is_plain(text, beside, definitions):
            continue
        length = found[0].padded[found[1].name]
        name, given = print_as_written(_drop_outer(padded)), f"char({length})"
        message = (
            f"{name} is {given}, which Spark pads with blanks, and is "
            f"compared with {print_as_written(_drop_outer(text))}, a string, "
            "which it does not: shorter values never match"
        )
        yield Suspicion(make_warning("PP137", name, given, "string", message), span, _count_padded(found, beside, span))


def _drop_outer(expr: x.Expr) -> x.Expr:
    return expr.column if isinstance(expr, x.Outer) else expr


def _find_stored(expr: x.Expr, definitions: Definitions) -> _Stored | None:
    return definitions.find_stored(_drop_outer(expr))


def _is_padded(found: _Stored) -> bool:
    return found[1].name in found[0].padded


def _is_plain(expr: x.Expr, beside: _Stored | None, definitions: Definitions) -> bool:
    """Whether it is a text that nobody padded: no constant, no CHAR column, and nothing made of one."""
    if not dt.is_string(expr.type) or isinstance(definitions.of(_drop_outer(expr)), x.Literal):
        return False
    if beside is not None:
        return not _is_padded(beside)
    inside = (definitions.find_stored(e) for e in definitions.of(_drop_outer(expr)).walk())
    return not any(found is not None and _is_padded(found) for found in inside)


def _count_padded(padded: _Stored, text: _Stored | None, span: x.Span | None) -> Count | None:
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


_BOTH = {dt.TIMESTAMP, dt.TIMESTAMP_NTZ}
_OFFSET = re.compile(r"(?:UTC|GMT)?[+-]\d{1,2}(?::?\d\d){0,2}")


def zoned_times(definitions: Definitions, conf: Conf) -> Iterator[Suspicion]:
    """PP128: a timestamp with a zone beside one without, of which Spark shifts one by the session's time zone: the same
    rows give other values in a session with another zone. One warning per column: a cast that is written is meant."""
    said: set[str] = set()
    for column, expr in definitions.operations:
        for taken, used in _list_taken(expr):
            name = print_as_written(taken)
            if isinstance(definitions.of(taken), x.Literal) or name in said:
                continue
            said.add(name)
            given = taken.type.simple
            message = f"{subject(column, name)} is {given} and is taken as {used.simple} in {_describe_zone(conf)}"
            yield Suspicion(
                make_warning("PP128", column or name, given, used.simple, message), getattr(expr, "span", None)
            )


def _describe_zone(conf: Conf) -> str:
    """Where no setting names a zone, Spark uses the zone of the machine on which it runs."""
    if "time_zone" in conf.stated or conf.time_zone != Conf().time_zone:
        # What is no zone may be a secret that a profile's `env_var` gave.
        is_known = is_region(conf.time_zone) or _OFFSET.fullmatch(conf.time_zone)
        return f"the session's time zone{f', {conf.time_zone}' if is_known else ''}"
    return "the session's time zone: no spark.sql.session.timeZone is set, so that of the machine that runs Spark"


def _list_taken(expr: x.Expr) -> Iterator[tuple[x.Expr, dt.DataType]]:
    """(what is cast by nobody's word, the type that it is taken as)."""
    if isinstance(expr, x.Cast) and not expr.written and {expr.type, expr.child.type} == _BOTH:
        yield expr.child, expr.type
    elif isinstance(expr, x.Call) and expr.function.name == "between" and {a.type for a in expr.args} >= _BOTH:
        yield from ((a, dt.TIMESTAMP) for a in expr.args if a.type == dt.TIMESTAMP_NTZ)
    elif isinstance(expr, x.InSubquery):
        for pair in zip(expr.values, expr.plan.output):
            if {e.type for e in pair} == _BOTH:
                yield from ((e, dt.TIMESTAMP) for e in pair if e.type == dt.TIMESTAMP_NTZ)
