"""The filters that a later run of an incremental model adds to the plan of its first run, and what they say."""

from __future__ import annotations

from collections.abc import Container, Iterator

from planproof_engine import types as dt
from planproof_engine.expr import Category, transform_up
from planproof_engine.expr import nodes as x
from planproof_engine.expr.pretty import print_as_written
from planproof_engine.ground import evolve, record
from planproof_engine.hazards.definitions import Definitions
from planproof_engine.logical import nodes as p
from planproof_engine.logical.outline import show

TIMES = (dt.DATE, dt.TIMESTAMP, dt.TIMESTAMP_NTZ)


class Differs(Exception):
    """Raised where two plans differ in more than filters."""


@record(frozen=True, slots=True)
class Delta:
    """One condition that the later run adds, and the nodes over it, from the root down. `fills_empty`: every row passes
    where the own table is empty."""

    condition: x.Expr
    over: tuple[p.Plan, ...]
    fills_empty: bool = False


def added_filters(first: p.Plan, later: p.Plan, own: str) -> list[Delta]:
    """The conditions that the later plan adds. A value of the own table that is joined (`CROSS JOIN (SELECT max(..))`)
    stands in them as the subquery that it could be. Raises `Differs`."""
    sides = [side for join in later.walk() if (side := _find_bound(join, own))]
    bounds = {c.id: x.ScalarSubquery(p.Project((c,), side), c.type) for side in sides for c in side.output}

    def in_place(expr: x.Expr) -> x.Expr:
        return bounds.get(expr.id, expr) if isinstance(expr, x.Column) else expr

    found = _find_added(first, later, (), own, bounds)
    placed = [Delta(transform_up(d.condition, in_place), d.over) if bounds else d for d in found]
    return [_compare_days(_drop_ways_of_empty(d, own)) for d in placed]


def _compare_days(delta: Delta) -> Delta:
    """`datediff(a, b) > 0` as a comparison of the two days."""
    asked = delta.condition
    if not isinstance(asked, x.Call) or asked.function.name not in (">", ">=") or len(asked.args) != 2:
        return delta
    days, none = asked.args
    if not isinstance(days, x.Call) or days.function.name != "datediff":
        return delta
    if not isinstance(none, x.Literal) or none.value != 0:
        return delta
    args = [evolve(one, written=True) if isinstance(one, x.Cast) else one for one in days.args]
    return evolve(delta, condition=evolve(asked, args=tuple(args)))


def _drop_ways_of_empty(delta: Delta, own: str) -> Delta:
    """`a OR NOT EXISTS (own table)` as `a`, which says what passes where the table has rows."""
    ways = list(alternatives(delta.condition))
    others = [way for way in ways if not _asks_for_empty(way, own)]
    if len(others) != 1 or len(ways) == 1:
        return delta
    # Another value may be NULL in rows that are there.
    marks = {shape(e) for e in others[0].walk() if isinstance(e, x.ScalarSubquery)}
    nulls = [shape(drop_casts(way.children[0])) for way in ways if _is_null_test(way)]
    return Delta(others[0], delta.over, True) if marks.issuperset(nulls) else delta


def _asks_for_empty(condition: x.Expr, own: str) -> bool:
    """Whether it holds where the own table has no rows: NOT EXISTS, `max(..) IS NULL`, `count(*) = 0`."""
    if not isinstance(condition, x.Call) or not condition.args:
        return False
    asked, others = drop_casts(condition.args[0]), condition.args[1:]
    if condition.function.name == "not" and isinstance(asked, x.Exists):
        return _is_all_of(asked.plan, own, (p.Limit,))
    if not isinstance(asked, x.ScalarSubquery) or not _is_all_of(asked.plan, own, (p.Aggregate,)):
        return False
    made = Definitions(asked.plan).of(asked.plan.output[0])
    is_none = [isinstance(one, x.Literal) and one.value == 0 for one in map(drop_casts, others)]
    is_count = isinstance(made, x.Call) and made.function.name == "count" and all(_is_literal(a) for a in made.args)
    is_equal = condition.function.name == "="
    return (_is_null_test(condition) and is_greatest(made)) or (is_equal and is_count and is_none == [True])


def _is_literal(expr: x.Expr) -> bool:
    return isinstance(expr, x.Literal) and expr.value is not None


def _is_null_test(condition: x.Expr) -> bool:
    return isinstance(condition, x.Call) and condition.function.name == "isnull"


def _is_all_of(plan: p.Plan, own: str, beside: tuple[type[p.Plan], ...]) -> bool:
    """Whether a query is of all rows of the own table."""
    nodes = list(plan.walk())
    return reads(plan, own) and all(isinstance(n, (p.Scan, p.Project, p.Named, p.Ordered, *beside)) for n in nodes)


def reads_outside(plan: p.Plan) -> bool:
    """Whether a subquery reads a column of the query around it."""
    return any(isinstance(e, x.Outer) for n in plan.walk() for top in n.expressions for e in top.walk())


