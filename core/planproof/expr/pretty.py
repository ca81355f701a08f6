"""The name that Spark gives to an expression that has no alias.

Source: `toPrettySQL` and `usePrettyExpression`: columns lose their qualifier, casts that the query did not write
vanish, string literals lose their quotes, every lambda variable is `namedlambdavariable()`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from planproof.expr import nodes as x
from planproof.origin import Unknown
from planproof.types import Array, Map, Struct

_Printer = Callable[[Any], str]


def pretty(expr: x.Expr) -> str:
    """Spark's output name of an unaliased expression.

    >>> from planproof.types import INT
    >>> pretty(x.Column(1, "a", INT, True, ("t",)))
    'a'
    """
    return _PRINTERS[type(expr)](expr)


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
    if not cast.written or isinstance(cast.type, Array | Map | Struct):
        return pretty(cast.child)
    return f"{'TRY_CAST' if cast.mode == 'try' else 'CAST'}({pretty(cast.child)} AS {cast.type.sql})"


def _lambda(node: x.Lambda) -> str:
    parts = [pretty(node.body), *(pretty(p) for p in node.parameters)]
    return f"lambdafunction({', '.join(parts)})"


def _field_of_elements(node: x.GetFieldOfElements) -> str:
    """Below a field of its structs `arrays_zip` prints the names of its fields, too, which are its arguments' texts."""
    child = node.child
    if isinstance(child, x.Call) and child.function.name == "arrays_zip" and isinstance(child.type, Array):
        assert isinstance(child.type.element, Struct)
        texts = [*(pretty(a) for a in child.args), *child.type.element.names]
        return f"arrays_zip({', '.join(texts)}).{node.name}"
    return f"{pretty(child)}.{node.name}"


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
        return f"{name}({', '.join(o.column.name for o in outer_references(node.plan))})"

    return show


def _in_subquery(node: x.InSubquery) -> str:
    values = ", ".join(pretty(v) for v in node.values)
    left = values if len(node.values) == 1 else f"named_struct({values})"
    return f"({left} IN ({_subquery('listquery')(x.Exists(node.plan))}))"


def outer_references(plan: Any) -> list[x.Outer]:
    """The columns of the query right around a subquery that its plan uses, in the order in which it uses them.

    What a subquery inside refers to belongs to this one: Spark looks one query up, no further.
    """
    return [e for node in plan.walk() for root in node.expressions for e in root.walk() if isinstance(e, x.Outer)]


def _session_variable(variable: x.SessionVariable) -> str:
    """Spark prints a session variable with its value."""
    raise Unknown(f"the value of the variable {variable.name}")


_PRINTERS: dict[type, _Printer] = {
    x.Literal: lambda e: e.text,
    x.Column: lambda e: e.name,
    x.Outer: lambda e: f"outer({'.'.join((*e.column.qualifier, e.column.name))})",
    x.SessionVariable: _session_variable,
    x.Variable: lambda e: "namedlambdavariable()",
    x.Lambda: _lambda,
    x.Call: _call,
    x.Cast: _cast,
    x.GetField: lambda e: f"{pretty(e.child)}.{e.name}",
    x.GetFieldOfElements: _field_of_elements,
    x.Alias: lambda e: f"{pretty(e.child)} AS {e.name}",
    x.Nulled: lambda e: pretty(e.expr),
    x.Sort: _sort,
    x.Window: _window,
    x.ScalarSubquery: _subquery("scalarsubquery"),
    x.Exists: _subquery("exists"),
    x.InSubquery: _in_subquery,
}
