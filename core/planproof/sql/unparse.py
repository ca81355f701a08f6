"""A plan back to SQL: a text that Spark analyzes to the plan's names, types and nullability.

For `explain` and for tests; a rewriting never goes this way (it splices the user's own text). Every column is named
by its id below the root, so that two equal names stay two columns; relations are not kept. Raises `Unknown` for what
has no text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from planproof.expr import nodes as x
from planproof.functions.names import SPARK_FUNCTIONS
from planproof.origin import Unknown
from planproof.plan import nodes as p
from planproof.types import (
    BINARY,
    BOOLEAN,
    BYTE,
    DOUBLE,
    FLOAT,
    LONG,
    SHORT,
    VOID,
    DataType,
    Decimal,
    String,
    is_integral,
)


def unparse(plan: p.Plan) -> str:
    """The plan as one query. Raises `Unknown` with the name of a node or function that it cannot write."""
    body = _relation(plan)
    items = ", ".join(f"{_id(c)} AS {quoted(c.name)}" for c in plan.output)
    return f"SELECT {items or '*'} FROM ({body}) AS q"


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _id(column: x.Column) -> str:
    return f"c{column.id}"


def _relation(plan: p.Plan) -> str:
    """A query whose columns are the plan's output, each under its id."""
    writer = _PLANS.get(type(plan))
    if writer is None:
        raise Unknown(f"a text for {type(plan).__name__}")
    return writer(plan)


def _select(items: Sequence[str], rest: str) -> str:
    return f"SELECT {', '.join(items) or '1 AS c0'} {rest}".rstrip()


def _kept(columns: Sequence[x.Column]) -> list[str]:
    return [_id(c) for c in _distinct(columns)]


def _distinct(columns: Sequence[x.Column]) -> list[x.Column]:
    return list({c.id: c for c in columns}.values())


def _from(plan: p.Plan) -> str:
    return f"({_relation(plan)})"


def _one_row(plan: p.OneRow) -> str:
    return "SELECT 1 AS c0"


def _scan(plan: p.Scan) -> str:
    if plan.recursive:
        raise Unknown("a text for a recursive CTE")
    items = [f"{quoted(c.name)} AS {_id(c)}" for c in plan.output]
    return _select(items, f"FROM {_table(plan.relation)}")


def _table(name: str) -> str:
    from planproof.catalog import split_name

    return ".".join(quoted(part) for part in split_name(name))


def _values(plan: p.Values) -> str:
    if plan.call is not None:
        names = ", ".join(_id(c) for c in plan.output)
        return f"SELECT * FROM {expression(plan.call)} AS g({names})"
    if not plan.rows:
        raise Unknown("a text for a table function")
    rows = ", ".join(f"({', '.join(expression(e) for e in row)})" for row in plan.rows)
    return f"SELECT * FROM VALUES {rows} AS v({', '.join(_id(c) for c in plan.output)})"


def _item(item: x.Expr) -> str:
    if isinstance(item, x.Alias):
        return f"{expression(item.child)} AS c{item.id}"
    assert isinstance(item, x.Column)
    return _id(item)


def _items(items: Sequence[x.Expr]) -> list[str]:
    return list(dict.fromkeys(_item(i) for i in items))


def _project(plan: p.Project) -> str:
    return _select(_items(plan.items), f"FROM {_from(plan.child)}")


def _filter(plan: p.Filter) -> str:
    """WHERE; directly over an Aggregate it is HAVING, with a window in it QUALIFY: both read the block's input."""
    if isinstance(plan.child, p.Aggregate):
        return f"{_aggregate(plan.child)} HAVING {expression(plan.condition)}"
    windowed = any(isinstance(e, x.Window) for e in plan.condition.walk())
    if windowed and isinstance(plan.child, p.Project):
        return f"{_project(plan.child)} QUALIFY {expression(plan.condition)}"
    clause = "QUALIFY" if windowed else "WHERE"
    return _select(_kept(plan.output), f"FROM {_from(plan.child)} {clause} {expression(plan.condition)}")


