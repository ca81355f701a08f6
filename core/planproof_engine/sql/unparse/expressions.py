"""Expressions in SQL: columns and variables by their ids, with the casts that coercion added written out."""

from __future__ import annotations

import re
from collections.abc import Callable

from planproof_engine import types as dt
from planproof_engine.catalog import split_name
from planproof_engine.expr import nodes as x
from planproof_engine.functions.registry import builtin
from planproof_engine.ground import quote_name
from planproof_engine.sql.unparse.texts import Writer, column_id, is_above_groups, make_error, write_node, write_string


def _write_variable(variable: x.Variable) -> str:
    return f"v{variable.id}"


def _write_lambda(function: x.Lambda) -> str:
    names = ", ".join(_write_variable(v) for v in function.parameters)
    shown = names if len(function.parameters) == 1 else f"({names})"
    return f"{shown} -> {write_node(function.body)}"


def _write_cast(cast: x.Cast) -> str:
    if not cast.written and _has_flags(cast.type):
        # No text names a nested flag; where Spark asks for such a type, it makes the cast itself.
        return write_node(cast.child)
    return f"{'TRY_CAST' if cast.mode == 'try' else 'CAST'}({write_node(cast.child)} AS {cast.type.sql})"


def _write_field(field: x.GetField | x.GetFieldOfElements) -> str:
    return f"({write_node(field.child)}).{quote_name(field.name)}"


def write_sort(key: x.Sort, child: Callable[[x.Expr], str] = write_node) -> str:
    """A sort key; `child` writes what it sorts by."""
    order = "ASC" if key.ascending else "DESC"
    return f"{child(key.child)} {order} NULLS {'FIRST' if key.nulls_first else 'LAST'}"


def _write_window(window: x.Window) -> str:
    parts = []
    if window.partition:
        parts.append(f"PARTITION BY {', '.join(write_node(e) for e in window.partition)}")
    if window.order:
        parts.append(f"ORDER BY {', '.join(write_sort(k) for k in window.order)}")
    own_frame = window.call.function.category.value == "window" if isinstance(window.call, x.Call) else False
    if not own_frame and (window.order or "UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING" not in window.frame):
        parts.append(window.frame)
    return f"{write_node(window.call)} OVER ({' '.join(parts)})"


def _make_unit_writer(name: str) -> Callable[[list[str]], str]:
    """`timestampadd(DAY, n, x)`: the unit stands without quotes."""
    return lambda args: f"{name}({args[0][1:-1]}, {args[1]}, {args[2]})"


def _make_like_writer(negated: str, name: str) -> Callable[[list[str]], str]:
    words = f"{'NOT ' if negated else ''}LIKE {name[4:].upper()}"
    return lambda args: f"({args[0]} {words} ({', '.join(args[1:])}))"


_SYNTAX: dict[str, Callable[[list[str]], str]] = {
    "timestampadd": _make_unit_writer("timestampadd"),
    "timestampdiff": _make_unit_writer("timestampdiff"),
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
    **{kind + how: _make_like_writer(kind, how) for kind in ("", "not") for how in ("likeany", "likeall")},
    "like": lambda a: f"({a[0]} LIKE {a[1]}" + (f" ESCAPE {a[2]})" if len(a) > 2 else ")"),
    "getarrayitem": lambda a: f"({a[0]})[{a[1]}]",
    "getmapvalue": lambda a: f"({a[0]})[{a[1]}]",
}


def _write_moved_days(call: x.Call) -> str | None:
    """`date + INTERVAL .. DAY` or `-`, which Spark makes a date_add of the interval's days."""
    days = call.args[1] if call.function.name == "date_add" else None
    symbol = "+"
    if isinstance(days, x.Call) and days.function.name == "negative":
        days, symbol = days.args[0], "-"
    if isinstance(days, x.Call) and days.function.name == "extractansiintervaldays":
        return f"({write_node(call.args[0])} {symbol} {write_node(days.args[0])})"
    return None


def _write_call(call: x.Call) -> str:
    name = call.function.name
    if (days := _write_moved_days(call)) is not None:
        return days
    if name == "struct":
        return _write_struct(call)
    args = _write_zipped(call) if name == "arrays_zip" else [write_node(a) for a in call.args]
    if call.function.operator:
        return f"({args[0]} {call.function.operator.upper()} {args[1]})"
    if name in _SYNTAX:
        return _SYNTAX[name](args)
    if name == "when":
        return _write_case(args)
    if name in builtin().internal:
        raise make_error(f"the function {name}")
    if call.order and "order" not in call.function.modifiers:
        # The first argument is the sort key.
        args = args[1:]
    return _write_modifiers(call, f"{_write_name(call)}({'DISTINCT ' if call.distinct else ''}{', '.join(args)})")