def _find_added(
    first: p.Plan, later: p.Plan, over: tuple[p.Plan, ...], own: str, bounds: Container[int]
) -> Iterator[Delta]:
    if isinstance(later, p.Filter):
        before = list_asked(first.condition) if isinstance(first, p.Filter) else []
        known, after = {*map(shape, before)}, list_asked(later.condition)
        extra = [c for c in after if shape(c) not in known or _reads_any(c, bounds)]
        lost = [c for c in before if shape(c) not in {*map(shape, after)}]
        lost = [c for c in lost if not any(_starts_alike(c, one) for one in extra)]
        if lost and not _narrows_one_way(first, {*map(shape, lost)}, extra):
            raise Differs("the later text lacks a filter of the first one")
        below = first.child if isinstance(first, p.Filter) else first
        yield from (Delta(condition, over) for condition in extra)
        ranks = any(isinstance(e, x.Window) for e in later.condition.walk())  # QUALIFY
        yield from _find_added(below, later.child, (*over, later) if ranks else over, own, bounds)
    elif isinstance(later, p.Join) and not reads(first, own) and (side := _find_bound(later, own)) is not None:
        at = later.children.index(side)
        is_there = isinstance(first, p.Join) and first.kind == later.kind and _is_constant(first.children[at])
        yield from (Delta(condition, over) for condition in x.conjuncts(later.condition))
        yield from _find_added(first.children[1 - at] if is_there else first, later.children[1 - at], over, own, bounds)
    elif isinstance(later, p.Join) and not reads(first, own) and _joins_itself(later, own):
        yield Delta(x.Literal(True, later.output[0].type, "true"), (*over, later))
        yield from _find_added(first, later.left, over, own, bounds)
    elif isinstance(later, p.Join) and not reads(first, own) and (keys := _find_known_keys(later, own)) is not None:
        yield Delta(x.Literal(True, later.output[0].type, "true"), (*over, later))
        yield from _find_added(first, later.children[1 - later.children.index(keys)], over, own, bounds)
    elif type(first) is not type(later) or _own_values(first) != _own_values(later):
        raise Differs("its two texts differ in more than filters")
    else:
        for ours, theirs in zip(first.children, later.children):
            yield from _find_added(ours, theirs, (*over, later), own, bounds)


def _reads_any(expr: x.Expr, columns: Container[int]) -> bool:
    return any(isinstance(e, x.Column) and e.id in columns for e in expr.walk())


def _starts_alike(before: x.Expr, after: x.Expr) -> bool:
    """Whether a query of constants, from which the first run begins, came back as another bound of the same rows."""
    both = [c for c in (before, after) if isinstance(c, x.Call) and c.function.name in (">", ">=")]
    if len(both) < 2 or shape(both[0].args[0]) != shape(both[1].args[0]):
        return False
    bound = drop_casts(both[0].args[1])
    return isinstance(bound, x.ScalarSubquery) and _is_constant(bound.plan)


def _is_constant(plan: p.Plan) -> bool:
    """Whether it is one row that the text itself says."""
    return all(isinstance(n, (p.Named, p.Project, p.OneRow)) for n in plan.walk())


def list_asked(condition: x.Expr) -> list[x.Expr]:
    """What AND joins, but for what always holds: TRUE, `1 = 1`."""
    return [c for c in x.conjuncts(condition) if not _holds_always(c)]


def _holds_always(condition: x.Expr) -> bool:
    if isinstance(condition, x.Call) and condition.function.name == "=":
        said = [c.value if isinstance(c, x.Literal) else None for c in condition.args]
        return said[0] is not None and said[0] == said[1]
    return isinstance(condition, x.Literal) and condition.value is True


def _narrows_one_way(first: p.Plan, lost: set[str], extra: list[x.Expr]) -> bool:
    """Whether the one condition that is lost came back with one of its ways narrowed: `a OR b` as `a OR b AND c`."""
    if not isinstance(first, p.Filter) or len(lost) != 1 or len(extra) != 1:
        return False
    before = next(c for c in x.conjuncts(first.condition) if shape(c) in lost)
    ways = [[{shape(c) for c in x.conjuncts(way)} for way in alternatives(one)] for one in (before, extra[0])]
    changed = [(ours, theirs) for ours, theirs in zip(*ways) if ours != theirs]
    return len(ways[0]) == len(ways[1]) > 1 and len(changed) == 1 and changed[0][0] < changed[0][1]


def reads(plan: p.Plan, relation: str) -> bool:
    """Whether a plan reads a relation."""
    return any(isinstance(n, p.Scan) and n.relation == relation for n in plan.walk())


def _joins_itself(join: p.Join, own: str) -> bool:
    return join.kind in (p.LEFT, p.LEFT_ANTI) and reads(join.right, own)


def _find_known_keys(join: p.Join, own: str) -> p.Plan | None:
    """The side of an inner join that reads the own table alone: its rows are those that the join keeps."""
    is_inner = join.kind in (p.INNER, p.LEFT_SEMI)
    scans = {side: [n for n in side.walk() if isinstance(n, p.Scan)] for side in join.children} if is_inner else {}
    return next((s for s, read in scans.items() if read and all(n.relation == own for n in read)), None)


