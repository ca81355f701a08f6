"""Strings of different collations side by side.

Source: `CollationTypeCoercion`. A collation is explicit (written with COLLATE), implicit (a column's) or default (a
literal's). The strongest wins and the others are cast to it; two explicit ones clash, two implicit ones leave the
collation open, which Spark refuses in most functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from planproof_engine import types as dt
from planproof_engine.conf import Conf
from planproof_engine.expr.function import Mismatch
from planproof_engine.expr.nodes import Call, Cast, Expr, GetField, Literal
from planproof_engine.origin import Unknown
from planproof_engine.records import evolve

DEFAULT, IMPLICIT, EXPLICIT = 1, 2, 3

OPEN = dt.String("null")
"""The collation of a string in which two implicit collations met: neither of them counts."""

Places = Callable[[int], Sequence[int]]


def _all(count: int) -> Sequence[int]:
    return range(count)


def _at(*places: int) -> Places:
    return lambda count: [p for p in places if p < count]


MERGING: dict[str, Places] = {
    **dict.fromkeys(("array", "coalesce", "concat", "concat_ws", "elt", "greatest", "least", "lpad", "rpad"), _all),
    **dict.fromkeys(
        ("mask", "nvl", "overlay", "split_part", "str_to_map", "levenshtein", "to_number", "try_to_number"), _all
    ),
    **dict.fromkeys(("array_contains", "array_position"), _all),
    "if": _at(1, 2),
    "nvl2": _at(1, 2),
    **dict.fromkeys(("lag", "lead"), _at(0, 2)),
    "when": lambda count: [*range(1, count, 2), *([count - 1] if count % 2 else [])],
}
"""Functions whose result may have an open collation, with the places of the strings that meet."""

_OF_ARRAYS = (
    *("array_append", "array_except", "array_intersect", "array_join", "array_remove", "array_union"),
    "arrays_overlap",
)
"""Those of `COMPARING` that first look whether their arguments are of fitting types."""

COMPARING: dict[str, Places] = dict.fromkeys(
    (
        *("=", "<=>", "<", "<=", ">", ">=", "in", "equal_null", "contains", "endswith", "startswith"),
        *("trim", "ltrim", "rtrim", "btrim", "replace", "translate", "find_in_set", "regexp_replace"),
        *("instr", "locate", "substring_index", *_OF_ARRAYS),
    ),
    _all,
)
"""Functions that refuse strings with an open collation."""

SEARCHING = frozenset(
    (
        *("contains", "startswith", "endswith", "instr", "locate", "position", "replace", "split_part", "str_to_map"),
        *("substring_index", "translate", "trim", "ltrim", "rtrim", "btrim"),
    )
)
"""Functions that refuse collations which ignore accents but not the case."""

BYTEWISE = frozenset(
    (
        *("like", "ilike", "rlike", "split", "regexp_count", "regexp_extract", "regexp_extract_all"),
        *("regexp_instr", "regexp_replace", "regexp_substr", "likeany", "likeall", "notlikeany", "notlikeall"),
    )
)
"""Functions whose subject must be UTF8_BINARY or UTF8_LCASE (`StringTypeBinaryLcase`). Their patterns may have any
collation."""

KEEPS_TEXT = frozenset({"nvl", "nvl2", "equal_null", "btrim"})
"""Functions that print their arguments as they were before coercion (`InheritAnalysisRules`)."""


def string_of(t: dt.DataType) -> dt.String | None:
    """The string type of `t`: itself, or that of an array's innermost elements."""
    while isinstance(t, dt.Array):
        t = t.element
    return t if isinstance(t, dt.String) else None


def name_of(t: dt.String) -> str:
    """The name of a string type's collation, the default one's too."""
    return t.collation or "UTF8_BINARY"


def _holds_string(t: dt.DataType) -> bool:
    return isinstance(t, dt.String) or any(map(_holds_string, t.children))


def strength(expr: Expr) -> int | None:
    """How strongly an expression insists on its collation. None where Spark cannot tell: a text that is made of maps or
    structs, whose strings then stay as they are."""
    if isinstance(expr, Literal):
        return DEFAULT
    if isinstance(expr, Cast):
        return IMPLICIT if _holds_string(expr.child.type) else DEFAULT
    if isinstance(expr, GetField):
        made = expr.child
        is_made = isinstance(made, Call) and made.function.name in ("struct", "named_struct")
        return strength(_values(made)[expr.ordinal]) if is_made else IMPLICIT
    if isinstance(expr, Call):
        return _strength_of_call(expr)
    return IMPLICIT


def _values(made: Expr) -> Sequence[Expr]:
    """What a struct is made of, without names."""
    assert isinstance(made, Call)
    return made.args[1::2] if made.function.name == "named_struct" else made.args


def _strength_of_call(call: Call) -> int | None:
    if call.function.name == "collate":
        return EXPLICIT
    strings = [a for a in call.args if _holds_string(a.type)]
    if any(string_of(a.type) is None for a in strings):
        return None if call.function.name != "getmapvalue" else IMPLICIT
    # A text that is made of such a text has its collation again.
    return max((strength(a) or IMPLICIT for a in strings), default=DEFAULT)


