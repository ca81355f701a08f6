"""Plans as queries. What a node computes is named by ids, so that a level above never meets two equal names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from planproof_engine.catalog import split_name
from planproof_engine.expr import Category
from planproof_engine.expr import nodes as x
from planproof_engine.expr.pretty import outer_references
from planproof_engine.ground import quote_name
from planproof_engine.logical import nodes as p
from planproof_engine.sql.unparse.expressions import write_sort
from planproof_engine.sql.unparse.texts import (
    Writer,
    above_groups,
    column_id,
    make_error,
    name_column,
    write_item,
    write_node,
    write_string,
)


def _write_select(items: Sequence[str], rest: str) -> str:
    if not items:
        return f"SELECT * EXCEPT (c0) FROM ({_write_select(('1 AS c0',), rest)})"
    return f"SELECT {', '.join(items)} {rest}".rstrip()


def _list_ids(columns: Iterable[x.Column]) -> list[str]:
    return [column_id(c) for c in {c.id: c for c in columns}.values()]


def _write_from(plan: p.Plan) -> str:
    return "" if isinstance(plan, p.OneRow) else f"FROM ({write_node(plan)})"


def _write_scan(plan: p.Scan) -> str:
    if plan.recursive:
        items = [f"s{i} AS {column_id(c)}" for i, c in enumerate(plan.output)]
        return _write_select(items, f"FROM {_loop_name(plan)}")
    items = [write_item(quote_name(c.name), column_id(c)) for c in plan.output]
    return _write_select(items, f"FROM {'.'.join(quote_name(part) for part in split_name(plan.relation))}")


def _write_values(plan: p.Values) -> str:
    names = ", ".join(column_id(c) for c in plan.output)
    if plan.call is not None:
        return f"SELECT * FROM {write_node(plan.call)} AS g({names})"
    if not plan.rows:
        raise make_error("a table function")
    rows = ", ".join(f"({', '.join(write_node(e) for e in row)})" for row in plan.rows)
    return f"SELECT * FROM VALUES {rows} AS v({names})"


def _write_item(item: x.Expr) -> str:
    if isinstance(item, x.Alias):
        return f"{write_node(item.child)} AS {name_column(item.id, item.name)}"
    assert isinstance(item, x.Column)
    return column_id(item)


def _write_items(items: Iterable[x.Expr]) -> list[str]:
    return list(dict.fromkeys(_write_item(i) for i in items))


def _write_aggregate(plan: p.Aggregate) -> str:
    groups = [_write_key(g) for g in plan.groups]
    clause = ""
    if plan.grouping_sets is not None:
        sets = ", ".join(f"({', '.join(groups[i] for i in s)})" for s in plan.grouping_sets)
        clause = f" GROUP BY GROUPING SETS ({sets})"
    elif groups:
        clause = f" GROUP BY {', '.join(groups)}"
    return _write_select(_write_items(plan.items), f"{_write_from(plan.child)}{clause}".lstrip())


def _write_key(expr: x.Expr) -> str:
    """An expression where a bare number would be taken for a place in the select list."""
    found = write_node(expr)
    return f"CAST({found} AS {expr.type.sql})" if isinstance(expr, x.Literal) else found


def _write_block(plan: p.Plan) -> str | None:
    """A SELECT that further clauses of its own may follow, which read its input too; None for any other plan."""
    if isinstance(plan, (p.Project, p.Aggregate)):
        return write_node(plan) if plan.items else None
    inner = _write_block(plan.child) if isinstance(plan, p.Filter) else None
    if inner is None or not isinstance(plan, p.Filter):
        return None
    having = isinstance(plan.child, p.Aggregate) and not _names_window(plan.condition, plan.child.items)
    with above_groups():
        return f"{inner} {'HAVING' if having else 'QUALIFY'} {write_node(plan.condition)}"


def _names_window(condition: x.Expr, items: Sequence[x.Expr]) -> bool:
    """Whether the condition computes a window, or names an item that does."""
    windows = {i.id for i in items if isinstance(i, x.Alias) and _has_window(i)}
    return _has_window(condition) or any(isinstance(e, x.Column) and e.id in windows for e in condition.walk())


def _has_window(expr: x.Expr) -> bool:
    return any(isinstance(e, x.Window) for e in expr.walk())


def _reads_only(exprs: Iterable[x.Expr], columns: Sequence[x.Column]) -> bool:
    """Whether the expressions can stand above a query that gives out these columns: they read nothing below it."""
    known = {c.id for c in columns}
    return all(_reads(e, known) for expr in exprs for e in expr.walk())


def _reads(e: x.Expr, known: set[int]) -> bool:
    if isinstance(e, x.Column):
        return e.id in known
    if isinstance(e, (x.ScalarSubquery, x.Exists, x.InSubquery)):
        return all(o.column.id in known for o in outer_references(e.plan))
    if isinstance(e, x.Call):
        return e.function.category is not Category.AGGREGATE and e.function.name not in ("grouping", "grouping_id")
    return not isinstance(e, x.Nulled)


def _write_filter(plan: p.Filter) -> str:
    """WHERE over the child; HAVING or QUALIFY where the condition reads what the child's block does not give out."""
    if _has_window(plan.condition) or not _reads_only((plan.condition,), plan.child.output):
        block = _write_block(plan)
        if block is not None:
            return block
    clause = "QUALIFY" if _has_window(plan.condition) else "WHERE"
    return _write_select(_list_ids(plan.output), f"{_write_from(plan.child)} {clause} {write_node(plan.condition)}")


