"""What a later run's filter compares with: the greatest value that the model's own table has."""

from __future__ import annotations

from planproof_engine.expr import nodes as x
from planproof_engine.ground import record
from planproof_engine.hazards import filters
from planproof_engine.hazards.definitions import Definitions
from planproof_engine.hazards.increments import units
from planproof_engine.hazards.increments.empty import is_null_over_nothing
from planproof_engine.hazards.increments.increment import Increment, find_sides, list_pairs
from planproof_engine.logical import nodes as p


@record(frozen=True, slots=True)
class Watermark:
    """`row` is compared with the greatest value that the model's own table has: with itself (`is_exact`), or with what
    lies before it.

    `is_null_over_nothing`: over no rows the bound is NULL; `is_now_over_nothing`: the time of the run. `is_stored`: the
    table stores `row` itself there; `is_of_another`: another column of the sources. `is_of_all`: it is taken of all
    stored rows; `is_of_some`: of those with one value of a column that others have, too; `is_of_another_side`: of those
    that another side of a union stores. `is_shifted`: the table stores `row` by another zone's clock. `is_ahead`: the
    bound is the next value; `is_read_back`: it is a time that is made of a number or a text.
    """

    row: x.Expr
    is_strict: bool
    is_exact: bool
    is_null_over_nothing: bool
    is_now_over_nothing: bool
    is_stored: bool
    is_of_another: bool
    is_of_all: bool
    is_of_some: bool
    is_of_another_side: bool
    is_shifted: bool
    is_ahead: bool
    is_read_back: bool

    @property
    def leaves_out_stored(self) -> bool:
        return (self.is_ahead or (self.is_strict and self.is_exact)) and not self.is_of_some


def find_watermark(inc: Increment, condition: x.Expr) -> Watermark | None:
    """What a comparison with the model's own table says of its bound; None for another condition."""
    sides = find_sides(condition)
    if sides is None:
        return None
    operator, row, bound = sides
    read = [e for e in bound.walk() if isinstance(e, x.ScalarSubquery) and inc.is_own(e.plan)]
    if not read:
        return None
    query, row = read[0], filters.drop_casts(row)
    behind = Definitions(query.plan)
    made = filters.expand(query.plan.output[0], behind)
    greatest = _list_greatest(made, query.plan)
    null = is_null_over_nothing(bound, inc.written.relation)
    kept = False
    stored: list[x.Expr] = []
    if len({filters.shape(e) for e in greatest}) == 1:
        kept = filters.is_kept(bound, query) and not _is_least(greatest[0])
        kept = kept and _is_kept_of_all(made, _cut_alike(inc, row, made, greatest))
        kept = kept and not any(map(chooses_earlier_than_now, (*bound.walk(), *made.walk())))
        column = behind.of(filters.drop_casts(greatest[0].args[0] if isinstance(greatest[0], x.Call) else greatest[0]))
        stored = inc.list_stored(column.name) if isinstance(column, x.Column) else []
    nodes = list(query.plan.walk())
    conditions = [c for n in nodes if isinstance(n, p.Filter) for c in x.conjuncts(n.condition)]
    return Watermark(
        row,
        operator == ">",
        kept and not _is_part(inc, row, stored),
        null and not any(d.fills_empty for d in inc.deltas if d.condition is condition),
        any(map(_falls_back_on_now, (*bound.walk(), *made.walk()))),
        inc.texts(stored) == {inc.text(row)},
        _is_of_another(inc, row, stored),
        all(isinstance(n, (p.Scan, p.Project, p.Named, p.Aggregate)) for n in nodes),
        any(_is_of_some(inc, c) for c in conditions),
        any(_is_of_another_side(inc, row, c) for c in conditions),
        kept and any(_is_shifted(inc, row, inc.definitions.of(made)) for made in stored),
        {units.moves_ahead(e) for e in (*bound.walk(), *made.walk()) if isinstance(e, x.Call)} - {None} == {True},
        row.type in filters.TIMES and bool(stored) and all(one.type not in filters.TIMES for one in stored),
    )


def _list_greatest(made: x.Expr, plan: p.Plan) -> list[x.Expr]:
    """The greatest values of which a query makes its own: `max`, or the first row by ORDER BY .. DESC LIMIT 1."""
    found: list[x.Expr] = [e for e in made.walk() if isinstance(e, x.Call) and filters.is_greatest(e)]
    nodes = list(plan.walk())
    limits = [n for n in nodes if isinstance(n, p.Limit)]
    orders = [n.keys[0] for n in nodes if isinstance(n, p.Ordered) and n.keys]
    is_first = len(limits) == len(orders) == 1 and [getattr(a, "value", None) for a in limits[0].arguments] == [1]
    if found or not is_first or orders[0].ascending:
        return found
    behind = Definitions(plan)
    by = behind.of(filters.drop_casts(orders[0].child))
    return [e for e in made.walk() if isinstance(e, x.Column) and e == by]


def _is_least(greatest: x.Expr) -> bool:
    return isinstance(greatest, x.Call) and greatest.function.name == "min"


