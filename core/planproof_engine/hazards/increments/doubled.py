"""PP143: rows that are in the table twice after a later run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile

from planproof_engine import types as dt
from planproof_engine.expr import nodes as x
from planproof_engine.expr.pretty import print_as_written
from planproof_engine.hazards import filters
from planproof_engine.hazards.increments.increment import Increment, find_sides
from planproof_engine.hazards.increments.watermark import find_watermark
from planproof_engine.hazards.suspicion import Suspicion, make_warning
from planproof_engine.logical import nodes as p

_CHANGE = re.compile(r"upd|modif|chang|load|sync|ingest", re.IGNORECASE)
"""What a column is called that is another one each time that a row comes again."""
_EDIT = re.compile(r"upd|modif|chang", re.IGNORECASE)
"""What it is called where that may be long after the row was made."""
_NOW = re.compile(r"\bcurrent_(date|timestamp)\b|\bnow\s*\(", re.IGNORECASE)


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
    is_unclear = watermark is not None and (watermark.is_of_another or (watermark.is_read_back and watermark.is_strict))
    if watermark is not None and not is_unclear and not is_left_out:
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
    of_stored = [one for one in written.predicates if "dbt_internal_source" not in one.lower()]
    for column in inc.later.output:
        asked = re.compile(rf"dbt_internal_dest`?\.`?{re.escape(column.name)}\b", re.IGNORECASE)
        asking = [one for one in of_stored if asked.search(one)]
        if asking and _changes_beyond(inc, column, watermark.row, any(map(_NOW.search, asking))):
            said = "by incremental_predicates, a row that changes is inserted again where its stored"
            yield Suspicion(make_warning("PP143", column.name, None, None, f"{said} {column.name} is too old"))


def _changes_beyond(inc: Increment, column: x.Column, row: x.Expr, is_of_now: bool) -> bool:
    """Whether a row that passes may be stored with an older value of a column: it is the filter's own, and changes with
    the row, or no filter bounds it, and rows come again long after they were made."""
    if inc.text(column) == inc.text(row):
        return column.type != dt.DATE or _CHANGE.search(column.name) is not None  # A row keeps the day that it is of.
    sides = (find_sides(d.condition) for d in inc.deltas)
    bounded = inc.texts(c for found in sides if found is not None for c in inc.list_read(found[1]))
    names = [column.name, *(c.name for c in row.walk() if isinstance(c, x.Column))]
    is_changed = _CHANGE.search(column.name) is not None or any(map(_EDIT.search, names))
    return is_of_now and is_changed and not inc.texts(inc.list_read(column)) & bounded
