"""In which round of Spark's analyzer an expression is resolved, and what comes of it.

An item gets its name once all in it is resolved (`ResolveAliases`). A generator is taken out of the list as soon as it
is resolved itself (`ExtractGenerator`), and on that occasion the aliases within the other items go: an item that was
not resolved by then is called `struct(a)` and not `struct(a AS b)`. What takes another round is known: casts that
coercion adds, time zones and seeds, lambdas, subqueries and windows. Spark 4.3 leaves the arguments of a call alone
whose function is not found by then (`ResolveFunctions`). A HAVING over grouping sets depends on it, too
(`ResolveGroupingAnalytics.tryResolveHavingCondition`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from planproof_engine import types as dt
from planproof_engine.analysis.expressions import Context
from planproof_engine.expr import nodes as x
from planproof_engine.expr import transform_up
from planproof_engine.expr.parts import replace_parts
from planproof_engine.expr.pretty import output_name
from planproof_engine.functions.names import OF_GRAMMAR, OF_PARSER
from planproof_engine.functions.replaced import is_made_anew, is_zoned
from planproof_engine.ground import Conf, Unknown, evolve
from planproof_engine.sql import nodes as q

Made = Sequence[tuple[x.Call, Sequence[x.Column]]]
"""Generators, and the columns that each of them makes."""


def rename_item(item: x.Expr, generators: Made, nodes: Sequence[q.Node], conf: Conf) -> x.Expr:
    """The item under the name that it has beside the generators. `nodes` are all items as they were written."""
    if not isinstance(item, x.Alias) or item.explicit:
        return item
    if output_name(transform_up(item.child, _drop_aliases)) == output_name(item.child):
        return item
    named = {*_list_called(nodes), *(() if conf.before("4.0") else ("between",))}
    starred = any(node.holds(q.Star) for node in nodes)
    calls = Calls(frozenset(named), conf.before("4.0"), starred)
    taken = min(count_rounds(call, {}, calls) for call, _ in generators)
    made = {column.id: taken + 1 for _, columns in generators for column in columns}
    if count_rounds(item.child, made, calls) <= taken:
        return item

    def waits(part: x.Expr) -> bool:
        return isinstance(part, x.Call) and _is_called(part, calls.named) and _find_round(part, made, calls) > taken

    old, new = (output_name(_trim(item.child, kept)) for kept in (lambda _: False, waits))
    return evolve(item, name=old if conf.before("4.2") else new)


def _trim(expr: x.Expr, kept: Callable[[x.Expr], bool]) -> x.Expr:
    """The expression without the names of its parts, but for those of what is `kept`."""
    return expr if kept(expr) else _drop_aliases(replace_parts(expr, x.Expr, lambda part: _trim(part, kept)))


def _drop_aliases(expr: x.Expr) -> x.Expr:
    """The expression without the names of its parts. Those of a struct's fields are kept where they are printed."""

    def drop(part: x.Expr) -> x.Expr:
        if not isinstance(part, x.Alias) or part.id == x.UNPRINTED:
            return part
        return evolve(part, id=x.UNPRINTED, explicit=False) if of_struct else part.child

    of_struct = isinstance(expr, x.Call) and expr.function.name == "struct"
    return replace_parts(expr, x.Expr, drop)


@dataclass(frozen=True, slots=True)
class Calls:
    """Which functions are called by their names, for which `ResolveFunctions` looks, and whether a round of it resolves
    no call within another one, as before Spark 4.0. `starred`: there is a star, which takes the first round of
    `ResolveReferences`; names are looked up in the next."""

    named: frozenset[str] = frozenset()
    one_by_one: bool = False
    starred: bool = False


def count_rounds(expr: x.Expr, made: Mapping[int, int], calls: Calls = Calls()) -> int:
    """After how many rounds of the analyzer the expression is resolved: 0 where the first one does it. `made` says when
    the columns of the generators are there."""
    return _count_halves(expr, made, calls) // 2


def _count_halves(expr: x.Expr, made: Mapping[int, int], calls: Calls) -> int:
    """Twice the rounds; one more where the last of them makes a call, for which a rule that comes before waits."""
    if isinstance(expr, x.Column):
        return 2 * made.get(expr.id, int(calls.starred and expr.span is not None))
    if isinstance(expr, (x.ScalarSubquery, x.Exists, x.InSubquery)):
        return 2
    if isinstance(expr, x.Call) and _is_called(expr, calls.named) and not is_made_anew(expr):
        return _count_halves_of_call(expr, made, calls)
    if isinstance(expr, x.Literal):
        return 2 * x.is_coerced(expr)
    inner = max((_count_halves(child, made, calls) for child in expr.children), default=0)
    if isinstance(expr, x.Cast):
        return max(inner, 2 * (not expr.written or _needs_zone(expr.child.type, expr.type, calls.one_by_one)))
    if isinstance(expr, x.Window) or (isinstance(expr, x.Call) and (is_made_anew(expr) or _is_zoned(expr))):
        return inner // 2 * 2 + 2
    return (inner + 1) // 2 * 2 if _takes_part(expr) else inner


