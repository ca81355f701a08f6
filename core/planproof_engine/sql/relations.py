"""The grammar of relations: Spark's rules `relation`, `relationPrimary`, `joinRelation`, `lateralView`.

What stands in FROM. Relations side by side form one tree that leans left, as Spark's plan does.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import TypeVar

from planproof_engine.ground import AnalysisError
from planproof_engine.sql import nodes as q
from planproof_engine.sql import primary
from planproof_engine.sql.calls import ENDS, argument
from planproof_engine.sql.clauses import begins_clause, is_name, pivot, sort_item, table_alias, unpivot
from planproof_engine.sql.cursor import Cursor
from planproof_engine.sql.expressions import expression, expressions, value
from planproof_engine.sql.keywords import WORDS
from planproof_engine.sql.literals import number, string_literal

_JOIN_WORDS = frozenset(("JOIN", "INNER", "CROSS", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI", "NATURAL", "ASOF"))
_SAMPLES = frozenset(("(", "SYSTEM", "BERNOULLI"))
_JOIN_KINDS = _JOIN_WORDS - {"JOIN", "NATURAL", "ASOF"}

Part = TypeVar("Part")


def from_clause(c: Cursor) -> q.From:
    """FROM and all that Spark's `fromClause` takes: commas, joins, lateral views, a pivot, an unpivot."""
    start = c.start
    c.take("FROM")
    tree = _relation(c, None)
    while c.skip(","):
        tree = _relation(c, tree)
    while lateral_view_follows(c):
        tree = lateral_view(c, tree, start)
    while c.kind in ("PIVOT", "UNPIVOT") and begins_clause(c, c.i):
        tree = _parse_pivoting(c, tree)
    return c.place(q.From(tree), start)


def lateral_view_follows(c: Cursor) -> bool:
    """Whether LATERAL VIEW comes next."""
    return c.kind == "LATERAL" and c.peek() == "VIEW"


def lateral_view(c: Cursor, tree: q.Node | None, start: int) -> q.LateralView:
    """One LATERAL VIEW over a relation, or over nothing."""
    c.advance(2)
    outer = c.kind == "OUTER" and c.peek() in WORDS
    if outer:
        c.advance()
    call = _generator(c)
    at = c.start
    name = c.identifier()
    columns = []
    if (c.peek() not in ENDS and c.skip("AS")) or (c.kind in WORDS and (c.kind == "IDENTIFIER_TOKEN" or is_name(c))):
        columns.append(c.identifier())
        while c.kind == "," and c.peek() in WORDS:
            c.advance()
            columns.append(c.identifier())
    alias = c.place(q.TableAlias(name, columns), at)
    return c.place(q.LateralView(tree, call, alias, outer), start)


def _generator(c: Cursor) -> q.Call:
    """The call of a LATERAL VIEW: Spark's rule has expressions in it, no named arguments and neither DISTINCT nor
    ALL, unlike other calls."""
    start = c.start
    call = primary.parse_dotted(c, [c.identifier()], start)
    if not isinstance(call, q.Call) or call.over is not None:
        c.fail()
    if call.distinct is not None:  # The word is the name of a column there, which nothing may follow.
        c.go_back(c.starts.index(call.arguments[0].span[0]))
        c.fail()
    for given in call.arguments:
        if isinstance(given, q.Kwarg):
            c.go_back(c.starts.index(given.span[0]) + 1)
            c.fail()
    return call


def _relation(c: Cursor, left: q.Node | None) -> q.Node:
    """One entry of a FROM list with its joins; joined to what stands before it, as Spark does."""
    lateral = c.kind == "LATERAL" and c.peek() != "VIEW"
    if lateral:
        c.advance()
    start = c.start if left is None else left.span[0]
    tree = relation_primary(c)
    if lateral and left is not None:
        _check_lateral(c, tree)  # What stands first in FROM has nothing on its left, and Spark takes anything there.
    if left is not None:
        tree = c.place(q.Joined(left, tree, "INNER", comma=True, lateral=lateral), start)
    elif lateral:
        tree = c.place(q.Joined(None, tree, "INNER", comma=True, lateral=True), start)
    while True:
        if c.kind in _JOIN_WORDS and join_follows(c):
            tree = join(c, tree, tree.span[0])
        elif c.kind in ("PIVOT", "UNPIVOT") and begins_clause(c, c.i):
            tree = _parse_pivoting(c, tree)
        elif c.kind == "BIN" and c.peek() == "BY":
            c.refuse_construct("BIN BY")
        else:
            return tree


