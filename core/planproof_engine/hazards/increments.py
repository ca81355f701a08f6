"""Whether an incremental model is what a full refresh would make of it, by its two plans.

The plan of a later run must be that of the first run with filters on the rows that it reads (the delta). Then each
filter is looked at: what it leaves out, what stands over it, and how the rows are written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, takewhile

from planproof_engine import types as dt
from planproof_engine.expr import nodes as x
from planproof_engine.expr.function import Category
from planproof_engine.expr.pretty import pretty
from planproof_engine.finding import Finding, Verdict
from planproof_engine.hazards import filters
from planproof_engine.hazards.definitions import Definitions
from planproof_engine.hazards.suspicion import Suspicion, make_warning
from planproof_engine.logical import nodes as p
from planproof_engine.records import record


@record(frozen=True, slots=True)
class Written:
    """How the rows of a later run are stored. `relation` is the model's own; `changing` are relations that it reads and
    that dbt makes anew or changes; `append_only` is the column that only grows, where the project says so. `text` is
    the SQL of the later run, from which messages quote."""

    relation: str
    strategy: str
    key: tuple[str, ...] = ()
    partition_by: tuple[str, ...] = ()
    changing: frozenset[str] = frozenset()
    append_only: str | None = None
    text: str = ""


def suspect(first: p.Plan, later: p.Plan, written: Written) -> tuple[list[Suspicion], Finding | None]:
    """Why a full refresh would make another table, and the proof that it would not; neither where nobody can tell."""
    try:
        deltas = filters.added_filters(first, later, written.relation)
    except filters.Differs as differs:
        return [], _make_unproved_finding(written, str(differs)) if written.append_only else None
    if not deltas:
        return [], None
    increment = _Increment(later, written, tuple(deltas))
    if found := list(dict.fromkeys(increment.list_suspicions())):
        return found, None
    if written.append_only is None:
        return [], None
    why = increment.find_missing_proof(written.append_only)
    return [], _make_proved_finding(written) if why is None else _make_unproved_finding(written, why)


def _make_proved_finding(written: Written) -> Finding:
    why = f"each source row is computed by itself, and only rows beyond the greatest {written.append_only} are new"
    message = f"incremental runs build the same table as a full refresh: {why}"
    return Finding(Verdict.PROVED, "PP145", "logical", written.append_only, message=message, evidence=why)


def _make_unproved_finding(written: Written, why: str) -> Finding:
    message = f"planproof cannot tell whether incremental runs build the same table as a full refresh: {why}"
    return Finding(Verdict.UNPROVED, "PP145", "logical", written.append_only, message=message)


# --- what is wrong with it ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Increment:
    later: p.Plan
    written: Written
    deltas: tuple[filters.Delta, ...]

    @cached_property
    def definitions(self) -> Definitions:
        return Definitions(self.later)

    def list_suspicions(self) -> Iterator[Suspicion]:
        for delta in self.deltas:
            yield from self._suspect_cuts(delta)
            yield from self._suspect_computed(delta)
            yield from self._suspect_misses(delta)
            yield from self._suspect_doubles(delta)
            yield from self._suspect_joins(delta)
        yield from self._suspect_repeats()

    def find_missing_proof(self, column: str) -> str | None:
        written, (delta, *others) = self.written, self.deltas
        if others:
            return "the later text has several filters of its own"
        watermark = self._find_watermark(delta.condition)
        if watermark is None or not watermark.is_exact:
            return f"its filter does not compare with the greatest {column} of its own table"
        if not isinstance(watermark.row, x.Column) or watermark.row.name.lower() != column.lower():
            return f"its filter is on another column than {column}"
        if any(not _is_row_by_row(node) for node in delta.over):
            return "it joins, groups or compares rows"
        if written.strategy == "merge" and not written.key:
            return "it has no unique_key"
        return None

    # --- partitions ---

    def _suspect_cuts(self, delta: filters.Delta) -> Iterator[Suspicion]:
        """A partition is replaced by a part of its rows."""
        if self.written.strategy != "insert_overwrite" or isinstance(delta.condition, x.Literal):
            return
        if not self.written.partition_by:
            yield self._make_suspicion(
                "PP140", delta, "insert_overwrite without partition_by replaces the whole table with them"
            )
            return
        partitions = self._list_outputs(self.written.partition_by)
        if not partitions or self._covers(delta, partitions) or self._begins_whole(delta, partitions):
            return
        if self._comes_whole(delta.over, partitions):
            return
        names = ", ".join(self.written.partition_by)
        yield self._make_suspicion(
            "PP140", delta, f"a partition ({names}) of which only some rows are read is replaced by them"
        )

    def _begins_whole(self, delta: filters.Delta, partitions: frozenset[str]) -> bool:
        """Whether a time is compared with the beginning of a day or an hour, as the partition is cut."""
        sides = self._find_sides(delta.condition)
        if sides is None or sides[0] == ">":
            return False
        _, row, bound = sides
        is_day = filters.drop_casts(row).type == dt.DATE
        wanted = [one for one in partitions if self._text(row) in one and one.startswith(("date(", "date_trunc("))]
        return bool(wanted) and not is_day and (filters.is_cut(bound) or self._is_stored_cut(bound))

    def _is_stored_cut(self, bound: x.Expr) -> bool:
        """Whether a bound is a column of the own table that is cut where it is written."""
        names = {e.name.lower() for e in filters.inner_expressions(bound) if isinstance(e, x.Column)}
        return any(c.name.lower() in names and filters.is_cut(self.definitions.of(c)) for c in self.later.output)

    # --- aggregates, windows, DISTINCT ---

    def _suspect_computed(self, delta: filters.Delta) -> Iterator[Suspicion]:
        for at, node in enumerate(delta.over):
            what = self._describe_computation(node, delta, delta.over[at + 1 :])
            if what is not None:
                yield self._make_suspicion(
                    "PP141", delta, f"{what} sees only these rows, and not the others that belong with them"
                )
                return

    def _describe_computation(self, node: p.Plan, delta: filters.Delta, below: tuple[p.Plan, ...]) -> str | None:
        if isinstance(delta.condition, x.Literal):
            return None
        if isinstance(node, p.Aggregate) and not _is_distinct(node):
            groups = frozenset(map(self._text, node.groups))
            whole = self._covers(delta, groups) or self._begins_whole(delta, groups) or self._comes_whole(below, groups)
            if not groups or not whole:
                return "an aggregate"
        if _is_distinct(node):
            columns = frozenset(map(self._text, node.output))
            return None if self.written.strategy != "append" or self._covers(delta, columns) else "DISTINCT"
        for window in self._windows(node):
            keys = frozenset(map(self._text, window.partition))
            whole = self._covers(delta, keys) or self._ranks_a_key(window, keys) or self._comes_whole(below, keys)
            if not (keys and whole):
                return "a window"
        return None

    def _comes_whole(self, over: tuple[p.Plan, ...], columns: frozenset[str]) -> bool:
        """Whether rows that agree in all `columns` pass alike, because the new rows only tell which keys are read
        again: they are joined to a relation by keys that they hold once each, and give nothing else."""
        for join, below in pairwise(over):
            keys = self._list_joined_keys(join, below) if isinstance(join, p.Join) else []
            if keys and all(key & columns for key in keys):
                return True
        return False

    def _list_joined_keys(self, join: p.Join, below: p.Plan) -> list[frozenset[str]]:
        """What each key is on both sides, where the side `below` holds its keys once each, and nothing else."""
        if join.kind not in ("inner", "left semi") or not _holds_once(below):
            return []
        own = {c.id for c in below.output}
        conditions = x.conjuncts(join.condition) if join.condition is not None else ()
        pairs = [c.args for c in conditions if isinstance(c, x.Call) and c.function.name == "="]
        keys = [sides for sides in pairs if sum(isinstance(e, x.Column) and e.id in own for e in sides) == 1]
        named = {e.id for sides in keys for e in sides if isinstance(e, x.Column)}
        return [frozenset(map(self._text, sides)) for sides in keys] if own <= named else []

    def _windows(self, node: p.Plan) -> Iterator[x.Window]:
        for top in node.expressions if isinstance(node, (p.Project, p.Aggregate)) else ():
            yield from (e for e in top.walk() if isinstance(e, x.Window))

    def _ranks_a_key(self, window: x.Window, keys: frozenset[str]) -> bool:
        """Whether it tells the latest row of each key, which a merge then takes."""
        made = window.call
        is_rank = isinstance(made, x.Call) and made.function.category is Category.WINDOW and made.type == dt.INT
        is_rank = is_rank and not made.children
        return self.written.strategy == "merge" and is_rank and keys == self._list_outputs(self.written.key)

    # --- the watermark ---

    def _suspect_misses(self, delta: filters.Delta) -> Iterator[Suspicion]:
        sides = self._find_sides(delta.condition)
        is_day = isinstance(delta.condition, x.Call) and delta.condition.function.name == "="
        if sides is None and not is_day:
            return
        operator, row, bound = sides or ("=", delta.condition, delta.condition)
        if any(map(filters.is_now, bound.walk())):
            yield self._make_suspicion(
                "PP142", delta, "rows that arrive late, or that a failed run left out, are never read"
            )
        watermark = self._find_watermark(delta.condition)
        if watermark is None:
            return
        if watermark.is_null_over_nothing:
            said = "if the table is empty, the bound is NULL, and no run ever adds a row (use coalesce)"
            yield self._make_suspicion("PP142", delta, said)
        if operator == ">" and watermark.is_exact and self._is_cut_row(row) and not self._is_closed(row):
            said = "later rows that share the greatest value, such as the same day, are never read"
            yield self._make_suspicion("PP142", delta, said)

    def _is_cut_row(self, row: x.Expr) -> bool:
        return filters.is_cut(row) or filters.is_cut(self.definitions.of(filters.drop_casts(row)))

    def _is_closed(self, row: x.Expr) -> bool:
        """Whether the column has an end as well: a day that is over gets no more rows. Or it is said to grow only."""
        named = isinstance(row, x.Column) and row.name.lower() == (self.written.append_only or "").lower()
        wanted = self._text(row)
        conditions = [c for n in self.definitions.nodes if isinstance(n, p.Filter) for c in x.conjuncts(n.condition)]
        return named or any(
            isinstance(c, x.Call)
            and c.function.name in ("<", "<=")
            and self._text(c.args[0]) == wanted
            and any(map(filters.is_now, c.args[1].walk()))
            for c in conditions
        )

    def _suspect_doubles(self, delta: filters.Delta) -> Iterator[Suspicion]:
        """Rows that are in the table already are appended once more."""
        if self.written.strategy != "append" or self._leaves_out_known():
            return
        watermark = self._find_watermark(delta.condition)
        if watermark is not None and not (watermark.is_strict and watermark.is_exact):
            yield self._make_suspicion("PP143", delta, "rows that the table already has are appended again")
        for other in self._list_ways_around(delta):
            said = f"rows with {pretty(other)} pass in every run, and are appended again"
            yield self._make_suspicion("PP143", delta, said)
        if self._is_united_with_all(delta):
            yield self._make_suspicion(
                "PP143", delta, "the other side of UNION ALL is read whole in every run, and appended again"
            )

    def _list_ways_around(self, delta: filters.Delta) -> Iterator[x.Expr]:
        """What lets rows pass an OR, whatever the table holds."""
        ways = list(filters.alternatives(delta.condition))
        if any(self._find_watermark(way) is not None for way in ways):
            yield from (way for way in ways if filters.is_of_rows(way) and not self._reads_itself(way))

    def _is_united_with_all(self, delta: filters.Delta) -> bool:
        """Whether a UNION ALL over the filter has a side that reads a table, and that nothing filters."""
        row_by_row = takewhile(lambda node: isinstance(node, (p.Project, p.Named, p.SetOperation)), delta.over)
        for place, node in enumerate(row_by_row):
            if not isinstance(node, p.SetOperation) or not (node.kind == "union" and node.all):
                continue
            below = [d.over[place + 1 :] for d in self.deltas if d.over[: place + 1] == delta.over[: place + 1]]
            filtered = {id(path[0]) for path in below if path}
            whole = [side for side in node.inputs if id(side) not in filtered and not isinstance(side, p.Filter)]
            if len(below) == len(self.deltas) and any(map(_reads_whole, whole)):
                return True
        return False

    def _leaves_out_known(self) -> bool:
        """Whether another filter leaves out what the table holds: an anti join, NOT EXISTS, NOT IN."""
        return any(
            all(self._find_sides(way) is None and self._reads_itself(way) for way in filters.alternatives(d.condition))
            for d in self.deltas
        )

    def _reads_itself(self, condition: x.Expr) -> bool:
        return isinstance(condition, x.Literal) or any(
            self._is_own(e.plan) for e in condition.walk() if isinstance(e, x.Subquery)
        )

    def _suspect_repeats(self) -> Iterator[Suspicion]:
        """A merge whose rows are by a longer key than the one by which it matches them."""
        key = self._list_outputs(self.written.key)
        if self.written.strategy != "merge" or not key:
            return
        top: p.Plan = self.later
        while (isinstance(top, p.Project) and isinstance(top.child, (p.Project, p.Filter))) or isinstance(
            top, p.Filter
        ):
            top = top.child
        grouped = top.child if isinstance(top, p.Project) else top
        if isinstance(grouped, p.Aggregate) and grouped.groups:
            groups = frozenset(map(self._text, grouped.groups))
            if key < groups and grouped.grouping_sets is None:
                names = ", ".join(self.written.key)
                said = "the model groups by more columns, so several rows share one key"
                message = f"merge matches rows by {names}, but {said}"
                yield Suspicion(make_warning("PP143", names, None, None, message))
        if isinstance(grouped, p.Generate) and not key & frozenset(map(self._text, grouped.generated)):
            message = f"merge matches rows by {', '.join(self.written.key)}, which a generator repeats"
            yield Suspicion(make_warning("PP143", ", ".join(self.written.key), None, None, message))

    # --- joins ---

    def _suspect_joins(self, delta: filters.Delta) -> Iterator[Suspicion]:
        """New rows are joined to rows that may be others tomorrow."""
        own = {c.id for side in filters.row_sides(delta.condition) for c in self._list_stored(side)}
        for node in self.later.walk():
            if not isinstance(node, p.Join):
                continue
            others = [side for side in node.children if not own & filters.list_scanned(side)]
            read = {n.relation for side in others for n in side.walk() if isinstance(n, p.Scan)}
            changing = sorted(read & self.written.changing)
            if changing and len(others) == 1:
                said = f"rows of {', '.join(changing)} that change later do not change the rows already stored"
                yield self._make_suspicion("PP144", delta, said)

    def _list_stored(self, expr: x.Expr) -> Iterator[x.Column]:
        """The stored columns of which an expression is made."""
        made = self.definitions.of(expr)
        if isinstance(made, x.Column):
            yield made
        for child in () if isinstance(made, x.Column) else made.children:
            yield from self._list_stored(child)

    # --- expressions ---

    def _make_suspicion(self, code: str, delta: filters.Delta, why: str) -> Suspicion:
        span: x.Span | None = getattr(delta.condition, "span", None)
        typed = " ".join(self.written.text[slice(*span)].split()) if span is not None else ""
        text = typed or pretty(delta.condition)
        message = f"a later run reads only rows with `{text}`: {why}; a full refresh would build another table"
        return Suspicion(make_warning(code, _find_column_name(delta.condition), None, None, message), span)

    def _find_sides(self, condition: x.Expr) -> tuple[str, x.Expr, x.Expr] | None:
        """`>` or `>=`, the rows' own side, and the bound; None for another condition."""
        if not isinstance(condition, x.Call) or len(condition.args) < 2:
            return None
        name, (left, right, *_) = condition.function.name, condition.args
        if name == "between":
            name = ">="
        elif not filters.is_of_rows(left) and filters.is_of_rows(right):
            name, left, right = filters.flip_operator(name), right, left
        if name not in (">", ">=") or not filters.is_of_rows(left) or filters.is_of_rows(right):
            return None
        return name, left, right

    def _find_watermark(self, condition: x.Expr) -> _Watermark | None:
        """What a comparison with the model's own table says of its bound."""
        sides = self._find_sides(condition)
        if sides is None:
            return None
        operator, row, bound = sides
        read = [e for e in bound.walk() if isinstance(e, x.ScalarSubquery) and self._is_own(e.plan)]
        if not read:
            return None
        made = self._find_definition(read[0])
        greatest = [e for e in made.walk() if filters.is_greatest(e)]
        exact = len(greatest) == 1 and filters.is_kept(bound, read[0]) and filters.is_kept(made, greatest[0])
        null = len(greatest) == 1 and filters.is_strict(bound, read[0]) and filters.is_strict(made, greatest[0])
        return _Watermark(filters.drop_casts(row), operator == ">", exact, null)

    def _find_definition(self, query: x.ScalarSubquery) -> x.Expr:
        return Definitions(query.plan).of(query.plan.output[0])

    def _is_own(self, plan: p.Plan) -> bool:
        return filters.reads(plan, self.written.relation)

    def _covers(self, delta: filters.Delta, columns: frozenset[str]) -> bool:
        """Whether rows that agree in all `columns` pass alike."""
        return all(self._is_of(side, columns) for side in filters.row_sides(delta.condition))

    def _is_of(self, expr: x.Expr, columns: frozenset[str]) -> bool:
        if self._text(expr) in columns or isinstance(expr, (x.Literal, x.Subquery)):
            values = getattr(expr, "values", ())
            return all(self._is_of(value, columns) for value in values)
        made = self.definitions.of(expr)
        if isinstance(made, x.Column):
            return False
        return all(self._is_of(child, columns) for child in made.children)

    def _list_outputs(self, names: Sequence[str]) -> frozenset[str]:
        """What makes the output columns of these names; empty where one is not there."""
        wanted = {name.lower() for name in names}
        found = [c for c in self.later.output if c.name.lower() in wanted]
        return frozenset(map(self._text, found)) if len(found) == len(wanted) else frozenset()

    def _text(self, expr: x.Expr) -> str:
        """An expression by what the sources hold: the same for a column and for what it was made of."""
        made = self.definitions.of(expr)
        if isinstance(made, x.Column):
            return f"#{made.id}"
        if isinstance(made, x.Cast) and not made.written:
            return self._text(made.child)
        if isinstance(made, (x.Cast, x.Call)) and made.type == dt.DATE and len(made.children) == 1:
            return f"date({self._text(made.children[0])})"
        if isinstance(made, x.Literal):
            return repr(made.value)
        name = made.function.name if isinstance(made, x.Call) else type(made).__name__
        return f"{name}({', '.join(map(self._text, made.children))}) {made.type.simple}"


