"""The grammar of queries: Spark's rules `query`, `queryTerm`, `queryPrimary`, `querySpecification`, `fromStatement`,
and of pipe operators: `operatorPipeRightSide`.

ORDER BY, LIMIT and the like stand in the fields of the query's outermost node, whatever its class. Each pipe operator
is one `Pipe` around the query before it; nothing is rewritten into CTEs.
"""

from __future__ import annotations

from collections.abc import Callable

from planproof_engine.ground import AnalysisError
from planproof_engine.sql import clauses, relations
from planproof_engine.sql import nodes as q
from planproof_engine.sql.calls import ENDS
from planproof_engine.sql.cursor import Cursor
from planproof_engine.sql.datatypes import data_type
from planproof_engine.sql.expressions import expression, expressions
from planproof_engine.sql.keywords import PIPE_WORDS, WORDS
from planproof_engine.sql.literals import number
from planproof_engine.sql.primary import column, find_closing, identifier_clause, is_query_at, multipart
from planproof_engine.sql.tokens import NUMBERS

# Pipe operators

SETS = {"UNION": "union", "EXCEPT": "except", "MINUS": "except", "INTERSECT": "intersect"}


def pipe(c: Cursor, before: q.Query) -> q.Pipe:
    """The operator after `|>`."""
    reader = _OPERATORS.get(c.kind)
    if reader is None and c.kind in ENDS:
        reader = _organize  # Spark allows a pipe with nothing after it
    if reader is None:
        c.fail()
    return reader(c, before)


def _select(c: Cursor, before: q.Query) -> q.Pipe:
    c.advance()
    node = q.PipeSelect(before, clauses.hints(c), clauses.quantifier(c), clauses.named_expressions(c))
    if c.kind == "GROUP" and c.peek() == "BY" and "grouping in pipe SELECT" not in c.lacks:
        node.group = clauses.group(c, aliases=True)
    _parse_windows(c, node)
    return node


def _parse_windows(c: Cursor, node: q.Pipe) -> None:
    if c.kind == "WINDOW" and clauses.begins_clause(c, c.i):
        node.windows = clauses.windows(c)


def _extend(c: Cursor, before: q.Query) -> q.Pipe:
    c.advance()
    return q.PipeExtend(before, clauses.named_expressions(c))


def _assign(c: Cursor, before: q.Query) -> q.Pipe:
    c.advance()
    return q.PipeSet(before, c.read_list(assignment))


def assignment(c: Cursor) -> q.Binary:
    """`a = 1`, of SET."""
    start = c.start
    name = column(c, multipart(c))
    c.take("=")
    return c.place(q.Binary("=", name, expression(c)), start)


def _drop(c: Cursor, before: q.Query) -> q.Pipe:
    c.advance()
    return q.PipeDrop(before, c.read_list(_dropped_column))


def _dropped_column(c: Cursor) -> q.Column:
    return column(c, [c.identifier()] if "pipe DROP of fields" in c.lacks else multipart(c))


def _rename(c: Cursor, before: q.Query) -> q.Pipe:
    c.advance()
    return q.PipeAs(before, c.captured_identifier())


def _filter(c: Cursor, before: q.Query) -> q.Pipe:
    node = q.PipeWhere(before, clauses.where(c))
    _parse_windows(c, node)
    return node


def _aggregate(c: Cursor, before: q.Query) -> q.Pipe:
    start = c.start
    c.advance()
    found: list[q.Node] = []
    if not (c.kind == "GROUP" and c.peek() == "BY") and c.kind in WORDS | _EXPRESSION_STARTS:
        found = clauses.named_expressions(c)
    node = q.PipeAggregate(before, found)
    if c.kind == "GROUP" and c.peek() == "BY":
        node.group = clauses.group(c, aliases=True)
    _check_aggregate(c, node, start)
    return node


def _check_aggregate(c: Cursor, node: q.PipeAggregate, start: int) -> None:
    """AGGREGATE groups by plain keys, and computes something (`AstBuilder.visitOperatorPipeAggregate`)."""
    keys = node.group.keys if node.group is not None else ()
    plain = node.group is None or not (node.group.with_kind or node.group.is_all)
    if not plain or any(isinstance(key, q.GroupingAnalytics) for key in keys):
        text = "The pipe operator |> AGGREGATE does not support grouping sets or GROUP BY ALL."
        c.keep_error("UNSUPPORTED_FEATURE.PIPE_OPERATOR_AGGREGATE_UNSUPPORTED_CASE", text, start)
    elif any(map(_calls_grouping, node.items)):
        text = "The pipe operator |> AGGREGATE does not support GROUPING."
        c.keep_error("UNSUPPORTED_FEATURE.PIPE_OPERATOR_AGGREGATE_UNSUPPORTED_CASE", text, start)
    elif node.group is not None and any(map(_holds_window, (*node.items, *keys))):
        text = "The pipe operator |> AGGREGATE does not support window functions: move them to a |> SELECT behind it."
        c.keep_error("UNSUPPORTED_FEATURE.PIPE_OPERATOR_AGGREGATE_UNSUPPORTED_CASE", text, start)
    if node.group is None and not node.items:
        text = (
            "Operation not allowed: The AGGREGATE clause requires a list of aggregate expressions or a list of "
            "grouping expressions, or both."
        )
        c.keep_error("_LEGACY_ERROR_TEMP_0035", text, start)


