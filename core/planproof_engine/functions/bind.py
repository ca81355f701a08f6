"""Applies a function to bound arguments: arity, coercion, checks, type, nullability."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from planproof_engine import types as dt
from planproof_engine.expr import Call, Cast, Column, Expr, Lambda, Literal, Span
from planproof_engine.expr.function import Category, Coerce, LambdaOf, Mismatch, Optional, Signature
from planproof_engine.functions.collation import collate_arguments, find_open_collation, find_refused_collation
from planproof_engine.functions.replaced import restore_texts
from planproof_engine.ground import Conf, Unknown
from planproof_engine.types.casts import can_cast, can_try_cast, can_up_cast, force_nullable
from planproof_engine.types.coercion import find_common, find_implicit
from planproof_engine.types.kinds import accepts, find_concrete, spelling

_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


_TIMESTAMPS = (dt.TIMESTAMP, dt.TIMESTAMP_NTZ)

_SWITCHED_OFF = {
    "time_type": ("UNSUPPORTED_TIME_TYPE", "The data type TIME is not supported."),
    "geospatial": (
        "UNSUPPORTED_FEATURE.GEOSPATIAL_DISABLED",
        "The feature is not supported: Geospatial feature is disabled.",
    ),
}


def check_setting(needed: str, conf: Conf) -> Mismatch | None:
    """Spark's refusal of a function that needs a setting (a field of `Conf`) which is off; None where it is on."""
    return None if getattr(conf, needed) else Mismatch(*_SWITCHED_OFF[needed], whole=True)


def check_target_type(source: dt.DataType, target: dt.DataType, conf: Conf) -> Mismatch | None:
    """Why a cast is refused whose type a setting switches off, or that this Spark does not have; None for all others.

    A time is refused only as the type itself, a geometry inside of another type too: Spark 4.1 to 4.3 do so.
    """
    if isinstance(target, dt.Time) and (refused := check_setting("time_type", conf)) is not None:
        return refused
    if not conf.geospatial and any(isinstance(part, dt.Geo) for part in dt.walk(target)):
        return check_setting("geospatial", conf)
    return check_time_cast(source, target, conf)


def check_time_cast(source: dt.DataType, target: dt.DataType, conf: Conf) -> Mismatch | None:
    """Why a Spark before 4.3 refuses a cast between a time of day and a timestamp; None for all others."""
    if not conf.before("4.3") or not _has_time_and_timestamp(source, target):
        return None
    return Mismatch("CAST_WITHOUT_SUGGESTION", f'cannot cast "{source.sql}" to "{target.sql}".')


def _has_time_and_timestamp(source: dt.DataType, target: dt.DataType) -> bool:
    if isinstance(source, dt.Time) or isinstance(target, dt.Time):
        return source in _TIMESTAMPS or target in _TIMESTAMPS
    return len(source.children) == len(target.children) and any(
        map(_has_time_and_timestamp, source.children, target.children)
    )


def cast(child: Expr, target: dt.DataType, conf: Conf, *, mode: str | None = None, written: bool = False) -> Cast:
    """A cast as Spark types it (`Cast.nullable`): null where the child is, or where a value may be lost."""
    _refuse(check_target_type(child.type, target, conf))
    how = mode or ("ansi" if conf.ansi else "legacy")
    return Cast(child, target, how, is_cast_nullable(child, target, how), written)


def is_cast_nullable(child: Expr, target: dt.DataType, mode: str) -> bool:
    """Whether a cast may give null; `mode` is `ansi`, `legacy` or `try`. Source: Spark's `Cast.nullable`."""
    source = child.type
    if mode != "try":
        return child.nullable or force_nullable(source, target)
    if dt.is_string(source) and target == dt.BINARY:
        return child.nullable
    if isinstance(source, dt.Decimal) and target in dt.INTEGRAL:
        return True
    return child.nullable or not can_up_cast(source, target)


