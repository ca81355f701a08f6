"""What HAVING and ORDER BY can name over an Aggregate. Source: `ResolveAggregateFunctions`.

A name there means a column of the Aggregate's input first. That holds within aggregate functions and grouping
expressions, which the Aggregate computes in addition where it does not already. Any other column must be in the
Aggregate's output. In `SELECT a, max(b) AS m FROM t GROUP BY a HAVING min(b) > m`, `b` is of the input and `m` of the
output.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from planproof_engine import types as dt
from planproof_engine.analysis.blocks.groupby import aliases_of, drop_names, renumber_variables
from planproof_engine.analysis.blocks.rounds import calls_function, waits_for_rules
from planproof_engine.analysis.expressions import Aliases, Context, make_ambiguous_error, make_unresolved_error
from planproof_engine.analysis.refusals.checks import Subquery, holds_aggregate, is_grouping
from planproof_engine.expr import nodes as x
from planproof_engine.expr import transform_down, transform_up
from planproof_engine.expr.pretty import outer_references, pretty
from planproof_engine.functions.replaced import is_made_anew
from planproof_engine.ground import evolve
from planproof_engine.logical import nodes as p
from planproof_engine.sql import nodes as q
from planproof_engine.sql.names import name_parts


class Keys:
    """Finds grouping expressions within other expressions, compared as Spark does (`semanticEquals`)."""

    __slots__ = ("columns", "given", "heads", "items", "known", "of_sets", "others", "within")

    def __init__(
        self, groups: Iterable[x.Expr], items: Iterable[int] = (), *, within: bool = True, of_sets: bool = False
    ) -> None:
        """`items`: for each key the id of the one item that is found in it, or 0. `within`: whether names that a query
        gives inside of an expression are compared as names alone. `of_sets`: they are the keys of grouping sets."""
        self.given = tuple(zip(groups, itertools.chain(items, itertools.repeat(0))))
        self.within = within
        self.of_sets = of_sets
        self.items = {item for _, item in self.given} - {0}
        self.known: Collection[int] = self.items
        self.columns: set[int] = set()
        self.others: set[x.Expr] = set()
        self.heads: set[object] = set()
        for group, item in self.given:
            if item:
                continue
            if isinstance(group, x.Column):
                self.columns.add(group.id)
            else:
                self.others.add(canonicalize(group, within=within))
                self.heads.add(_comparison_key(group))

    def only(self, places: Iterable[int]) -> Keys:
        """Some of the keys; `known` are still the items of all of them."""
        chosen = [self.given[i] for i in places]
        found = Keys((g for g, _ in chosen), (i for _, i in chosen), within=self.within, of_sets=self.of_sets)
        found.known = self.known
        return found

    def __contains__(self, expr: x.Expr) -> bool:
        if isinstance(expr, x.Column):
            return expr.id in self.columns
        return _comparison_key(expr) in self.heads and canonicalize(expr, within=self.within) in self.others


def _comparison_key(expr: x.Expr) -> object:
    """A part that equal expressions share. Most unequal expressions differ in it, which is quick to see."""
    return expr.function.name if isinstance(expr, x.Call) else type(expr)


def canonicalize(expr: x.Expr, *, within: bool = True) -> x.Expr:
    """The expression with the operands of commutative operators in one order (`Expression.canonicalized`).

    `within`: `struct(a AS x)` is the same wherever it stands, though Spark gives each alias an id of its own.
    """

    def change(e: x.Expr) -> x.Expr:
        if isinstance(e, x.Call) and e.function.traits.commutative:
            return evolve(e, args=tuple(sorted(e.args, key=repr)))
        if isinstance(e, Subquery):
            return evolve(e, plan=p.Filter(x.Literal(_read(e.plan), dt.STRING, ""), p.OneRow()))
        return renumber_variables(e) if isinstance(e, x.Lambda) else e

    return transform_up(drop_names(expr) if within else expr, change)


def _read(plan: p.Plan) -> Hashable:
    """What two readings of one subquery share: each has columns of its own, which their places stand for here."""
    places: dict[int, int] = {}

    def placed(e: x.Expr) -> x.Expr:
        if isinstance(e, x.Alias):
            return e.child
        return evolve(e, id=-places.get(e.id, 0)) if isinstance(e, x.Column) else e

    read: list[Hashable] = []
    for node in [*plan.walk()][::-1]:
        given = node.child.output if isinstance(node, p.Named) else ()
        for at, column in enumerate(node.output):
            places.setdefault(column.id, places[given[at].id] if given else len(places) + 1)
        if not isinstance(node, p.Named):
            read.append(
                (type(node), _own_values(node), *(canonicalize(transform_up(e, placed)) for e in node.expressions))
            )
    return tuple(read)


def _own_values(node: p.Plan) -> Hashable:
    """What tells a node of a plan from others of its class, beside its expressions."""
    if isinstance(node, p.Values):
        # Each reading of VALUES is another table to Spark (`LocalRelation`).
        return node.rows or node.call, *(c.id for c in node.output if node.call is None)
    if isinstance(node, p.Scan):
        return node.relation
    if isinstance(node, p.Join):
        return node.kind
    if isinstance(node, p.SetOperation):
        return node.kind, node.all
    if isinstance(node, p.Limit):
        return node.what
    if isinstance(node, p.Generate):
        return node.outer
    return node.grouping_sets if isinstance(node, p.Aggregate) else None


@dataclass(slots=True)
class Aggregated:
    """One Aggregate: its grouping expressions and its items; `of_sets`: it has grouping sets; `repeated`: one of them
    twice.

    `expanded` are the computed keys of grouping sets: Spark's Expand makes columns of them, under their printed names.
    `extended`: HAVING made the Aggregate compute more than its items, or windows stand among the items. Spark then puts
    a projection over the Aggregate. ORDER BY reaches through it to grouping columns and `grouping(..)`, but not to
    other grouping expressions or aggregates.
    `given` are the items as they were before grouping sets changed their flags. `by_grouping`: HAVING reads a
    `grouping(..)` that no item has. `generated`: HAVING stands over generators, and no name is resolved above it.
    """

    keys: Keys
    items: Sequence[x.Expr]
    given: Sequence[x.Expr]
    expanded: Sequence[x.Expr] = ()
    extended: bool = False
    of_sets: bool = False
    repeated: bool = False
    by_grouping: bool = False
    generated: bool = False
    _named: dict[int, x.Alias] = field(default_factory=dict)
    _by_value: dict[x.Expr, x.Column] | None = None
    _heads: set[object] = field(default_factory=set)
    _shown: frozenset[int] | None = None
    _made: frozenset[int] | None = None
    _waits: bool = False

    def _find_output(self, expr: x.Expr) -> x.Column | None:
        """The output that has the expression's value."""
        if self._by_value is None:
            self._by_value = {}
            for item, given in zip(self.items, self.given):
                inner = x.drop_alias(given)
                self._by_value.setdefault(canonicalize(inner), x.column_of(item))
                self._heads.add(_comparison_key(inner))
        return self._by_value.get(canonicalize(expr)) if _comparison_key(expr) in self._heads else None

    def names(self, ctx: Context, every: bool = False) -> Aliases:
        """What can be named beside the Aggregate's input: its items' aliases, or else the computed keys."""
        found = aliases_of(self.items, ctx, every)
        if self.expanded and not self._named and not ctx.lacks("computed keys by name"):
            self._named = {a.id: a for a in (x.Alias(e, pretty(e), x.fresh_id()) for e in self.expanded)}
        for key, aliases in aliases_of(list(self._named.values()), ctx).items():
            found.setdefault(key, aliases)
        return found

    def resolve(self, expr: x.Expr, node: q.Node, operator: q.Node, ctx: Context) -> x.Expr:
        """The expression over the Aggregate's output. Raises UNRESOLVED_COLUMN for a column that the output does not
        have.

        `node` is where the expression stands, `operator` the clause or block to which Spark's other errors point.
        """
        if self._shown is None:
            self._shown = frozenset(x.column_of(i).id for i in self.items)
        shown = self._shown
        if self.of_sets and ctx.clause != "HAVING":
            check_grouping_calls([expr], self.keys, node, ctx)
        self.refuse_computed(expr, operator, ctx)
        self._waits = self.of_sets and ctx.clause == "HAVING" and waits_for_rules(expr, node, ctx)
        if self.of_sets:
            self._refuse_nested(expr, node, ctx)
            self.refuse_expanded(expr, shown, node, ctx)
            self._refuse_groupings(expr, shown, node, ctx)
        for value in (v for e in _list_outside(expr) if isinstance(e, x.InSubquery) for v in e.values):
            # What HAVING itself cannot name is told before what its subqueries cannot.
            transform_down(value, lambda e: self._change(e, shown, node, ctx))
        return transform_down(expr, lambda e: self._change(e, shown, node, ctx))

    def _refuse_nested(self, expr: x.Expr, node: q.Node, ctx: Context) -> None:
        """`grouping(..)` in an aggregate function has a meaning among the items alone: from above, the function goes
        into the Aggregate as it is written."""
        calls = (e for e in expr.walk() if x.is_aggregate(e) and not is_grouping(e))
        if any(is_grouping(e) for call in calls for e in call.walk()):
            text = "grouping()/grouping_id() can only be used with GroupingSets/Cube/Rollup."
            raise ctx.env.make_error("UNSUPPORTED_GROUPING_EXPRESSION", text, node)

    def refuse_computed(self, expr: x.Expr, operator: q.Node, ctx: Context) -> None:
        if self._made is None:
            self._made = frozenset(i.id for i in self.items if isinstance(i, x.Alias))
        calls = (e for e in expr.walk() if x.is_aggregate(e))
        for column in (c for call in calls for c in call.walk() if isinstance(c, x.Column) and c.id in self._made):
            how = "APPEAR_IN_OPERATION" if ctx.scope.find_matches((column.name,))[0] else "MISSING_FROM_INPUT"
            text = f"Resolved attribute(s) `{column.name}` missing from the input of the aggregation, which makes it."
            raise ctx.env.make_error(f"MISSING_ATTRIBUTES.RESOLVED_ATTRIBUTE_{how}", text, operator)

    def _change(self, e: x.Expr, shown: frozenset[int], node: q.Node, ctx: Context) -> x.Expr | None:
        if isinstance(e, x.Column) and e.id in shown:
            return self._find_shown(e, node, ctx)
        if self.of_sets and isinstance(e, Subquery):
            self._check_outer(e, shown, node, ctx)
        if self.of_sets and not x.is_aggregate(e):
            return self._resolve_over_sets(e, node, ctx)
        if not x.is_aggregate(e) and any(map(_is_named, e.walk())):
            return None  # Each such name has an id of its own here: what it stands in is no key.
        computed = self._find_output(e) if isinstance(e, (x.Call, x.Column)) or e in self.keys else None
        if computed is not None:
            return (
                computed if isinstance(e, x.Column) else evolve(computed, span=getattr(e, "span", None), repeats=True)
            )
        if (negated := self._find_negated(e)) is not None:
            return negated
        if x.is_aggregate(e) or e in self.keys:
            self.extended |= not is_grouping(e)
            if is_grouping(e) and ctx.clause == "HAVING":
                self.by_grouping = not any(is_grouping(g) for i in self.items for g in i.walk())
            return e
        if isinstance(e, x.Column):
            return self._find_around(e, node, ctx) or self._find_by_name(e, node, ctx)
        if isinstance(e, Subquery):
            self._check_outer(e, shown, node, ctx)
        return None

    def _find_around(self, column: x.Column, node: q.Node, ctx: Context) -> x.Expr | None:
        """What a name of HAVING means in the query around, where the input's column is out of reach and the output has
        none of that name."""
        if ctx.clause != "HAVING" or ctx.scope.outer is None:
            return None
        if any(ctx.key(x.column_of(i).name) == ctx.key(column.name) for i in self.items):
            return None
        parts = name_parts(_find_written(column, node, ctx))
        found = ctx.env.fields.resolve(parts, ctx.env.make_scope(outer=ctx.scope.outer)) if parts else None
        return found[0] if found is not None else None

    def _find_shown(self, column: x.Column, node: q.Node, ctx: Context) -> x.Column:
        """A column of the output; a key goes by its name where the condition as a whole waits for later rules."""
        return self._find_by_name(column, node, ctx) if self._waits and column in self.keys else column

    def _find_negated(self, e: x.Expr) -> x.Expr | None:
        """`x NOT BETWEEN y AND z`, which says its operand in no text of its own."""
        if not isinstance(e, x.Call) or e.function.name != "not" or getattr(e.args[0], "span", None) != e.span:
            return None
        found = self._find_output(e.args[0])
        return evolve(e, args=(evolve(found, span=None, repeats=True),)) if found is not None else None

    def _resolve_over_sets(self, e: x.Expr, node: q.Node, ctx: Context) -> x.Expr | None:
        """What stands over grouping sets and is no aggregate: an Expand has put columns in the place of computed keys.

        So computed keys are reached by name alone, and plain columns that are grouped by, of ORDER BY since Spark 4.2.
        """
        having = ctx.clause == "HAVING"
        if not isinstance(e, x.Column):
            if self._waits and e in self.keys:
                return None
            if having and e in self.keys:
                return self._resolve_having_key(e, node, ctx)
            repeats = having and isinstance(e, x.Call) and (holds_aggregate(e) or not calls_function(e, node))
            return self._find_output(e) if repeats else None
        if e.id in self._named:
            self.extended = True
            return self._named[e.id].child
        sorts = not having and ctx.lacks("sorting grouping sets by what is not shown")
        if sorts or self._waits or e not in self.keys:
            return self._find_by_name(e, node, ctx)
        computed = self._find_output(e)
        self.extended |= having and computed is None
        return computed or e

    def refuse_behind_grouping(self, expr: x.Expr, operator: q.Node, ctx: Context) -> None:
        """What ORDER BY cannot reach where HAVING reads a `grouping(..)`: a projection then stands between them
        (`ResolveGroupingAnalytics.tryResolveHavingCondition`)."""
        shown = {x.column_of(i).id for i in self.items}
        if not self.by_grouping or any(c.name == "grouping" for c in operator.find_all(q.Call)):
            return
        calls = [e for e in expr.walk() if x.is_aggregate(e)]
        of_set = any(map(is_grouping, calls))
        lost = [c.name for c in expr.walk() if isinstance(c, x.Column) and c.id not in shown]
        if lost and not calls and ctx.lacks("sorting grouping sets by what is not shown"):
            return
        if of_set or lost:
            text = f"Resolved attribute(s) `{'spark_grouping_id' if of_set else lost[0]}` missing from the aggregation."
            raise ctx.env.make_error("MISSING_ATTRIBUTES.RESOLVED_ATTRIBUTE_MISSING_FROM_INPUT", text, operator)
        if any(c.holds(x.Column) for c in calls):
            text = f'A query operator contains one or more unsupported expressions: "{pretty(expr)}".'
            raise ctx.env.make_error("UNSUPPORTED_EXPR_FOR_OPERATOR", text, operator)

    def refuse_expanded(self, expr: x.Expr, shown: frozenset[int], node: q.Node, ctx: Context) -> None:
        """A sort of an older Spark finds a key that is not shown twice within an aggregate function: as it was, and as
        the Expand made it. Such a name counts as not found."""
        if ctx.clause == "HAVING" or not ctx.lacks("sorting grouping sets by what is not shown"):
            return
        calls = (e for e in expr.walk() if x.is_aggregate(e) and not is_grouping(e))
        twice = (c for e in calls for c in e.walk() if isinstance(c, x.Column) and c.id not in shown and c in self.keys)
        for column in twice:
            raise make_missing_output_error(column, self.items, node, ctx)

    def _refuse_groupings(self, expr: x.Expr, shown: frozenset[int], node: q.Node, ctx: Context) -> None:
        """`grouping(x)` takes a plain column, which is shown under its own name or, of ORDER BY since 4.2, under none.

        Beside it, HAVING reaches nothing else that is not shown.
        """
        calls = list(filter(is_grouping, expr.walk()))
        arguments = [a for e in calls for a in e.children]
        having = ctx.clause == "HAVING"
        unseen = [
            c for c in (_list_outside(expr) if having else arguments) if isinstance(c, x.Column) and c.id not in shown
        ]
        if arguments and unseen and (having or ctx.lacks("grouping() of what is not shown")):
            raise make_missing_output_error(unseen[0], self.items, node, ctx)
        if calls and self.repeated:
            # `findGroupingExprs` looks for the grouping id as the last key.
            text = "grouping()/grouping_id() cannot stand over GROUPING SETS of which one is given twice."
            raise ctx.env.make_error("UNSUPPORTED_GROUPING_EXPRESSION", text, node)
        renamed = {i.child for i in self.items if isinstance(i, x.Alias)}
        self.refuse_computed_grouping(expr, node, ctx, {a for a in unseen if a in renamed})

    def refuse_computed_grouping(
        self, expr: x.Expr, node: q.Node, ctx: Context, unseen: Collection[x.Expr] = frozenset()
    ) -> None:
        """Refuses `grouping(x)` of a computed key above the Aggregate: an Expand has put a column in its place, with
        which `x` is compared (`ResolveGroupingAnalytics.replaceGroupingFunc`)."""
        for call in filter(is_grouping, expr.walk()):
            found = next((a for a in call.args if not isinstance(a, x.Column) or a in unseen), None)
            if found is not None:
                one = call.function.name == "grouping"
                text = f"Column of {call.function.name} ({pretty(found)}) can't be found in the grouping columns."
                raise ctx.env.make_error(f"GROUPING_{'' if one else 'ID_'}COLUMN_MISMATCH", text, node)

    def _resolve_having_key(self, key: x.Expr, node: q.Node, ctx: Context) -> x.Expr:
        """A computed key in HAVING, which Spark binds before Expand: one of operators. A call is no function yet then,
        and nothing is cast (`ResolveGroupingAnalytics.tryResolveHavingCondition`), so the names in such a key
        mean what the Aggregate gives."""
        computed = self._find_output(key)
        if not (calls_function(key, node) or any(map(_is_made_later, key.walk()))):
            self.extended |= computed is None
            return computed or key
        return transform_down(key, lambda e: self._find_by_name(e, node, ctx) if isinstance(e, x.Column) else None)

    def _find_by_name(self, column: x.Column, node: q.Node, ctx: Context) -> x.Column:
        """The output column with the input column's name: a name that cannot mean the input means the output. With the
        name of its relation it does not mean an alias, nor a column of another relation."""
        output = dict.fromkeys(map(x.column_of, self.items))
        named = [c for c in output if ctx.key(c.name) == ctx.key(column.name)]
        written = [ctx.key(part) for part in name_parts(_find_written(column, node, ctx))]
        if ctx.key(column.name) in written[1:]:
            named = [c for c in named if c.qualifier[-1:] == column.qualifier[-1:]]
        if len(named) > 1 and ctx.clause == "HAVING":
            raise make_ambiguous_error((column.name,), named, ctx.env.origin(node))
        if len(named) != 1:
            raise make_missing_output_error(column, self.items, node, ctx)
        return named[0]

    def _check_outer(self, subquery: Subquery, shown: frozenset[int], node: q.Node, ctx: Context) -> None:
        made = {i.id for i in self.items if isinstance(i, x.Alias)}
        plain = {c.id for c in plain_outer_columns(subquery)}
        for column in (o.column for o in outer_references(subquery.plan)):
            if column.id in made and column.id not in plain:
                text = (
                    f"Resolved attribute(s) `{column.name}` missing from the input of the aggregation, which makes it."
                )
                raise ctx.env.make_error("MISSING_ATTRIBUTES.RESOLVED_ATTRIBUTE_MISSING_FROM_INPUT", text, node)
        for column in plain_outer_columns(subquery):
            if column not in self.keys and column.id not in shown:
                text = f"Resolved attribute(s) `{column.name}` missing from the aggregation."
                condition = "MISSING_ATTRIBUTES.RESOLVED_ATTRIBUTE_MISSING_FROM_INPUT"
                if ctx.clause == "HAVING" and _is_of_root(column, subquery):
                    # What the subquery computes last is looked at together with it (`checkOuterReference`).
                    condition = "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.CORRELATED_COLUMN_NOT_FOUND"
                raise ctx.env.make_error(condition, text, node)