def _write_ordered(plan: p.Ordered) -> str:
    keys = ", ".join(write_sort(k, _write_key) for k in plan.keys)
    if not keys:
        return write_node(plan.child)
    # A sort takes a subquery's test only where it is what its own block groups by.
    tested = any(isinstance(e, (x.Exists, x.InSubquery)) for k in plan.keys for e in k.walk())
    if not tested and _reads_only(plan.keys, plan.child.output):
        return _write_select(_list_ids(plan.output), f"{_write_from(plan.child)} ORDER BY {keys}")
    block = _write_block(plan.child)
    # An order over what nobody gives out any more changes no schema.
    return write_node(plan.child) if block is None else f"{block} ORDER BY {_write_keys(plan)}"


def _write_keys(plan: p.Ordered) -> str:
    """Keys of a sort that reads below its child."""
    child = plan.child
    while isinstance(child, p.Filter):
        child = child.child
    named = child.groups if isinstance(child, p.Aggregate) and child.grouping_sets is not None else ()

    def key(e: x.Expr) -> str:
        return quote_name(write_node(e)) if e in named and not isinstance(e, x.Column) else _write_key(e)

    with above_groups():
        return ", ".join(write_sort(k, key) for k in plan.keys)


def _write_join(plan: p.Join) -> str:
    on = f" ON {write_node(plan.condition)}" if plan.condition is not None else ""
    own = {c.id for c in plan.left.output}
    correlated = any(isinstance(e, x.Outer) and e.column.id in own for e in plan.right.all_expressions())
    word = f"{plan.kind.upper()} JOIN{' LATERAL' if correlated else ''}"
    text = f"FROM ({write_node(plan.left)}) AS l {word} ({write_node(plan.right)}) AS r{on}"
    return _write_select(_list_ids(plan.output), text)


def _write_set_operation(plan: p.SetOperation) -> str:
    """Sides are written with one name per column, in order; the whole takes the names of its output."""
    items = {c.id: f"s{i} AS {column_id(c)}" for i, c in enumerate(plan.output)}
    return _write_select(list(items.values()), f"FROM ({_write_sides(plan)})")


def _write_sides(plan: p.SetOperation) -> str:
    sides = []
    for side in plan.inputs:
        items = [f"{column_id(c)} AS s{i}" for i, c in enumerate(side.output)]
        sides.append(f"({_write_select(items, f'FROM ({write_node(side)})')})")
    return f" {plan.kind.upper()}{' ALL' if plan.all else ''} ".join(sides)


def _write_limit(plan: p.Limit) -> str:
    rest = f" {plan.what.upper()} {write_node(plan.arguments[0])}" if plan.arguments else ""
    return _write_select(_list_ids(plan.output), f"FROM ({write_node(plan.child)}){rest}")


