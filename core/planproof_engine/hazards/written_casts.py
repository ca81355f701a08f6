"""Casts that the query writes, and that give NULL, another value, or less than they say.

With ANSI off `CAST('n/a' AS INT)` is NULL, and so is `CAST(12345 AS DECIMAL(4,2))`; under ANSI both are errors. dbt
always runs with ANSI off. Casts to narrower integers of what may be large are PP126.
"""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Iterator
from typing import NamedTuple

from planproof_engine import types as dt
from planproof_engine.expr import Category, Magnitude
from planproof_engine.expr import nodes as x
from planproof_engine.expr.pretty import print_as_written
from planproof_engine.functions.families.lambdas import takes_condition
from planproof_engine.ground import Conf
from planproof_engine.hazards.definitions import Definitions, find_cast
from planproof_engine.hazards.filters import drop_casts
from planproof_engine.hazards.integers import narrows, wraps
from planproof_engine.hazards.loss import LIMIT, find_lost
from planproof_engine.hazards.suspicion import Count, Suspicion, find_place_in_rows, make_warning, subject
from planproof_engine.logical.lineage import Trace
from planproof_engine.logical.nodes import Plan

LOST = "PP138"


def lossy_casts(definitions: Definitions, conf: Conf) -> Iterator[Suspicion]:
    """PP138: only casts whose value becomes a part of an output column: what a condition looks at changes no value."""
    if conf.ansi:
        return
    reaching: dict[int, Reached] | None = None
    found: dict[object, Suspicion] = {}
    for column, expr in definitions.operations:
        cast = find_cast(expr, conf)
        if cast is None or cast.mode != "legacy" or not _may_lose(cast, definitions):
            continue
        if reaching is None:
            reaching = find_reached(definitions.root)
        becomes = reaching.get(id(expr))
        # A key of GROUP BY that names an item of the SELECT is the same cast.
        is_known = cast.span in found and column is None
        if becomes is not None and definitions.computes(expr) and not is_known:
            found[cast.span] = _suspect_loss(column, cast, becomes)
    yield from found.values()


def _may_lose(cast: x.Cast, definitions: Definitions) -> bool:
    if find_lost("x", cast.child.type, cast.type) is None:
        return False
    behind = definitions.all_of(cast.child)
    if all(isinstance(one, x.Literal) and _holds(one.value, cast.type) for one in behind):
        return False
    if not narrows(cast.child.type, cast.type):
        return True
    return not wraps(cast, definitions) and (cast.type not in (dt.INT, dt.LONG) or not all(map(_is_small, behind)))


def _is_small(value: x.Expr) -> bool:
    """Whether a value fits into an int, as a count or a length does: not a fraction, nor what a generator gives."""
    if isinstance(value, x.Window):
        value = value.call
    if isinstance(value, x.Literal):
        return True
    known = isinstance(value, x.Call) and value.function.traits.magnitude is Magnitude.SMALL
    return known and dt.is_integral(value.type)


def _holds(value: object, target: dt.DataType) -> bool:
    """Whether a constant is plainly kept: NULL, a number of few enough digits, a date as ISO writes it."""
    if value is None:
        return True
    if isinstance(target, dt.Decimal) and isinstance(value, (int, decimal.Decimal)):
        whole: int = 10 ** (target.precision - target.scale)
        return -whole < value - 1 and value + 1 < whole
    if target in LIMIT and isinstance(value, int):
        return -LIMIT[target] <= value < LIMIT[target]
    if isinstance(value, str):
        return _is_written(value, target)
    return False


def _is_written(text: str, target: dt.DataType) -> bool:
    try:
        if target in (dt.DATE, dt.TIMESTAMP, dt.TIMESTAMP_NTZ):
            return bool(datetime.date.fromisoformat(text[:10])) and len(text) == 10
        return target in (dt.INT, dt.LONG, dt.DOUBLE) and text.isascii() and text.isdigit() and len(text) < 10
    except ValueError:
        return False


def _suspect_loss(column: str | None, cast: x.Cast, becomes: Reached) -> Suspicion:
    name, given, used = print_as_written(cast.child), cast.child.type.simple, cast.type.simple
    found = find_lost("({x})", cast.child.type, cast.type)
    assert found is not None
    instead = "NULL" if found.null else "another value"
    message = (
        f"{subject(column, name)} is {given} and is cast to {used}, which gives {instead} {_describe_loss(cast)} "
        "with ANSI off"
    )
    count = Count(
        cast.span or (-1, -1),
        found.condition,
        "values are lost",
        cast=True,
        grouped=find_place_in_rows(cast.child) is None,
        null=found.null,
        reaches=becomes.columns,
        alone=becomes.alone if found.null else (),
    )
    return Suspicion(make_warning(LOST, becomes.columns[0], given, used, message), cast.span, count)


def _describe_loss(cast: x.Cast) -> str:
    source, target = cast.child.type, cast.type
    if dt.is_string(source):
        return f"for a text that is no {target.simple}"
    return "for what it cannot hold"


def list_ends(target: str) -> tuple[str, ...]:
    """The least and the greatest value of a type, as texts; none for types that have none such.

    >>> list_ends("tinyint"), list_ends("decimal(3,1)")
    (('-128', '127'), ('-99.9', '99.9'))
    """
    found = dt.parse_type(target)
    if found in (dt.DATE, dt.TIMESTAMP, dt.TIMESTAMP_NTZ):
        return "0001-01-01", "9999-12-31"
    if isinstance(found, dt.Decimal):
        digits = f"{'9' * (found.precision - found.scale)}.{'9' * found.scale}".removesuffix(".")
        return f"-{digits}", digits
    if found in LIMIT:
        return str(-LIMIT[found]), str(LIMIT[found] - 1)
    if found in (dt.FLOAT, dt.DOUBLE):
        most = "3.4028235E38" if found == dt.FLOAT else "1.7976931348623157E308"
        return f"-{most}", most
    return ("false", "true") if found == dt.BOOLEAN else ()