def _calls_grouping(node: q.Node) -> bool:
    inner = node.operand if isinstance(node, q.Alias) else node
    return isinstance(inner, q.Call) and str(inner.name).lower() == "grouping"


def _holds_window(node: q.Node) -> bool:
    """Whether a window that is written out stands in the expression, outside of its subqueries."""
    return any(window.reference is None for window in node.find_all(q.Window, outside=(q.Query,)))


def _combine(c: Cursor, before: q.Query) -> q.Pipe:
    kind = SETS[c.kind]
    c.advance()
    distinct = clauses.quantifier(c) is not False
    return q.PipeSetOperation(before, kind, c.rules.query_primary(c), distinct)


def _organize(c: Cursor, before: q.Query) -> q.Pipe:
    node, start = q.PipeOrganize(before), c.start
    clauses.parse_organization(c, node)
    if node.windows:
        message = (
            "The feature is not supported: The SQL pipe operator syntax using |> does not support the WINDOW clause."
        )
        c.keep_error("UNSUPPORTED_FEATURE.CLAUSE_WITH_PIPE_OPERATORS", message, start)
    _refuse_two(c, node, start)
    return node


def _refuse_two(c: Cursor, node: q.PipeOrganize, start: int) -> None:
    """An operator sorts rows or cuts them off (`AstBuilder.withQueryResultClauses`)."""
    cut = "LIMIT" if node.limit is not None else "OFFSET" if node.offset is not None else None
    if cut is not None and any((node.order, node.sort, node.distribute, node.cluster)):
        text = f"ORDER BY and its kin, and {cut}, cannot coexist in the same SQL pipe operator using '|>'."
        c.keep_error("MULTIPLE_QUERY_RESULT_CLAUSES_WITH_PIPE_OPERATORS", text, start)


_EXPRESSION_STARTS = frozenset(("(", "STRING_LITERAL", "-", "+", "~", "*", "!", *NUMBERS))

_OPERATORS: dict[str, Callable[[Cursor, q.Query], q.Pipe]] = {
    "SELECT": _select,
    "EXTEND": _extend,
    "SET": _assign,
    "DROP": _drop,
    "AS": _rename,
    "WHERE": _filter,
    "AGGREGATE": _aggregate,
    "PIVOT": lambda c, before: q.PipePivot(before, clauses.pivot(c, None, c.start)),
    "UNPIVOT": lambda c, before: q.PipeUnpivot(before, clauses.unpivot(c, None, c.start)),
    "TABLESAMPLE": lambda c, before: q.PipeSample(before, relations.sample(c)),
    **dict.fromkeys(SETS, _combine),
    **dict.fromkeys(
        ["JOIN", "INNER", "CROSS", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI", "NATURAL", "ASOF"],
        lambda c, before: q.PipeJoin(before, relations.join(c, None, c.start)),
    ),
    **dict.fromkeys(["ORDER", "CLUSTER", "DISTRIBUTE", "SORT", "WINDOW", "LIMIT", "OFFSET"], _organize),
}


# Queries

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

    It is read again where a keyword in it turns out to be no name. That is seldom: see `clauses.is_name`.
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
    clauses.parse_organization(c, node)
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
            distinct = clauses.quantifier(c) is not False
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
        return relations.inline_table(c)
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
        return relations.table_name(c, multipart(c))
    found = identifier_clause(c)
    if not isinstance(found, list):
        return c.place(q.Table((), found), start)
    while c.kind == "." and c.peek() in WORDS:
        c.advance()
        found.append(c.captured_identifier())
    return relations.table_name(c, found)


def _from_statement(c: Cursor, start: int) -> q.Query:
    """`FROM t SELECT a SELECT b`: one query per SELECT, all of them together; a bare `FROM t` gives all columns."""
    source = relations.from_clause(c)
    bodies: list[q.Block] = []
    while c.kind in ("SELECT", "MAP", "REDUCE"):
        at = c.start
        c.advance()
        body = _select_body(c, source) if c.kinds[c.i - 1] == "SELECT" else _transform(c, source)
        if isinstance(body, q.Transform) and (body.group or body.having or body.windows):
            c.fail()  # A rule of its own, which ends with WHERE.
        body.from_first = True
        clauses.parse_organization(c, body)
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
    node = q.Select(clauses.hints(c), clauses.quantifier(c), clauses.named_expressions(c))
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
        source = relations.from_clause(c)
    while relations.lateral_view_follows(c):
        view = relations.lateral_view(c, source.relation if source is not None else None, start)
        source = c.place(q.From(view), start)
    node.from_ = source
    if c.kind == "WHERE":
        node.where = clauses.where(c)
    if c.kind == "GROUP" and c.peek() == "BY":
        node.group = clauses.group(c)
    if c.kind == "HAVING":
        start = c.start
        c.advance()
        node.having = c.place(q.Having(expression(c)), start)
    if c.kind == "WINDOW" and clauses.begins_clause(c, c.i):
        node.windows = clauses.windows(c)


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
    if clauses.quantifier(c) is not None:
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
    typed = c.kind in WORDS and not clauses.begins_clause(c, c.i) and c.kind != "ROW"
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
