"""The GROUP BY clause: expressions, ordinals, aliases, ALL, and the sets of ROLLUP, CUBE and GROUPING SETS.

Source: `ResolveReferencesInAggregate`, `ResolveOrdinalInOrderByAndGroupBy`, `ResolveGroupingAnalytics`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from planproof_engine import types as dt
from planproof_engine.analysis.expressions import Aliases, Context, bind, is_position
from planproof_engine.analysis.growth import refuse_many_sets
from planproof_engine.analysis.refusals.checks import is_grouping, nests_aggregate
from planproof_engine.analysis.refusals.orderable import refuse_group
from planproof_engine.expr import Alias, Call, Column, Expr, Lambda, Literal, Variable, drop_alias, is_aggregate
from planproof_engine.expr.parts import replace_parts
from planproof_engine.expr.pretty import pretty
from planproof_engine.expr.tree import transform_up
from planproof_engine.ground import evolve
from planproof_engine.sql import nodes as q
from planproof_engine.sql.names import name_parts

Sets = tuple[tuple[int, ...], ...]
Positions = tuple[int, ...]


def group_expressions(
    group: q.Group, items: Sequence[Expr], lateral: Collection[int], ctx: Context
) -> tuple[tuple[Expr, ...], Sets | None, Positions]:
    """The grouping expressions, and for ROLLUP, CUBE and GROUPING SETS the sets of their positions. With them, for each
    expression, the id of the item that it stands for alone, or 0: see `_Clause._item`.

    `lateral` are the ids of items that refer to aliases on their left and hold no aggregate function themselves.
    """
    named = aliases_of(items, ctx) if ctx.conf.group_by_aliases else Aliases()
    clause = _Clause(items, lateral, evolve(ctx, clause="GROUP BY", aliases=named), named)
    if group.is_all and len(group.keys) <= 1 and not clause.names_all:
        found = clause.list_all(group)
        return found, None, (0,) * len(found)
    if ctx.conf.group_by_ordinal:
        for member in filter(is_position, _list_members(group)):
            clause.refuse_beyond(member)
    sets = _list_sets(clause, group)
    return tuple(clause.found), sets, tuple(item for _, item in clause.places)


def _list_members(node: q.Node) -> Iterator[q.Node]:
    """The expressions of the clause, out of the sets in which they stand."""
    for child in node.children:
        if isinstance(child, (q.GroupingAnalytics, q.Tuple, q.Paren)) and not _is_row(child):
            yield from _list_members(child)
        else:
            yield child


def _is_row(node: q.Node) -> bool:
    """Whether it can be no set of expressions: it names one, as only a row does."""
    return isinstance(node, q.Tuple) and any(isinstance(m, q.Alias) for m in node.members)


def _list_sets(clause: _Clause, group: q.Group) -> Sets | None:
    """The sets of the clause; it finds its expressions meanwhile."""
    kind = group.with_kind
    if kind == "GROUPING SETS":
        for member in group.keys:
            clause.positions(member, whole=True)
        return tuple(clause.positions(s) for s in group.sets)
    parts = [clause.sets_of(member, trimmed=kind is None) for member in group.keys]
    if kind in ("ROLLUP", "CUBE"):
        singles = [s[0] for s in parts]
        return tuple(_rollup(singles) if kind == "ROLLUP" else _cube(singles))
    if not has_grouping_sets(group):
        return None
    refuse_many_sets(math.prod(map(len, parts)))
    return tuple(tuple(dict.fromkeys(itertools.chain(*choice))) for choice in itertools.product(*parts))


def has_grouping_sets(group: q.Group) -> bool:
    """Whether the clause has several grouping sets, so that `grouping()` means something."""
    return bool(group.with_kind) or any(isinstance(m, q.GroupingAnalytics) for m in group.keys)


def _rollup(sets: list[Positions]) -> list[Positions]:
    return [tuple(itertools.chain(*sets[:n])) for n in range(len(sets), -1, -1)]


def _cube(sets: list[Positions]) -> list[Positions]:
    refuse_many_sets(1 << len(sets))
    chosen = (c for n in range(len(sets), -1, -1) for c in itertools.combinations(sets, n))
    return [tuple(itertools.chain(*c)) for c in chosen]


@dataclass(slots=True)
class _Clause:
    """One GROUP BY under analysis; `found` are its distinct expressions so far."""

    items: Sequence[Expr]
    lateral: Collection[int]
    ctx: Context
    named: Aliases
    found: list[Expr] = field(default_factory=list)
    places: dict[tuple[Expr, int], int] = field(default_factory=dict)

    @property
    def names_all(self) -> bool:
        """Whether ALL is a column or an alias here."""
        key = self.ctx.key("all")
        return key in self.named or bool(self.ctx.scope.find_matches(("all",))[0])

    def list_all(self, group: q.Group) -> tuple[Expr, ...]:
        """GROUP BY ALL: every item without an aggregate function, be it that of a window."""
        if self._find_lateral():
            raise self._make_lateral_error(group)
        groups = tuple(dict.fromkeys(drop_alias(i) for i in self.items if not any(map(is_aggregate, i.walk()))))
        if not groups and any(any(columns_outside(i)) for i in self.items):
            text = (
                "Cannot infer grouping columns for GROUP BY ALL based on the select clause. "
                "Please explicitly specify the grouping columns."
            )
            raise self.ctx.env.make_error("UNRESOLVED_ALL_IN_GROUP_BY", text, group)
        for key in groups:
            refuse_group(key, group, self.ctx.env)
        return groups

    def _find_lateral(self) -> set[int]:
        """The places of the items that name an alias on their left. One that is nothing else has the alias's id."""
        found, seen = set[int](), set[int]()
        for at, item in enumerate(self.items):
            if isinstance(item, Alias):
                if item.id in self.lateral or item.id in seen:
                    found.add(at)
                seen.add(item.id)
        return found

    def _make_lateral_error(self, node: q.Node) -> Exception:
        text = "Referencing a lateral column alias via GROUP BY alias/ALL is not supported."
        return self.ctx.env.make_error("UNSUPPORTED_FEATURE.LATERAL_COLUMN_ALIAS_IN_GROUP_BY", text, node)

    def sets_of(self, member: q.Node, *, trimmed: bool = False) -> list[Positions]:
        """The sets that one member of the clause stands for. `trimmed`: a plain member loses its alias."""
        if not isinstance(member, q.GroupingAnalytics):
            return [self.positions(member, whole=True, trimmed=trimmed)]
        if member.kind != "GROUPING SETS":
            sets = [self.positions(e) for e in member.sets]
            return _rollup(sets) if member.kind == "ROLLUP" else _cube(sets)
        found: list[Positions] = []
        for nested in member.sets:
            found += self._list_sets(nested)
            refuse_many_sets(len(found))
        return found

    def _list_sets(self, member: q.Node) -> list[Positions]:
        if isinstance(member, q.GroupingAnalytics):
            return self.sets_of(member)
        return [self.positions(member)]

    def positions(self, member: q.Node, *, whole: bool = False, trimmed: bool = False) -> Positions:
        """The positions of a set's members among the grouping expressions. A member that is new is added to them."""
        members: Sequence[q.Node]
        if isinstance(member, q.Tuple) and not whole and not _is_row(member):
            members = member.members
        elif isinstance(member, q.Paren):
            members = [member.operand]
        else:
            members = [member]
        return tuple(self._add_key(self.expression(one), 0 if trimmed else self._item(one)) for one in members)

    def _item(self, node: q.Node) -> int:
        """The id of the item that a member of grouping sets means by its position or alias. Older Sparks keep the alias
        in the key, which is then another one than the same expression elsewhere: the item alone is found in it."""
        if not self.ctx.lacks("aliases of keys as what they name"):
            return 0
        if is_position(node) and self.ctx.conf.group_by_ordinal:
            item = self.items[int(node.text) - 1]
            return item.id if isinstance(item, Alias) and not self._is_kept(item.child) else 0
        named = [a for a in map(self._find_alias, node.find_all(q.Column)) if a is not None]
        # Within an expression it is kept, too: no item is found in that.
        return 0 if not named else named[0].id if name_parts(node) else -1

    def _find_alias(self, name: q.Column) -> Alias | None:
        parts = name_parts(name)
        named = self.named.get(self.ctx.key(parts[0]), []) if len(parts) == 1 else []
        return named[0] if named and not self.ctx.scope.find_matches(parts)[0] else None

    def _add_key(self, bound: Expr, item: int) -> int:
        alike = drop_names(bound)
        if self.ctx.grouping is not None:  # Else Spark keeps what is written twice.
            alike = transform_up(alike, lambda e: renumber_variables(e) if isinstance(e, Lambda) else e)
        at = self.places.setdefault((alike, item), len(self.found))
        if at == len(self.found):
            self.found.append(bound)
        return at

    def expression(self, node: q.Node) -> Expr:
        """One grouping expression: an ordinal, an expression over the input, or the alias of an item."""
        if is_position(node) and self.ctx.conf.group_by_ordinal:
            return self._ordinal(int(node.text), node)
        star = _find_star(node)
        if star is not None:
            text = "Invalid usage of '*' in GROUP BY."  # No rule expands it.
            raise self.ctx.env.make_error("INVALID_USAGE_OF_STAR_OR_REGEX", text, star, by_rule=False)
        bound = bind(node, self.ctx)
        if self.named.used:
            if self.lateral and any(isinstance(e, Column) and e.id in self.lateral for e in bound.walk()):
                raise self._make_lateral_error(node)
            bound = replace_aliases(bound, self.named)
        of_sets = self.ctx.grouping is not None and self.ctx.scope.columns
        if of_sets and nests_aggregate(bound):
            # What Expand reads is computed below it, where the aggregate has no GROUP BY.
            text = f"The query does not include a GROUP BY clause for `{pretty(bound)}` of its grouping sets."
            raise self.ctx.env.make_error("MISSING_GROUP_BY", text, node)
        found = find_aggregate(bound) if not of_sets else None
        if found is not None:
            said = f"Aggregate functions are not allowed in GROUP BY, but found {pretty(bound)}."
            raise self.ctx.env.make_error_at("GROUP_BY_AGGREGATE", said, found.span, node)
        refuse_group(bound, node, self.ctx.env)
        return bound

    def refuse_beyond(self, node: q.Literal) -> None:
        """Refuses a position behind the last item, whatever the other keys are: a rule looks at all of them."""
        at = int(node.text)
        if not 1 <= at <= len(self.items):
            text = f"GROUP BY position {at} is not in select list (valid range is [1, {len(self.items)}])."
            raise self.ctx.env.make_error("GROUP_BY_POS_OUT_OF_RANGE", text, node)

    def _ordinal(self, at: int, node: q.Node) -> Expr:
        if at - 1 in self._find_lateral():
            raise self._make_lateral_error(node)
        chosen = drop_alias(self.items[at - 1])
        if find_aggregate(chosen) is not None:
            text = f"GROUP BY {at} refers to an expression that contains an aggregate function."
            raise self.ctx.env.make_error("GROUP_BY_POS_AGGREGATE", text, node)
        refuse_group(chosen, node, self.ctx.env)
        return Literal(at, dt.INT, str(at)) if self._is_kept(chosen) else chosen

    def _is_kept(self, chosen: Expr) -> bool:
        """An older Spark keeps the position of a whole number, which it would take for a position in turn."""
        whole = isinstance(chosen, Literal) and chosen.type == dt.INT
        return whole and self.ctx.lacks("GROUP BY the positions of whole numbers")


