"""What Spark calls an item that stands beside a generator.

An item gets its name once all in it is resolved (`ResolveAliases`). A generator is taken out of the list as soon as it
is resolved itself (`ExtractGenerator`), and on that occasion the aliases within the other items go: an item that was
not resolved by then is called `struct(a)` and not `struct(a AS b)`. Spark's analyzer works in rounds, and what takes
another round is known: casts that coercion adds, time zones and seeds, lambdas, subqueries and windows. Spark 4.3
leaves an item alone that is not resolved one round later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from planproof_engine import types as dt
from planproof_engine.analysis.expressions.generators import Generated
from planproof_engine.conf import Conf
from planproof_engine.expr import (
    UNPRINTED,
    Alias,
    Call,
    Cast,
    Column,
    Exists,
    Expr,
    InSubquery,
    Lambda,
    ScalarSubquery,
    Window,
)
from planproof_engine.expr.parts import replace_parts
from planproof_engine.expr.pretty import output_name
from planproof_engine.expr.rewrite import transform_up
from planproof_engine.functions.replaced import is_zoned
from planproof_engine.origin import Unknown
from planproof_engine.records import evolve


def rename_item(item: Expr, generators: Sequence[Generated], conf: Conf) -> Expr:
    """The item under the name that it has beside the generators."""
    if not isinstance(item, Alias) or item.explicit:
        return item
    bare = transform_up(item.child, _drop_aliases)
    name = output_name(bare)
    if bare is item.child or name == output_name(item.child):
        return item
    taken = min(count_rounds(g.call, {}) for g in generators)
    rounds = count_rounds(item.child, {c.id: taken + 1 for g in generators for c in g.columns})
    if rounds > 1 and rounds > taken and not conf.before("4.1"):
        if taken or conf.before("4.3"):
            raise Unknown("the name of an item beside a generator")
        return item
    return evolve(item, name=name) if rounds > taken else item


def _drop_aliases(expr: Expr) -> Expr:
    """The expression without the names of its parts. Those of a struct's fields are kept where they are printed."""

    def drop(part: Expr) -> Expr:
        if not isinstance(part, Alias) or part.id == UNPRINTED:
            return part
        return evolve(part, id=UNPRINTED, explicit=False) if of_struct else part.child

    of_struct = isinstance(expr, Call) and expr.function.name == "struct"
    return replace_parts(expr, Expr, drop)


def count_rounds(expr: Expr, made: Mapping[int, int]) -> int:
    """After how many rounds of the analyzer the expression is resolved: 0 where the first one does it. `made` says when
    the columns of the generators are there."""
    if isinstance(expr, Column):
        return made.get(expr.id, 0)
    if isinstance(expr, (ScalarSubquery, Exists, InSubquery)):
        return 1
    inner = max((count_rounds(child, made) for child in expr.children), default=0)
    if isinstance(expr, Cast):
        return max(inner, int(not expr.written or _needs_zone(expr.child.type, expr.type)))
    if isinstance(expr, Window):
        return inner + 1
    if not isinstance(expr, Call):
        return inner
    if any(isinstance(arg, Lambda) for arg in expr.args):
        given = max((count_rounds(arg, made) for arg in expr.args if not isinstance(arg, Lambda)), default=0)
        return max(inner, given + 1)
    zoned = is_zoned(expr)
    if zoned is None:
        raise Unknown(f"what Spark calls {expr.function.name} beside a generator")
    return inner + zoned


_ZONED = frozenset(
    {
        (dt.DATE, dt.TIMESTAMP),
        (dt.TIMESTAMP, dt.DATE),
        (dt.TIMESTAMP, dt.TIMESTAMP_NTZ),
        (dt.TIMESTAMP_NTZ, dt.TIMESTAMP),
    }
)


def _needs_zone(old: dt.DataType, new: dt.DataType) -> bool:
    """Whether a time zone may decide what a cast gives (`Cast.needsTimeZone`)."""
    if isinstance(old, dt.Array) and isinstance(new, dt.Array):
        return _needs_zone(old.element, new.element)
    if isinstance(old, dt.Map) and isinstance(new, dt.Map):
        return _needs_zone(old.key, new.key) or _needs_zone(old.value, new.value)
    if isinstance(old, dt.Struct) and isinstance(new, dt.Struct):
        return any(_needs_zone(one.type, other.type) for one, other in zip(old.fields, new.fields))
    of_text = dt.TIMESTAMP in (old, new) and (dt.is_string(old) or dt.is_string(new))
    return of_text or old == dt.VARIANT or (old, new) in _ZONED