def check_cast(source: dt.DataType, target: dt.DataType, mode: str) -> Mismatch | None:
    """Why a written cast is refused (`Cast.typeCheckFailureMessage`); None where it is not."""
    allowed = can_try_cast(source, target) if mode == "try" else can_cast(source, target, ansi=mode == "ansi")
    if allowed:
        return None
    text = f'cannot cast "{source.sql}" to "{target.sql}"'
    number_and_date = (dt.is_numeric(source) and target == dt.DATE) or (source == dt.DATE and dt.is_numeric(target))
    if mode != "legacy" and (number_and_date or can_try_cast(source, target)):
        return Mismatch("CAST_WITH_FUNC_SUGGESTION", f"{text}.")
    if mode == "ansi" and can_cast(source, target, ansi=False):
        return Mismatch("CAST_WITH_CONF_SUGGESTION", f"{text} with ANSI mode on.")
    return Mismatch("CAST_WITHOUT_SUGGESTION", f"{text}.")


def cast_unless_same(child: Expr, target: dt.DataType, conf: Conf) -> Expr:
    """The child itself where its type differs at most in nested flags."""
    if dt.same_type(child.type, target, conf.case_sensitive):
        return child
    if isinstance(child, Literal) and child.type == dt.VOID:
        return Literal(None, target, child.text)
    return cast(child, target, conf)


def cast_unless_equal(child: Expr, target: dt.DataType, conf: Conf) -> Expr:
    """The expression cast to the type, or itself where it has that type."""
    return child if child.type == target else cast(child, target, conf)


def _are_one_type(types: Sequence[dt.DataType], conf: Conf) -> bool:
    """Whether the types differ at most in nested flags."""
    return all(dt.same_type(t, types[0], conf.case_sensitive) for t in types[1:])


def cast_to_common(
    args: Sequence[Expr], conf: Conf, find: Callable[[Sequence[dt.DataType], Conf], dt.DataType | None] = find_common
) -> list[Expr]:
    """The arguments cast to their common type; as they are where they have none, or differ only in nested flags."""
    types = [a.type for a in args]
    if _are_one_type(types, conf):
        return list(args)
    target = find(types, conf)
    return list(args) if target is None else [cast_unless_same(a, target, conf) for a in args]


def _add_defaults(function: Signature, args: list[Expr]) -> list[Expr]:
    for place in function.inputs[len(args) :]:
        if not isinstance(place, Optional) or place.default is None:
            break
        args.append(place.default)
    return args


def check_arity(function: Signature, count: int) -> None:
    """Raises `Mismatch` with Spark's condition where `count` arguments are too few or too many."""
    least, most = function.arity()
    if count < least and function.names:
        raise Mismatch("REQUIRED_PARAMETER_NOT_FOUND", f"`{function.name}` needs its `{function.names[count]}`.")
    if count < least or (most is not None and count > most):
        wanted = str(least) if least == most else f"[{least}, {most}]" if most is not None else f"> {least - 1}"
        text = f"The `{function.name}` requires {wanted} parameters but the actual number is {count}."
        raise Mismatch("WRONG_NUM_ARGS.WITHOUT_SUGGESTION", text)


def coerce_arguments(function: Signature, args: Sequence[Expr], conf: Conf) -> list[Expr]:
    """The arguments with defaults filled in and implicit casts added; lambdas pass through.

    A lambda's parameters are typed from the result, so this runs before the lambda is bound.
    """
    given = collate_arguments(function.name, _add_defaults(function, list(args)), conf)
    if function.coerces is not None:
        given = function.coerces(given, conf)
    ready = collate_arguments(function.name, _coerce(function, given, conf), conf)
    if (place := find_refused_collation(function.name, ready)) is not None:
        raise make_input_mismatch(place, ready[place], "STRING")
    return ready


def _coerce(function: Signature, given: list[Expr], conf: Conf) -> list[Expr]:
    if function.coerce is Coerce.COMMON:
        return cast_to_common(given, conf)
    if function.coerce is Coerce.NONE:
        return given
    return [
        arg if isinstance(arg, Lambda) else cast_argument(arg, place, function.coerce, conf)
        for arg, place in zip(given, function.list_kinds(len(given)))
    ]


def makes_rows(arg: Expr) -> bool:
    """Whether it is a generator. An expression may hold none, which a later check refuses with its own error."""
    return isinstance(arg, Call) and arg.function.category is Category.GENERATOR


