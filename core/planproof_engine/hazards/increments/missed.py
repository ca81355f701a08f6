"""What later runs never read, or read too early: rows that the filter leaves out for good (PP142), rows of other
relations that change (PP144)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from planproof_engine.expr import nodes as x
from planproof_engine.hazards import filters
from planproof_engine.hazards.definitions import find_needed
from planproof_engine.hazards.increments import units
from planproof_engine.hazards.increments.increment import Increment, find_sides, list_pairs, list_windows
from planproof_engine.hazards.increments.watermark import Watermark, chooses_earlier_than_now, find_watermark
from planproof_engine.hazards.increments.whole import is_unique
from planproof_engine.hazards.suspicion import Suspicion
from planproof_engine.logical import nodes as p

_DELETED = re.compile(r"del|void(ed)?|.*(delet|remov|cancel).*", re.IGNORECASE)
"""What a state is called in which a row is no longer one."""
_OPERATION = re.compile(r"op|action|change|cdc|type|kind|flag|stat", re.IGNORECASE)
"""What a column is called whose D means deleted."""
_EVENT = re.compile(r"event|name", re.IGNORECASE)
"""What a column is called that says what happened: a row of it changes no more, though it is of a removal."""

_NEVER = "if the table is empty, the bound is NULL, and no run ever adds a row (use coalesce)"


def suspect_misses(inc: Increment, delta: filters.Delta) -> Iterator[Suspicion]:
    """Rows that no run reads."""
    condition = delta.condition
    exists = (e.plan for e in condition.walk() if isinstance(e, x.Exists))
    if any(inc.is_own(plan) and not filters.reads_outside(plan) for plan in exists):
        said = "EXISTS over its own table compares nothing with the row: all rows pass, or none"
        yield inc.make_suspicion("PP142", delta, said)
    join = delta.over[-1] if isinstance(condition, x.Literal) and delta.over else None
    if isinstance(join, p.Join) and join.kind in (p.INNER, p.LEFT_SEMI):
        said = "rows that match none of its own table's, such as those of a new key, are left out by the join"
        yield inc.make_suspicion("PP142", delta, said)
    ways = list(filters.alternatives(condition))
    if any(_compares_null_hash(inc, way, ways) for way in ways):
        said = "a hash is NULL where a value that it is made of is NULL, and such a change is missed"
        yield inc.make_suspicion("PP142", delta, said)
    if len(ways) > 1 and all(_is_never(inc, way) for way in ways):
        yield inc.make_suspicion("PP142", delta, _NEVER)
    sides = find_sides(condition)
    if sides is None and not (isinstance(condition, x.Call) and condition.function.name in ("=", "in")):
        return
    _, row, bound = sides or ("=", condition, condition)
    # What a subquery over the own table says of now may be less than that.
    parts = bound.walk() if inc.reads_itself(bound) else filters.inner_expressions(bound)
    # The time of the run may only make an earlier bound of what the table has.
    is_earlier = chooses_earlier_than_now(filters.drop_casts(bound)) and inc.reads_itself(bound)
    if any(map(filters.is_now, parts)) and not is_earlier:
        said = "rows that arrive late, or that a failed run left out, are never read"
        yield inc.make_suspicion("PP142", delta, said)
    watermark = find_watermark(inc, condition)
    for said in _list_faults(inc, row, bound, watermark) if watermark is not None else ():
        yield inc.make_suspicion("PP142", delta, said)


def _is_never(inc: Increment, condition: x.Expr) -> bool:
    """Whether no row passes where the own table is empty."""
    watermark = find_watermark(inc, condition)
    return watermark is not None and watermark.is_null_over_nothing


def _compares_null_hash(inc: Increment, condition: x.Expr, ways: list[x.Expr]) -> bool:
    """Whether it asks for a hash that is another one than the own table's, and that may be NULL, which none of the
    `ways` to pass asks for."""
    compared = condition.children[0] if isinstance(condition, x.Call) and condition.function.name == "not" else None
    if not isinstance(compared, x.Call) or compared.function.name != "=":
        return False
    sides = [inc.definitions.of(filters.drop_casts(side)) for side in compared.args]
    is_own = any(isinstance(side, x.Column) and side.id in inc.own_columns for side in sides)
    calls = [side for side in sides if isinstance(side, x.Call) and side.function.name in ("md5", "sha2")]
    asked = inc.texts(way.args[0] for way in ways if isinstance(way, x.Call) and way.function.name == "isnull")
    return is_own and any(call.nullable and inc.text(call) not in asked for call in calls)


def _list_faults(inc: Increment, row: x.Expr, bound: x.Expr, watermark: Watermark) -> Iterator[str]:
    if watermark.is_of_another:
        yield "it compares with the greatest value of another column"
    if watermark.is_of_another_side:
        yield "it compares with the greatest value of the rows that another side of the UNION stores"
    if watermark.is_null_over_nothing:
        yield _NEVER
    if watermark.is_now_over_nothing:
        yield "if the table is empty, it compares with the time of the run, and no run reads what is older"
    made = inc.definitions.of(filters.drop_casts(row))
    if watermark.is_shifted and inc.written.strategy == "append":
        yield "the table stores that time by the clock of another zone"
    part = units.find_part(made)
    if part is not None and part[0] != "year":
        yield f"the number of the {part[0]} begins anew, so later rows may have a smaller one"
    if units.is_text_out_of_order(made):
        yield "days are compared as text, in an order that is not theirs"
    is_cut = filters.is_cut(row) or filters.is_cut(made) or units.find_cut(made) is not None
    is_cut = is_cut or any(units.is_day_in_digits(e) for e in filters.inner_expressions(bound))
    if watermark.is_strict and watermark.is_exact and is_cut and not _is_closed(inc, row):
        yield "later rows that share the greatest value, such as the same day, are never read"


def _is_closed(inc: Increment, row: x.Expr) -> bool:
    """Whether the column has an end as well: a day that is over gets no more rows. Or it is said to grow only."""
    named = isinstance(row, x.Column) and row.name.lower() == (inc.written.append_only or "").lower()
    ends = [c for c in inc.conditions if isinstance(c, x.Call) and c.function.name in ("<", "<=")]
    cut = units.find_cut(inc.definitions.of(filters.drop_casts(row)))
    for time, end in (c.args for c in ends if any(map(filters.is_now, c.args[1].walk()))):
        if inc.text(time) == inc.text(row):
            return True
        if cut is not None and inc.text(time) == inc.text(cut[1]):
            return cut[0] in units.list_beginnings(end, inc.definitions.of)
    return named


def suspect_deleted(inc: Increment, delta: filters.Delta) -> Iterator[Suspicion]:
    """A merge never gets to see that a stored row was deleted, as the model leaves the deleted row out itself. Where
    rows are ranked, this is so of a condition over the ranking; where rows only come, only there."""
    node: p.Plan = inc.later
    has_windows = any(any(list_windows(n)) for n in inc.definitions.nodes)
    if inc.written.strategy != "merge" or (inc.written.append_only is not None and not has_windows):
        return
    while isinstance(node, (p.Project, p.Named, p.Ordered, p.Filter)) and not any(list_windows(node)):
        if isinstance(node, p.Filter) and any(_leaves_out_deleted(inc, c) for c in x.conjuncts(node.condition)):
            said = "a stored row that is deleted later is left out of the merge, and stays as it was"
            yield inc.make_suspicion("PP142", delta, said)
            return
        node = node.children[0]


def _leaves_out_deleted(inc: Increment, condition: x.Expr) -> bool:
    """Whether it asks of a mark such as `is_deleted` or `deleted_at` that it is not set, or leaves out a state such as
    `op = 'D'`."""
    if not isinstance(condition, x.Call) or not condition.args:
        return False
    asked_of = condition.args[0]
    if condition.function.name == "not" and isinstance(asked_of, x.Call) and asked_of.function.name in ("=", "in"):
        state, *values = asked_of.args
        left_out = [str(e.value) for e in values if isinstance(e, x.Literal)]
        named = filters.drop_casts(state)
        is_operation = isinstance(named, x.Column) and _OPERATION.search(named.name) is not None
        is_deleted = any(_DELETED.fullmatch(value) or (is_operation and value.lower() == "d") for value in left_out)
        is_event = isinstance(named, x.Column) and _EVENT.search(named.name) is not None
        if is_event and not any(any(list_windows(node)) for node in inc.definitions.nodes):
            return False
        return is_deleted and inc.text(state) not in inc.texts(inc.find_outputs(inc.written.key))
    name, asked, others = condition.function.name, condition.args[0], condition.args[1:]
    is_false = any(isinstance(e, x.Literal) and e.value is False for e in others)
    if name not in ("not", "isnull") and not (name in ("=", "<=>") and is_false):
        return False
    mark = filters.drop_casts(asked)
    if isinstance(mark, x.Call) and mark.function.name == "coalesce":
        mark = filters.drop_casts(mark.args[0])
    return isinstance(mark, x.Column) and "deleted" in mark.name.lower()


def suspect_others(inc: Increment, delta: filters.Delta) -> Iterator[Suspicion]:
    """New rows are joined to rows, or chosen by rows, that may be others tomorrow."""
    own = {c.id for side in filters.row_sides(delta.condition) for c in inc.list_read(side)}
    for join in (node for node in inc.later.walk() if isinstance(node, p.Join)):
        others = [side for side in join.children if not own & filters.list_scanned(side)]
        others = [side for side in others if not _changes_nothing(inc, join, side)]
        if len(others) == 1 and not _are_lines(inc, join, others[0]) and (changing := _list_changing(inc, others)):
            said = f"rows of {changing} that change later do not change the rows already stored"
            yield inc.make_suspicion("PP144", delta, said)
    conditions = [c for n in inc.later.walk() if isinstance(n, p.Filter) for c in x.conjuncts(n.condition)]
    items = [i for n in inc.later.walk() if isinstance(n, (p.Project, p.Aggregate)) for i in n.items]
    values = [e for item in items for e in item.walk() if isinstance(e, x.ScalarSubquery)]
    if changing := _list_changing(inc, [e.plan for e in values if e.type not in filters.TIMES]):
        said = f"what is taken of {changing} changes later, and the rows already stored do not"
        yield inc.make_suspicion("PP144", delta, said)
    asked = [c for c in conditions if all(c is not d.condition for d in inc.deltas)]
    plans = [e.plan for c in asked for e in c.walk() if isinstance(e, (x.InSubquery, x.Exists))]
    if changing := _list_changing(inc, plans):
        said = f"rows of {changing} that change later do not change which rows are stored"
        yield inc.make_suspicion("PP144", delta, said)


def _changes_nothing(inc: Increment, join: p.Join, side: p.Plan) -> bool:
    """Whether a LEFT JOIN gives each row once, and nothing reads what it brings."""
    if join.kind != p.LEFT or side is not join.right:
        return False
    within = {id(node) for node in (join, *side.walk_everywhere())}
    needed = find_needed(inc.later, [node for node in inc.definitions.nodes if id(node) not in within])
    own = {c.id for c in side.output}
    keys = [one for pair in list_pairs(join) for one in pair if isinstance(one, x.Column) and one.id in own]
    return not own & needed and any(is_unique(inc, key) for key in keys)


def _are_lines(inc: Increment, join: p.Join, side: p.Plan) -> bool:
    """Whether the rows of a side, which come from one relation, each name one of the rows that they are joined to: the
    lines of an order, which come with it."""
    scanned, sides = filters.list_scanned(side), [one for pair in list_pairs(join) for one in (pair, pair[::-1])]
    is_one = sum(isinstance(n, p.Scan) for n in side.walk()) == 1
    own = [(a, b) for a, b in sides if scanned.issuperset(c.id for c in inc.list_read(b))]
    return is_one and any(is_unique(inc, filters.drop_casts(a)) and not is_unique(inc, b) for a, b in own)


def _list_changing(inc: Increment, plans: list[p.Plan]) -> str:
    read = {node.relation for plan in plans for node in plan.walk() if isinstance(node, p.Scan)}
    return ", ".join(sorted(read & inc.written.changing))