class Reached(NamedTuple):
    """Output columns by name: those of which an expression's value is a part, and those that have a NULL wherever the
    expression has one."""

    columns: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()


def find_reached(root: Plan) -> dict[int, Reached]:
    """By the identity of each expression of the plan, what becomes of its value. What decides about rows, about groups
    or about a branch alone becomes a part of nothing."""
    made = Trace.of(root).made
    # Names in the order of the output: the keys of dicts.
    columns: dict[int, dict[str, None]] = {}
    exact: dict[int, dict[str, None]] = {}
    for column in root.output:
        waiting, seen = [_Wanted(column.id, True)], set[_Wanted]()
        while waiting:
            wanted = waiting.pop()
            if wanted in seen:
                continue
            seen.add(wanted)
            for expr in made.get(wanted.column, ()):
                for part, same, path in _list_parts(expr, wanted.alone, wanted.path):
                    columns.setdefault(id(part), {})[column.name] = None
                    if same:
                        exact.setdefault(id(part), {})[column.name] = None
                    waiting += _list_wanted(part, same, path)
    return {part: Reached(tuple(names), tuple(exact.get(part, ()))) for part, names in columns.items()}


class _Wanted(NamedTuple):
    """A column of which the field at `path` is looked at, by the places of fields within fields; all of it where the
    path is empty."""

    column: int
    alone: bool
    path: tuple[int, ...] = ()


def _list_wanted(part: x.Expr, same: bool, path: tuple[int, ...]) -> Iterator[_Wanted]:
    if isinstance(part, x.Column):
        yield _Wanted(part.id, same, path)
    elif isinstance(part, x.ScalarSubquery):
        yield _Wanted(part.plan.output[0].id, same, path)


def _list_parts(
    expr: x.Expr, alone: bool, path: tuple[int, ...] = ()
) -> Iterator[tuple[x.Expr, bool, tuple[int, ...]]]:
    """The expression and those within it whose values reach the field at `path` of its own, each with whether its NULL
    is one there too, and which field of it that is."""
    yield expr, alone, path
    if isinstance(expr, (x.Subquery, x.Literal)):
        return
    if isinstance(expr, (x.Alias, x.Cast)):
        yield from _list_parts(expr.child, alone, path)
    elif isinstance(expr, x.GetField):
        yield from _list_parts(expr.child, False, (expr.ordinal, *path))
    elif isinstance(expr, x.Window):
        yield from _list_parts(expr.call, False, path)
    elif isinstance(expr, x.Lambda):
        yield from _list_parts(expr.body, False)
    elif path and (values := x.struct_values(expr)) is not None:
        yield from _list_parts(values[path[0]], False, path[1:])
    elif isinstance(expr, x.Call):
        for child, same in _list_arguments(expr, alone):
            yield from _list_parts(child, same, path if child.type == expr.type else ())
    else:
        for child in expr.children:
            yield from _list_parts(child, False)


def _list_arguments(call: x.Call, alone: bool) -> Iterator[tuple[x.Expr, bool]]:
    if call.type == dt.BOOLEAN and not call.nullable:
        return  # It asks whether a value is there (`is null`, `<=>`), and has an answer for NULL.
    if takes_condition(call.function) and call.type != dt.BOOLEAN:
        yield call.args[0], False  # Its lambda decides which elements stay.
        return
    handed = call.function.traits.hands_on(len(call.args))
    chooses = call.function.category in (Category.SCALAR, Category.OPERATOR) and len(handed) > 0
    for at, child in enumerate(call.args):
        if not chooses:
            yield child, False
        elif at in handed:
            others = [call.args[place] for place in handed if place != at]
            # A constant that stands for a NULL hides it, and a struct holds it.
            hides = any(isinstance(other, x.Literal) and other.value is not None for other in others)
            yield child, alone and not hides and child.type == call.type


def ignored_lengths(definitions: Definitions, conf: Conf) -> Iterator[Suspicion]:
    """PP130: a cast to char(n) or varchar(n), which neither cuts nor pads: Spark takes it for a cast to string."""
    for column, expr in definitions.operations:
        if isinstance(expr, x.Cast) and expr.ignored is not None:
            name, wanted = print_as_written(expr.child), expr.ignored.simple
            message = (
                f"{subject(column, name)} is cast to {wanted}, which Spark takes for string: nothing is cut or padded"
            )
            yield Suspicion(make_warning("PP130", column or name, wanted, "string", message), expr.span)


def integer_division(definitions: Definitions, conf: Conf) -> Iterator[Suspicion]:
    """PP127: a cast to a whole number cuts off a division of integers: the digits after the point are not rounded."""
    for column, expr in definitions.casts(conf):
        if dt.is_integral(expr.type):
            quotient = definitions.of(expr.child)
            if isinstance(quotient, x.Call) and quotient.function.name == "/" and _is_of_integers(quotient):
                name = print_as_written(quotient)
                message = (
                    f"{subject(column, name)} is a division of integers, and its cast to {expr.type.simple} cuts it off"
                )
                finding = make_warning("PP127", column or name, quotient.type.simple, expr.type.simple, message)
                yield Suspicion(finding, expr.span)


def _is_of_integers(quotient: x.Call) -> bool:
    return all(dt.is_integral(drop_casts(a).type) for a in quotient.args)