def _check_lateral(c: Cursor, relation: q.Node) -> None:
    if not isinstance(relation, (q.Subquery, q.TableFunction, q.Unnest)):
        start, stop = relation.span
        message = "Invalid SQL syntax: LATERAL can only be used with subquery and table-valued functions."
        c.keep_error("INVALID_SQL_SYNTAX.LATERAL_WITHOUT_SUBQUERY_OR_TABLE_VALUED_FUNC", message, start, stop)


def join_follows(c: Cursor) -> bool:
    """Whether the word at hand begins a join: each of those that may does, but ASOF only before JOIN."""
    return c.kind != "ASOF" or c.peek() == "JOIN"


def join(c: Cursor, left: q.Node | None, start: int) -> q.Joined:
    """A join, from its first word on; `left` is None in a pipe."""
    natural = c.skip("NATURAL")
    kind = _join_kind(c)
    if c.kind == "ASOF":
        c.refuse_construct("ASOF JOIN")
    c.take("JOIN")
    lateral = c.skip("LATERAL")
    right = relation_primary(c)
    if lateral:
        _check_lateral(c, right)
        if natural:
            c.keep_error("INCOMPATIBLE_JOIN_TYPES", "The join types LATERAL and NATURAL are incompatible.", start)
    node = q.Joined(left, right, kind, natural=natural, lateral=lateral)
    if natural:
        _check_natural(c, kind, start)
    elif c.skip("ON"):
        node.on = expression(c)
    elif c.skip("USING"):
        node.using = c.identifier_list()
        if lateral:
            message = "The feature is not supported: JOIN USING with LATERAL correlation."
            c.keep_error("UNSUPPORTED_FEATURE.LATERAL_JOIN_USING", message, start)
    elif c.kind in ("APPROX", "EXACT") and c.peek() == "NEAREST":
        c.refuse_construct("NEAREST BY")
    return c.place(node, start)


def _check_natural(c: Cursor, kind: str, start: int) -> None:
    """NATURAL stands before inner and outer joins alone (`AstBuilder.withJoinRelations`, `NaturalJoin`)."""
    if kind == "CROSS":
        c.keep_error("INCOMPATIBLE_JOIN_TYPES", "The join types NATURAL and CROSS are incompatible.", start)
    elif kind.endswith(("SEMI", "ANTI")):
        c.keep_error("IllegalArgumentException", f"Unsupported natural join type {kind}.", start)


def _join_kind(c: Cursor) -> str:
    kind = c.kind
    if kind in ("JOIN", "ASOF"):
        return "INNER"
    if kind not in _JOIN_KINDS:
        c.fail()
    c.advance()
    if kind in ("SEMI", "ANTI"):
        return f"LEFT {kind}"
    if kind == "LEFT" and c.kind in ("SEMI", "ANTI"):
        kind = f"LEFT {c.kind}"
        c.advance()
    elif kind in ("LEFT", "RIGHT", "FULL"):
        c.skip("OUTER")
    return kind


def relation_primary(c: Cursor) -> q.Node:
    """A relation without joins: a table, a call, VALUES, or what parentheses hold."""
    kind, start = c.kind, c.start
    if kind == "(":
        return _parenthesized_relation(c, start)
    if kind == "VALUES" and not _names_values(c) and not (c.peek() == "(" and c.peek(2) == ")"):
        return inline_table(c)
    if kind == "UNNEST" and c.peek() == "(":
        return _unnest(c, start)
    if kind == "JSON_TABLE" and c.peek() == "(":
        c.refuse_construct("JSON_TABLE")
    if kind == "STREAM" and (c.peek() == "(" or c.peek() in WORDS) and not _name_ends(c, 1):
        return _stream(c, start)
    if kind == "IDENTIFIER" and c.peek() == "(":
        return _identifier_relation(c, start)
    if kind not in WORDS:
        c.fail()
    return _named_relation(c, primary.multipart(c), start)


