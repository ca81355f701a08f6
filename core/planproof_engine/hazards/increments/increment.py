"""An incremental model's two plans, and what its expressions come to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from planproof_engine import types as dt
from planproof_engine.expr import nodes as x
from planproof_engine.expr.pretty import print_as_written
from planproof_engine.functions.families.strings import KEYS
from planproof_engine.ground import record
from planproof_engine.hazards import filters
from planproof_engine.hazards.definitions import Definitions
from planproof_engine.hazards.increments import units
from planproof_engine.hazards.suspicion import Suspicion, make_warning
from planproof_engine.logical import nodes as p

EQUALS = ("=", "<=>")
LOWER, UPPER = (">", ">="), ("<", "<=")


@record(frozen=True, slots=True)
class Written:
    """How the rows of a later run are stored. `relation` is the model's own; `changing` are relations that it reads and
    that dbt makes anew or changes; `append_only` is the column that only grows, where the project says so. A merge
    matches rows by `predicates`, too. `text` is the SQL of the later run, from which messages quote. `unique` are
    columns, by relation and name, that tell its rows apart, `keys` those of others."""

    relation: str
    strategy: str
    key: tuple[str, ...] = ()
    partition_by: tuple[str, ...] = ()
    changing: frozenset[str] = frozenset()
    append_only: str | None = None
    predicates: tuple[str, ...] = ()
    text: str = ""
    unique: frozenset[tuple[str, str]] = frozenset()
    keys: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Increment:
    """The plans of the first run and of a later one, and the conditions that the later one adds."""

    first: p.Plan
    later: p.Plan
    written: Written
    deltas: tuple[filters.Delta, ...]

    @cached_property
    def definitions(self) -> Definitions:
        return Definitions(self.later)

    @cached_property
    def _known(self) -> dict[int, tuple[x.Expr, str]]:
        """The text of each expression that was asked for, by its identity."""
        return {}

    @cached_property
    def _numbers(self) -> dict[str, str]:
        return {}

    @cached_property
    def conditions(self) -> list[x.Expr]:
        """What the filters of the later run ask of their rows, each by itself."""
        return [c for n in self.definitions.nodes if isinstance(n, p.Filter) for c in x.conjuncts(n.condition)]

    @cached_property
    def own_columns(self) -> dict[int, str]:
        """The columns of the model's own table that the later run reads, by their ids."""
        plans = [e.plan for d in self.deltas for e in d.condition.walk() if isinstance(e, x.Subquery)]
        nodes = [*self.definitions.nodes, *(n for plan in plans for n in plan.walk())]
        return {c.id: c.name for n in nodes if self._is_own_scan(n) for c in n.output}

    def _is_own_scan(self, node: p.Plan) -> bool:
        return isinstance(node, p.Scan) and node.relation == self.written.relation

    @cached_property
    def equal(self) -> dict[str, str]:
        """What an inner join holds equal to an expression."""
        joins = [n for n in self.definitions.nodes if isinstance(n, p.Join) and n.kind in (p.INNER, p.LEFT_SEMI)]
        pairs = [sides for join in joins for sides in list_pairs(join) if len(sides) == 2]
        return {self.text(a): self.text(b) for one in pairs for a, b in (one, one[::-1])} | self._equal_on_the_left

    @property
    def _equal_on_the_left(self) -> dict[str, str]:
        """What a LEFT JOIN holds equal of its right side's rows, where both sides are filtered by it alike; of a FULL
        JOIN's both sides what the model takes of the one that is there."""
        asked: dict[str, set[str]] = {}
        for operator, row, bound in (s for d in self.deltas if (s := find_sides(d.condition)) is not None):
            asked.setdefault(self.text(row), set()).add(f"{operator} {filters.shape(bound)}")
        made = [m for m in map(self.definitions.of, self.later.output) if isinstance(m, x.Call)]
        either = {self.texts(m.args): self.text(m) for m in made if m.function.name == "coalesce"}
        found = dict[str, str]()
        for join in (n for n in self.definitions.nodes if isinstance(n, p.Join) and n.kind in (p.LEFT, p.FULL)):
            right = {c.id for c in join.right.output}
            for one in (sides for sides in list_pairs(join) if len(sides) == 2):
                near, far = one if isinstance(one[1], x.Column) and one[1].id in right else one[::-1]
                if asked.get(self.text(far)) and asked.get(self.text(far)) == asked.get(self.text(near)):
                    of_both = either.get(self.texts(one))
                    if join.kind == p.LEFT:
                        found[self.text(far)] = self.text(near)
                    elif of_both is not None:
                        found |= dict.fromkeys(self.texts(one), of_both)
        return found

    def is_own(self, plan: p.Plan) -> bool:
        """Whether a plan reads the model's own table."""
        return filters.reads(plan, self.written.relation)

    def reads_itself(self, condition: x.Expr) -> bool:
        queries = (e for e in condition.walk() if isinstance(e, x.Subquery))
        return isinstance(condition, x.Literal) or any(self.is_own(e.plan) for e in queries)

    def covers(self, delta: filters.Delta, columns: frozenset[str]) -> bool:
        """Whether rows that agree in all `columns` pass alike."""
        return all(self._is_of(side, columns) for side in filters.row_sides(delta.condition))

    def _is_of(self, expr: x.Expr, columns: frozenset[str]) -> bool:
        waiting, seen = [expr], set[int]()
        while waiting:
            one = waiting.pop()
            text, made = self.text(one), self.definitions.of(one)
            if text in columns or self.equal.get(text) in columns or isinstance(one, (x.Literal, x.Subquery)):
                waiting += getattr(one, "values", ())
            elif isinstance(made, x.Column):
                return False
            elif id(made) not in seen:
                seen.add(id(made))
                waiting += made.children
        return True

    def list_read(self, expr: x.Expr) -> list[x.Column]:
        """The stored columns of which an expression is made, each once."""
        return [made for made in self.list_made(expr) if isinstance(made, x.Column)]

    def list_made(self, expr: x.Expr) -> list[x.Expr]:
        """All of which an expression is made, down to stored columns, each once."""
        waiting, seen, found = [expr], set[int](), list[x.Expr]()
        while waiting:
            made = self.definitions.of(waiting.pop())
            if id(made) not in seen:
                seen.add(id(made))
                found.append(made)
                waiting += () if isinstance(made, x.Column) else made.children
        return found

    def compares_with_now(self, made: x.Expr) -> bool:
        """Whether it is a comparison or a number of a row's value and the time of the run."""
        if not isinstance(made, x.Call) or made.function.traits.hands_on(len(made.args)):
            return False
        is_told = made.type == dt.BOOLEAN or dt.is_numeric(made.type) or isinstance(made.type, dt.Interval)
        sides = [(self._is_of_now(arg), bool(self.list_read(arg))) for arg in made.args]
        return is_told and any(now for now, _ in sides) and any(row and not now for now, row in sides)

    def _is_of_now(self, expr: x.Expr) -> bool:
        return any(map(filters.is_now, self.list_made(expr)))

    def agree(self, some: Sequence[x.Expr], others: Sequence[x.Expr]) -> bool:
        """Whether two lists tell the same rows apart, as far as what they are made of says: a hash is as good as its
        columns, a part of a time is not."""
        made = [[self.definitions.of(filters.drop_casts(e)) for e in exprs] for exprs in (some, others)]
        texts = [
            [
                [self.text(e)] if units.find_cut(e) or units.find_part(e) else self.texts(self.list_read(e))
                for e in exprs
            ]
            for exprs in made
        ]
        return {*chain(*texts[0])} == {*chain(*texts[1])}

    def find_outputs(self, names: Sequence[str]) -> list[x.Expr]:
        """The output columns of these names; none where one is not there."""
        wanted = {name.lower() for name in names}
        found: list[x.Expr] = [c for c in self.later.output if c.name.lower() in wanted]
        return found if len(found) == len(wanted) else []

    def list_stored(self, name: str) -> list[x.Expr]:
        """What the model stores in a column of its own table, from each side of a union."""
        columns = (c for c in self.later.output if c.name.lower() == name.lower())
        return [filters.drop_casts(one) for column in columns for one in self.definitions.all_of(column)]

    def texts(self, exprs: Iterable[x.Expr]) -> frozenset[str]:
        return frozenset(map(self.text, exprs))

    def all_texts(self, exprs: Iterable[x.Expr]) -> frozenset[str]:
        """As `texts`; of a union's column those of each side."""
        return self.texts(one for expr in exprs for one in self.definitions.all_of(expr))

    def list_told(self, columns: Iterable[x.Expr]) -> list[x.Expr]:
        """The columns, and all in which rows agree that agree in them: what a key such as a hash is made of."""
        found = list(columns)
        for column in found:  # Grows on the way.
            found += (part for one in self.definitions.all_of(column) for part in self._list_keyed(one))
        return found

    def _list_keyed(self, expr: x.Expr) -> list[x.Expr]:
        """The values of which a key is made, without what writes them as texts."""
        made = self.definitions.of(filters.drop_casts(expr))
        if isinstance(made, x.Cast) and made.type == dt.STRING:
            return [made.child]
        if not isinstance(made, x.Call):
            return []
        if made.function.name == "coalesce" and all(isinstance(e, x.Literal) for e in made.args[1:]):
            return [made.args[0]]
        return list(made.args) if made.function.name in KEYS else []

    def text(self, expr: x.Expr) -> str:
        """What an expression is by what the sources hold: the same for a column and for what it was made of. It is a
        number, as what forty columns are made of by twos would be no text that a machine holds."""
        made = self.definitions.of(expr)
        while isinstance(made, x.Cast) and filters.is_added(made) and not filters.loses(made.child.type, made.type):
            made = self.definitions.of(made.child)
        if id(made) not in self._known:
            form = self._describe(made)
            self._known[id(made)] = made, self._numbers.setdefault(form, f"${len(self._numbers)}")
        return self._known[id(made)][1]

    def _describe(self, made: x.Expr) -> str:
        if isinstance(made, x.Column):
            return f"#{made.id}"
        if isinstance(made, (x.Cast, x.Call)) and made.type == dt.DATE and len(made.children) == 1:
            return f"date({self.text(made.children[0])})"
        if isinstance(made, x.Literal):
            return repr(made.value)
        name = made.function.name if isinstance(made, x.Call) else type(made).__name__
        return f"{name}({', '.join(map(self.text, made.children))}) {made.type.simple}"

    def make_suspicion(self, code: str, delta: filters.Delta, why: str) -> Suspicion:
        span: x.Span | None = getattr(delta.condition, "span", None)
        typed = " ".join(self.written.text[slice(*span)].split()) if span is not None else ""
        text = typed or print_as_written(delta.condition)
        message = f"a later run reads only rows with `{text}`: {why}; a full refresh would build another table"
        name = next((e.name for e in delta.condition.walk() if isinstance(e, x.Column)), None)
        return Suspicion(make_warning(code, name, None, None, message), span)


