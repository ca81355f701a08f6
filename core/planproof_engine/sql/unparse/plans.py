"""Plans as queries. What a node computes is named by ids, so that a level above never meets two equal names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from planproof_engine.catalog import split_name
from planproof_engine.expr import nodes as x
from planproof_engine.expr.function import Category
from planproof_engine.expr.pretty import outer_references
from planproof_engine.logical import nodes as p
from planproof_engine.quoting import backticked
from planproof_engine.sql.unparse.expressions import sort
from planproof_engine.sql.unparse.texts import Writer, above_groups, called, column_id, named, string, text, unwritable


def _select(items: Sequence[str], rest: str) -> str:
    if not items:
        return f"SELECT * EXCEPT (c0) FROM ({_select(('1 AS c0',), rest)})"
    return f"SELECT {', '.join(items)} {rest}".rstrip()


def _kept(columns: Iterable[x.Column]) -> list[str]:
    return [column_id(c) for c in {c.id: c for c in columns}.values()]


def _from(plan: p.Plan) -> str:
    return "" if isinstance(plan, p.OneRow) else f"FROM ({text(plan)})"


def _one_row(plan: p.OneRow) -> str:
    return _select((), "")


def _scan(plan: p.Scan) -> str:
    if plan.recursive:
        items = [f"s{i} AS {column_id(c)}" for i, c in enumerate(plan.output)]
        return _select(items, f"FROM {_loop_name(plan)}")
    items = [called(backticked(c.name), column_id(c)) for c in plan.output]
    return _select(items, f"FROM {'.'.join(backticked(part) for part in split_name(plan.relation))}")


def _values(plan: p.Values) -> str:
    names = ", ".join(column_id(c) for c in plan.output)
    if plan.call is not None:
        return f"SELECT * FROM {text(plan.call)} AS g({names})"
    if not plan.rows:
        raise unwritable("a table function")
    rows = ", ".join(f"({', '.join(text(e) for e in row)})" for row in plan.rows)
    return f"SELECT * FROM VALUES {rows} AS v({names})"


def _item(item: x.Expr) -> str:
    if isinstance(item, x.Alias):
        return f"{text(item.child)} AS {named(item.id, item.name)}"
    assert isinstance(item, x.Column)
    return column_id(item)


def _items(items: Iterable[x.Expr]) -> list[str]:
    return list(dict.fromkeys(_item(i) for i in items))


def _project(plan: p.Project) -> str:
    return _select(_items(plan.items), _from(plan.child))


def _aggregate(plan: p.Aggregate) -> str:
    groups = [_no_ordinal(g) for g in plan.groups]
    clause = ""
    if plan.grouping_sets is not None:
        sets = ", ".join(f"({', '.join(groups[i] for i in s)})" for s in plan.grouping_sets)
        clause = f" GROUP BY GROUPING SETS ({sets})"
    elif groups:
        clause = f" GROUP BY {', '.join(groups)}"
    return _select(_items(plan.items), f"{_from(plan.child)}{clause}".lstrip())


def _no_ordinal(expr: x.Expr) -> str:
    """An expression where a bare number would be taken for a place in the select list."""
    found = text(expr)
    return f"CAST({found} AS {expr.type.sql})" if isinstance(expr, x.Literal) else found


def _block(plan: p.Plan) -> str | None:
    """A SELECT that further clauses of its own may follow, which read its input too; None for any other plan."""
    if isinstance(plan, (p.Project, p.Aggregate)):
        return text(plan) if plan.items else None
    inner = _block(plan.child) if isinstance(plan, p.Filter) else None
    if inner is None or not isinstance(plan, p.Filter):
        return None
    having = isinstance(plan.child, p.Aggregate) and not _names_window(plan.condition, plan.child.items)
    with above_groups():
        return f"{inner} {'HAVING' if having else 'QUALIFY'} {text(plan.condition)}"


def _names_window(condition: x.Expr, items: Sequence[x.Expr]) -> bool:
    """Whether the condition computes a window, or names an item that does."""
    windows = {i.id for i in items if isinstance(i, x.Alias) and _windowed(i)}
    return _windowed(condition) or any(isinstance(e, x.Column) and e.id in windows for e in condition.walk())


def _windowed(expr: x.Expr) -> bool:
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


def _filter(plan: p.Filter) -> str:
    """WHERE over the child; HAVING or QUALIFY where the condition reads what the child's block does not give out."""
    if _windowed(plan.condition) or not _reads_only((plan.condition,), plan.child.output):
        block = _block(plan)
        if block is not None:
            return block
    clause = "QUALIFY" if _windowed(plan.condition) else "WHERE"
    return _select(_kept(plan.output), f"{_from(plan.child)} {clause} {text(plan.condition)}")


def _ordered(plan: p.Ordered) -> str:
    keys = ", ".join(_key(k) for k in plan.keys)
    if not keys:
        return text(plan.child)
    # A sort takes a subquery's test only where it is what its own block groups by.
    tested = any(isinstance(e, (x.Exists, x.InSubquery)) for k in plan.keys for e in k.walk())
    if not tested and _reads_only(plan.keys, plan.child.output):
        return _select(_kept(plan.output), f"{_from(plan.child)} ORDER BY {keys}")
    block = _block(plan.child)
    # An order over what nobody gives out any more changes no schema.
    return text(plan.child) if block is None else f"{block} ORDER BY {_keys_over(plan)}"


def _key(key: x.Sort) -> str:
    return sort(key, _no_ordinal)