def _find_bound(join: p.Plan, own: str) -> p.Plan | None:
    """The side of a join that is one row of aggregates over the own table."""
    if not isinstance(join, p.Join) or join.kind not in (p.INNER, p.CROSS):
        return None
    return next((side for side in (join.right, join.left) if _is_one_row(side) and reads(side, own)), None)


def _is_one_row(plan: p.Plan) -> bool:
    while isinstance(plan, (p.Named, p.Project)):
        plan = plan.child
    return isinstance(plan, p.Aggregate) and not plan.groups and plan.grouping_sets is None


def _own_values(node: p.Plan) -> tuple[object, ...]:
    """What a node says by itself, without its children."""
    said: list[object] = [shape(e) for e in node.expressions]
    said += [getattr(node, name, None) for name in ("relation", "kind", "all", "what", "natural", "name")]
    return (*said, len(node.children))


def shape(expr: x.Expr) -> str:
    """What an expression and its subqueries say: the same for two that say the same."""
    inner = [show(e.plan) for e in expr.walk() if isinstance(e, x.Subquery)]
    return "\n".join([print_as_written(expr), *inner])


def alternatives(condition: x.Expr) -> Iterator[x.Expr]:
    """The conditions that OR joins: `a OR b OR c` gives three."""
    if isinstance(condition, x.Call) and condition.function.name == "or":
        for side in condition.args:
            yield from alternatives(side)
    else:
        yield condition


def flip_operator(operator: str) -> str:
    """The operator with its sides exchanged: `<` of `>`."""
    return operator.translate(str.maketrans("<>", "><"))


def list_scanned(plan: p.Plan) -> set[int]:
    """The ids of the columns that a plan reads."""
    return {c.id for node in plan.walk() if isinstance(node, p.Scan) for c in node.output}


def is_of_rows(expr: x.Expr) -> bool:
    """Whether an expression has a value of its own in each row."""
    if isinstance(expr, x.Subquery):
        return False
    return isinstance(expr, x.Column) or any(map(is_of_rows, expr.children))


def row_sides(condition: x.Expr) -> list[x.Expr]:
    """What a condition looks at of a row."""
    return [child for child in condition.children if is_of_rows(child)] or [condition]


def drop_casts(expr: x.Expr) -> x.Expr:
    """The expression below the casts that Spark adds, and those to the type that a value has."""
    while isinstance(expr, x.Alias) or (isinstance(expr, x.Cast) and is_added(expr)):
        expr = expr.child
    return expr


def is_added(cast: x.Cast) -> bool:
    """Whether a cast says nothing of a value: Spark adds it, or the value has that type."""
    return not cast.written or cast.child.type == cast.type


def is_greatest(expr: x.Expr) -> bool:
    """Whether it is `max` or `min` of rows."""
    return (
        isinstance(expr, x.Call)
        and expr.function.name in ("max", "min")
        and (expr.function.category is Category.AGGREGATE)
    )


def is_now(expr: x.Expr) -> bool:
    """Whether it is the time of the run."""
    return isinstance(expr, x.Call) and not expr.args and expr.type in TIMES


def is_kept(expr: x.Expr, inner: x.Expr) -> bool:
    """Whether an expression is the inner one, but for NULL and its type."""
    if expr is inner:
        return True
    if isinstance(expr, x.Cast) and loses(expr.child.type, expr.type):
        return False
    if isinstance(expr, (x.Cast, x.Alias)):
        return is_kept(expr.child, inner)
    handed = expr.function.traits.hands_on(len(expr.args)) if isinstance(expr, x.Call) else ()
    return isinstance(expr, x.Call) and any(is_kept(expr.args[place], inner) for place in handed)


def loses(given: dt.DataType, wanted: dt.DataType) -> bool:
    """Whether a cast cuts a part of the value off: the hours of a time, the fraction of a number."""
    is_time = given in (dt.TIMESTAMP, dt.TIMESTAMP_NTZ)
    is_fraction = given in (dt.DOUBLE, dt.FLOAT) or (isinstance(given, dt.Decimal) and given.scale > 0)
    return (is_time and wanted == dt.DATE) or ((is_time or is_fraction) and dt.is_integral(wanted))


def expand(expr: x.Expr, behind: Definitions, most: int = 100) -> x.Expr:
    """An expression with what makes its columns in their place, for so many of them."""
    left = iter(range(most))

    def in_place(one: x.Expr) -> x.Expr:
        made = behind.of(one) if isinstance(one, x.Column) else one
        return one if made is one or next(left, None) is None else transform_up(made, in_place)

    return transform_up(behind.of(expr), in_place)


def is_cut(expr: x.Expr) -> bool:
    """Whether many values of a time come to one here: a day, an hour that was cut off."""
    found = inner_expressions(expr)
    return any(
        e.type == dt.DATE or (isinstance(e, x.Call) and e.function.name in ("date_trunc", "trunc")) for e in found
    )


def inner_expressions(expr: x.Expr) -> Iterator[x.Expr]:
    """An expression's own parts, and those of its subqueries."""
    for part in expr.walk():
        yield part
        if isinstance(part, x.Subquery):
            yield from (e for node in part.plan.walk() for top in node.expressions for e in top.walk())
