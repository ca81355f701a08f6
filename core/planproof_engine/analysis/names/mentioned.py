"""Which names a text has where a column, or a relation, may stand, whatever they mean."""

from __future__ import annotations

from planproof_engine.ground import AnalysisError, Conf, Unknown
from planproof_engine.sql import nodes as q
from planproof_engine.sql.parse import parse


def list_mentioned_names(sql: str, conf: Conf) -> frozenset[str]:
    """The lower-case parts of the names that columns, their fields or their relations may have. A function without
    parentheses is among them: a column hides it. Empty where the text is not understood.

    >>> sorted(list_mentioned_names("select o.id, current_date as day from shop.orders as o order by day", Conf()))
    ['current_date', 'day', 'id', 'o']
    """
    try:
        columns = parse(sql, conf).find_all(q.Column)
    except (AnalysisError, Unknown):
        return frozenset()
    return frozenset(part.text.lower() for column in columns for part in column.parts)


def list_read_names(sql: str, conf: Conf) -> frozenset[tuple[str, ...]]:
    """The parts of the names of relations that a text reads, without those that a CTE of the text may have. Empty where
    the text is not understood.

    >>> sorted(list_read_names("with c as (select * from shop.orders) select * from c join lake.shop.items", Conf()))
    [('lake', 'shop', 'items'), ('shop', 'orders')]
    """
    try:
        tree = parse(sql, conf)
    except (AnalysisError, Unknown):
        return frozenset()
    named = {tuple(part.text for part in table.parts) for table in tree.find_all(q.Table)}
    return frozenset(named - {(cte.alias.name.text,) for cte in tree.find_all(q.CTE)} - {()})
