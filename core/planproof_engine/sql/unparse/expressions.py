"""Expressions in SQL: columns and variables by their ids, with the casts that coercion added written out."""

from __future__ import annotations

from collections.abc import Callable

from planproof_engine.catalog import split_name
from planproof_engine.expr import nodes as x
from planproof_engine.functions.registry import builtin
from planproof_engine.quoting import backticked
from planproof_engine.sql.unparse.literals import has_flags, literal
from planproof_engine.sql.unparse.texts import Writer, column_id, is_above_groups, string, text, unwritable
from planproof_engine.types import Array, Struct


def _variable(variable: x.Variable) -> str:
    return f"v{variable.id}"


def _lambda(function: x.Lambda) -> str:
    names = ", ".join(_variable(v) for v in function.parameters)
    shown = names if len(function.parameters) == 1 else f"({names})"
    return f"{shown} -> {text(function.body)}"


def _cast(cast: x.Cast) -> str:
    if not cast.written and has_flags(cast.type):
        # No text names a nested flag; where Spark asks for such a type, it makes the cast itself.
        return text(cast.child)
    return f"{'TRY_CAST' if cast.mode == 'try' else 'CAST'}({text(cast.child)} AS {cast.type.sql})"


def _get_field(field: x.GetField | x.GetFieldOfElements) -> str:
    return f"({text(field.child)}).{backticked(field.name)}"


def sort(key: x.Sort, child: Callable[[x.Expr], str] = text) -> str:
    """A sort key; `child` writes what it sorts by."""
    order = "ASC" if key.ascending else "DESC"
    return f"{child(key.child)} {order} NULLS {'FIRST' if key.nulls_first else 'LAST'}"


def _window(window: x.Window) -> str:
    parts = []
    if window.partition:
        parts.append(f"PARTITION BY {', '.join(text(e) for e in window.partition)}")
    if window.order:
        parts.append(f"ORDER BY {', '.join(sort(k) for k in window.order)}")
    own_frame = window.call.function.category.value == "window" if isinstance(window.call, x.Call) else False
    if not own_frame and (window.order or "UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING" not in window.frame):
        parts.append(window.frame)
    return f"{text(window.call)} OVER ({' '.join(parts)})"


def _with_unit(name: str) -> Callable[[list[str]], str]:
    """`timestampadd(DAY, n, x)`: the unit stands without quotes."""
    return lambda args: f"{name}({args[0][1:-1]}, {args[1]}, {args[2]})"


def _quantified(negated: str, name: str) -> Callable[[list[str]], str]:
    words = f"{'NOT ' if negated else ''}LIKE {name[4:].upper()}"
    return lambda args: f"({args[0]} {words} ({', '.join(args[1:])}))"


_SYNTAX: dict[str, Callable[[list[str]], str]] = {
    "timestampadd": _with_unit("timestampadd"),
    "timestampdiff": _with_unit("timestampdiff"),
    "not": lambda a: f"(NOT {a[0]})",
    "isnull": lambda a: f"({a[0]} IS NULL)",
    "isnotnull": lambda a: f"({a[0]} IS NOT NULL)",
    "isunknown": lambda a: f"({a[0]} IS UNKNOWN)",
    "isnotunknown": lambda a: f"({a[0]} IS NOT UNKNOWN)",
    "between": lambda a: f"({a[0]} BETWEEN {a[1]} AND {a[2]})",
    "in": lambda a: f"({a[0]} IN ({', '.join(a[1:])}))",
    "negative": lambda a: f"negative({a[0]})",
    "~": lambda a: f"(~ {a[0]})",
    "rlike": lambda a: f"({a[0]} RLIKE {a[1]})",
    **{kind + how: _quantified(kind, how) for kind in ("", "not") for how in ("likeany", "likeall")},
    "like": lambda a: f"({a[0]} LIKE {a[1]}" + (f" ESCAPE {a[2]})" if len(a) > 2 else ")"),
    "getarrayitem": lambda a: f"({a[0]})[{a[1]}]",
    "getmapvalue": lambda a: f"({a[0]})[{a[1]}]",
}