def _join(plan: p.Join) -> str:
    on = f" ON {expression(plan.condition)}" if plan.condition is not None else ""
    kind = plan.kind.upper()
    own = {c.id for c in plan.left.output}
    if any(isinstance(e, x.Outer) and e.column.id in own for e in plan.right.all_expressions()):
        return _select(
            _kept(plan.output), f"FROM {_from(plan.left)} AS l {kind} JOIN LATERAL {_from(plan.right)} AS r{on}"
        )
    return _select(_kept(plan.output), f"FROM {_from(plan.left)} AS l {kind} JOIN {_from(plan.right)} AS r{on}")


def _aggregate(plan: p.Aggregate) -> str:
    groups = [expression(g) for g in plan.groups]
    clause = ""
    if plan.grouping_sets is not None:
        sets = ", ".join(f"({', '.join(groups[i] for i in s)})" for s in plan.grouping_sets)
        clause = f" GROUP BY GROUPING SETS ({sets})"
    elif groups:
        clause = f" GROUP BY {', '.join(groups)}"
    return _select(_items(plan.items), f"FROM {_from(plan.child)}{clause}")


def _set_operation(plan: p.SetOperation) -> str:
    """Sides are written with one name per column, in order; the whole takes the names of its output."""
    sides = []
    for side in plan.inputs:
        items = [f"{_id(c)} AS s{i}" for i, c in enumerate(side.output)]
        sides.append(f"(SELECT {', '.join(items)} FROM {_from(side)})")
    word = f" {plan.kind.upper()}{' ALL' if plan.all else ''} "
    items = [f"s{i} AS {_id(c)}" for i, c in enumerate(plan.output)]
    return _select(items, f"FROM ({word.join(sides)})")


def _ordered(plan: p.Ordered) -> str:
    keys = ", ".join(_sort(k) for k in plan.keys)
    below = {c.id for c in plan.child.output}
    if any(isinstance(e, x.Column) and e.id not in below for k in plan.keys for e in k.walk()):
        # A key over columns that the block does not give out cannot be said above it; it changes no schema.
        return _relation(plan.child)
    return _select(_kept(plan.output), f"FROM {_from(plan.child)}" + (f" ORDER BY {keys}" if keys else ""))


def _limit(plan: p.Limit) -> str:
    rest = f" {plan.what.upper()} {expression(plan.arguments[0])}" if plan.arguments else ""
    return _select(_kept(plan.output), f"FROM {_from(plan.child)}{rest}")


def _distinct_rows(plan: p.Distinct) -> str:
    return f"SELECT DISTINCT {', '.join(_kept(plan.output))} FROM {_from(plan.child)}"


def _named(plan: p.Named) -> str:
    pairs = zip(plan.child.output, plan.output)
    items = list(dict.fromkeys(_id(new) if old.id == new.id else f"{_id(old)} AS {_id(new)}" for old, new in pairs))
    return _select(items, f"FROM {_from(plan.child)}")


def _generate(plan: p.Generate) -> str:
    names = ", ".join(_id(c) for c in plan.generated)
    outer = "OUTER " if plan.outer and not plan.call.shown.endswith("_outer") else ""
    view = f"LATERAL VIEW {outer}{expression(plan.call)} g AS {names}"
    return _select(_kept(plan.output), f"FROM {_from(plan.child)} {view}")


_PLANS: dict[type, Callable[[Any], str]] = {
    p.OneRow: _one_row,
    p.Scan: _scan,
    p.Values: _values,
    p.Project: _project,
    p.Filter: _filter,
    p.Join: _join,
    p.Aggregate: _aggregate,
    p.SetOperation: _set_operation,
    p.Ordered: _ordered,
    p.Limit: _limit,
    p.Distinct: _distinct_rows,
    p.Named: _named,
    p.Generate: _generate,
}


def expression(expr: x.Expr) -> str:
    """An expression over columns named by their ids, with every cast written out."""
    writer = _EXPRESSIONS.get(type(expr))
    if writer is None:
        raise Unknown(f"a text for {type(expr).__name__}")
    return writer(expr)


_SUFFIXES: dict[DataType, str] = {LONG: "L", SHORT: "S", BYTE: "Y", DOUBLE: "D", FLOAT: "F"}