def _keys_over(plan: p.Ordered) -> str:
    """Keys of a sort that reads below its child."""
    child = plan.child
    while isinstance(child, p.Filter):
        child = child.child
    named = child.groups if isinstance(child, p.Aggregate) and child.grouping_sets is not None else ()

    def key(e: x.Expr) -> str:
        return backticked(text(e)) if e in named and not isinstance(e, x.Column) else _no_ordinal(e)

    with above_groups():
        return ", ".join(sort(k, key) for k in plan.keys)


def _join(plan: p.Join) -> str:
    on = f" ON {text(plan.condition)}" if plan.condition is not None else ""
    own = {c.id for c in plan.left.output}
    correlated = any(isinstance(e, x.Outer) and e.column.id in own for e in plan.right.all_expressions())
    word = f"{plan.kind.upper()} JOIN{' LATERAL' if correlated else ''}"
    return _select(_kept(plan.output), f"FROM ({text(plan.left)}) AS l {word} ({text(plan.right)}) AS r{on}")


def _set_operation(plan: p.SetOperation) -> str:
    """Sides are written with one name per column, in order; the whole takes the names of its output."""
    items = {c.id: f"s{i} AS {column_id(c)}" for i, c in enumerate(plan.output)}
    return _select(list(items.values()), f"FROM ({_sides(plan)})")


def _sides(plan: p.SetOperation) -> str:
    sides = []
    for side in plan.inputs:
        items = [f"{column_id(c)} AS s{i}" for i, c in enumerate(side.output)]
        sides.append(f"({_select(items, f'FROM ({text(side)})')})")
    return f" {plan.kind.upper()}{' ALL' if plan.all else ''} ".join(sides)


def _limit(plan: p.Limit) -> str:
    rest = f" {plan.what.upper()} {text(plan.arguments[0])}" if plan.arguments else ""
    return _select(_kept(plan.output), f"FROM ({text(plan.child)}){rest}")


def _distinct(plan: p.Distinct) -> str:
    if not plan.output:
        return text(plan.child)
    return f"SELECT DISTINCT {', '.join(_kept(plan.output))} FROM ({text(plan.child)})"


def _named(plan: p.Named) -> str:
    pairs = zip(plan.child.output, plan.output)
    items = [column_id(new) if old.id == new.id else f"{column_id(old)} AS {column_id(new)}" for old, new in pairs]
    return _select(list(dict.fromkeys(items)), f"FROM ({text(plan.child)})")


def _recursion(plan: p.Recursion) -> str:
    assert isinstance(plan.child, p.SetOperation)
    name = _loop_name(plan.itself)
    names = ", ".join(f"s{i}" for i in range(len(plan.output)))
    items = [f"s{i} AS {column_id(c)}" for i, c in enumerate(plan.output)]
    return f"WITH RECURSIVE {name}({names}) AS ({_sides(plan.child)}) {_select(items, f'FROM {name}')}"


def _loop_name(scan: p.Scan) -> str:
    return f"r{scan.output[0].id}"


def _generate(plan: p.Generate) -> str:
    names = ", ".join(column_id(c) for c in plan.generated)
    outer = "OUTER " if plan.outer and not plan.call.shown.endswith("_outer") else ""
    view = f"LATERAL VIEW {outer}{text(plan.call)} g AS {names}"
    return _select(_kept(plan.output), f"{_from(plan.child)} {view}".lstrip())


def _pivot(plan: p.Pivot) -> str:
    """PIVOT groups by whatever its input has beside the columns that it names."""
    read = [e for a in plan.aggregates for e in a.walk() if isinstance(e, x.Column)]
    keys = [f"{text(k)} AS k{i}" for i, k in enumerate(plan.keys)]
    source = _select([*_kept((*plan.groups, *read)), *keys], f"FROM ({text(plan.child)})")
    several = len(plan.aggregates) > 1
    aggregates = [f"{text(a)} AS a{i}" for i, a in enumerate(plan.aggregates)]
    values = [f"{_value(v, len(keys))} AS v{i}" for i, v in enumerate(plan.values)]
    made = [f"v{i}_a{j}" if several else f"v{i}" for i in range(len(values)) for j in range(len(aggregates))]
    items = [f"{m} AS {column_id(c)}" for m, c in zip(made, plan.output[len(plan.groups) :])]
    named = ", ".join(f"k{i}" for i in range(len(keys)))
    shape = f"{', '.join(aggregates)} FOR {f'({named})' if len(keys) > 1 else named} IN ({', '.join(values)})"
    return _select([*_kept(plan.groups), *items], f"FROM ({source}) PIVOT ({shape})")


def _value(value: x.Expr, keys: int) -> str:
    if keys > 1 and isinstance(value, x.Call):
        return f"({', '.join(text(a) for a in value.args)})"
    return text(value)


def _script(plan: p.Script) -> str:
    given = ", ".join(_kept(plan.child.output))
    declared = ", ".join(f"{column_id(c)} {c.type.sql}" for c in plan.output)
    return f"SELECT TRANSFORM({given}) USING {string(plan.command)} AS ({declared}) FROM ({text(plan.child)})"


WRITERS: dict[type, Writer] = {
    p.OneRow: _one_row,
    p.Scan: _scan,
    p.Values: _values,
    p.Project: _project,
    p.Filter: _filter,
    p.Join: _join,
    p.Aggregate: _aggregate,
    p.Pivot: _pivot,
    p.SetOperation: _set_operation,
    p.Ordered: _ordered,
    p.Limit: _limit,
    p.Distinct: _distinct,
    p.Named: _named,
    p.Recursion: _recursion,
    p.Generate: _generate,
    p.Script: _script,
}