def _cut_alike(inc: Increment, row: x.Expr, made: x.Expr, greatest: list[x.Expr]) -> list[x.Expr]:
    """The greatest values; where the row is a day, and the day of each is taken, those days."""
    cut = units.find_cut(inc.definitions.of(row))
    cuts = ((e, units.find_cut(e)) for e in made.walk() if cut is not None)
    alike = [(e, found[1]) for e, found in cuts if found is not None and cut is not None and found[0] == cut[0]]
    return [e for e, time in alike if any(filters.drop_casts(time) is one for one in greatest)] or greatest


def _is_kept_of_all(made: x.Expr, greatest: list[x.Expr]) -> bool:
    """Whether it is the greatest value, which stands there once, or again where it is asked whether it is NULL."""
    if len(greatest) == 1 or any(made is one for one in greatest):
        return filters.is_kept(made, greatest[0]) or len(greatest) > 1
    if isinstance(made, (x.Cast, x.Alias)):
        return filters.is_kept(made, made.child) and _is_kept_of_all(made.child, greatest)
    if not isinstance(made, x.Call) or len(made.args) != 3 or not made.function.traits.conditional:
        return False
    asked, *branches = made.args  # IF, CASE of one WHEN, NVL2
    name = asked.function.name if isinstance(asked, x.Call) else ""
    is_asked = any(e is one for e in (asked, *asked.children) for one in greatest)
    given, other = branches if name == "isnotnull" or not asked.children or asked in greatest else branches[::-1]
    is_told = is_asked and (name in ("isnull", "isnotnull") or asked in greatest)
    return is_told and _is_kept_of_all(given, greatest) and not any(e in greatest for e in other.walk())


def chooses_earlier_than_now(expr: x.Expr) -> bool:
    """Whether it is the least of some times, the run's own among them."""
    is_least = isinstance(expr, x.Call) and expr.function.name == "least"
    return is_least and any(filters.is_now(e) for e in expr.walk())


def _falls_back_on_now(expr: x.Expr) -> bool:
    """Whether it is the time of the run where another value is NULL."""
    is_fallback = isinstance(expr, x.Call) and expr.function.traits.conditional
    return is_fallback and any(filters.is_now(filters.drop_casts(arg)) for arg in expr.children[1:])


def _is_part(inc: Increment, row: x.Expr, stored: list[x.Expr]) -> bool:
    """Whether the table stores a part of the row's value, such as its day."""
    made = inc.definitions.of(stored[0]) if len(stored) == 1 else row
    if isinstance(made, x.Call) and made.function.name == "date_trunc":
        return inc.text(made.args[1]) == inc.text(row)  # Of seconds, too.
    cut = units.find_cut(made)
    return made is not row and cut is not None and inc.text(cut[1]) == inc.text(row)


def _is_of_another(inc: Increment, row: x.Expr, stored: list[x.Expr]) -> bool:
    """Whether the table stores another column of the sources there, which no join holds equal."""
    if len(stored) != 1 or any(inc.definitions.find_source(one) is None for one in (row, stored[0])):
        return False
    both = {inc.text(row), inc.text(stored[0])}
    scans = [(inc.definitions.find_source(one), inc.definitions.of(one)) for one in (row, stored[0])]
    if len({(scan.relation, made.name) for scan, made in scans if scan and isinstance(made, x.Column)}) == 1:
        return False  # The same column, of a table that is read twice.
    joins = [n for n in inc.definitions.nodes if isinstance(n, p.Join)]
    return len(both) == 2 and not any(inc.texts(sides) == both for join in joins for sides in list_pairs(join))


def _is_shifted(inc: Increment, row: x.Expr, made: x.Expr) -> bool:
    is_by_zone = isinstance(made, x.Call) and units.shifts_zone(made) and not units.moves(made)
    return is_by_zone and inc.text(row) in inc.texts(made.children)


def _is_of_another_side(inc: Increment, row: x.Expr, condition: x.Expr) -> bool:
    """Whether it asks for a value that the union's side of these rows does not store, as another side does."""
    if not isinstance(condition, x.Call) or condition.function.name != "=":
        return False
    asked = [a.value for a in condition.args if isinstance(a, x.Literal)]
    names = [a.name.lower() for a in condition.args if isinstance(a, x.Column)]
    own = {c.id for c in inc.list_read(row)}
    for union in (n for n in inc.definitions.nodes if isinstance(n, p.SetOperation) and len(asked) == len(names) == 1):
        for at in (at for at, c in enumerate(union.output) if c.name.lower() == names[0]):
            made = {own.isdisjoint(filters.list_scanned(i)): inc.definitions.of(i.output[at]) for i in union.inputs}
            values = {is_other: e.value for is_other, e in made.items() if isinstance(e, x.Literal)}
            if len(values) == 2 and values[True] == asked[0] != values[False]:
                return True
    return False


def _is_of_some(inc: Increment, condition: x.Expr) -> bool:
    """Whether it asks for one value of a column that the model does not ask for."""
    if not isinstance(condition, x.Call) or condition.function.name != "=":
        return False
    names = [a.name for a in condition.args if isinstance(a, x.Column)]
    if not any(isinstance(a, x.Literal) for a in condition.args):
        return False
    made = inc.texts(one for name in names for one in inc.list_stored(name) if not isinstance(one, x.Literal))
    asked = [c for c in inc.conditions if isinstance(c, x.Call) and c.function.name in ("=", "in")]
    return bool(made - inc.texts(a for c in asked for a in c.args))
