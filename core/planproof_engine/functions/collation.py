"""Strings of different collations side by side.

Source: `CollationTypeCoercion`. A collation is explicit (written with COLLATE), implicit (a column's) or default (a
literal's). The strongest wins and the others are cast to it; two explicit ones clash, two implicit ones leave the
collation open, which Spark refuses in most functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from planproof_engine import types as dt
from planproof_engine.expr import Call, Cast, Expr, GetField, Literal, Mismatch, struct_values
from planproof_engine.expr.traits import Places, branches, every, some
from planproof_engine.ground import Conf, Unknown, evolve

DEFAULT, IMPLICIT, EXPLICIT = 1, 2, 3

OPEN = dt.String("null")
"""The collation of a string in which two implicit collations met: neither of them counts."""

MERGING: dict[str, Places] = {
    **dict.fromkeys(("array", "coalesce", "concat", "concat_ws", "elt", "greatest", "least", "lpad", "rpad"), every),
    **dict.fromkeys(
        ("mask", "nvl", "overlay", "split_part", "str_to_map", "levenshtein", "to_number", "try_to_number"), every
    ),
    **dict.fromkeys(("array_contains", "array_position"), every),
    "if": some(1, 2),
    "nvl2": some(1, 2),
    **dict.fromkeys(("lag", "lead"), some(0, 2)),
    "when": branches,
}
"""Functions whose result may have an open collation, with the places of the strings that meet."""

_OF_ARRAYS = (
    *("array_append", "array_except", "array_intersect", "array_join", "array_remove", "array_union"),
    "arrays_overlap",
)
"""Those of `COMPARING` that first look whether their arguments are of fitting types."""

HANDING_ON = frozenset(
    (
        *("any_value", "array_agg", "collect_list", "count", "first", "first_value", "last", "last_value", "listagg"),
        *("max", "min", "getarrayitem", "struct", "named_struct", "to_json"),
    )
)
"""Functions that take a string whatever its collation."""

COMPARING: dict[str, Places] = dict.fromkeys(
    (
        *("=", "<=>", "<", "<=", ">", ">=", "in", "equal_null", "contains", "endswith", "startswith"),
        *("trim", "ltrim", "rtrim", "btrim", "replace", "translate", "find_in_set", "regexp_replace"),
        *("instr", "locate", "substring_index", *_OF_ARRAYS),
    ),
    every,
)
"""Functions that refuse strings with an open collation."""

SEARCHING = frozenset(
    (
        *("contains", "startswith", "endswith", "instr", "locate", "position", "replace", "split_part", "str_to_map"),
        *("substring_index", "translate", "trim", "ltrim", "rtrim", "btrim"),
    )
)
"""Functions that refuse collations which ignore accents but not the case."""

TEXTUAL = SEARCHING.union(
    ("array_join", "concat_ws", "find_in_set", "levenshtein", "lpad", "mask", "regexp_replace", "rpad")
)
"""Functions that take texts of several collations until they are given one."""

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
        return IMPLICIT if expr.is_variable else DEFAULT
    if isinstance(expr, Cast):
        return IMPLICIT if _holds_string(expr.child.type) else DEFAULT
    if isinstance(expr, GetField):
        made = struct_values(expr.child)
        return IMPLICIT if made is None else strength(made[expr.ordinal])
    if isinstance(expr, Call):
        return _strength_of_call(expr)
    return IMPLICIT


def _strength_of_call(call: Call) -> int | None:
    if call.function.name == "collate":
        return EXPLICIT
    strings = [a for a in call.args if _holds_string(a.type)]
    if call.function.name == "getmapvalue":
        made = call.args[0]
        is_made = isinstance(made, Call) and made.function.name == "map"
        return _find_strongest(map(strength, made.children[1::2])) if is_made else IMPLICIT
    if any(string_of(a.type) is None for a in strings):
        return None
    # A text that is made of such a text has its collation again.
    return _find_strongest(map(strength, strings))


def _find_strongest(levels: Iterable[int | None]) -> int:
    return max((level or IMPLICIT for level in levels), default=DEFAULT)


def _meet(strings: Sequence[dt.String | None], strengths: Sequence[int | None], conf: Conf) -> dt.String | None:
    """The collation at which strings meet; None where they stay as they are."""
    unknown = DEFAULT if conf.before("4.2") else None
    levels = [unknown if level is None else level for level in strengths]
    if None in levels:
        return None
    level = max(found for found in levels if found is not None)
    kinds = [kind for kind, own in zip(strings, levels) if own == level]
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


Path = tuple[int, ...]
"""Which field of a struct, of a struct within it, and so on; an array's elements are its field 0."""


