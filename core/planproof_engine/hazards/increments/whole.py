"""Whether rows that belong together pass a later run's filter together."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from planproof_engine import types as dt
from planproof_engine.expr import nodes as x
from planproof_engine.hazards import filters
from planproof_engine.hazards.definitions import Definitions
from planproof_engine.hazards.increments import units
from planproof_engine.hazards.increments.increment import LOWER, UPPER, Increment, find_sides, list_pairs
from planproof_engine.logical import nodes as p

_MOST_STEPS = 20


def comes_whole(inc: Increment, delta: filters.Delta, below: tuple[p.Plan, ...], columns: Sequence[x.Expr]) -> bool:
    """Whether rows that agree in all `columns` pass alike: the filter looks at nothing else, it begins where they
    begin, it only tells which keys are read again, or it looks at one row of each key. `below` are the nodes between
    them and the filter."""
    columns = inc.list_told(columns)
    texts = inc.all_texts(columns)
    is_read_again = _is_read_again(inc, below, texts) or _is_of_one_row(inc, delta, texts)
    return inc.covers(delta, texts) or _begins_whole(inc, delta, columns) or is_read_again


def _is_of_one_row(inc: Increment, delta: filters.Delta, columns: frozenset[str]) -> bool:
    """Whether one of the columns tells the rows of the relation that is filtered apart."""
    read = [c for side in filters.row_sides(delta.condition) for c in inc.list_read(side)]
    source = inc.definitions.find_source(read[0]) if read else None
    if source is None or any(inc.definitions.find_source(c) is not source for c in read):
        return False
    keys = [c for c in source.output if {inc.text(c), inc.equal.get(inc.text(c))} & columns]
    return any(may_tell_rows(inc, key) for key in keys)


def may_tell_rows(inc: Increment, column: x.Expr) -> bool:
    """Whether a source's column tells its rows apart: it is said to, or it may, as another relation is joined to it
    whose rows nothing says to be one of each."""
    source = inc.definitions.find_source(column)
    if source is None or is_unique(inc, column):
        return source is not None
    for join in (n for n in inc.definitions.nodes if isinstance(n, p.Join)):
        for sides in (sides for sides in list_pairs(join) if inc.text(column) in inc.texts(sides)):
            others = [side for side in map(filters.drop_casts, sides) if inc.text(side) != inc.text(column)]
            if any(_may_repeat(inc, join, other, source.relation) for other in others):
                return True
    return False


def _may_repeat(inc: Increment, join: p.Join, column: x.Expr, relation: str) -> bool:
    """Whether a column that is joined may hold a value of `relation` in several rows of another one."""
    source = inc.definitions.find_source(column)
    if source is None or source.relation in (relation, inc.written.relation) or not isinstance(column, x.Column):
        return False
    once = [side for side in join.children if column.id in {c.id for c in side.output} and _holds_once(side)]
    return not once and not is_unique(inc, column)


def is_unique(inc: Increment, column: x.Expr) -> bool:
    """Whether a source's column is said to tell its rows apart."""
    source, made = inc.definitions.find_source(column), inc.definitions.of(column)
    return (
        source is not None and isinstance(made, x.Column) and (source.relation, made.name.lower()) in inc.written.unique
    )


def _is_read_again(inc: Increment, over: tuple[p.Plan, ...], columns: frozenset[str]) -> bool:
    """Whether new rows are joined to a relation by keys that they hold once each, and give nothing else."""
    for join, below in pairwise(over):
        keys = _list_joined_keys(inc, join, below) if isinstance(join, p.Join) else []
        if keys and all(key & columns for key in keys):
            return True
    return False


def _list_joined_keys(inc: Increment, join: p.Join, below: p.Plan) -> list[frozenset[str]]:
    """What each key is on both sides, where the side `below` holds its keys once each, and nothing else."""
    if join.kind not in (p.INNER, p.LEFT_SEMI) or not _holds_once(below):
        return []
    own = {c.id for c in below.output}
    keys = [s for s in list_pairs(join) if sum(isinstance(e, x.Column) and e.id in own for e in s) == 1]
    named = {e.id for sides in keys for e in sides if isinstance(e, x.Column)}
    return [inc.texts(sides) for sides in keys] if own <= named else []


