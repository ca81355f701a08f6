"""The grammar of queries: Spark's rules `query`, `queryTerm`, `queryPrimary`, `querySpecification`, `fromStatement`.

ORDER BY, LIMIT and the like stand in the fields of the query's outermost node, whatever its class.
"""

from __future__ import annotations

from planproof_engine.origin import AnalysisError
from planproof_engine.sql import nodes as q
from planproof_engine.sql.aliases import begins_clause, named_expressions
from planproof_engine.sql.clauses import group, hints, parse_organization, quantifier, where, windows
from planproof_engine.sql.cursor import Cursor
from planproof_engine.sql.datatypes import data_type
from planproof_engine.sql.expressions import expression, expressions
from planproof_engine.sql.keywords import PIPE_WORDS, WORDS
from planproof_engine.sql.literals import number
from planproof_engine.sql.pipes import SETS, pipe
from planproof_engine.sql.primary import find_closing, identifier_clause, is_query_at, multipart
from planproof_engine.sql.relations import from_clause, inline_table, lateral_view, lateral_view_follows, table_name

_AFTER_QUERY = frozenset((")", "EOF", ";"))
_DELIMITERS = (
    ("FIELDS", "TERMINATED", "BY"),
    ("ESCAPED", "BY"),
    ("COLLECTION", "ITEMS", "TERMINATED", "BY"),
    ("MAP", "KEYS", "TERMINATED", "BY"),
    ("LINES", "TERMINATED", "BY"),
    ("NULL", "DEFINED", "AS"),
)


def query(c: Cursor) -> q.Query:
    """A whole query: WITH, the term, and what orders and limits it.

    It is read again where a keyword in it turns out to be no name. That is seldom: see `aliases.is_name`.
    """
    first = c.i
    while True:
        try:
            node = _query(c)
            if c.kind not in _AFTER_QUERY and c.may_be_read_anew(first):
                c.fail()
            return node
        except AnalysisError as error:
            c.read_anew(first, error)


def _query(c: Cursor) -> q.Query:
    start = c.start
    with_ = ctes(c) if c.kind == "WITH" else None
    node = _query_term(c, 1)
    parse_organization(c, node)
    if with_ is not None:
        node.with_ = with_
    return c.place(node, start)


def ctes(c: Cursor) -> q.With:
    """WITH and its named queries."""
    start = c.start
    c.take("WITH")
    recursive = c.kind == "RECURSIVE" and c.peek() in WORDS and c.peek() != "AS"
    if recursive:
        c.advance()
    return c.place(q.With(c.read_list(_cte), recursive), start)


def _cte(c: Cursor) -> q.CTE:
    start = c.start
    name = c.captured_identifier()
    columns = []
    if c.kind == "(" and not is_query_at(c, c.i + 1):
        columns = c.identifier_list()
    alias = c.place(q.TableAlias(name, columns), start)
    most = number(c) if c.skip_all("MAX", "RECURSION", "LEVEL") else None
    c.skip("AS")
    inner = c.enclosed(query)
    return c.place(q.CTE(alias, most, inner), start)


def _query_term(c: Cursor, floor: int) -> q.Query:
    """Set operations and pipes: INTERSECT binds before UNION, EXCEPT and MINUS, if a setting does not make them alike,
    and a pipe after them all."""
    start = c.start
    left = query_primary(c)
    while True:
        kind = c.kind
        if kind in SETS:
            strength = 3 if kind == "INTERSECT" and not c.conf.set_operations_alike else 2
            if strength < floor:
                return left
            c.advance()
            distinct = quantifier(c) is not False
            right = _query_term(c, strength + 1)
            left = c.place(q.SetOperation(SETS[kind], left, right, distinct), start)
        elif floor == 1 and (kind == "|>" or (kind == "|" and c.peek() in PIPE_WORDS and c.bar_is_pipe)):
            c.advance()
            left = c.place(pipe(c, left), start)
        else:
            return left


def query_primary(c: Cursor) -> q.Query:
    """One query without set operations: SELECT, FROM, VALUES, TABLE, MAP, REDUCE, or a query in parentheses."""
    kind, start = c.kind, c.start
    if kind == "SELECT":
        return c.place(select(c, None), start)
    if kind == "(":
        c.advance()
        subquery = q.Subquery(query(c))
        c.take(")")
        return c.place(subquery, start)
    if kind == "VALUES":
        return inline_table(c)
    if kind == "TABLE":
        c.advance()
        return c.place(q.TableQuery(relation_name(c)), start)
    if kind == "FROM":
        return _from_statement(c, start)
    if kind in ("MAP", "REDUCE"):
        c.advance()
        return c.place(_transform(c, None), start)
    c.fail()


def relation_name(c: Cursor) -> q.Table:
    """Spark's `identifierReference`: a dotted name or `IDENTIFIER(expr)`, as a Table."""
    start = c.start
    if c.kind != "IDENTIFIER" or c.peek() != "(":
        return table_name(c, multipart(c))
    found = identifier_clause(c)
    if not isinstance(found, list):
        return c.place(q.Table((), found), start)
    while c.kind == "." and c.peek() in WORDS:
        c.advance()
        found.append(c.captured_identifier())
    return table_name(c, found)