def find_aggregate(expr: Expr) -> Call | None:
    """An aggregate function in the expression, be it that of a window; `grouping(..)` is none by then."""
    return next((e for e in expr.walk() if is_aggregate(e) and not is_grouping(e)), None)


def drop_names(expr: Expr) -> Expr:
    """The expression without the names that the query gives inside of it (`trimNonTopLevelAliases`). Those of a
    struct's fields are part of its type."""
    return transform_up(expr, lambda e: evolve(e, id=0) if isinstance(e, Alias) else _drop_inner_names(e))


def _drop_inner_names(expr: Expr) -> Expr:
    bare = replace_parts(expr, Expr, lambda part: part.child if isinstance(part, Alias) else part)
    if not (isinstance(bare, Call) and bare.function.name == "struct" and isinstance(bare.type, dt.Struct)):
        return bare
    names = (f.name for f in bare.type.fields)  # Given or not, and however the struct is written.
    args = tuple(Alias(value, name, 0, explicit=False) for name, value in zip(names, bare.args))
    return evolve(bare, args=args, shown="struct")


def renumber_variables(function: Lambda) -> Expr:
    """The lambda with new ids for its variables, by how deep lambdas nest below it: equal lambdas then compare as
    equal."""
    depth = max((-p.id for e in function.body.walk() if isinstance(e, Lambda) for p in e.parameters), default=0)
    renamed = {p.id: evolve(p, id=-(depth + 1 + i)) for i, p in enumerate(function.parameters)}
    body = transform_up(function.body, lambda e: renamed.get(e.id, e) if isinstance(e, Variable) else e)
    return evolve(function, parameters=tuple(renamed.values()), body=body)


