"""PP143: a merge that matches several of its rows by one key."""

from __future__ import annotations

import re
from collections.abc import Iterator

from planproof_engine import types as dt
from planproof_engine.expr import nodes as x
from planproof_engine.hazards import filters
from planproof_engine.hazards.increments import units
from planproof_engine.hazards.increments.increment import Increment, list_pairs, list_windows
from planproof_engine.hazards.increments.whole import is_unique, may_tell_rows
from planproof_engine.hazards.suspicion import Suspicion, make_warning
from planproof_engine.logical import nodes as p

_KEY = re.compile(r"(.+)_(?:id|key|sk|fk|uuid|guid)")
"""What a column is called that names a row of something."""


def suspect_repeats(inc: Increment) -> Iterator[Suspicion]:
    """A merge whose rows are by a longer key than the one by which it matches them."""
    keys, names = inc.find_outputs(inc.written.key), ", ".join(inc.written.key)
    key = inc.texts(keys)
    if inc.written.strategy != "merge" or not key:
        return
    yield from _suspect_one_of_several(inc, keys, names)
    top: p.Plan = inc.later
    while (isinstance(top, p.Project) and isinstance(top.child, (p.Project, p.Filter))) or isinstance(top, p.Filter):
        top = top.child
    grouped = top.child if isinstance(top, p.Project) else top
    groups = grouped.groups if isinstance(grouped, p.Aggregate) and grouped.grouping_sets is None else ()
    others = inc.texts(c for group in groups if inc.text(group) not in key for c in inc.list_read(group))
    if key < inc.texts(groups) and not others <= _list_following(inc, keys):
        said = "the model groups by more columns, so several rows share one key"
        yield Suspicion(make_warning("PP143", names, None, None, f"merge matches rows by {names}, but {said}"))
    if isinstance(grouped, p.Generate) and not key & inc.texts(grouped.generated):
        message = f"merge matches rows by {names}, which a generator repeats"
        yield Suspicion(make_warning("PP143", names, None, None, message))


def _list_following(inc: Increment, keys: list[x.Expr]) -> frozenset[str]:
    """What may be the same in all rows of a key: what the key is made of (a hash), the columns of a relation whose rows
    the key tells apart, and those of rows that are joined to these by what is the same."""
    made = [inc.definitions.of(filters.drop_casts(key)) for key in keys]
    read = [c for key in made if not (units.find_cut(key) or units.find_part(key)) for c in inc.list_read(key)]
    pairs = [sides for n in inc.definitions.nodes if isinstance(n, p.Join) for sides in list_pairs(n)]
    joined = [(inc.texts(inc.list_read(a)), b) for sides in pairs for a, b in (sides, sides[::-1])]
    found = inc.texts(read)
    told: list[x.Expr] = [c for c in read if may_tell_rows(inc, c)]
    while True:
        sources = map(inc.definitions.find_source, told)
        found |= inc.texts(c for source in sources if source is not None for c in source.output)
        told = [b for by, b in joined if by and by <= found and inc.text(b) not in found and may_tell_rows(inc, b)]
        if not told:
            return found


def _suspect_one_of_several(inc: Increment, keys: list[x.Expr], names: str) -> Iterator[Suspicion]:
    """Rows of which the tests say what tells them apart, and it is not the key."""
    made = [inc.definitions.of(filters.drop_casts(key)) for key in keys]
    read = [c for key in made for c in inc.list_read(key)]
    if (inc.written.relation, inc.written.key[0].lower()) in inc.written.unique or len(inc.texts(read)) != 1:
        return
    said = _describe_ties(inc, keys) or _describe_join(inc, read[0]) or _describe_source(inc, keys[0])
    if said is not None:
        yield Suspicion(make_warning("PP143", names, None, None, f"merge matches rows by {names}, but {said}"))


def _find_end(inc: Increment, plan: p.Plan) -> p.Plan | None:
    """What gives a plan's rows, where they come through as they are: nothing leaves any out but the later run's filters
    and IS NOT NULL."""
    while isinstance(plan, (p.Project, p.Named, p.Ordered, p.Filter)):
        asked = filters.list_asked(plan.condition) if isinstance(plan, p.Filter) else []
        if any(list_windows(plan)) or not all(_is_added(inc, one) for one in asked):
            return None
        plan = plan.children[0]
    return plan


