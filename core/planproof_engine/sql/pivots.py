"""The grammar of PIVOT and UNPIVOT: Spark's rules `pivotClause` and `unpivotClause`, in FROM and in a pipe."""

from __future__ import annotations

from planproof_engine.origin import AnalysisError
from planproof_engine.sql import nodes as q
from planproof_engine.sql.aliases import bare_alias, named_expressions
from planproof_engine.sql.cursor import Cursor
from planproof_engine.sql.keywords import WORDS
from planproof_engine.sql.primary import column, multipart, parse_name


def pivot(c: Cursor, tree: q.Node | None, start: int) -> q.Pivoted:
    """A PIVOT, from that word on; `tree` is None in a pipe."""
    c.take("PIVOT")
    c.take("(")
    aggregates = named_expressions(c)
    c.take("FOR")
    columns = c.identifier_list() if c.kind == "(" else [c.captured_identifier()]
    c.take("IN")
    values = c.enclosed(named_expressions)
    c.take(")")
    alias = bare_alias(c) if "alias of PIVOT" not in c.lacks else None
    return c.place(q.Pivoted(tree, aggregates, columns, values, alias), start)


def unpivot(c: Cursor, tree: q.Node | None, start: int) -> q.Unpivoted:
    """An UNPIVOT, from that word on; `tree` is None in a pipe."""
    c.take("UNPIVOT")
    include_nulls = c.skip_all("INCLUDE", "NULLS")
    if not include_nulls:
        c.skip_all("EXCLUDE", "NULLS")
    c.take("(")
    multi = c.kind == "("
    values = c.identifier_list() if multi else [c.identifier()]
    c.take("FOR")
    name = c.identifier()
    c.take("IN")
    columns = c.enclosed(lambda c: c.read_list(lambda c: _unpivot_set(c, multi)))
    c.take(")")
    filters = () if include_nulls else [_parse_filtered(c, value) for value in values]
    return c.place(q.Unpivoted(tree, values, name, columns, filters, bare_alias(c)), start)


def _parse_filtered(c: Cursor, value: q.Identifier) -> tuple[str, ...]:
    """The name's parts: Spark hands the text of an identifier to `UnresolvedAttribute`, which parses it once more, so
    that a name that must be quoted is refused (`AstBuilder.withUnpivot`)."""
    try:
        return tuple(part.text for part in parse_name(value.text, c))
    except AnalysisError as error:
        c.keep_error(error.condition, error.message, *value.span)
        return ()


def _unpivot_set(c: Cursor, multi: bool) -> q.UnpivotSet:
    start = c.start
    if multi:
        c.take("(")
    columns = [column(c, multipart(c))]
    while multi and c.skip(","):
        columns.append(column(c, multipart(c)))
    if multi:
        c.take(")")
    alias = None
    if c.skip("AS") or c.kind in WORDS:
        alias = c.captured_identifier()
    return c.place(q.UnpivotSet(columns, alias), start)