def _write_modifiers(call: x.Call, plain: str) -> str:
    """The call with what follows its parentheses."""
    if call.order:
        plain += f" WITHIN GROUP (ORDER BY {', '.join(write_sort(k) for k in call.order if isinstance(k, x.Sort))})"
    if call.filter is not None:
        plain += f" FILTER (WHERE {write_node(call.filter)})"
    if call.respect_nulls:
        return f"{plain} RESPECT NULLS"
    return f"{plain} IGNORE NULLS" if call.ignore_nulls else plain


def _write_name(call: x.Call) -> str:
    # A sort key makes Spark forget the alias under which the function was called.
    name = call.shown if call.function.alias and not call.order and call.shown.isidentifier() else call.function.name
    return name if name in builtin() else ".".join(quote_name(part) for part in split_name(name))


def _write_case(args: list[str]) -> str:
    pairs = "".join(f" WHEN {args[2 * i]} THEN {args[2 * i + 1]}" for i in range(len(args) // 2))
    return f"CASE{pairs}{f' ELSE {args[-1]}' if len(args) % 2 else ''} END"


def _write_struct(call: x.Call) -> str:
    assert hasattr(call.type, "names")
    values = (a.child if isinstance(a, x.Alias) else a for a in call.args)
    pairs = (f"{write_string(n)}, {write_node(v)}" for n, v in zip(call.type.names, values))
    return f"named_struct({', '.join(pairs)})"


def _write_zipped(call: x.Call) -> list[str]:
    """The arguments of arrays_zip, which takes the names of its fields from those that are columns or fields."""
    assert isinstance(call.type, dt.Array)
    assert isinstance(call.type.element, dt.Struct)
    texts = []
    for at, (arg, name) in enumerate(zip(call.args, call.type.element.names)):
        plain = name == str(at) and not isinstance(arg, (x.Column, x.Outer, x.Variable, x.GetField, x.Nulled))
        texts.append(
            write_node(arg) if plain else f"(named_struct({write_string(name)}, {write_node(arg)})).{quote_name(name)}"
        )
    return texts


def _write_nulled(node: x.Nulled) -> str:
    found = write_node(node.expr)
    return quote_name(found) if is_above_groups() and not isinstance(node.expr, x.Column) else found


def _write_in_subquery(node: x.InSubquery) -> str:
    values = ", ".join(write_node(v) for v in node.values)
    left = f"({values})" if len(node.values) > 1 else values
    return f"({left} IN ({write_node(node.plan)}))"


_SUFFIXES: dict[dt.DataType, str] = {dt.LONG: "L", dt.SHORT: "S", dt.BYTE: "Y", dt.DOUBLE: "D", dt.FLOAT: "F"}
_TYPED = re.compile(r"(DATE|TIMESTAMP|TIMESTAMP_NTZ|TIME|INTERVAL) '")


def _has_flags(data_type: dt.DataType) -> bool:
    """Whether something nested in the type cannot be null: no text says so."""
    return data_type != dt.as_nullable(data_type)


def _write_literal(constant: x.Literal) -> str:
    """The constant with its own type. Raises `Unknown` for one that has no literal form."""
    data_type, value = constant.type, constant.value
    if value is None:
        # What it meets gives a plain NULL its type, nested flags included, which no text names.
        plain = data_type == dt.VOID or _has_flags(data_type)
        return "NULL" if plain else f"CAST(NULL AS {data_type.sql})"
    if isinstance(data_type, dt.String):
        text = write_string(str(value))
        return text if data_type.collation is None else f"collate({text}, '{data_type.collation}')"
    if data_type == dt.BOOLEAN:
        return "TRUE" if value else "FALSE"
    if isinstance(data_type, dt.Decimal):
        return f"{value:f}BD"
    if dt.is_integral(data_type):
        return f"{int(value)}{_SUFFIXES.get(data_type, '')}"
    if data_type in (dt.DOUBLE, dt.FLOAT) and re.fullmatch(r"-?[\d.]+(E-?\d+)?", constant.text):
        return f"{constant.text}{_SUFFIXES[data_type]}"
    if data_type == dt.BINARY or _TYPED.match(constant.text):
        return constant.text
    raise make_error(f"the {data_type.simple} {constant.text}")


WRITERS: dict[type, Writer] = {
    x.Literal: _write_literal,
    x.Column: column_id,
    x.Outer: lambda e: column_id(e.column),
    x.Variable: _write_variable,
    x.Lambda: _write_lambda,
    x.Call: _write_call,
    x.Cast: _write_cast,
    x.GetField: _write_field,
    x.GetFieldOfElements: _write_field,
    x.Alias: lambda e: write_node(e.child),
    x.Nulled: _write_nulled,
    x.Window: _write_window,
    x.ScalarSubquery: lambda e: f"({write_node(e.plan)})",
    x.Exists: lambda e: f"(EXISTS ({write_node(e.plan)}))",
    x.InSubquery: _write_in_subquery,
}