def _days_moved(call: x.Call) -> str | None:
    """`date + INTERVAL .. DAY` or `-`, which Spark makes a date_add of the interval's days."""
    days = call.args[1] if call.function.name == "date_add" else None
    symbol = "+"
    if isinstance(days, x.Call) and days.function.name == "negative":
        days, symbol = days.args[0], "-"
    if isinstance(days, x.Call) and days.function.name == "extractansiintervaldays":
        return f"({text(call.args[0])} {symbol} {text(days.args[0])})"
    return None


def _call(call: x.Call) -> str:
    name = call.function.name
    days = _days_moved(call)
    if days is not None:
        return days
    if name == "struct":
        return _struct(call)
    args = _zipped(call) if name == "arrays_zip" else [text(a) for a in call.args]
    if call.function.operator:
        return f"({args[0]} {call.function.operator.upper()} {args[1]})"
    if name in _SYNTAX:
        return _SYNTAX[name](args)
    if name == "when":
        return _case(args)
    if name in builtin().internal:
        raise unwritable(f"the function {name}")
    if call.order and "order" not in call.function.modifiers:
        # The first argument is the sort key.
        args = args[1:]
    return _modified(call, f"{_spelled(call)}({'DISTINCT ' if call.distinct else ''}{', '.join(args)})")


def _modified(call: x.Call, plain: str) -> str:
    """The call with what follows its parentheses."""
    if call.order:
        plain += f" WITHIN GROUP (ORDER BY {', '.join(sort(k) for k in call.order if isinstance(k, x.Sort))})"
    if call.filter is not None:
        plain += f" FILTER (WHERE {text(call.filter)})"
    if call.respect_nulls:
        return f"{plain} RESPECT NULLS"
    return f"{plain} IGNORE NULLS" if call.ignore_nulls else plain


def _spelled(call: x.Call) -> str:
    # A sort key makes Spark forget the alias under which the function was called.
    name = call.shown if call.function.alias and not call.order and call.shown.isidentifier() else call.function.name
    return name if name in builtin() else ".".join(backticked(part) for part in split_name(name))


def _case(args: list[str]) -> str:
    pairs = "".join(f" WHEN {args[2 * i]} THEN {args[2 * i + 1]}" for i in range(len(args) // 2))
    return f"CASE{pairs}{f' ELSE {args[-1]}' if len(args) % 2 else ''} END"


def _struct(call: x.Call) -> str:
    assert hasattr(call.type, "names")
    values = (a.child if isinstance(a, x.Alias) else a for a in call.args)
    pairs = (f"{string(n)}, {text(v)}" for n, v in zip(call.type.names, values))
    return f"named_struct({', '.join(pairs)})"


def _zipped(call: x.Call) -> list[str]:
    """The arguments of arrays_zip, which takes the names of its fields from those that are columns or fields."""
    assert isinstance(call.type, Array)
    assert isinstance(call.type.element, Struct)
    texts = []
    for at, (arg, name) in enumerate(zip(call.args, call.type.element.names)):
        plain = name == str(at) and not _names(arg)
        texts.append(text(arg) if plain else f"(named_struct({string(name)}, {text(arg)})).{backticked(name)}")
    return texts


def _names(expr: x.Expr) -> bool:
    return isinstance(expr, (x.Column, x.Outer, x.Variable, x.GetField, x.Nulled))


def _nulled(node: x.Nulled) -> str:
    found = text(node.expr)
    return backticked(found) if is_above_groups() and not isinstance(node.expr, x.Column) else found


def _in_subquery(node: x.InSubquery) -> str:
    values = ", ".join(text(v) for v in node.values)
    left = f"({values})" if len(node.values) > 1 else values
    return f"({left} IN ({text(node.plan)}))"


WRITERS: dict[type, Writer] = {
    x.Literal: literal,
    x.Column: column_id,
    x.Outer: lambda e: column_id(e.column),
    x.Variable: _variable,
    x.Lambda: _lambda,
    x.Call: _call,
    x.Cast: _cast,
    x.GetField: _get_field,
    x.GetFieldOfElements: _get_field,
    x.Alias: lambda e: text(e.child),
    x.Nulled: _nulled,
    x.Window: _window,
    x.ScalarSubquery: lambda e: f"({text(e.plan)})",
    x.Exists: lambda e: f"(EXISTS ({text(e.plan)}))",
    x.InSubquery: _in_subquery,
}