def _find_meeting(strings: Sequence[Expr], conf: Conf) -> dt.String | None:
    """The collation at which strings meet; None where they stay as they are."""
    unknown = DEFAULT if conf.before("4.1") else None
    levels = [unknown if level is None else level for level in map(strength, strings)]
    if None in levels:
        return None
    level = max(found for found in levels if found is not None)
    kinds = [string_of(s.type) for s, own in zip(strings, levels) if own == level]
    found: dict[str, dt.String] = {}
    for kind in filter(None, kinds):
        found.setdefault(name_of(kind), kind)
    if len(found) == 1:
        return next(iter(found.values()))
    if level == DEFAULT:
        return dt.STRING
    if level == EXPLICIT:
        raise Mismatch("COLLATION_MISMATCH.EXPLICIT", f"explicit collations clash: {', '.join(found)}.")
    return OPEN


def refuse_open(function: str, args: Sequence[Expr]) -> None:
    """Raises `Mismatch` where a function that compares strings has been given some of an open collation."""
    if (found := find_open_collation(function, args)) is not None:
        raise found


def find_open_collation(function: str, args: Sequence[Expr]) -> Mismatch | None:
    """The mismatch of a function that compares strings, where it has been given some of an open collation."""
    return _open(function) if function in COMPARING and any(string_of(a.type) == OPEN for a in args) else None


def _open(function: str) -> Mismatch:
    condition = "UNEXPECTED_INPUT_TYPE" if function == "regexp_replace" else "INDETERMINATE_COLLATION_IN_EXPRESSION"
    return Mismatch(condition, f"`{function}` takes no strings whose collations differ.")


def _replace_collation(t: dt.DataType, target: dt.String) -> dt.DataType:
    if isinstance(t, dt.Array):
        return dt.Array(_replace_collation(t.element, target), t.contains_null)
    return target if isinstance(t, dt.String) and name_of(t) != name_of(target) else t


def _cast(arg: Expr, target: dt.String, conf: Conf, keep: bool) -> Expr:
    aim = _replace_collation(arg.type, target)
    if aim == arg.type:
        return arg
    if isinstance(arg, Literal) and isinstance(arg.value, str):
        text = arg.text.replace("\\", "\\\\").replace("'", "\\'")  # `Literal.sql` escapes both.
        return Literal(arg.value, aim, arg.text if keep else f"'{text}' collate {name_of(target)}")
    if isinstance(arg, Cast):
        # Spark changes the cast itself, and forgets on that occasion that a query wrote it.
        return evolve(arg, type=aim, written=False)
    return Cast(arg, aim, "ansi" if conf.ansi else "legacy", arg.nullable)


def _accents_count(t: dt.String) -> bool:
    """Whether the collation ignores accents but not the case (`StringTypeNonCSAICollation`)."""
    return name_of(t).endswith(("_AI", "_AI_RTRIM")) and "_CI" not in name_of(t)


def _is_refused_by(function: str, t: dt.String) -> bool:
    if function in BYTEWISE:
        return name_of(t) not in ("UTF8_BINARY", "UTF8_LCASE")
    return _accents_count(t) or (function == "str_to_map" and name_of(t).endswith("_RTRIM"))


def find_refused_collation(function: str, args: Sequence[Expr]) -> int | None:
    """The place of the first string whose collation `function` does not know; None where it knows them all."""
    if function not in BYTEWISE and function not in SEARCHING:
        return None
    subjects = args[:1] if function in BYTEWISE else args
    strings = ((place, arg.type) for place, arg in enumerate(subjects))
    return next(
        (p for p, t in strings if isinstance(t, dt.String) and t.collation and _is_refused_by(function, t)), None
    )


def collate_arguments(function: str, args: Sequence[Expr], conf: Conf, *, keep: bool = False) -> list[Expr]:
    """The arguments with their strings at one collation, where `function` is one whose strings meet.

    Raises `Mismatch` where collations clash, and `Unknown` where a string with an open collation meets another
    function. Spark checks last whether a collation may stay open (`refuse_open`). `keep`: literals print as they were.
    """
    kinds = [kind for a in args if (kind := string_of(a.type)) is not None and kind.collation]
    if not kinds:
        return list(args)
    if function == "map":
        keys, values = (collate_arguments("array", list(args[at::2]), conf, keep=keep) for at in (0, 1))
        return [e for pair in zip(keys, values) for e in pair] if len(keys) == len(values) else list(args)
    places = MERGING.get(function) or COMPARING.get(function)
    if OPEN in kinds and function not in MERGING and function not in COMPARING:
        raise Unknown("a string of indeterminate collation as an argument")
    if places is None or (OPEN in kinds and function not in MERGING):
        return list(args)
    meeting = [p for p in places(len(args)) if string_of(args[p].type)]
    if len({name_of(kind) for p in meeting if (kind := string_of(args[p].type))}) < 2:
        return list(args)
    target = _find_meeting([args[p] for p in meeting], conf)
    if target is None:
        return list(args)
    if target == OPEN and function in COMPARING and function not in _OF_ARRAYS:
        raise _open(function)
    return [_cast(a, target, conf, keep or function in KEEPS_TEXT) if p in meeting else a for p, a in enumerate(args)]


def collate_shared(function: str, args: Sequence[Expr], conf: Conf) -> list[Expr]:
    """As `collate_arguments`, of a comparison of a value that Spark computes once for two places (`With`): before 4.1
    what stands for it there insists on no collation."""
    value, other = args
    kind, target = value.type, other.type
    if not (conf.before("4.1") and isinstance(kind, dt.String) and isinstance(target, dt.String) and kind != target):
        return collate_arguments(function, args, conf)
    if strength(other) == DEFAULT:
        raise _open(function)
    return [_cast(value, target, conf, True), other]