def list_pairs(join: p.Join) -> list[tuple[x.Expr, ...]]:
    """The two sides of each equality of a join's condition."""
    conditions = x.conjuncts(join.condition) if join.condition is not None else ()
    return [c.args for c in conditions if isinstance(c, x.Call) and c.function.name in EQUALS]


def find_sides(condition: x.Expr, operators: Sequence[str] = LOWER) -> tuple[str, x.Expr, x.Expr] | None:
    """The operator, the rows' own side, and the bound; None for another condition. BETWEEN is `>=`."""
    if isinstance(condition, x.Call) and condition.function.name == "not":
        inner = condition.args[0]
        name = inner.function.name if isinstance(inner, x.Call) else ""
        of, other = (LOWER, UPPER) if name in LOWER else (UPPER, LOWER)
        return _find_sides_of(other[1 - of.index(name)], inner.children, operators) if name in of else None
    if not isinstance(condition, x.Call) or len(condition.args) < 2:
        return None
    return _find_sides_of(condition.function.name, condition.args, operators)


def _find_sides_of(name: str, args: Sequence[x.Expr], operators: Sequence[str]) -> tuple[str, x.Expr, x.Expr] | None:
    left, right, *_ = args
    if name == "between":
        name = ">="
    elif not filters.is_of_rows(left) and filters.is_of_rows(right):
        name, left, right = filters.flip_operator(name), right, left
    if name not in operators or not filters.is_of_rows(left) or filters.is_of_rows(right):
        return None
    return name, left, right


def list_windows(node: p.Plan) -> Iterator[x.Window]:
    """The window functions that a node computes."""
    for top in node.expressions if isinstance(node, (p.Project, p.Aggregate, p.Filter)) else ():
        yield from (e for e in top.walk() if isinstance(e, x.Window))