def _stream(c: Cursor, start: int) -> q.Table:
    """`STREAM t` or `STREAM (t)`: on Databricks, all rows that the table gets. Spark takes it in its pipelines."""
    if not c.conf.databricks:
        c.refuse_construct("STREAM")
    c.advance()
    closes = c.skip("(")
    named = primary.multipart(c)
    node = table_name(c, named)
    if c.kind == "(":
        c.refuse_construct(f"STREAM of the function {'.'.join(p.text for p in named)}")
    if closes:
        c.take(")")
    node.is_stream = True
    return _table(c, node, start)


def _name_ends(c: Cursor, ahead: int) -> bool:
    """Whether the word at hand is a whole relation name, judging by what follows."""
    following = c.peek(ahead)
    return following in (".", ")", ",", "EOF", ";", "AS") or following in _JOIN_WORDS or following == "WHERE"


def _names_values(c: Cursor) -> bool:
    """Whether a table called VALUES stands here. Spark tries that before the clause: `values a, b` are two tables, the
    first of them under the name a."""
    if _name_ends(c, 1):
        return True
    after = c.peek(2)
    if c.peek() not in WORDS or c.peek() in _JOIN_WORDS or after in (")", "AS"):
        return False
    if after == ",":
        return c.peek(4 if c.peek(3) == "(" else 3) in WORDS
    return _name_ends(c, 2) or after in ("GROUP", "LIMIT", "ON", "ORDER", "USING")


def _identifier_relation(c: Cursor, start: int) -> q.Node:
    found = primary.identifier_clause(c)
    if isinstance(found, list):
        while c.skip("."):
            found.append(c.captured_identifier())
        return _named_relation(c, found, start)
    if c.kind == "(":
        return _table_function(c, found, start, None)
    return _table(c, q.Table((), found), start)


def _named_relation(c: Cursor, parts: list[q.Identifier], start: int) -> q.Node:
    if c.kind == "(":
        name, given = primary.function_name(parts)
        return _table_function(c, name, start, given)
    if c.kind == "@" and "time travel by @" in c.lacks:
        c.fail()
    return _table(c, table_name(c, parts), start)


def table_name(c: Cursor, parts: list[q.Identifier]) -> q.Table:
    """A dotted name as a Table."""
    return c.place(q.Table(parts), parts[0].span[0])


def _table(c: Cursor, node: q.Table, start: int) -> q.Table:
    """What may follow a table's name."""
    if c.kind == "CHANGES" and c.peek() == "FROM":
        c.refuse_construct("CHANGES")
    node.version = _version_in_name(c) if c.kind == "@" else _time_travel(c)
    if c.kind == "WITH" and c.peek() == "(" and "table options" not in c.lacks:
        node.options = properties_text(c)
    _parse_sample_and_alias(c, node)
    return c.place(node, start)


def properties_text(c: Cursor) -> str:
    """`WITH (key = value, ...)`, as text: it changes no schema here."""
    c.advance()
    start, at = c.start, primary.find_closing(c, c.i)
    c.go_back(at)
    c.take(")")
    return c.text[start : c.stop]


def _version_in_name(c: Cursor) -> q.Version:
    """`t@v12`, or `t@20240131000000000`, a moment of as many digits."""
    start = c.start
    text = c.text[c.starts[c.i + 1] : c.stops[c.i + 1]]
    if not re.fullmatch(r"[vV]?\d+", text):
        c.fail()
    c.advance(2)
    return c.place(q.Version("VERSION", q.Literal(text.lstrip("vV"), False)), start)