def _from_statement(c: Cursor, start: int) -> q.Query:
    """`FROM t SELECT a SELECT b`: one query per SELECT, all of them together; a bare `FROM t` gives all columns."""
    source = from_clause(c)
    bodies: list[q.Block] = []
    while c.kind in ("SELECT", "MAP", "REDUCE"):
        at = c.start
        c.advance()
        body = _select_body(c, source) if c.kinds[c.i - 1] == "SELECT" else _transform(c, source)
        if isinstance(body, q.Transform) and (body.group or body.having or body.windows):
            c.fail()  # A rule of its own, which ends with WHERE.
        body.from_first = True
        parse_organization(c, body)
        bodies.append(c.place(body, at))
    if not bodies:
        if "bare FROM" in c.lacks:
            c.fail()
        star = c.place(q.Star(), start)
        bodies.append(c.place(q.Select(items=[star], from_=source, from_only=True), start))
    node: q.Query = bodies[0]
    for body in bodies[1:]:
        node = c.place(q.SetOperation("union", node, body, False), start)
    return node


def select(c: Cursor, source: q.From | None) -> q.Block:
    """SELECT and its clauses; `source` is the FROM that stood before it."""
    c.take("SELECT")
    return _select_body(c, source)


def _select_body(c: Cursor, source: q.From | None) -> q.Block:
    """A SELECT after that word, up to its QUALIFY."""
    if c.kind == "TRANSFORM" and c.peek() == "(" and _transform_follows(c):
        c.advance()
        return _transform(c, source)
    node = q.Select(hints(c), quantifier(c), named_expressions(c))
    _parse_specification(c, node, source)
    if c.kind == "QUALIFY":
        start = c.start
        c.advance()
        node.qualify = c.place(q.Qualify(expression(c)), start)
    return node


def _parse_specification(c: Cursor, node: q.Block, source: q.From | None) -> None:
    """FROM to WINDOW of a query specification."""
    start = c.start
    if source is None and c.kind == "FROM":
        source = from_clause(c)
    while lateral_view_follows(c):
        view = lateral_view(c, source.relation if source is not None else None, start)
        source = c.place(q.From(view), start)
    node.from_ = source
    if c.kind == "WHERE":
        node.where = where(c)
    if c.kind == "GROUP" and c.peek() == "BY":
        node.group = group(c)
    if c.kind == "HAVING":
        start = c.start
        c.advance()
        node.having = c.place(q.Having(expression(c)), start)
    if c.kind == "WINDOW" and begins_clause(c, c.i):
        node.windows = windows(c)


def _transform_follows(c: Cursor) -> bool:
    """Whether this is `TRANSFORM (..) USING`, not a call of the function `transform`."""
    at = find_closing(c, c.i + 1) + 1
    return c.kinds[at] in ("USING", "ROW", "RECORDWRITER")


def _transform(c: Cursor, source: q.From | None) -> q.Transform:
    """TRANSFORM, MAP or REDUCE, from its first argument on."""
    node = q.Transform()
    grouped = c.kinds[c.i - 1] == "TRANSFORM"
    if grouped:
        c.take("(")
    start = c.start
    if quantifier(c) is not None:
        text = "TRANSFORM takes no DISTINCT and no ALL."
        c.keep_error("UNSUPPORTED_FEATURE.TRANSFORM_DISTINCT_ALL", text, start)
    node.items = expressions(c)
    if grouped:
        c.take(")")
    row_format = _skip_row_format(c)
    if c.skip("RECORDWRITER"):
        c.string()
    c.take("USING")
    node.script = c.string()
    if c.skip("AS"):
        node.columns = _transform_columns(c)
    node.row_format = _skip_row_format(c) or row_format
    if c.skip("RECORDREADER"):
        c.string()
    _parse_specification(c, node, source)
    return node


def _transform_columns(c: Cursor) -> list[q.ColumnDef]:
    grouped = c.skip("(")
    found = c.read_list(_transform_column)
    if grouped:
        c.take(")")
    if len({column.type is None for column in found}) > 1:
        c.fail()
    return found


def _transform_column(c: Cursor) -> q.ColumnDef:
    start = c.start
    name = c.captured_identifier()
    typed = c.kind in WORDS and not begins_clause(c, c.i) and c.kind != "ROW"
    kind = data_type(c) if typed else None
    return c.place(q.ColumnDef(name, kind), start)


def _skip_row_format(c: Cursor) -> bool:
    """Steps over a ROW FORMAT. Returns whether there was one."""
    if not c.skip_all("ROW", "FORMAT"):
        return False
    if c.skip("SERDE"):
        c.string()
        if c.skip_all("WITH", "SERDEPROPERTIES"):
            c.go_back(find_closing(c, c.i))
            c.take(")")
        return True
    c.take("DELIMITED")
    for words in _DELIMITERS:
        if c.skip_all(*words):
            c.string()
    return True
