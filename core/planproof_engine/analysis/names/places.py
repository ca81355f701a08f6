"""Where in a query's text each of its output columns is written."""

from __future__ import annotations

from collections.abc import Mapping

from planproof_engine.analysis.expressions import Environment
from planproof_engine.expr import Span
from planproof_engine.ground import Origin, place, record
from planproof_engine.sql import nodes as q
from planproof_engine.sql.names import drop_parentheses, name_parts


@record(frozen=True, slots=True)
class _Named:
    """A CTE's query and the CTEs that it sees itself. A recursive CTE has no query here: it is not looked into."""

    query: q.Query | None
    ctes: Mapping[str, _Named]


Ctes = Mapping[str, _Named]


def output_origins(tree: q.Query, env: Environment, width: int) -> tuple[Origin | None, ...]:
    """The place of each output column: that of its select item. Of a set operation the first query's items count.

    A column of `SELECT * FROM x` is written where the CTE or subquery `x` writes it; one of a star over a table or a
    join stands at the star. The place is None where that cannot be told, as in a query without select items.
    """
    found = _find_spans(tree, env.widths, {})
    if found is None or len(found) != width:
        return (None,) * width
    return tuple(None if s is None or s[0] < 0 else place(env.text, *s) for s in found)


def _find_spans(query: q.Query, widths: Mapping[int, int], ctes: Ctes) -> list[Span | None] | None:
    """The span of each column's item; None of a query that has no items. `ctes` are the named queries in sight."""
    ctes = _add_ctes(query, ctes)
    while isinstance(query, (q.Subquery, q.SetOperation)):
        query = query.query if isinstance(query, q.Subquery) else query.left
        ctes = _add_ctes(query, ctes)
    if not isinstance(query, q.Select):
        return None
    found: list[Span | None] = []
    for item in query.items:
        width = widths.get(id(item), 1)
        star = drop_parentheses(item)
        if isinstance(star, q.Star):
            spans = _find_star_spans(star, query, widths, ctes)
            found += spans if spans is not None and len(spans) == width else [item.span] * width
        else:
            found += [item.span] * width
    return found


def _add_ctes(query: q.Query, ctes: Ctes) -> Ctes:
    if query.with_ is None:
        return ctes
    for cte in query.with_.ctes:
        name = cte.alias.name.text.lower()
        ctes = {**ctes, name: _Named(None if query.with_.recursive else cte.query, ctes)}
    return ctes


def _find_star_spans(star: q.Star, query: q.Select, widths: Mapping[int, int], ctes: Ctes) -> list[Span | None] | None:
    """The spans behind a star over one relation that the text defines; None behind another one."""
    source = query.from_.relation if query.from_ is not None else None
    if star.except_ or source is None:
        return None
    if isinstance(source, q.Subquery):
        return _find_spans(source.query, widths, ctes)
    if isinstance(source, q.Table) and len(name_parts(source)) == 1:
        cte = ctes.get(name_parts(source)[0].lower())
        return _find_spans(cte.query, widths, cte.ctes) if cte is not None and cte.query is not None else None
    return None