def _takes_part(expr: x.Expr) -> bool:
    """Whether it is a part of a value (`UnresolvedExtractValue`), which is found before functions are."""
    of_call = isinstance(expr, x.Call) and expr.function.name in ("getarrayitem", "getmapvalue")
    return of_call or isinstance(expr, (x.GetField, x.GetFieldOfElements))


def _find_round(call: x.Call, made: Mapping[int, int], calls: Calls) -> int:
    """The round that finds the function of a call: that in which its arguments are there."""
    given = (
        a.child if isinstance(a, x.Cast) and not a.written else a for a in call.args if not isinstance(a, x.Lambda)
    )
    given = (a for a in given if not isinstance(a, x.Literal))
    return (max((_count_halves(a, made, calls) for a in given), default=0) + calls.one_by_one) // 2


def _count_halves_of_call(call: x.Call, made: Mapping[int, int], calls: Calls) -> int:
    """A call that waits for its arguments as they were written, and then for what rules do to it: casts that coercion
    adds, time zones of these, and lambdas."""
    cast = [*filter(x.is_coerced, call.args)]
    made_in = _find_round(call, made, calls)
    if any(_needs_zone(a.child.type, a.type, calls.one_by_one) for a in cast if isinstance(a, x.Cast)):
        return 2 * made_in + 4
    # What stands for it is cast, and not its arguments; structs are compared whatever their fields are called.
    types = {type(a.type) if isinstance(a.type, dt.Struct) else a.type for a in call.args}
    mixed = call.function.name == "between" and len(types) > 1
    compares = (
        any(isinstance(a, x.Lambda) for a in call.args) or call.function.name == "array_sort"
    )  # Without a lambda it has its own.
    return 2 * made_in + (2 if cast or mixed or compares or _is_zoned(call) else 1)


def _is_zoned(call: x.Call) -> bool:
    zoned = is_zoned(call)
    if zoned is None:
        raise Unknown(f"what Spark calls {call.function.name} beside a generator")
    return zoned


def _needs_zone(old: dt.DataType, new: dt.DataType, dates: bool = False) -> bool:
    """Whether a time zone may decide what a cast gives (`Cast.needsTimeZone`): of `dates`, too, up to Spark 3.5."""
    if isinstance(old, dt.Nested) and type(old) is type(new):
        return any(_needs_zone(one, other, dates) for one, other in zip(old.children, new.children))
    if dates and dt.DATE in (old, new) and (dt.is_string(old) or dt.is_string(new)):
        return True
    other = new if old == dt.TIMESTAMP else old
    of_moments = dt.TIMESTAMP in (old, new) and (dt.is_string(other) or other in (dt.DATE, dt.TIMESTAMP_NTZ))
    return of_moments or old == dt.VARIANT


def calls_function(expr: x.Expr, node: q.Node) -> bool:
    """Whether the expression holds a function that `node` calls by its name, and not operators alone."""
    called = _list_called([node])
    return any(isinstance(e, x.Call) and _is_called(e, called) for e in expr.walk())


def _list_called(nodes: Iterable[q.Node]) -> set[str]:
    """The functions that are called by their names."""
    return {_last_part(str(c.name)) for node in nodes for c in node.find_all(q.Call) if not _is_of_grammar(c)}


def _is_called(call: x.Call, called: Collection[str]) -> bool:
    """Whether the call is of one of these, and no operator."""
    return _last_part(call.function.name) in called or _last_part(call.shown) in called


def waits_for_rules(expr: x.Expr, node: q.Node, ctx: Context) -> bool:
    """Whether a condition, which `node` is and `expr` became, is not resolved with its names alone: something of it is
    cast, or a function of it is still to be found, as those of columns are."""
    called = _list_called([node])
    if any(_is_changed(e, called) for e in expr.walk()):
        return True
    between = not ctx.conf.before("4.0")  # It is a function since.
    return any(
        part.holds(q.Column, q.Query)
        for part in node.find_all(q.Call, q.Between, outside=(q.Query,))
        if (isinstance(part, q.Call) and not _is_of_parser(part)) or (between and isinstance(part, q.Between))
    )


def _is_changed(e: x.Expr, called: Collection[str]) -> bool:
    """Whether a rule casts it, makes it anew, or finds a function where only a name stands (`current_date`)."""
    if isinstance(e, x.InSubquery):
        return any(map(x.is_coerced, (*e.values, *e.plan.expressions)))
    return x.is_coerced(e) or (isinstance(e, x.Call) and (is_made_anew(e) or not (e.args or _is_called(e, called))))


def _last_part(name: str) -> str:
    return name[name.rfind(".") + 1 :].lower()


def _is_of_grammar(call: q.Call) -> bool:
    """Whether Spark's parser makes an expression of the call, and no name of a function that is still to be found."""
    return isinstance(call, q.SpecialCall) and call.form in OF_GRAMMAR


def _is_of_parser(call: q.Call) -> bool:
    return _is_of_grammar(call) or (call.over is None and str(call.name).lower() in OF_PARSER)
