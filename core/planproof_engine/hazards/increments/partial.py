"""What is made of a part of the rows that belong together: a partition (PP140), an aggregate, DISTINCT or a window
(PP141)."""

from __future__ import annotations

from collections.abc import Iterator

from planproof_engine import types as dt
from planproof_engine.expr import Category
from planproof_engine.expr import nodes as x
from planproof_engine.hazards import filters
from planproof_engine.hazards.increments import units
from planproof_engine.hazards.increments.increment import Increment, find_sides, list_windows
from planproof_engine.hazards.increments.watermark import find_watermark
from planproof_engine.hazards.increments.whole import comes_whole
from planproof_engine.hazards.suspicion import Suspicion, make_warning
from planproof_engine.logical import nodes as p

_COUNTER = "monotonically_increasing_id"


def suspect_cuts(inc: Increment, delta: filters.Delta) -> Iterator[Suspicion]:
    """A partition is replaced by a part of its rows."""
    written = inc.written
    if written.strategy != "insert_overwrite" or isinstance(delta.condition, x.Literal):
        return
    columns = inc.find_outputs(written.partition_by)
    if not written.partition_by:
        said = "insert_overwrite without partition_by replaces the whole table with them"
        yield inc.make_suspicion("PP140", delta, said)
    elif columns and not comes_whole(inc, delta, delta.over, columns) and not _chooses_keys(inc, delta, columns):
        names = ", ".join(written.partition_by)
        said = f"a partition ({names}) of which only some rows are read is replaced by them"
        yield inc.make_suspicion("PP140", delta, said)


def _chooses_keys(inc: Increment, delta: filters.Delta, columns: list[x.Expr]) -> bool:
    """Whether it reads all rows of the keys that have new ones, and another filter leaves out, by the same bound, the
    partitions in which other keys have rows."""
    query = delta.condition
    if not isinstance(query, x.InSubquery) or not _reads_alike(inc, query):
        return False
    asked = (c for n in query.plan.walk() if isinstance(n, p.Filter) for c in x.conjuncts(n.condition))
    bounds = {filters.shape(s[2]) for c in asked if (s := find_sides(c)) is not None and _is_time_itself(s[1])}
    others = [(d, found[2]) for d in inc.deltas if (found := find_sides(d.condition)) is not None]
    return any(filters.shape(bound) in bounds and comes_whole(inc, d, d.over, columns) for d, bound in others)


def _is_time_itself(expr: x.Expr) -> bool:
    """Whether it is a column, or its day: no time before or after that."""
    cut = units.find_cut(filters.drop_casts(expr))
    return isinstance(filters.drop_casts(cut[1] if cut is not None else expr), x.Column)


def _reads_alike(inc: Increment, query: x.InSubquery) -> bool:
    """Whether it looks for rows of a relation among the rows of the same one."""
    sources = (inc.definitions.find_source(c) for value in query.values for c in inc.list_read(value))
    return all(source is not None and filters.reads(query.plan, source.relation) for source in sources)


def suspect_computed(inc: Increment, delta: filters.Delta) -> Iterator[Suspicion]:
    """A computation over the filter sees new rows alone."""
    if isinstance(delta.condition, x.Literal):
        return
    for at, node in enumerate(delta.over):
        what = _describe_computation(inc, node, delta, at)
        if what is not None:
            said = f"{what} sees only these rows, and not the others that belong with them"
            yield inc.make_suspicion("PP141", delta, said)
            return


def _describe_computation(inc: Increment, node: p.Plan, delta: filters.Delta, at: int) -> str | None:
    below = delta.over[at + 1 :]
    if isinstance(node, p.Limit) and node.what == "limit":
        return "LIMIT"
    if _is_distinct(node):
        columns = inc.texts(node.output)
        whole = inc.written.strategy != "append" or inc.covers(delta, columns) or _takes_new_keys(inc, columns)
        return None if whole else "DISTINCT"
    if isinstance(node, p.Aggregate):
        sets = node.grouping_sets
        shared = [g for place, g in enumerate(node.groups) if sets is None or all(place in one for one in sets)]
        whole = comes_whole(inc, delta, below, shared) or _takes_new_keys(inc, inc.all_texts(shared))
        if not shared or not (whole or _takes_latest(inc, node, delta)):
            return "an aggregate"
    if any(isinstance(e, x.Call) and e.function.name == _COUNTER for top in node.expressions for e in top.walk()):
        return f"{_COUNTER}()"
    for window in list_windows(node):
        keys = inc.all_texts(window.partition)
        whole = comes_whole(inc, delta, below, window.partition) or _takes_new_keys(inc, keys)
        if _is_padded(inc, window, delta, at) or _leaves_out_copies(inc, window, delta):
            continue
        if not keys or not (whole or (_ranks_a_key(inc, window) and not _takes_oldest(inc, window, delta))):
            return "a window"
    return None