def _is_of_root(column: x.Column, subquery: Subquery) -> bool:
    return any(
        isinstance(e, x.Outer) and e.column.id == column.id for root in subquery.plan.expressions for e in root.walk()
    )


def _list_outside(expr: x.Expr) -> Iterator[x.Expr]:
    """What stands outside of aggregate functions, but for the arguments of `grouping`."""
    yield expr
    if not x.is_aggregate(expr) or is_grouping(expr):
        for child in expr.children:
            yield from _list_outside(child)


def plain_outer_columns(subquery: Subquery) -> Iterator[x.Column]:
    """The columns around a subquery that it uses outside of aggregates, which then belong to the query around."""
    within = {
        e.column.id
        for n in subquery.plan.walk()
        for root in n.expressions
        for call in root.walk()
        if x.is_aggregate(call)
        for e in call.walk()
        if hasattr(e, "column")
    }
    return (o.column for o in outer_references(subquery.plan) if o.column.id not in within)


def make_missing_output_error(column: x.Column, items: Sequence[x.Expr], node: q.Node, ctx: Context) -> Exception:
    """UNRESOLVED_COLUMN at the place in `node` that names the column, with the output's names as candidates."""
    named = _find_written(column, node, ctx)
    return make_unresolved_error(name_parts(named) or (column.name,), ctx.over([*map(x.column_of, items)]), named)