def _find_star(node: q.Node) -> q.Star | None:
    """A star in the expression, other than of a subquery or of `count(*)`."""
    if isinstance(node, q.Star):
        return node
    counts = isinstance(node, q.Call) and node.name == "count" and [type(a) for a in node.arguments] == [q.Star]
    if counts or isinstance(node, q.Query):
        return None
    return next((found for child in node.children if (found := _find_star(child)) is not None), None)


def columns_outside(expr: Expr) -> Iterator[Column]:
    """The columns that stand outside of aggregate functions, and of `grouping(..)`."""
    if isinstance(expr, Column):
        yield expr
    elif not is_aggregate(expr):
        for child in expr.children:
            yield from columns_outside(child)


def aliases_of(items: Sequence[Expr], ctx: Context, every: bool = False) -> Aliases:
    """The items' aliases by name: the first of each name, or every one."""
    found = Aliases()
    for item in items:
        if isinstance(item, Alias):
            same = found.setdefault(ctx.key(item.name), [])
            if every or not same:
                same.append(item)
    return found


def replace_aliases(bound: Expr, named: Aliases) -> Expr:
    """The expression with references to aliases replaced by what they name."""
    if not named.used:
        return bound
    by_id = {a.id: a.child for found in named.values() for a in found}
    return transform_up(bound, lambda e: by_id.get(e.id, e) if isinstance(e, Column) else e)
