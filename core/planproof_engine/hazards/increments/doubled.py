"""PP143: rows that are in the table twice after a later run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile

from planproof_engine.expr import nodes as x
from planproof_engine.expr.pretty import print_as_written
from planproof_engine.hazards import filters
from planproof_engine.hazards.increments import units
from planproof_engine.hazards.increments.increment import Increment, find_sides, list_pairs
from planproof_engine.hazards.increments.watermark import find_watermark
from planproof_engine.hazards.increments.whole import may_tell_rows
from planproof_engine.hazards.suspicion import Suspicion, make_warning
from planproof_engine.logical import nodes as p


def suspect_doubles(inc: Increment, delta: filters.Delta) -> Iterator[Suspicion]:
    """Rows that are in the table already are appended once more."""
    if inc.written.strategy != "append":
        return
    if all(_is_left_join(d) for d in inc.deltas):
        said = "a later run's LEFT JOIN to its own table leaves no row out (IS NULL is missing): all are appended again"
        yield Suspicion(make_warning("PP143", inc.written.relation, None, None, said))
    if _leaves_out_known(inc):
        return
    watermark = find_watermark(inc, delta.condition)
    beside = [find_watermark(inc, d.condition) for d in inc.deltas if d.over == delta.over]
    is_left_out = any(w is not None and w.leaves_out_stored for w in beside)
    if watermark is not None and not watermark.is_of_another and not is_left_out:
        yield inc.make_suspicion("PP143", delta, "rows that the table already has are appended again")
    for other in _list_ways_around(inc, delta):
        said = f"rows with {print_as_written(other)} pass in every run, and are appended again"
        yield inc.make_suspicion("PP143", delta, said)
    if _is_united_with_all(inc, delta):
        said = "the other side of UNION is read whole in every run, and appended again"
        yield inc.make_suspicion("PP143", delta, said)


def _is_left_join(delta: filters.Delta) -> bool:
    join = delta.over[-1] if isinstance(delta.condition, x.Literal) and delta.over else None
    return isinstance(join, p.Join) and join.kind == p.LEFT


def _leaves_out_known(inc: Increment) -> bool:
    """Whether another filter leaves out what the table holds: an anti join, NOT EXISTS, NOT IN."""
    ways = ([*filters.alternatives(d.condition)] for d in inc.deltas)
    return any(all(find_sides(way) is None and inc.reads_itself(way) for way in one) for one in ways)


def _list_ways_around(inc: Increment, delta: filters.Delta) -> Iterator[x.Expr]:
    """What lets rows pass an OR, whatever the table holds."""
    ways = list(filters.alternatives(delta.condition))
    bounded = [w for w in ways if any(find_watermark(inc, c) is not None for c in x.conjuncts(w))]
    others = [w for w in ways if w not in bounded] if bounded else []
    yield from (w for w in others if filters.is_of_rows(w) and not inc.reads_itself(w))


def _is_united_with_all(inc: Increment, delta: filters.Delta) -> bool:
    """Whether a UNION over the filter has a side that reads a table, and that nothing filters."""
    kinds = (p.Project, p.Named, p.Distinct, p.SetOperation)
    for place, node in enumerate(takewhile(lambda node: isinstance(node, kinds), delta.over)):
        if not isinstance(node, p.SetOperation) or node.kind != "union":
            continue
        below = [d.over[place + 1 :] for d in inc.deltas if d.over[: place + 1] == delta.over[: place + 1]]
        filtered = {id(path[0]) for path in below if path}
        whole = [side for side in node.inputs if id(side) not in filtered and not isinstance(side, p.Filter)]
        if len(below) == len(inc.deltas) and any(map(_reads_whole, whole)):
            return True
    return False


def _reads_whole(plan: p.Plan) -> bool:
    """Whether it is a table's rows, without a condition."""
    nodes = list(plan.walk())
    return any(isinstance(n, p.Scan) for n in nodes) and all(isinstance(n, (p.Scan, p.Project, p.Named)) for n in nodes)


def suspect_unmatched(inc: Increment, delta: filters.Delta) -> Iterator[Suspicion]:
    """A merge that looks only at stored rows with a recent time, though a row that changes gets another one."""
    watermark, written = find_watermark(inc, delta.condition), inc.written
    if written.strategy != "merge" or watermark is None or written.append_only is not None:
        return
    for name in (c.name for c in inc.later.output if inc.text(c) == inc.text(watermark.row)):
        asked = re.compile(rf"dbt_internal_dest`?\.`?{re.escape(name)}\b", re.IGNORECASE)
        of_stored = (one for one in written.predicates if "dbt_internal_source" not in one.lower())
        if any(map(asked.search, of_stored)):
            said = f"by incremental_predicates, a row that changes is inserted again where its stored {name} is too old"
            yield Suspicion(make_warning("PP143", name, None, None, said))


def suspect_repeats(inc: Increment) -> Iterator[Suspicion]:
    """A merge whose rows are by a longer key than the one by which it matches them."""
    keys, names = inc.find_outputs(inc.written.key), ", ".join(inc.written.key)
    key = inc.texts(keys)
    if inc.written.strategy != "merge" or not key:
        return
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