def _is_padded(inc: Increment, window: x.Window, delta: filters.Delta, at: int) -> bool:
    """Whether a window looks back only so far, and a filter over it leaves out the rows at the edge."""
    made, sides = window.call, find_sides(delta.condition)
    is_near = "PRECEDING" in window.frame and "UNBOUNDED" not in window.frame
    is_near = is_near or (isinstance(made, x.Call) and made.function.name == "lag")
    over = (d for d in inc.deltas if len(d.over) <= at and d.over == delta.over[: len(d.over)])
    others = [found for d in over if (found := find_sides(d.condition)) is not None]
    return is_near and sides is not None and any(inc.text(o[1]) == inc.text(sides[1]) for o in others)


def suspect_stale(inc: Increment, delta: filters.Delta) -> Iterator[Suspicion]:
    """A window below the filter, or a total, looks at rows to come: rows that are stored keep what it gave."""
    watermark = find_watermark(inc, delta.condition)
    if watermark is None:
        return
    if any(_is_total(inc, e, watermark.row) for n in delta.over for top in n.expressions for e in top.walk()):
        said = "a total changes with rows that come later, and rows already stored keep what it gave before"
        yield inc.make_suspicion("PP141", delta, said)
    above = {id(node) for node in delta.over}
    windows = [window for node in inc.later.walk() if id(node) not in above for window in list_windows(node)]
    if any(
        _looks_ahead(w)
        and not inc.covers(delta, inc.all_texts(inc.list_told(w.partition)))
        and not _ranks_a_key(inc, w)
        for w in windows
    ):
        said = "a window looks at rows that come later, and rows already stored keep what it gave before"
        yield inc.make_suspicion("PP141", delta, said)


def suspect_aged(inc: Increment) -> Iterator[Suspicion]:
    """What compares a row with the time of the run: stored rows keep what it was when they were written."""
    if not inc.deltas or (not inc.written.partition_by and inc.written.strategy == "insert_overwrite"):
        return
    if _is_of_days(inc):
        return
    for column in inc.later.output:
        if any(map(inc.compares_with_now, _list_computed(inc, column))):
            said = "is made of the time of the run, and rows already stored keep what it was before"
            message = f"{column.name} {said}; a full refresh would build another table"
            yield Suspicion(make_warning("PP141", column.name, None, None, message))


def _is_of_days(inc: Increment) -> bool:
    """Whether each run writes the state of its own day, which it notes."""
    days = [c for c in inc.later.output if c.type == dt.DATE and filters.is_now(inc.definitions.of(c))]
    names = {name.lower() for name in (*inc.written.partition_by, *inc.written.key)}
    return any(inc.written.strategy == "append" or c.name.lower() in names for c in days)


def _list_computed(inc: Increment, expr: x.Expr) -> Iterator[x.Expr]:
    """An expression and all that it is made of, but not a condition that only keeps a value from what is wrong: a time
    of the future becomes another one."""
    waiting, seen = [expr], set[int]()
    while waiting:
        made = inc.definitions.of(waiting.pop())
        if id(made) in seen:
            continue
        seen.add(id(made))
        yield made
        handed = made.function.traits.hands_on(len(made.children)) if isinstance(made, x.Call) else ()
        given = inc.texts(c for at in handed for c in inc.list_read(made.children[at]))
        for at, child in enumerate(made.children):
            is_guard = bool(handed) and at not in handed and inc.texts(inc.list_read(child)) <= given
            waiting += [] if is_guard else [child]


def _is_total(inc: Increment, expr: x.Expr, row: x.Expr) -> bool:
    """Whether it is one value of all rows of the relation that `row` stands in."""
    source = inc.definitions.find_source(row)
    if not isinstance(expr, x.ScalarSubquery) or source is None or not filters.reads(expr.plan, source.relation):
        return False
    nodes = list(expr.plan.walk())
    is_of_row = any(isinstance(e, x.Outer) for n in nodes for top in n.expressions for e in top.walk())
    is_time = expr.type in filters.TIMES  # When the rows were loaded is no total.
    return not (is_of_row or is_time) and any(isinstance(n, p.Aggregate) for n in nodes)