@record(frozen=True, slots=True)
class _Watermark:
    """`row` is compared with the greatest value that the model's own table has: with itself (`is_exact`), or with what
    lies before it. `is_null_over_nothing`: over no rows the bound is NULL."""

    row: x.Expr
    is_strict: bool
    is_exact: bool
    is_null_over_nothing: bool


def _reads_whole(plan: p.Plan) -> bool:
    """Whether it is a table's rows, without a condition."""
    nodes = list(plan.walk())
    return any(isinstance(n, p.Scan) for n in nodes) and all(isinstance(n, (p.Scan, p.Project, p.Named)) for n in nodes)


def _is_distinct(node: p.Plan) -> bool:
    """Whether it leaves out rows that are there already: DISTINCT, a set operation, a GROUP BY that counts nothing."""
    if isinstance(node, p.Aggregate):
        return not any(x.is_aggregate(e) or isinstance(e, x.Window) for item in node.items for e in item.walk())
    united = isinstance(node, p.SetOperation) and not (node.kind == "union" and node.all)
    return united or isinstance(node, p.Distinct)


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


def _is_row_by_row(node: p.Plan) -> bool:
    if isinstance(node, p.Project):
        return not any(isinstance(e, x.Window) for top in node.expressions for e in top.walk())
    return not isinstance(node, (p.Join, p.Aggregate, p.Distinct, p.SetOperation, p.Generate))


def _find_column_name(condition: x.Expr) -> str | None:
    return next((e.name for e in condition.walk() if isinstance(e, x.Column)), None)