def _literal(literal: x.Literal) -> str:
    data_type, value = literal.type, literal.value
    if value is None:
        return "NULL" if data_type == VOID else f"CAST(NULL AS {_type(data_type)})"
    if isinstance(data_type, String):
        return _string(str(value)) if data_type.collation is None else _unwritable(f"a literal of {data_type.simple}")
    if data_type == BOOLEAN:
        return "TRUE" if value else "FALSE"
    if isinstance(data_type, Decimal):
        return f"{value:f}BD"
    if is_integral(data_type) or data_type in (DOUBLE, FLOAT):
        return _number(literal)
    if data_type == BINARY or re.match(r"(DATE|TIMESTAMP|TIMESTAMP_NTZ|TIME|INTERVAL) '", literal.text):
        return literal.text
    return _unwritable(f"a literal of {data_type.simple}")


def _number(literal: x.Literal) -> str:
    text = literal.text if literal.type in (DOUBLE, FLOAT) else str(int(literal.value))
    if not re.fullmatch(r"-?[\d.]+(E-?\d+)?", text):
        return _unwritable(f"the number {text}")
    return f"{text}{_SUFFIXES.get(literal.type, '')}"


def _unwritable(what: str) -> str:
    raise Unknown(f"a text for {what}")


def _string(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _type(data_type: DataType) -> str:
    return data_type.sql.replace("VOID", "STRING") if data_type == VOID else data_type.sql


def _variable(variable: x.Variable) -> str:
    return f"v{variable.id}"


def _lambda(function: x.Lambda) -> str:
    names = ", ".join(_variable(v) for v in function.parameters)
    shown = names if len(function.parameters) == 1 else f"({names})"
    return f"{shown} -> {expression(function.body)}"


def _cast(cast: x.Cast) -> str:
    if cast.child.type == VOID and not cast.written:
        return f"CAST({expression(cast.child)} AS {_type(cast.type)})"
    return f"{'TRY_CAST' if cast.mode == 'try' else 'CAST'}({expression(cast.child)} AS {_type(cast.type)})"


def _get_field(field: x.GetField | x.GetFieldOfElements) -> str:
    return f"({expression(field.child)}).{quoted(field.name)}"


def _sort(key: x.Sort) -> str:
    order = "ASC" if key.ascending else "DESC"
    return f"{expression(key.child)} {order} NULLS {'FIRST' if key.nulls_first else 'LAST'}"


def _window(window: x.Window) -> str:
    parts = []
    if window.partition:
        parts.append(f"PARTITION BY {', '.join(expression(e) for e in window.partition)}")
    if window.order:
        parts.append(f"ORDER BY {', '.join(_sort(k) for k in window.order)}")
    own_frame = window.call.function.category.value == "window" if isinstance(window.call, x.Call) else False
    if not own_frame and (window.order or "UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING" not in window.frame):
        parts.append(window.frame)
    return f"{expression(window.call)} OVER ({' '.join(parts)})"


_BINARY = frozenset(("+", "-", "*", "/", "%", "div", "=", "<=>", "<", "<=", ">", ">=", "and", "or", "&", "|", "^"))


def _with_unit(name: str) -> Callable[[list[str]], str]:
    """`timestampadd(DAY, n, x)`: the unit stands without quotes."""
    return lambda args: f"{name}({args[0][1:-1]}, {args[1]}, {args[2]})"


_SYNTAX: dict[str, Callable[[list[str]], str]] = {
    "timestampadd": _with_unit("timestampadd"),
    "timestampdiff": _with_unit("timestampdiff"),
    "not": lambda a: f"(NOT {a[0]})",
    "isnull": lambda a: f"({a[0]} IS NULL)",
    "isnotnull": lambda a: f"({a[0]} IS NOT NULL)",
    "between": lambda a: f"({a[0]} BETWEEN {a[1]} AND {a[2]})",
    "in": lambda a: f"({a[0]} IN ({', '.join(a[1:])}))",
    "negative": lambda a: f"negative({a[0]})",
    "~": lambda a: f"(~ {a[0]})",
    "rlike": lambda a: f"({a[0]} RLIKE {a[1]})",
    "like": lambda a: f"({a[0]} LIKE {a[1]}" + (f" ESCAPE {a[2]})" if len(a) > 2 else ")"),
    "getarrayitem": lambda a: f"({a[0]})[{a[1]}]",
    "getmapvalue": lambda a: f"({a[0]})[{a[1]}]",
}


_MOMENTS = {
    **dict.fromkeys(("timestamp_add_interval", "timestamp_add_ym_interval", "time_add_interval"), "+"),
    **dict.fromkeys(("date_add_ym_interval", "date_add_interval"), "+"),
    **dict.fromkeys(("datetime_sub", "subtract_timestamps", "subtract_dates", "subtract_times"), "-"),
    **dict.fromkeys(("multiply_interval", "multiply_ym_interval", "multiply_dt_interval"), "*"),
    **dict.fromkeys(("divide_interval", "divide_ym_interval", "divide_dt_interval"), "/"),
}
"""What arithmetic with moments and intervals becomes, back to its operator."""


def _days_added(call: x.Call) -> str | None:
    """`date + INTERVAL .. DAY`, which Spark makes a date_add of the interval's days."""
    days = call.args[1] if call.function.name == "date_add" else None
    if isinstance(days, x.Call) and days.function.name == "extractansiintervaldays":
        return f"({expression(call.args[0])} + {expression(days.args[0])})"
    return None


def _call(call: x.Call) -> str:
    name = call.function.name
    days = _days_added(call)
    if days is not None:
        return days
    if name == "struct":
        return _struct(call)
    args = [expression(a) for a in call.args]
    symbol = _MOMENTS.get(name) or (name.upper() if name in _BINARY else None)
    if symbol is not None:
        return f"({args[0]} {symbol} {args[1]})"
    if name in _SYNTAX:
        return _SYNTAX[name](args)
    if name == "when":
        return _case(args)
    if name not in SPARK_FUNCTIONS:
        raise Unknown(f"a text for the function {name}")
    if call.order and "order" not in call.function.modifiers:
        # The first argument is the sort key.
        args = args[1:]
    return _modified(call, f"{_spelled(call)}({'DISTINCT ' if call.distinct else ''}{', '.join(args)})")


def _modified(call: x.Call, text: str) -> str:
    """The call with what follows its parentheses."""
    if call.order:
        text += f" WITHIN GROUP (ORDER BY {', '.join(_sort(k) for k in call.order if isinstance(k, x.Sort))})"
    if call.filter is not None:
        text += f" FILTER (WHERE {expression(call.filter)})"
    if call.respect_nulls:
        return f"{text} RESPECT NULLS"
    return f"{text} IGNORE NULLS" if call.ignore_nulls else text


def _spelled(call: x.Call) -> str:
    # A sort key makes Spark forget the alias under which the function was called.
    if call.order:
        return call.function.name
    return call.shown if call.function.alias and re.fullmatch(r"\w+", call.shown) else call.function.name


def _case(args: list[str]) -> str:
    pairs = "".join(f" WHEN {args[2 * i]} THEN {args[2 * i + 1]}" for i in range(len(args) // 2))
    return f"CASE{pairs}{f' ELSE {args[-1]}' if len(args) % 2 else ''} END"


def _struct(call: x.Call) -> str:
    assert hasattr(call.type, "names")
    values = (a.child if isinstance(a, x.Alias) else a for a in call.args)
    pairs = (f"{_string(n)}, {expression(v)}" for n, v in zip(call.type.names, values))
    return f"named_struct({', '.join(pairs)})"


def _in_subquery(node: x.InSubquery) -> str:
    values = ", ".join(expression(v) for v in node.values)
    left = f"({values})" if len(node.values) > 1 else values
    return f"({left} IN ({_relation(node.plan)}))"


_EXPRESSIONS: dict[type, Callable[[Any], str]] = {
    x.Literal: _literal,
    x.Column: _id,
    x.Outer: lambda e: _id(e.column),
    x.Variable: _variable,
    x.Lambda: _lambda,
    x.Call: _call,
    x.Cast: _cast,
    x.GetField: _get_field,
    x.GetFieldOfElements: _get_field,
    x.Alias: lambda e: expression(e.child),
    x.Window: _window,
    x.ScalarSubquery: lambda e: f"({_relation(e.plan)})",
    x.Exists: lambda e: f"EXISTS ({_relation(e.plan)})",
    x.InSubquery: _in_subquery,
}
