"""Which parts of a plan are computed: which columns something needs, and which expressions the result surely shows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from planproof_engine.expr.nodes import (
    Alias,
    Call,
    Column,
    Exists,
    Expr,
    Lambda,
    Literal,
    Outer,
    Subquery,
    Window,
    is_aggregate,
)
from planproof_engine.logical.nodes import (
    CROSS,
    INNER,
    Aggregate,
    Distinct,
    Filter,
    Join,
    Limit,
    Named,
    OneRow,
    Ordered,
    Pivot,
    Plan,
    Project,
    Recursion,
    Script,
    SetOperation,
    Unary,
    Values,
)


def walk_branches(expr: Expr, *, in_aggregates: bool = True) -> Iterator[tuple[Expr, bool]]:
    """The expression and all within it, each with whether every row computes it: not what stands in a branch, in a
    lambda, in a window or behind a FILTER. Without `in_aggregates` not what an aggregate function reads, either."""
    pending = [(expr, True)]
    while pending:
        expr, always = pending.pop()
        yield expr, always
        children = expr.children
        if children:
            evaluated = expr.function.count_evaluated(len(children)) if isinstance(expr, Call) else len(children)
            within = always and not _is_apart(expr) and (in_aggregates or not is_aggregate(expr))
            pending += [(child, within and at < evaluated) for at, child in enumerate(children)][::-1]


def _is_apart(expr: Expr) -> bool:
    return isinstance(expr, (Lambda, Window)) or (isinstance(expr, Call) and expr.filter is not None)


def list_filled(root: Plan) -> Iterator[Plan]:
    """The nodes that may give rows, each once: not those over `WHERE false`, nor those below `LIMIT 0`."""
    waiting, seen = [root], set[int]()
    empty: dict[int, bool] = {}
    while waiting:
        node = waiting.pop()
        if id(node) not in seen and not _is_empty(node, empty):
            seen.add(id(node))
            yield node
            waiting += [e.plan for top in node.expressions for e in top.walk() if isinstance(e, Subquery)]
            waiting += node.children


def _is_empty(node: Plan, known: dict[int, bool]) -> bool:
    """Whether a node gives no rows, by constants alone."""
    if id(node) not in known:
        below = [_is_empty(child, known) for child in node.children]
        known[id(node)] = _is_none(node) or (
            all(below) if isinstance(node, SetOperation) else _keeps_none(node) and any(below)
        )
    return known[id(node)]


def _is_none(node: Plan) -> bool:
    if isinstance(node, Limit):
        return node.what == "limit" and any(isinstance(a, Literal) and a.value == 0 for a in node.arguments)
    return isinstance(node, Filter) and isinstance(node.condition, Literal) and node.condition.value is False


def _keeps_none(node: Plan) -> bool:
    """Whether the node gives no row where the nodes below it give none."""
    if isinstance(node, Join):
        return node.kind in (INNER, CROSS)
    return isinstance(node, Unary) and not isinstance(node, (Recursion, Pivot)) and not _is_one_row(node)


def find_needed(root: Plan, nodes: Iterable[Plan]) -> set[int]:
    """The ids of the columns of which the result is made, or which may decide about its rows. Spark computes no other:
    what EXISTS selects, and columns of a subquery that nobody reads."""
    made: dict[int, set[int]] = {}
    waiting = [c.id for c in root.output]
    for node in nodes:
        items = node.items if isinstance(node, (Project, Aggregate)) else ()
        for item in items:
            made.setdefault(_id_of(item), set()).update(_read(item))
        waiting += [read for top in node.expressions if not any(top is item for item in items) for read in _read(top)]
        if isinstance(node, (Named, Recursion, SetOperation)):
            for below in node.children:
                for mine, theirs in zip(node.output, below.output):
                    made.setdefault(mine.id, set()).add(theirs.id)
        if isinstance(node, (Distinct, Script)) or (isinstance(node, SetOperation) and not _is_union_all(node)):
            waiting += [c.id for below in node.children for c in below.output]
    found: set[int] = set()
    while waiting:
        key = waiting.pop()
        if key not in found:
            found.add(key)
            waiting += made.get(key, ())
    return found


def _id_of(item: Expr) -> int:
    assert isinstance(item, (Alias, Column))
    return item.id


def _is_union_all(node: SetOperation) -> bool:
    return node.kind == "union" and node.all


def _read(top: Expr) -> Iterator[int]:
    """The ids of the columns that an expression reads."""
    for expr in top.walk():
        if isinstance(expr, Column):
            yield expr.id
        elif isinstance(expr, Outer):
            yield expr.column.id
        elif isinstance(expr, Subquery) and not isinstance(expr, Exists):
            yield from (c.id for c in expr.plan.output)


def list_sure(root: Plan) -> Iterator[Expr]:
    """The expressions that the result shows whatever any table holds. Their rows come from no relation, no filter,
    limit or join can take them away, and they stand in no branch."""
    return _list_sure(root, {c.id for c in root.output})


def _list_sure(node: Plan, wanted: Collection[int]) -> Iterator[Expr]:
    if isinstance(node, (Project, Aggregate)):
        has_rows = _has_rows(node.child)
        if not has_rows and not _is_one_row(node):
            return
        found = [e for item in node.items if _id_of(item) in wanted for e in _list_always(item, has_rows)]
        yield from found
        yield from _list_sure(node.child, {e.id for e in found if isinstance(e, Column)})
    elif isinstance(node, (Named, Ordered, Distinct)) or (isinstance(node, SetOperation) and node.kind == "union"):
        for below in node.children:
            yield from _list_sure(below, {b.id for mine, b in zip(node.output, below.output) if mine.id in wanted})


def _list_always(item: Expr, in_aggregates: bool) -> Iterator[Expr]:
    return (expr for expr, always in walk_branches(item, in_aggregates=in_aggregates) if always)


def _is_one_row(node: Plan) -> bool:
    """Whether it is an aggregate of all rows, which gives one row for none."""
    return isinstance(node, Aggregate) and not node.groups


def _has_rows(node: Plan) -> bool:
    """Whether a row is there, whatever any relation holds."""
    if isinstance(node, OneRow):
        return True
    if isinstance(node, Values):
        return node.call is None and bool(node.rows)
    if isinstance(node, SetOperation):
        return node.kind == "union" and any(map(_has_rows, node.inputs))
    return _is_one_row(node) or (
        isinstance(node, (Project, Aggregate, Named, Ordered, Distinct)) and _has_rows(node.children[0])
    )