def _is_distinct(node: p.Plan) -> bool:
    """Whether it leaves out rows that are there already: DISTINCT, a set operation, a GROUP BY that counts nothing."""
    if isinstance(node, p.Aggregate):
        return not any(x.is_aggregate(e) or isinstance(e, x.Window) for item in node.items for e in item.walk())
    united = isinstance(node, p.SetOperation) and not (node.kind == "union" and node.all)
    return united or isinstance(node, p.Distinct)


def _ranks_a_key(inc: Increment, window: x.Window) -> bool:
    """Whether it tells the latest row of each key, which a merge then takes."""
    made = window.call
    is_rank = isinstance(made, x.Call) and made.function.category is Category.WINDOW and made.type == dt.INT
    is_rank = is_rank and not made.children and inc.written.strategy == "merge"
    return is_rank and inc.agree(window.partition, inc.find_outputs(inc.written.key))


def _leaves_out_copies(inc: Increment, window: x.Window, delta: filters.Delta) -> bool:
    """Whether it may take one of the copies of a row, which lie in one partition: by when they came, not by the time
    that tells the partitions apart."""
    columns = [*inc.find_outputs(inc.written.partition_by), *filters.row_sides(delta.condition)]
    asked = [c.args for c in inc.conditions if isinstance(c, x.Call) and c.function.name == "="]
    firsts = [args for args in asked if any(isinstance(e, x.Literal) and e.value == 1 for e in args)]
    is_one = any(inc.text(window) in inc.texts(args) for args in firsts)
    times = inc.texts(c for column in columns for c in inc.list_read(column))
    by = inc.texts(c for order in window.order for c in inc.list_read(order.child))
    return is_one and inc.written.strategy == "insert_overwrite" and bool(by) and not by & times


def _takes_oldest(inc: Increment, window: x.Window, delta: filters.Delta) -> bool:
    """Whether the first row of a key ranks first, by the filter's own column: a merge puts a later one in its place."""
    sides = find_sides(delta.condition)
    if sides is None or not window.order or not window.order[0].ascending:
        return False
    return inc.text(window.order[0].child) == inc.text(filters.drop_casts(sides[1]))


def _looks_ahead(window: x.Window) -> bool:
    """Whether rows that come later change what it gave: LEAD, a rank from the greatest down, all rows of a group."""
    made, order = window.call, window.order
    if not isinstance(made, x.Call) or not order:
        return isinstance(made, x.Call)
    if made.function.name in ("lead", "lag"):
        return (made.function.name == "lead") == order[0].ascending
    return not order[0].ascending or "FOLLOWING" in window.frame


def _takes_new_keys(inc: Increment, keys: frozenset[str]) -> bool:
    """Whether another filter leaves out every row whose key the table holds: what is stored is of new keys."""
    asked = (_list_asked(inc, d) for d in inc.deltas if find_sides(d.condition) is None)
    is_new = any(texts and texts <= keys for texts in map(inc.all_texts, asked))
    return is_new and inc.written.strategy in ("append", "merge")


def _list_asked(inc: Increment, delta: filters.Delta) -> list[x.Expr]:
    """What a condition looks for in the model's own table: NOT IN, NOT EXISTS, an anti join."""
    found: list[x.Expr] = []
    for query in (e for e in delta.condition.walk() if isinstance(e, x.Subquery) and inc.is_own(e.plan)):
        inner = (e for node in query.plan.walk() for top in node.expressions for e in top.walk())
        found += (
            query.values if isinstance(query, x.InSubquery) else [e.column for e in inner if isinstance(e, x.Outer)]
        )
    join = delta.over[-1] if isinstance(delta.condition, x.Literal) and delta.over else None
    if isinstance(join, p.Join) and join.condition is not None:
        columns = [(c, inc.definitions.of(c)) for c in join.condition.walk() if isinstance(c, x.Column)]
        found += [c for c, made in columns if not (isinstance(made, x.Column) and made.id in inc.own_columns)]
    return found


def _takes_latest(inc: Increment, node: p.Aggregate, delta: filters.Delta) -> bool:
    """Whether a merge by the group's key takes what the latest rows say: MAX and MAX_BY of the filter's column."""
    sides, key = find_sides(delta.condition), inc.find_outputs(inc.written.key)
    if sides is None or inc.written.strategy != "merge" or not inc.agree(node.groups, key):
        return False
    row = inc.text(filters.drop_casts(sides[1]))
    calls = [e for item in node.items for e in item.walk() if x.is_aggregate(e)]
    return all(e.function.name in ("max", "max_by") and row in inc.all_texts(_find_first(e.args[-1])) for e in calls)


def _find_first(expr: x.Expr) -> tuple[x.Expr, ...]:
    """What is compared first: a struct's first field."""
    fields = x.struct_values(expr)
    return fields[:1] if fields else (expr,)