def cast_argument(arg: Expr, expected: object, how: Coerce, conf: Conf) -> Expr:
    """The argument cast to what its place expects; as it is where it cannot be cast."""
    if expected is None or accepts(expected, arg.type):  # type: ignore[arg-type]
        return arg
    if how is Coerce.EXPECTS:
        aim = find_concrete(expected) if arg.type == dt.VOID and not makes_rows(arg) else None  # type: ignore[arg-type]
        return Literal(None, aim, "NULL") if aim is not None else arg
    target = find_implicit(arg.type, expected, ansi=conf.ansi)  # type: ignore[arg-type]
    if target is None or target == arg.type:
        return arg
    if arg.type != dt.VOID:
        # Spark tries to cast between a date and a time of day, and has no such cast.
        _refuse(check_target_type(arg.type, target, conf))
        _refuse(check_cast(arg.type, target, "ansi" if conf.ansi else "legacy"))
    return cast_unless_equal(arg, target, conf)


def check_kinds(function: Signature, args: Sequence[Expr]) -> None:
    """Raises `Mismatch` where an argument, as it is, does not meet what its place expects."""
    for index, (arg, expected) in enumerate(zip(args, function.list_kinds(len(args)))):
        if expected is not None and not accepts(expected, arg.type):
            raise make_input_mismatch(index, arg, spelling(expected))


def _check(function: Signature, args: Sequence[Expr], conf: Conf) -> None:
    if function.coerce in (Coerce.IMPLICIT, Coerce.EXPECTS):
        check_kinds(function, args)
        for index, (arg, place) in enumerate(zip(args, function.list_inputs(len(args)))):
            if isinstance(place, LambdaOf) != isinstance(arg, Lambda):
                raise Mismatch("UNEXPECTED_INPUT_TYPE", f"argument {index + 1} of `{function.name}` must be a lambda")
    elif function.coerce is Coerce.COMMON and not _are_one_type([a.type for a in args], conf):
        raise make_types_mismatch(function.name, args)
    _refuse(function.check(args, conf) if function.check else None)


def _refuse(found: Mismatch | None) -> None:
    if found is not None:
        raise found


def make_input_mismatch(index: int, arg: Expr, wanted: str) -> Mismatch:
    """DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE for the argument at `index`.

    Raises `Unknown` for a CHAR or VARCHAR, which is no string under `spark.sql.preserveCharVarcharTypeInfo`: which
    functions take one is not known.
    """
    if isinstance(arg.type, (dt.Char, dt.Varchar)):
        raise Unknown(f"a {arg.type.sql} as an argument")
    quoted = wanted if wanted.startswith("(") else f'"{wanted}"'
    return Mismatch(
        "UNEXPECTED_INPUT_TYPE",
        f"The {_ORDINALS[index] if index < 10 else index + 1} parameter requires the {quoted} type, "
        f'however it has the type "{arg.type.sql}".',
    )


def make_types_mismatch(name: str, args: Sequence[Expr]) -> Mismatch:
    """DATATYPE_MISMATCH.DATA_DIFF_TYPES."""
    types = ", ".join(f'"{a.type.sql}"' for a in args)
    return Mismatch("DATA_DIFF_TYPES", f"Input to `{name}` should all be the same type, but it's ({types}).")


def apply(
    function: Signature, args: Sequence[Expr], conf: Conf, shown: str | None = None, span: Span | None = None
) -> Call:
    """The call of `function` on `args`, coerced, checked and typed. Raises `Mismatch`.

    Lambda arguments must already be bound against `coerce_arguments` leading arguments.
    """
    check_arity(function, len(args))
    _refuse(check_setting(function.needs, conf) if function.needs else None)
    ready = tuple(coerce_arguments(function, restore_texts(function.name, args), conf))
    _check(function, ready, conf)
    _refuse(find_open_collation(function.name, ready))
    data_type = function.returns(ready, conf) if callable(function.returns) else function.returns
    nullable = function.nullable(ready, conf)
    known = find_evidence(function, ready, conf) if nullable else None
    return Call(function, ready, data_type, nullable, shown or function.name, known=known, span=span)


def find_evidence(function: Signature, args: Sequence[Expr], conf: Conf) -> str | None:
    """Why a nullable call is never null: its own rule says so when arguments with evidence count as not nullable."""
    if function.evidence is not None:
        return function.evidence(args)
    reason = next((a.evidence for a in args if a.nullable and a.evidence), None)
    if reason is None or function.category is Category.AGGREGATE:
        return None
    # A stand-in of the argument's type without its null flag, for a nullability rule to look at.
    certain = tuple(Column(0, "", a.type, False) if a.nullable and a.evidence else a for a in args)
    if function.flag_holds is not None and not function.flag_holds(certain):
        return None
    return None if function.nullable(certain, conf) else reason
