"""The name that Spark gives to an expression that has no alias.

Source: `toPrettySQL` and `usePrettyExpression`: columns lose their qualifier, casts that the query did not write
vanish, string literals lose their quotes, every lambda variable is `namedlambdavariable()`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from typing import Any

from planproof_engine import types as dt
from planproof_engine.expr import nodes as x
from planproof_engine.ground import Unknown

NAMELESS = "\ue000"
"""Stands around the reason why the name of a column is not known, and before what tells it from others: no query can
name such a column, and `refuse_nameless` is asked of what shows it."""
_Printer = Callable[[Any], str]
_as_written: ContextVar[bool] = ContextVar("as_written", default=False)


def pretty(expr: x.Expr) -> str:
    """Spark's output name of an unaliased expression.

    >>> from planproof_engine.types import INT
    >>> pretty(x.Column(1, "a", INT, True, ("t",)))
    'a'
    """
    return _PRINTERS[type(expr)](expr)


def print_as_written(expr: x.Expr) -> str:
    """The same for readers of a plan: lambdas as the query has them, `i -> (i + 1)`."""
    token = _as_written.set(True)
    try:
        return pretty(expr)
    finally:
        _as_written.reset(token)


def output_name(expr: x.Expr) -> str:
    """`pretty` of an output column. Raises `Unknown` where Spark's name differs from one analysis to the next."""
    for e in expr.walk():
        if isinstance(e, x.GetFieldOfElements):
            if e.child.holds(x.Outer):
                raise Unknown("a name that holds the ids of Spark's expressions")
            _string(e.child)
    return pretty(expr)


def refuse_nameless(output: Iterable[x.Column]) -> None:
    """Raises `Unknown` for a column whose name is not known, or a name within its type."""
    nested = (dt.Array, dt.Map, dt.Struct)
    for column in output:
        named = f"{column.name} {column.type.sql}" if isinstance(column.type, nested) else column.name
        if NAMELESS in named:
            raise Unknown(named.split(NAMELESS)[1])


def _args(call: x.Call) -> str:
    text = ", ".join(pretty(a) for a in call.args)
    return f"DISTINCT {text}" if call.distinct else text


def _call(call: x.Call) -> str:
    show = call.function.show
    text = show(call, pretty) if show is not None else f"{call.shown}({_args(call)})"
    if call.filter is not None:
        text += f" FILTER (WHERE {pretty(call.filter)})"
    return text + " IGNORE NULLS" if call.ignore_nulls and call.function.show is None else text


def _cast(cast: x.Cast) -> str:
    # Spark forgets that the query wrote a cast to a nested type.
    if not cast.written or isinstance(cast.type, (dt.Array, dt.Map, dt.Struct)):
        return pretty(cast.child)
    return f"{'TRY_CAST' if cast.mode == 'try' else 'CAST'}({pretty(cast.child)} AS {cast.type.sql})"


def _lambda(node: x.Lambda) -> str:
    if _as_written.get():
        names = ", ".join(pretty(p) for p in node.parameters)
        return f"{names if len(node.parameters) == 1 else f'({names})'} -> {pretty(node.body)}"
    parts = [pretty(node.body), *(pretty(p) for p in node.parameters)]
    return f"lambdafunction({', '.join(parts)})"


def _field_of_elements(node: x.GetFieldOfElements) -> str:
    try:
        return f"{_string(node.child)}.{node.name}"
    except Unknown:
        return f"{pretty(node.child)}.{node.name}"


def _string(expr: x.Expr) -> str:
    """What `toString` gives, which stands before a field of an array's structs (`usePrettyExpression`).

    It shows the parameters of Spark's classes. It also shows the ids of lambda variables and aliases, which differ from
    one analysis to the next: `Unknown` is raised for these, and for functions whose classes were not looked at.
    """
    if isinstance(expr, x.Cast):
        kept = f"{'try_' if expr.mode == 'try' else ''}cast({_string(expr.child)} as {expr.type.simple})"
        return kept if expr.written else pretty(expr.child)
    if isinstance(expr, x.Literal):
        return _literal_string(expr)
    if not isinstance(expr, x.Call):
        if isinstance(expr, (x.Window, x.Lambda, x.Alias, x.Variable)):
            raise Unknown("a name that holds the ids of Spark's expressions")
        return pretty(expr)
    name = expr.function.name
    if expr.filter is not None or expr.distinct:
        raise Unknown(f"the name of a field of what {name} gives")
    if name == "arrays_zip" and isinstance(expr.type, dt.Array) and isinstance(expr.type.element, dt.Struct):
        return f"arrays_zip({', '.join([*map(_string, expr.args), *expr.type.element.names])})"
    if expr.function.parameters:
        return f"{name}({', '.join(map(_string, expr.args))}{expr.function.parameters})"
    if name == "struct" and all(isinstance(a, x.Column) for a in expr.args):
        return f"struct({', '.join(f'{pretty(a)}, {pretty(a)}' for a in expr.args)})"
    if name in (expr.function.operator, "not"):
        return _operator_string(name, *map(_string, expr.args))
    if not expr.function.plain:
        raise Unknown(f"the name of a field of what {name} gives")
    arguments = [_string(a) for a in expr.args]
    return f"{expr.shown}({', '.join(arguments)})" if expr.function.show is None else pretty(expr)