def _is_added(inc: Increment, condition: x.Expr) -> bool:
    is_given = isinstance(condition, x.Call) and condition.function.name == "isnotnull"
    return is_given or any(e is d.condition for e in condition.walk() for d in inc.deltas)


def _describe_source(inc: Increment, key: x.Expr) -> str | None:
    """The key is a column of rows that another one is tested to tell apart."""
    end = _find_end(inc, inc.later)
    is_union = isinstance(end, p.SetOperation) and end.kind == "union" and end.all
    ends = [_find_end(inc, one) for one in end.children] if end is not None and is_union else [end]
    scans = [one for one in ends if isinstance(one, p.Scan)]
    stored = [c for one in inc.definitions.all_of(key) for c in inc.list_read(one)]
    if len(scans) < len(ends) or len(scans) != len(stored) or any(is_unique(inc, c) for c in stored):
        return None
    tested = [_find_tested(inc, scan, c) for scan, c in zip(scans, stored)]
    if None in tested or not all(c.name.lower() in inc.written.keys for c in stored):
        return None
    return f"it is {tested[0]} that tells rows of {scans[0].relation} apart: several rows share one key"


def _find_tested(inc: Increment, scan: p.Scan, column: x.Column) -> str | None:
    """What is tested to tell the rows apart in which the column, as its name says, is the key of something else."""
    tested = sorted(name for relation, name in inc.written.unique if relation == scan.relation)
    table = scan.relation.lower().replace("`", "").rsplit(".", 1)[-1].rsplit("__", 1)[-1].removesuffix("s")
    stem, *others = (match[1] if (match := _KEY.fullmatch(name)) else None for name in (column.name.lower(), *tested))
    is_other = stem is not None and stem not in others and not f"_{table}".endswith(f"_{stem}")
    return tested[0] if tested and is_other and not f"_{stem}".endswith(f"_{table}") else None


def _describe_join(inc: Increment, key: x.Expr) -> str | None:
    """The key is a column of one side of a join, whose rows meet several ones of the other side."""
    join = _find_end(inc, inc.later)
    if not isinstance(join, p.Join) or join.kind not in (p.INNER, p.LEFT) or not isinstance(key, x.Column):
        return None
    pairs = list_pairs(join)
    conditions = list(x.conjuncts(join.condition)) if join.condition is not None else []
    sides = [s for s in join.children if key.id not in filters.list_scanned(s)]
    if len(pairs) != 1 or len(conditions) != 1 or len(sides) != 1:
        return None
    scan = _find_end(inc, sides[0])
    joined = [one for one in map(filters.drop_casts, pairs[0]) if inc.definitions.find_source(one) is scan]
    if not isinstance(scan, p.Scan) or len(joined) != 1 or is_unique(inc, joined[0]):
        return None
    tested = _find_tested(inc, scan, joined[0]) if isinstance(joined[0], x.Column) else None
    return f"several rows of {scan.relation}, which {tested} tells apart, are joined to one" if tested else None


def _describe_ties(inc: Increment, keys: list[x.Expr]) -> str | None:
    """The key's rows are ranked by a day, and several rows of one day rank first."""
    asked = [c.args for c in inc.conditions if isinstance(c, x.Call) and c.function.name == "="]
    firsts = [inc.definitions.of(e) for args in asked for e in args if any(_is_one(other) for other in args)]
    for window in (e for e in firsts if isinstance(e, x.Window)):
        name = window.call.function.name if isinstance(window.call, x.Call) else ""
        days = [inc.definitions.of(order.child) for order in window.order]
        is_coarse = all(day.type == dt.DATE or units.find_cut(day) is not None for day in days)
        if name in ("rank", "dense_rank") and days and is_coarse and inc.agree(window.partition, keys):
            return f"{name}() gives several rows of a day the same number (row_number() does not)"
    return None


def _is_one(expr: x.Expr) -> bool:
    return isinstance(expr, x.Literal) and expr.value == 1
