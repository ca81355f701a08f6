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
from planproof_engine.expr import Alias, Call, Cast, Column, Exists, Expr, InSubquery, Lambda, ScalarSubquery, Window
from planproof_engine.expr.pretty import output_name
from planproof_engine.expr.rewrite import transform_up
from planproof_engine.functions.replaced import is_zoned
from planproof_engine.origin import Unknown
from planproof_engine.records import evolve


def rename_item(item: Expr, generators: Sequence[Generated], conf: Conf) -> Expr:
    """The item under the name that it has beside the generators."""
    if not isinstance(item, Alias) or item.explicit:
        return item
    bare = transform_up(item.child, lambda e: e.child if isinstance(e, Alias) else e)
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


def count_rounds(expr: Expr, made: Mapping[int, int]) -> int:
    """After how many rounds of the analyzer the expression is resolved: 0 where the first one does it. `made` says when
    the columns of the generators are there."""
    if isinstance(expr, Column):
        return made.get(expr.id, 0)
    if isinstance(expr, (ScalarSubquery, Exists, InSubquery)):
        return 1
    inner = max((count_rounds(child, made) for child in expr.children), default=0)
    if isinstance(expr, Cast):
        return max(inner, int(not expr.written or _is_zoned_cast(expr)))
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


def _is_zoned_cast(cast: Cast) -> bool:
    """Whether a time zone may decide what the cast gives (`Cast.needsTimeZone`)."""
    return not all(dt.is_numeric(t) or dt.is_string(t) for t in (cast.child.type, cast.type))