def _time_travel(c: Cursor) -> q.Version | None:
    ahead = 1 if c.kind == "FOR" else 0
    word = c.peek(ahead)
    if word not in ("VERSION", "SYSTEM_VERSION", "TIMESTAMP", "SYSTEM_TIME"):
        return None
    if c.peek(ahead + 1) != "AS" or c.peek(ahead + 2) != "OF":
        return None
    start = c.start
    c.go_back(c.i + ahead + 3)
    kind = "VERSION" if word.endswith("VERSION") else "TIMESTAMP"
    if kind == "VERSION":
        if c.kind in ("-", "+"):
            c.fail()
        at: q.Node = string_literal(c) if c.kind == "STRING_LITERAL" else number(c)
    else:
        at = value(c)
        named = (n.parts[-1].text.lower() for n in at.find_all(q.Column))
        if not at.holds(q.Query) and any(not name.startswith(("current_", "local")) for name in named):
            text = "Invalid time travel spec: timestamp expression cannot refer to any columns."
            c.keep_error("_LEGACY_ERROR_TEMP_0056", text, *at.span)
    return c.place(q.Version(kind, at), start)


def _parse_sample_and_alias(c: Cursor, node: q.Table | q.Subquery | q.Grouped) -> None:
    if c.kind == "TABLESAMPLE" and c.peek() in _SAMPLES and (c.peek() != "(" or c.is_first_reading()):
        node.sample = sample(c)
    if c.kind == "WATERMARK" and c.peek() not in (*ENDS, ".", "="):
        c.refuse_construct("WATERMARK")
    node.alias = table_alias(c)


def sample(c: Cursor) -> q.TableSample:
    """TABLESAMPLE: it changes no schema, so only its size and seed are kept."""
    start = c.start
    c.take("TABLESAMPLE")
    node = q.TableSample(c.kind if c.kind in ("SYSTEM", "BERNOULLI") else None)
    if node.method:
        c.advance()
    c.take("(")
    if c.skip("BUCKET"):
        taken, node.bucket_numerator = _whole(c)
        c.take("OUT")
        c.take("OF")
        of, node.bucket_denominator = _whole(c)
        if c.skip("ON"):
            node.bucket_field = value(c)
            message = "TABLESAMPLE (BUCKET x OUT OF y ON ..) is not supported."
            c.keep_error_here("_LEGACY_ERROR_TEMP_0015", message, start)
        else:
            # So many buckets out of none are no share of a table.
            _check_fraction(c, taken / of if of else math.inf, start)
    elif c.kind == ")":
        c.keep_error_here("_LEGACY_ERROR_TEMP_0014", "TABLESAMPLE does not accept empty inputs.", start)
    else:
        size = expression(c)
        if c.kind == "PERCENT":
            _check_percentage(c, size, start)
            c.advance()
            node.percent = size
        elif c.skip("ROWS"):
            node.rows = size
        else:
            _refuse_bytes(c, size)
            node.size = size
    c.take(")")
    if c.kind == "REPEATABLE" and c.peek() == "(" and c.kinds[c.i + 2] not in {*WORDS, "-"}:
        c.advance(2)
        node.seed = number(c)
        c.take(")")
    return c.place(node, start)


def _refuse_bytes(c: Cursor, size: q.Node) -> None:
    """Spark's grammar has samples by a number of bytes. Its parser refuses them, with one of two conditions."""
    text = c.text[slice(*size.span)]
    condition = "_LEGACY_ERROR_TEMP_0015" if re.fullmatch(r"\d+[bkmgBKMG]", text) else "_LEGACY_ERROR_TEMP_0016"
    c.keep_error(condition, "TABLESAMPLE takes PERCENT, ROWS or BUCKET, not a size.", *size.span)


def _check_percentage(c: Cursor, size: q.Node, start: int) -> None:
    """Refuses a percentage that is no plain number or more than 100. Spark's parser does so, before its
    analyzer."""
    text = c.text[slice(*size.span)].replace(" ", "")
    if not re.fullmatch(r"-?(\d+|\d+\.\d*|\.\d+)", text):
        c.fail()
    _check_fraction(c, float(text) / 100, start)


def _whole(c: Cursor) -> tuple[int, q.Literal]:
    if c.kind != "INTEGER_VALUE":
        c.fail()
    node = number(c)
    return int(node.text), node


def _check_fraction(c: Cursor, fraction: float, start: int) -> None:
    if not -1e-6 <= fraction <= 1 + 1e-6:
        message = f"Sampling fraction ({fraction}) must be on interval [0, 1]."
        c.keep_error_here("INVALID_TABLESAMPLE_FRACTION", message, start)