def _literal_string(literal: x.Literal) -> str:
    """`Literal.toString`, which puts no type before a moment."""
    if literal.value is not None and literal.type == dt.BINARY:
        return f"0x{literal.value}"
    is_moment = isinstance(literal.type, dt.Time) or literal.type in (dt.DATE, dt.TIMESTAMP, dt.TIMESTAMP_NTZ)
    return literal.text[literal.text.find("'") + 1 : -1] if is_moment and literal.text[-1:] == "'" else literal.text


def _operator_string(name: str, *operands: str) -> str:
    """`BinaryOperator.toString` and `Not.toString`."""
    shown = name if name == "div" else name.upper()
    return f"{shown} {operands[0]}" if len(operands) == 1 else f"({operands[0]} {shown} {operands[1]})"


def _sort(sort: x.Sort) -> str:
    order = "ASC" if sort.ascending else "DESC"
    return f"{pretty(sort.child)} {order} NULLS {'FIRST' if sort.nulls_first else 'LAST'}"


def _window(window: x.Window) -> str:
    parts = []
    if window.partition:
        parts.append("PARTITION BY " + ", ".join(pretty(p) for p in window.partition))
    if window.order:
        parts.append("ORDER BY " + ", ".join(pretty(o) for o in window.order))
    return f"{pretty(window.call)} OVER ({' '.join([*parts, window.frame])})"


def _subquery(name: str) -> Callable[[x.ScalarSubquery | x.Exists], str]:
    def show(node: x.ScalarSubquery | x.Exists) -> str:
        return f"{name}({', '.join(o.column.name for o in (*node.unread, *outer_references(node.plan)))})"

    return show


def _in_subquery(node: x.InSubquery) -> str:
    left = pretty(node.values[0])
    if len(node.values) > 1:
        values = enumerate(node.values)
        named = (pretty(value) if at in node.named else _name_in_row(value, at) for at, value in values)
        quoted = (name.replace("\\", "\\\\").replace("'", "\\'") for name in named)  # `Literal.sql` escapes both.
        fields = ", ".join(f"'{name}', {pretty(value)}" for name, value in zip(quoted, node.values))
        left = f"named_struct({fields})"
    return f"({left} IN ({_subquery('listquery')(x.Exists(node.plan, unread=node.unread))}))"


def _name_in_row(value: x.Expr, at: int) -> str:
    """The name of a value of a row: what it is called, what prints as a name (`usePrettyExpression`), or its place."""
    if isinstance(value, x.Alias):
        return value.name
    plain = isinstance(value, x.Literal) and (
        value.value is None or dt.is_string(value.type) or dt.is_numeric(value.type)
    )
    return pretty(value) if plain or isinstance(value, (x.Column, x.GetField, x.GetFieldOfElements)) else f"_{at}"


def outer_references(plan: Any) -> list[x.Outer]:
    """The columns of the query right around a subquery that its plan uses, in the order in which it uses them.

    A column that a subquery inside refers to is a column of this one: Spark looks into the query right around, and no
    further. What a lateral subquery inside uses of the relations on its left is no column of a query around.
    """
    found = [e for node in plan.walk() for root in node.expressions for e in _list_outer(root)]
    made = {c.id for node in plan.walk() for c in node.output} if found else ()
    return [e for e in found if e.column.id not in made]


def _list_outer(expr: x.Expr) -> Iterator[x.Outer]:
    """The outer columns of an expression, in the order of Spark's own: `between` and `nullif` are a `With` there, which
    holds the operand that they need twice behind what they do with it."""
    pending = [expr]
    while pending:
        part = pending.pop()
        if isinstance(part, x.Outer):
            yield part
        children = part.children
        if isinstance(part, x.Call) and part.function.traits.twice:
            children = (*children[1:], children[0])
        pending += children[::-1]


def _session_variable(variable: x.SessionVariable) -> str:
    """Spark prints a session variable with its value."""
    raise Unknown(f"the value of the variable {variable.name}")


_PRINTERS: dict[type, _Printer] = {
    x.Literal: lambda e: e.text,
    x.Column: lambda e: e.name,
    x.Outer: lambda e: f"outer({'.'.join(map(dt.quote_if_needed, (*e.column.qualifier, e.column.name)))})",
    x.SessionVariable: _session_variable,
    x.Variable: lambda e: e.name if _as_written.get() else "namedlambdavariable()",
    x.Lambda: _lambda,
    x.Call: _call,
    x.Cast: _cast,
    x.GetField: lambda e: f"{pretty(e.child)}.{e.written or e.name}",
    x.GetFieldOfElements: _field_of_elements,
    x.Alias: lambda e: f"{pretty(e.child)} AS {dt.quote_if_needed(e.name)}",
    x.LateralReference: lambda e: f"lateralAliasReference({e.name})",
    x.Nulled: lambda e: pretty(e.expr),
    x.Sort: _sort,
    x.Window: _window,
    x.ScalarSubquery: _subquery("scalarsubquery"),
    x.Exists: _subquery("exists"),
    x.InSubquery: _in_subquery,
}