def _list_strings(t: dt.DataType) -> dict[Path, dt.String]:
    """The strings within structs and arrays."""
    if isinstance(t, dt.String):
        return {(): t}
    within = t.children if isinstance(t, (dt.Array, dt.Struct)) else ()
    return {(at, *path): kind for at, child in enumerate(within) for path, kind in _list_strings(child).items()}


def _strength_within(expr: Expr, path: Path) -> int | None:
    if not path:
        return strength(expr)
    if (made := struct_values(expr)) is not None:
        return _strength_within(made[path[0]], path[1:])
    if isinstance(expr, Call) and expr.function.name == "array" and expr.args:
        return _find_strongest(_strength_within(a, path[1:]) for a in expr.args)
    return IMPLICIT


def _replace_strings(t: dt.DataType, targets: Mapping[Path, dt.String], path: Path = ()) -> dt.DataType:
    if not isinstance(t, (dt.Array, dt.Struct)):
        return targets.get(path, t)
    children = [_replace_strings(child, targets, (*path, at)) for at, child in enumerate(t.children)]
    return dt.remake(t, children, dt.flags_of(t))


def _collate_fields(function: str, args: Sequence[Expr], conf: Conf) -> list[Expr]:
    """Structs with the strings of each field at one collation: what is true of strings is true of those within."""
    strings = [_list_strings(a.type) for a in args]
    targets: dict[Path, dt.String] = {}
    for path in strings[0]:
        kinds = [found[path] for found in strings]
        if len(set(map(name_of, kinds))) > 1:
            target = _meet(kinds, [_strength_within(a, path) for a in args], conf)
            if target is not None:
                targets[path] = target
    if not targets:
        return list(args)
    aims = [_replace_strings(a.type, targets) for a in args]
    mode = "ansi" if conf.ansi else "legacy"
    return [a if a.type == aim else Cast(a, aim, mode, a.nullable) for a, aim in zip(args, aims)]


def _meet_within(function: str, args: Sequence[Expr]) -> bool:
    """Whether the arguments are structs, or arrays of them, whose strings stand in the same fields."""
    if function not in _OF_STRUCTS or any(string_of(a.type) is not None for a in args):
        return False
    strings = [_list_strings(a.type) for a in args]
    return bool(strings and strings[0]) and all(found.keys() == strings[0].keys() for found in strings)


_OF_STRUCTS = frozenset(("=", "<=>", "<", "<=", ">", ">=", "in"))


def find_open_collation(function: str, args: Sequence[Expr]) -> Mismatch | None:
    """The mismatch of a function that compares strings, where it has been given some of an open collation."""
    if function not in COMPARING:
        return None
    return _open(function) if any(OPEN in _list_strings(a.type).values() for a in args) else None


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
    function. Spark checks last whether a collation may stay open (`find_open_collation`). `keep`: literals print as
    they were.
    """
    if _meet_within(function, args):
        return _collate_fields(function, args, conf)
    kinds = [kind for a in args if (kind := string_of(a.type)) is not None and kind.collation]
    if not kinds:
        return list(args)
    if function == "map":
        keys, values = (collate_arguments("array", list(args[at::2]), conf, keep=keep) for at in (0, 1))
        return [e for pair in zip(keys, values) for e in pair] if len(keys) == len(values) else list(args)
    places = MERGING.get(function) or COMPARING.get(function)
    if OPEN in kinds and function in HANDING_ON:
        return list(args)
    if OPEN in kinds and function not in MERGING and function not in COMPARING:
        raise Unknown("a string of indeterminate collation as an argument")
    if places is None or (OPEN in kinds and function not in MERGING):
        return list(args)
    meeting = [p for p in places(len(args)) if string_of(args[p].type)]
    if len({name_of(kind) for p in meeting if (kind := string_of(args[p].type))}) < 2:
        return list(args)
    target = _meet([string_of(args[p].type) for p in meeting], [strength(args[p]) for p in meeting], conf)
    if target is None:
        return list(args)
    if target == OPEN and function in COMPARING and function not in _OF_ARRAYS:
        raise _open(function)
    return [_cast(a, target, conf, keep or function in KEEPS_TEXT) if p in meeting else a for p, a in enumerate(args)]


def collate_shared(function: str, args: Sequence[Expr], conf: Conf) -> list[Expr]:
    """As `collate_arguments`, of a comparison of a value that Spark computes once for two places (`With`): before 4.2
    what stands for it there insists on no collation."""
    value, other = args
    kind, target = value.type, other.type
    if not (conf.before("4.2") and isinstance(kind, dt.String) and isinstance(target, dt.String) and kind != target):
        return collate_arguments(function, args, conf)
    if strength(other) == DEFAULT:
        raise _open(function)
    return [_cast(value, target, conf, True), other]