def _write_distinct(plan: p.Distinct) -> str:
    if not plan.output:
        return write_node(plan.child)
    return f"SELECT DISTINCT {', '.join(_list_ids(plan.output))} FROM ({write_node(plan.child)})"


def _write_named(plan: p.Named) -> str:
    pairs = zip(plan.child.output, plan.output)
    items = [column_id(new) if old.id == new.id else f"{column_id(old)} AS {column_id(new)}" for old, new in pairs]
    return _write_select(list(dict.fromkeys(items)), f"FROM ({write_node(plan.child)})")


def _write_recursion(plan: p.Recursion) -> str:
    assert isinstance(plan.child, p.SetOperation)
    name = _loop_name(plan.itself)
    names = ", ".join(f"s{i}" for i in range(len(plan.output)))
    items = [f"s{i} AS {column_id(c)}" for i, c in enumerate(plan.output)]
    return f"WITH RECURSIVE {name}({names}) AS ({_write_sides(plan.child)}) {_write_select(items, f'FROM {name}')}"


def _loop_name(scan: p.Scan) -> str:
    return f"r{scan.output[0].id}"


def _write_generate(plan: p.Generate) -> str:
    names = ", ".join(column_id(c) for c in plan.generated)
    outer = "OUTER " if plan.outer and not plan.call.shown.endswith("_outer") else ""
    view = f"LATERAL VIEW {outer}{write_node(plan.call)} g AS {names}"
    return _write_select(_list_ids(plan.output), f"{_write_from(plan.child)} {view}".lstrip())


def _write_pivot(plan: p.Pivot) -> str:
    """PIVOT groups by whatever its input has beside the columns that it names."""
    read = [e for a in plan.aggregates for e in a.walk() if isinstance(e, x.Column)]
    keys = [f"{write_node(k)} AS k{i}" for i, k in enumerate(plan.keys)]
    source = _write_select([*_list_ids((*plan.groups, *read)), *keys], f"FROM ({write_node(plan.child)})")
    several = len(plan.aggregates) > 1
    aggregates = [f"{write_node(a)} AS a{i}" for i, a in enumerate(plan.aggregates)]
    values = [f"{_write_value(v, len(keys))} AS v{i}" for i, v in enumerate(plan.values)]
    made = [f"v{i}_a{j}" if several else f"v{i}" for i in range(len(values)) for j in range(len(aggregates))]
    items = [f"{m} AS {column_id(c)}" for m, c in zip(made, plan.output[len(plan.groups) :])]
    named = ", ".join(f"k{i}" for i in range(len(keys)))
    shape = f"{', '.join(aggregates)} FOR {f'({named})' if len(keys) > 1 else named} IN ({', '.join(values)})"
    return _write_select([*_list_ids(plan.groups), *items], f"FROM ({source}) PIVOT ({shape})")


def _write_value(value: x.Expr, keys: int) -> str:
    if keys > 1 and isinstance(value, x.Call):
        return f"({', '.join(write_node(a) for a in value.args)})"
    return write_node(value)


def _write_script(plan: p.Script) -> str:
    given = ", ".join(_list_ids(plan.child.output))
    declared = ", ".join(f"{column_id(c)} {c.type.sql}" for c in plan.output)
    return (
        f"SELECT TRANSFORM({given}) USING {write_string(plan.command)} AS ({declared}) FROM ({write_node(plan.child)})"
    )


WRITERS: dict[type, Writer] = {
    p.OneRow: lambda plan: _write_select((), ""),
    p.Scan: _write_scan,
    p.Values: _write_values,
    p.Project: lambda plan: _write_select(_write_items(plan.items), _write_from(plan.child)),
    p.Filter: _write_filter,
    p.Join: _write_join,
    p.Aggregate: _write_aggregate,
    p.Pivot: _write_pivot,
    p.SetOperation: _write_set_operation,
    p.Ordered: _write_ordered,
    p.Limit: _write_limit,
    p.Distinct: _write_distinct,
    p.Named: _write_named,
    p.Recursion: _write_recursion,
    p.Generate: _write_generate,
    p.Script: _write_script,
}