def _find_written(column: x.Column, node: q.Node, ctx: Context) -> q.Node:
    """The place in `node` that names the column; `node` itself where none does."""
    for named in sorted(node.find_all(q.Column, q.Dot), key=lambda n: n.span != column.span):
        if any(ctx.key(part) == ctx.key(column.name) for part in name_parts(named)):
            return named
    return node


def check_grouping_calls(items: Sequence[x.Expr], keys: Keys, node: q.Node, ctx: Context) -> None:
    """`grouping(x)` takes a grouping expression, `grouping_id(..)` none or all of them in their order."""
    for call in (e for item in items for e in item.walk() if is_grouping(e)):
        if call.function.name == "grouping" and call.args[0] not in keys:
            text = f"Column of grouping ({pretty(call.args[0])}) can't be found in the grouping columns."
            raise ctx.env.make_error("GROUPING_COLUMN_MISMATCH", text, node)
        written = [*map(canonicalize, call.args)] if call.function.name == "grouping_id" else []
        if written and (keys.items or written != [canonicalize(g) for g, _ in keys.given]):
            text = "Columns of grouping_id do not match the grouping columns."
            raise ctx.env.make_error("GROUPING_ID_COLUMN_MISMATCH", text, node)


def _is_made_later(e: x.Expr) -> bool:
    """Whether the expression is what type coercion made, or has a name with an id of its own in it."""
    return (isinstance(e, x.Cast) and not e.written) or (isinstance(e, x.Call) and is_made_anew(e)) or _is_named(e)


def _is_named(e: x.Expr) -> bool:
    return isinstance(e, x.Alias) and e.id != x.UNPRINTED