def _parenthesized_relation(c: Cursor, start: int) -> q.Node:
    query = primary.is_query_at(c, c.i + 1)
    c.advance()
    if query:
        node: q.Subquery | q.Grouped = q.Subquery(c.rules.query(c))
    else:
        node = q.Grouped(_relation(c, None))
    c.take(")")
    _parse_sample_and_alias(c, node)
    return c.place(node, start)


def inline_table(c: Cursor) -> q.Values:
    """VALUES and its rows, with their alias."""
    start = c.start
    c.take("VALUES")
    rows = expressions(c)
    return c.place(q.Values(rows, table_alias(c)), start)


def _unnest(c: Cursor, start: int) -> q.Unnest:
    c.advance(2)
    arguments = expressions(c)
    c.take(")")
    ordinality = c.skip_all("WITH", "ORDINALITY")
    return c.place(q.Unnest(arguments, ordinality, table_alias(c)), start)


def _table_function(
    c: Cursor, name: str | q.IdentifierClause, start: int, parts: tuple[str, ...] | None
) -> q.TableFunction:
    if parts is not None and len(parts) > 1 and "schema of a table function" in c.lacks:
        text = f"Table valued function cannot specify database name: {name}."
        raise AnalysisError("INVALID_SQL_SYNTAX.INVALID_TABLE_VALUED_FUNC_NAME", text, c.origin(start))
    c.advance()
    arguments = c.read_list(_table_function_argument) if c.kind != ")" else []
    c.take(")")
    call = c.place(q.Call(name, arguments, parts), start)
    if (c.kind, c.peek()) in (("IDENTIFIED", "BY"), ("WATERMARK", "(")):
        c.refuse_construct(c.kind)
    return c.place(q.TableFunction(call, table_alias(c)), start)


def _table_function_argument(c: Cursor) -> q.Node:
    if c.kind == "TABLE" and (c.peek() == "(" or c.peek() in WORDS):
        return _table_argument(c)
    if c.peek() == "=>" and c.peek(2) == "TABLE" and (c.peek(3) == "(" or c.peek(3) in WORDS):
        start = c.start
        name = c.identifier()
        c.advance()
        return c.place(q.Kwarg(name, _table_argument(c)), start)
    return argument(c)


def _table_argument(c: Cursor) -> q.TableArgument:
    start = c.start
    c.advance()
    if c.skip("("):
        relation: q.Table | q.Query
        relation = c.rules.query(c) if primary.is_query_at(c, c.i) else table_name(c, primary.multipart(c))
        c.take(")")
    else:
        relation = table_name(c, primary.multipart(c))
        code = "INVALID_SQL_SYNTAX.INVALID_TABLE_FUNCTION_IDENTIFIER_ARGUMENT_MISSING_PARENTHESES"
        c.keep_error(code, f"Syntax error: call TABLE({relation}) with parentheses.", start)
    node = q.TableArgument(relation)
    if "partitioned table argument" in c.lacks:
        return c.place(node, start)
    if c.skip_all("WITH", "SINGLE", "PARTITION"):
        node.single = True
    elif c.skip_all("PARTITION", "BY") or c.skip_all("DISTRIBUTE", "BY"):
        node.partition_by = _parse_in_parentheses(c, expression)
    if c.skip_all("ORDER", "BY") or c.skip_all("SORT", "BY"):
        node.order = _parse_in_parentheses(c, sort_item)
    return c.place(node, start)


def _parse_in_parentheses(c: Cursor, read: Callable[[Cursor], Part]) -> list[Part]:
    grouped = c.kind == "(" and c.kinds[primary.find_closing(c, c.i) + 1] in (",", ")", "ORDER", "SORT")
    if not grouped:
        return [read(c)]
    c.advance()
    found = c.read_list(read)
    c.take(")")
    return found


def _parse_pivoting(c: Cursor, tree: q.Node) -> q.Pivoted | q.Unpivoted:
    start = tree.span[0]
    return pivot(c, tree, start) if c.kind == "PIVOT" else unpivot(c, tree, start)
