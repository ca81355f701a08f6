"""The items of a SELECT list: what each is, what it is called, and the aliases on the left that it may name.

Source: `ResolveAliases`, `ResolveLateralColumnAliasReference`, `ExtractGenerator`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from planproof_engine.analysis.blocks.groupby import columns_outside
from planproof_engine.analysis.blocks.rounds import rename_item
from planproof_engine.analysis.blocks.rules_first import find_errors, raise_first, waits
from planproof_engine.analysis.expressions import Aliases, Context, bind, generators
from planproof_engine.analysis.expressions.generators import Generated
from planproof_engine.analysis.growth import refuse_long
from planproof_engine.analysis.names.stars import expand, is_star, refuse_named_star
from planproof_engine.analysis.refusals import checks
from planproof_engine.analysis.refusals.earlier import OF_AGGREGATES, is_checked
from planproof_engine.expr import nodes as x
from planproof_engine.expr import transform_up
from planproof_engine.expr.pretty import NAMELESS, output_name, pretty
from planproof_engine.functions.families.operators import CASTS
from planproof_engine.ground import AnalysisError, Unknown, evolve
from planproof_engine.logical.nodes import Plan
from planproof_engine.sql import nodes as q
from planproof_engine.sql.names import drop_parentheses, name_parts


@dataclass(slots=True)
class Items:
    """A bound select list: each item a Column or an Alias; generators stand apart.

    `content` says in bits what they hold (AGGREGATE, WINDOW, ...).

    `lateral` are the ids of items that refer to aliases on their left and hold no aggregate function themselves;
    `refers`: some item refers to one. `late` is an alias named inside an aggregate function, refused only where all
    else of the Aggregate is right.
    """

    exprs: list[x.Expr]
    content: int = 0
    generated: list[Generated] = field(default_factory=list)
    lateral: frozenset[int] = frozenset()
    refers: bool = False
    late: AnalysisError | None = None

    def add_generators(self, child: Plan) -> Plan:
        for made in self.generated:
            child = made.over(child)
        return child

    @property
    def arguments(self) -> Iterator[x.Expr]:
        return (a for made in self.generated for a in made.call.args)


def bind_items(nodes: Sequence[q.Node], ctx: Context, grouped: bool = False, source: Plan | None = None) -> Items:
    """The select list. Generators are bound first: the other items may name the columns that they make. `grouped`: it
    stands beside GROUP BY or HAVING. `source` is the FROM of a block that groups nothing."""
    generated: dict[int, Generated] = {}
    below = ctx
    for node in nodes:
        refuse_named_star(node, ctx)
    for at, node in enumerate(nodes):
        call = generators.find_call(node, ctx)
        if call is not None:
            generated[at] = _bind_generator(node, call, nodes[:at], grouped, ctx)
            scope, given = ctx.scope, generated[at].columns
            first = _is_taken_out_first(generated[at], nodes, source, ctx)
            columns = (*scope.columns, *given) if first else scope.columns
            ctx = evolve(ctx, scope=evolve(scope, columns=columns, hidden=(*scope.hidden, *given)))
    aliases = Aliases()
    lateral = evolve(ctx, aliases=aliases) if ctx.conf.lateral_column_alias else ctx
    items: list[x.Expr] = []
    found = 0
    for at, node in enumerate(nodes):
        if at in generated or is_star(node, ctx):
            several = generated[at].columns if at in generated else expand(node, below)
            ctx.env.widths[id(node)] = len(several)
            items += several
        else:
            item = _bind_item(node, nodes[at + 1 :], lateral, items, grouped)
            items.append(item)
            if isinstance(item, x.Alias):
                found |= checks.content(item.child)
                offer_alias(item, node, aliases, ctx)
    if found & checks.GENERATOR:
        for item in items:
            checks.refuse_nested_generator(item, nodes[0], ctx.env)
    made = list(generated.values())
    found |= checks.contents(a for g in made for a in g.call.args)
    if made and not grouped and not found & checks.AGGREGATE:
        calls = [(one.call, one.columns) for one in made]
        items = [rename_item(item, calls, nodes, ctx.conf) for item in items]
    if not aliases.used:
        return Items(items, found, made)
    inlined, referring, late = inline_aliases(items, aliases, nodes, ctx)
    return Items(inlined, found | checks.contents(inlined), made, referring, True, late)


def _is_taken_out_first(made: Generated, nodes: Sequence[q.Node], source: Plan | None, ctx: Context) -> bool:
    """Whether names beside the generator are looked up over what it makes: it is one of constants, and a star of a FROM
    that is resolved later is expanded before them (`ResolveReferences`, `ExtractGenerator`)."""
    of_constants = not any(isinstance(e, x.Column) for a in made.call.args for e in a.walk())
    return of_constants and bool(waits(source, ctx.env)) and any(is_star(node, ctx) for node in nodes)


def _bind_generator(node: q.Node, call: q.Call, before: Sequence[q.Node], grouped: bool, ctx: Context) -> Generated:
    """The generator of a select item. That it may name an alias on its left is so in Spark 3.5 alone, and not followed
    here."""
    try:
        found = generators.bind_in_select(node, call, ctx, grouped)
        if ctx.scope.outer is not None and ctx.scope.columns:
            checks.refuse_outer((found.call,), "the generator", node, ctx.env)
        return found
    except AnalysisError as error:
        if is_checked(error):
            _check_types(before, ctx)
        left = {ctx.key(n.alias.text) for n in before if isinstance(n, q.Alias)}
        named = {ctx.key(parts[0]) for n in call.find_all(q.Column) if (parts := name_parts(n))}
        if ctx.conf.before("4.0") and error.condition.startswith("UNRESOLVED_COLUMN") and left & named:
            raise ctx.env.make_unknown("an alias of the SELECT list in a generator", node) from None
        raise


def _check_types(nodes: Sequence[q.Node], ctx: Context) -> None:
    """Raises what is wrong with the types of these items: `CheckAnalysis` meets it before a generator behind them."""
    for node in nodes:
        try:
            bind_named_item(node, ctx)
        except AnalysisError as error:
            if error.condition.startswith("DATATYPE_MISMATCH"):
                raise
        except Unknown:
            return


def _bind_item(node: q.Node, behind: Sequence[q.Node], ctx: Context, before: Sequence[x.Expr], grouped: bool) -> x.Expr:
    """One select item. Where it is refused for what Spark checks later, what is wrong with those behind it comes
    first, and a generator out of its place among those before it (`ExtractGenerator`), or a column that no GROUP BY
    has."""
    try:
        return bind_named_item(node, ctx)
    except AnalysisError as error:
        if is_checked(error):
            for item in before:
                checks.refuse_nested_generator(item, node, ctx.env)
        if error.condition in OF_AGGREGATES:
            raise_first(find_errors(node, ctx), error)
            _bind_others(node, behind, ctx)
            if not grouped and any(any(columns_outside(item)) for item in before):
                text = "The query does not include a GROUP BY clause, and an item names a column as it is."
                raise ctx.env.make_error("MISSING_GROUP_BY", text, node) from None
        raise


def _bind_others(refused: q.Node, others: Sequence[q.Node], ctx: Context) -> None:
    """Raises what is wrong with the names or types of the items behind the refused one, which they may not name."""
    for node in others:
        try:
            expand(node, ctx) if is_star(node, ctx) else bind_named_item(node, ctx)
        except AnalysisError as error:
            by_alias = isinstance(refused, q.Alias) and error.condition.startswith("UNRESOLVED_COLUMN")
            if error.condition not in OF_AGGREGATES and not by_alias:
                raise
        except Unknown:
            return


def offer_alias(item: x.Alias, node: q.Node, aliases: Aliases, ctx: Context) -> None:
    """Lets the items to the right name this one, if the query names it."""
    named = isinstance(node, q.Alias) or (name_parts(node) and not isinstance(item.child, x.LateralReference))
    is_variable = not item.explicit and isinstance(item.child, (x.Literal, x.SessionVariable))
    if named and not is_variable:
        aliases.setdefault(ctx.key(item.name), []).append(item)


def bind_named_item(node: q.Node, ctx: Context) -> x.Expr:
    """One select item as a Column or an Alias, named as Spark names it."""
    refuse_named_star(node, ctx)
    if isinstance(node, q.Aliases):
        bound = bind(node.operand, ctx)
        names = ", ".join(name.text for name in node.names)
        text = (
            f'Multi part aliasing ({names}) is not supported with "{pretty(bound)}" as it is not a generator function.'
        )
        raise ctx.env.make_error("MULTI_ALIAS_WITHOUT_GENERATOR", text, node)
    if isinstance(node, q.Alias):
        return x.Alias(bind(node.operand, ctx), node.alias.text, x.fresh_id())
    bound = bind(node, ctx)
    if isinstance(bound, x.Alias):
        return evolve(bound, id=x.fresh_id())
    if isinstance(bound, x.Column):
        return bound
    return x.Alias(bound, _auto_name(bound, node), x.fresh_id(), explicit=False)


def _auto_name(bound: x.Expr, node: q.Node) -> str:
    """`ResolveAliases.assignAliases`: a path takes its last name, a cast of a name that name, all else its SQL."""
    inner = drop_parentheses(node)
    parts = name_parts(inner)
    if parts and isinstance(bound, _NAMED):
        return _path_name(bound, parts)
    is_cast = isinstance(bound, x.Call) and bound.function.name in CASTS
    if (isinstance(bound, x.Cast) or is_cast) and (outer := _find_outer_name(inner, bound.children[0])) is not None:
        return outer
    if isinstance(inner, q.Cast) and isinstance(bound, x.Cast):
        operand = drop_parentheses(inner.operand)
        if isinstance(bound.child, x.Column) and name_parts(operand):
            return bound.child.name
        if isinstance(bound.child, (x.Alias, x.LateralReference)):
            return bound.child.name
    if isinstance(bound, x.Call) and is_cast and isinstance(bound.args[0], x.LateralReference):
        return bound.args[0].name
    return _name_by_sql(bound)


def _find_outer_name(node: q.Node, child: x.Expr) -> str | None:
    """The name by which the operand of a cast means a column of the query around, or a part of one: there it is a named
    expression still (`OuterReference`, `Alias`)."""
    operand = node.arguments[0] if isinstance(node, q.Call) else getattr(node, "operand", None)
    parts = name_parts(drop_parentheses(operand)) if isinstance(operand, q.Node) else ()
    return parts[-1] if parts and isinstance(child, _NAMED) and child.holds(x.Outer) else None


_FIELDS = (x.GetField, x.GetFieldOfElements)
_NAMED = (x.Alias, x.Column, *_FIELDS, x.LateralReference, x.Outer, x.Variable, x.SessionVariable, x.Call, x.Literal)


def _path_name(bound: x.Expr, parts: tuple[str, ...]) -> str:
    if isinstance(bound, x.Call) and parts[-1].lower() == "grouping__id":
        return "grouping__id"
    if isinstance(bound, x.Call) and bound.function.name != "getmapvalue":
        return _name_by_sql(bound)
    return parts[-1]


def _name_by_sql(bound: x.Expr) -> str:
    try:
        return output_name(bound)
    except Unknown as unknown:
        return f"{NAMELESS}{unknown.construct}{NAMELESS}{x.fresh_id()}"


def inline_aliases(
    items: list[x.Expr], aliases: Aliases, nodes: Sequence[q.Node], ctx: Context
) -> tuple[list[x.Expr], frozenset[int], AnalysisError | None]:
    """References to aliases on the left replaced by what these aliases name; the items that had such references; and
    the error of an aggregate function that has one (`ResolveLateralColumnAliasReference.extractExpressions`).

    Spark computes the alias in a Project below instead: types, flags and names are the same, but a volatile alias is
    drawn once there, and here it stands twice in the plan. What runs is the text, not this plan."""
    by_id = {a.id: a.child for found in aliases.values() for a in found}
    sizes: dict[int, int] = {}
    done: list[x.Expr] = []
    referring: set[int] = set()
    late: AnalysisError | None = None
    of_all = 0
    for item in items:
        if isinstance(item, x.Alias):
            sizes[item.id] = sum(sizes.get(e.id, 1) if isinstance(e, x.Column) else 1 for e in item.child.walk())
            of_all += sizes[item.id]
            refuse_long(sizes[item.id], of_all)
            late = late or _find_lateral_error(item.child, set(by_id), nodes, ctx)
            child = substitute(item.child, by_id)
            if child is not item.child:
                if not checks.holds_aggregate(item.child):
                    referring.add(item.id)
                item = evolve(item, child=child, id=_id_of(item, by_id))
            by_id[item.id] = item.child
        done.append(item)
    return done, frozenset(referring), late


def _id_of(item: x.Alias, by_id: Mapping[int, x.Expr]) -> int:
    """The id of an item. One that names an alias on its left, and nothing else, is the column of that alias."""
    named = item.child.child if isinstance(item.child, x.LateralReference) and not item.explicit else None
    return named.id if isinstance(named, x.Column) and named.id in by_id else item.id


def _find_lateral_error(expr: x.Expr, ids: set[int], nodes: Sequence[q.Node], ctx: Context) -> AnalysisError | None:
    """An alias on the left cannot be named inside a window, which raises, or an aggregate function."""
    for e in expr.walk():
        window = isinstance(e, x.Window)
        if not (window or x.is_aggregate(e)) or not any(isinstance(c, x.Column) and c.id in ids for c in e.walk()):
            continue
        grouping = ctx.grouping is not None and isinstance(e, x.Call) and e.function.name == "grouping"
        condition = f"UNSUPPORTED_FEATURE.LATERAL_COLUMN_ALIAS_IN_{'WINDOW' if window else 'AGGREGATE_FUNC'}"
        text = f'Referencing a lateral column alias inside "{pretty(e)}" is not supported.'
        error = ctx.env.make_error("GROUPING_COLUMN_MISMATCH" if grouping else condition, text, nodes[0])
        if not window:
            return error
        raise error
    return None


def substitute(expr: x.Expr, by_id: dict[int, x.Expr]) -> x.Expr:
    """The expression with columns of these ids replaced; an untouched expression comes back as the same object."""

    def change(e: x.Expr) -> x.Expr:
        return by_id.get(e.id, e) if isinstance(e, x.Column) else e.child if isinstance(e, x.LateralReference) else e

    return transform_up(expr, change)