def _holds_once(plan: p.Plan) -> bool:
    """Whether it gives each of its rows once."""
    while isinstance(plan, p.Named) or (
        isinstance(plan, p.Project) and all(isinstance(i, x.Column) for i in plan.items)
    ):
        plan = plan.child
    if isinstance(plan, p.Aggregate):
        return plan.grouping_sets is None and {e.id for e in plan.groups if isinstance(e, x.Column)} <= {
            i.id for i in plan.items if isinstance(i, x.Column)
        }
    return isinstance(plan, p.Distinct)


def _begins_whole(inc: Increment, delta: filters.Delta, columns: Sequence[x.Expr]) -> bool:
    """Whether a time is compared with the beginning of a day, a month, or what else the columns cut it to."""
    sides = find_sides(delta.condition, (*LOWER, *UPPER))
    if sides is None:
        return False
    operator, row, bound = sides
    if _is_unclear(inc, operator, row, bound, columns):
        return True  # No alarm where nobody can tell.
    if operator in UPPER and filters.is_now(filters.drop_casts(bound)):
        return True  # No row is of the future.
    row = inc.definitions.of(filters.drop_casts(row))
    cut = units.find_cut(row)
    times = {inc.text(row)} | ({inc.text(cut[1])} if cut is not None and cut[0] == "day" else set())
    if row.type == dt.DATE and "day" in _list_units(inc, columns, times):
        return True  # The days themselves are compared.
    is_end = operator in (">", "<=")
    if is_end and row.type != dt.DATE:
        return False
    begun = (units.list_ends if is_end else units.list_beginnings)(bound, lambda expr: _find_made(inc, expr))
    return bool(begun & _list_units(inc, columns, times))


def _is_unclear(inc: Increment, operator: str, row: x.Expr, bound: x.Expr, columns: Sequence[x.Expr]) -> bool:
    """Whether the bound is made of a partition that the table stores, which is made of the row's own time alone, in a
    way that the units do not tell: the end of a month, a number of hours, a year put in a date."""
    read = inc.texts(inc.list_read(row))
    names = {inc.own_columns.get(c.id) for c in filters.inner_expressions(bound) if isinstance(c, x.Column)}
    stored = [made for name in names if name is not None for made in inc.list_stored(name)]
    own = [c for c in columns if inc.text(c) in inc.texts(stored) and inc.text(c) != inc.text(row)]
    calls = [e for e in filters.inner_expressions(bound) if isinstance(e, x.Call)]
    is_moved = operator == ">" and filters.drop_casts(row).type == dt.DATE and any(map(units.moves, calls))
    for column in (c for c in own if read and inc.texts(inc.list_read(c)) == read):
        cut = units.find_cut(inc.definitions.of(filters.drop_casts(column)))
        is_told = cut is not None and (inc.text(cut[1]) in read or any(map(units.shifts_zone, cut[1].walk())))
        if is_moved or not is_told or not all(map(units.is_told, calls)):
            return True
    return False


def _list_units(inc: Increment, columns: Sequence[x.Expr], times: set[str]) -> set[str]:
    """The units to which the columns cut one of the times."""
    found, parts = set[str](), set[str]()
    for one in (one for column in columns for one in inc.definitions.all_of(column)):
        made = inc.definitions.of(filters.drop_casts(one))
        cut = units.find_cut(made)
        if cut is not None:
            found |= {cut[0]} if inc.text(cut[1]) in times else set()
        elif made.type == dt.DATE:
            found |= {"day"} if inc.text(made) in times else set()
        elif (part := units.find_part(made)) is not None and inc.text(part[1]) in times:
            parts.add(part[0])
    return found | {unit for at, unit in enumerate(units.PARTS) if parts.issuperset(units.PARTS[: at + 1])}


def _find_made(inc: Increment, expr: x.Expr) -> x.Expr:
    """What makes a value: behind a subquery, and behind a column of the model's own table."""
    for _ in range(_MOST_STEPS):
        if isinstance(expr, x.ScalarSubquery):
            expr = Definitions(expr.plan).of(expr.plan.output[0])
            continue
        made = inc.definitions.of(expr)
        stored = (
            inc.list_stored(inc.own_columns[made.id])
            if isinstance(made, x.Column) and made.id in inc.own_columns
            else []
        )
        if len(stored) != 1 or stored[0] is made:
            return made
        expr = stored[0]
    return expr
