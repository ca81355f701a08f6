"""PP145: the proof that later runs build the table of a full refresh."""

from __future__ import annotations

from planproof_engine.expr import nodes as x
from planproof_engine.hazards import filters
from planproof_engine.hazards.increments.increment import Increment
from planproof_engine.hazards.increments.watermark import find_watermark
from planproof_engine.logical import nodes as p

_ROW_BY_ROW = (p.Scan, p.Project, p.Filter, p.Named, p.Ordered, p.Generate)


def find_missing_proof(inc: Increment, column: str) -> str | None:
    """What the proof lacks, where `column` only grows; None where nothing is missing. Each source row must give its
    rows by itself, in any run alike; the filter must let every row of a later load pass once."""
    if len(inc.deltas) > 1:
        return "the later text has several filters of its own"
    condition = inc.deltas[0].condition
    watermark = find_watermark(inc, condition)
    if watermark is None or not watermark.is_exact:
        return f"its filter does not compare with the greatest {column} of its own table"
    if not isinstance(watermark.row, x.Column) or watermark.row.name.lower() != column.lower():
        return f"its filter is not on {column} itself"
    if not (watermark.is_of_all and watermark.is_stored):
        return f"the greatest {column} of its own table is not that of all rows that were read"
    if any(map(filters.is_now, filters.inner_expressions(condition))):
        return "what its filter compares with depends on the time of the run"
    asked = [
        {filters.shape(c) for n in plan.walk() if isinstance(n, p.Filter) for c in filters.list_asked(n.condition)}
        for plan in (inc.first, inc.later)
    ]
    return (
        _find_missing_of_rows(inc) if asked[0] <= asked[1] else "its first text has a filter that the later one lacks"
    )


def _find_missing_of_rows(inc: Increment) -> str | None:
    nodes = list(inc.first.walk_everywhere())
    parts = [e for node in nodes for top in node.expressions for e in top.walk()]
    is_row_by_row = all(isinstance(node, _ROW_BY_ROW) for node in nodes)
    if not is_row_by_row or any(isinstance(e, (x.Window, x.Subquery)) for e in parts):
        return "it joins, groups or compares rows"
    if sum(isinstance(node, p.Scan) for node in nodes) != 1:
        return "it reads several relations"
    if any(filters.is_now(e) or (isinstance(e, x.Call) and e.function.traits.volatile) for e in parts):
        return "it computes a value that differs from run to run"
    if inc.written.strategy not in ("append", "insert_overwrite"):
        key = ", ".join(inc.written.key)
        return f"nothing says that {key} tells all source rows apart" if key else "it has no unique_key"
    return None
