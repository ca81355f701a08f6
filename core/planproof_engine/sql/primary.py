"""The grammar of operands: Spark's rule `primaryExpression`.

Constants, names, calls, stars, subqueries, rows, lambdas, CASE, and what may follow each.
"""

from __future__ import annotations

from planproof_engine.ground import AnalysisError, quote_name
from planproof_engine.sql import nodes as q
from planproof_engine.sql.calls import ENDS, SPECIAL_CALLS, call
from planproof_engine.sql.cursor import Cursor
from planproof_engine.sql.datatypes import check_collation, data_type
from planproof_engine.sql.keywords import CURRENT_LIKE, FUNCTION_WORDS, WORDS
from planproof_engine.sql.literals import (
    constant,
    interval,
    interval_follows,
    number,
    parameter,
    string_literal,
    typed_literal,
)
from planproof_engine.sql.tokens import AHEAD, NUMBERS

_QUERY_WORDS = frozenset(("SELECT", "WITH", "VALUES", "FROM", "TABLE", "MAP", "REDUCE"))
_NOT_AFTER_QUERY_WORD = frozenset(
    (*ENDS, ".", "=", "<", ">", "<>", "!=", "<=", ">=", "<=>", "/", "%", "||", "::", "[", "->")
)
_COMBINING = ("UNION", "EXCEPT", "MINUS", "INTERSECT")
_ORGANIZING = ("ORDER", "SORT", "CLUSTER", "DISTRIBUTE", "LIMIT", "OFFSET")
_AFTER_QUERY = frozenset((")", "EOF", "|>", *_COMBINING, *_ORGANIZING))


def primary(c: Cursor) -> q.Node:
    """An operand, with what follows it: fields, subscripts, casts by `::`."""
    kind = c.kind
    if kind in WORDS:
        node = _word(c, kind)
    elif kind == "STRING_LITERAL":
        node = string_literal(c)
    elif kind in NUMBERS or kind == "-":
        node = number(c)
    elif kind == "(":
        node = _parenthesis(c)
    elif kind == "*":
        start = c.start
        c.advance()
        node = _star(c, start, [])
    elif kind in ("?", ":"):
        node = parameter(c)
    else:
        c.fail()
    while c.kind in _POSTFIX:
        longer = _postfix(c, node)
        if longer is None:
            break
        node = longer
    return node


def _postfix(c: Cursor, node: q.Node) -> q.Node | None:
    kind = c.kind
    start = node.span[0]
    if kind == "[":
        c.advance()
        index = c.rules.value(c)
        c.take("]")
        return c.place(q.Bracket(node, index), start)
    if kind == ".":
        c.advance()
        return c.place(q.Dot(node, c.identifier()), start)
    if kind == "::":
        c.advance()
        return c.place(q.Cast(node, data_type(c), colons=True), start)
    if kind == "COLLATE":
        if c.peek() not in WORDS or "COLLATE" in c.lacks:
            return None
        c.advance()
        name = [c.captured_identifier()]
        while c.skip("."):
            name.append(c.captured_identifier())
        check_collation(c, name)
        return c.place(q.Collate(node, column(c, name)), start)
    if (c.peek() not in WORDS and c.peek() != "[") or "variant path" in c.lacks:
        return None
    return _variant_path(c, node, start)


def _variant_path(c: Cursor, node: q.Node, start: int) -> q.Node:
    c.advance()
    at = c.start
    if c.kind in WORDS:
        c.identifier()
    else:
        _path_bracket(c, ("STRING_LITERAL", "INTEGER_VALUE"))
    while c.kind in (".", "["):
        if c.skip("."):
            c.identifier()
        else:
            _path_bracket(c, ("STRING_LITERAL", "INTEGER_VALUE", *WORDS))
    return c.place(q.VariantPath(node, c.text[at : c.stop]), start)


def _path_bracket(c: Cursor, allowed: tuple[str, ...]) -> None:
    c.take("[")
    if c.kind not in allowed:
        c.fail()
    if c.kind in WORDS:  # The grammar takes it, and `SqlBaseParser` says of the path that it lacks a message.
        c.keep_error("INTERNAL_ERROR", "A word in brackets is no path of a variant.", c.start)
    c.advance()
    c.take("]")


def _word(c: Cursor, kind: str) -> q.Node:
    following = c.kinds[c.i + 1]
    if kind in _SPECIAL and (special := _special(c, kind, following)) is not None:
        return special
    start = c.starts[c.i]
    if following == "(":
        name = c.identifier(besides=FUNCTION_WORDS)
        return call(c, name.text, start, (name.text,) if name.quoted else None)
    if following == "STRING_LITERAL":
        return typed_literal(c)
    if following == "->":
        parameter = c.identifier()
        c.advance()
        return c.place(q.Lambda([parameter], c.rules.expression(c)), start)
    if following != ".":
        return c.place(q.Column([c.identifier(besides=CURRENT_LIKE)]), start)
    return parse_dotted(c, [c.identifier()], start)


def parse_dotted(c: Cursor, parts: list[q.Identifier], start: int) -> q.Node:
    """Reads on after a name, over dots and parentheses: it is a column, a call, or the star of a relation or
    struct."""
    while c.kind == ".":
        following = c.peek()
        if following == "*":
            c.advance(2)
            return _star(c, start, parts)
        if following not in WORDS:
            break
        c.advance()
        # `t.IDENTIFIER('a')` calls the function t.identifier.
        parts.append(c.identifier(literals=False))
    if c.kind == "(":
        name, given = function_name(parts)
        return call(c, name, start, given)
    return c.place(q.Column(parts), start)


def column(c: Cursor, parts: list[q.Identifier]) -> q.Column:
    """The column of a dotted name, placed where its parts stand."""
    node = q.Column(parts)
    node.span = (parts[0].span[0], parts[-1].span[1])
    return node


def _star(c: Cursor, start: int, qualifier: list[q.Identifier]) -> q.Star:
    node = q.Star(qualifier)
    if c.kind == "EXCEPT" and c.peek() == "(" and "star EXCEPT" not in c.lacks and not is_query_at(c, c.i + 2):
        c.advance(2)
        names = c.read_list(multipart)
        c.take(")")
        node.except_ = [column(c, name) for name in names]
    return c.place(node, start)


def multipart(c: Cursor) -> list[q.Identifier]:
    """A dotted name."""
    parts = [c.captured_identifier()]
    while c.kind == "." and c.peek() in WORDS:
        c.advance()
        parts.append(c.captured_identifier())
    return parts


def _special(c: Cursor, kind: str, following: str) -> q.Node | None:
    """A keyword with a syntax of its own, or None where it is a name here."""
    if following == "(":
        reader = SPECIAL_CALLS.get(kind)
        if reader is not None:
            at = c.i
            found = reader(c)
            if found is None:
                c.go_back(at)
            return found
        if kind == "IDENTIFIER":
            return _identifier_clause(c)
        if kind != "CASE":
            return None
    if kind in ("NULL", "TRUE", "FALSE"):
        return None if following == "->" else constant(c)
    if kind == "CASE":
        named = following in (*ENDS, ".", "FROM") or (following in _AFTER_NAME and c.peek(2) != "WHEN")
        return None if named else _case(c)
    if kind == "INTERVAL" and interval_follows(c):
        return interval(c)
    return None


def _case(c: Cursor) -> q.Node:
    start = c.start
    c.advance()
    operand = None if c.kind == "WHEN" else c.rules.expression(c)
    branches = []
    while c.kind == "WHEN":
        at = c.start
        c.advance()
        condition = c.rules.expression(c)
        c.take("THEN")
        branches.append(c.place(q.When(condition, c.rules.expression(c)), at))
    if not branches:
        c.fail()
    default = c.rules.expression(c) if c.skip("ELSE") else None
    c.take("END")
    return c.place(q.Case(operand, branches, default), start)


def identifier_clause(c: Cursor) -> q.IdentifierClause | list[q.Identifier]:
    """`IDENTIFIER(expr)`: the parts of the name where literals alone make it up, else an `IdentifierClause`."""
    start = c.start
    c.take("IDENTIFIER")
    argument = c.enclosed(c.rules.expression)
    text = constant_text(argument)
    if text is None:
        return c.place(q.IdentifierClause(argument), start)
    parts = parse_name(text, c)
    for part in parts:
        c.place(part, start)
    return parts


def parse_name(text: str, c: Cursor) -> list[q.Identifier]:
    """The parts of the dotted name that this text, which is no part of the query's, spells."""
    inner = Cursor(text, c.conf, c.rules)
    if inner.kind == "EOF":
        raise AnalysisError("PARSE_EMPTY_STATEMENT", "Syntax error, unexpected empty statement.", c.origin())
    parts = multipart(inner)
    if inner.kind != "EOF":
        inner.fail()
    inner.finish()
    return parts


def _identifier_clause(c: Cursor) -> q.Node:
    start = c.start
    found = identifier_clause(c)
    if isinstance(found, list) and c.kind != "(":
        # To Spark this is an expression of its own: it takes no further parts, and has no name of its own.
        literal = q.Literal(".".join(quote_name(part.text) for part in found), True)
        return c.place(q.IdentifierClause(c.place(literal, start)), start)
    if isinstance(found, list):
        return parse_dotted(c, found, start)
    return call(c, found, start) if c.kind == "(" else found


def _parenthesis(c: Cursor) -> q.Node:
    start = c.start
    if is_query_at(c, c.i + 1) and not _is_row_of_calls(c) and not _is_row_of_names(c):
        c.advance()
        subquery = q.Subquery(c.rules.query(c))
        c.take(")")
        return c.place(subquery, start)
    if c.kinds[c.i + 1] in WORDS and c.kinds[c.i + 2] == "," and _parameters_follow(c):
        parameters = c.identifier_list()
        c.take("->")
        return c.place(q.Lambda(parameters, c.rules.expression(c)), start)
    c.advance()
    first = c.rules.named_expression(c)
    if c.skip(","):
        members = [first, *c.read_list(c.rules.named_expression)]
        c.take(")")
        return c.place(q.Tuple(members), start)
    if isinstance(first, (q.Alias, q.Aliases)):
        c.fail()
    c.take(")")
    return c.place(q.Paren(first), start)


def _is_row_of_calls(c: Cursor) -> bool:
    """Whether Spark reads `(values (1), (2))` as a row, which it tries before a query: a call of `values` comes first
    in it."""
    return c.peek() == "VALUES" and c.peek(2) == "(" and c.kinds[find_closing(c, c.i + 2) + 1] == ","


def _is_row_of_names(c: Cursor) -> bool:
    """Whether Spark reads `(SELECT a, b)` as a row: a column called SELECT under the name `a`, and `b`."""
    if c.peek() != "SELECT" or c.peek(2) not in WORDS or c.peek(3) != ",":
        return False
    at, close = c.i + 3, find_closing(c, c.i)
    while at < close and c.kinds[at] not in _OF_QUERIES:
        at = find_closing(c, at) if c.kinds[at] == "(" else at + 1
    return at == close


_OF_QUERIES = frozenset(
    ("FROM", "WHERE", "GROUP", "HAVING", "QUALIFY", "WINDOW", "ORDER", "SORT", "DISTRIBUTE", "CLUSTER", "LIMIT")
) | frozenset(("OFFSET", "UNION", "INTERSECT", "EXCEPT", "MINUS", "LATERAL", "|>"))


def _parameters_follow(c: Cursor) -> bool:
    kinds, at = c.kinds, c.i + 2
    while kinds[at] == "," and kinds[at + 1] in WORDS:
        at += 2
    return kinds[at] == ")" and kinds[at + 1] == "->"


def is_query_at(c: Cursor, at: int) -> bool:
    """Whether a query, not an expression, begins at the token with this index."""
    kinds, opened = c.kinds, at
    while kinds[at] == "(" and at not in c.groups:
        at += 1
    is_query = c.groups[at] if kinds[at] == "(" else _is_query_word_at(c, at)
    while at > opened:
        at -= 1
        is_query = is_query and kinds[find_closing(c, at) + 1] in _AFTER_QUERY
        c.groups[at] = is_query
    return is_query


def _is_query_word_at(c: Cursor, at: int) -> bool:
    kinds = c.kinds
    kind = kinds[at]
    if kind not in _QUERY_WORDS:
        return False
    following = kinds[at + 1]
    if kind in ("SELECT", "VALUES"):
        return following not in _NOT_AFTER_QUERY_WORD
    if kind == "FROM":
        return following in WORDS or following == "("
    return following in WORDS or (following == "STRING_LITERAL" and kind != "TABLE")


def find_closing(c: Cursor, at: int) -> int:
    """The index of the parenthesis that closes the one at `at`. Where none does, the index of the last token but
    one."""
    return c.closings.get(at, len(c.kinds) - AHEAD - 1)


_AFTER_NAME = frozenset(("AS", "ELSE", "END", "THEN"))
"""What makes a CASE before it a name, unless a WHEN follows."""
_POSTFIX = frozenset(("[", ".", "::", "COLLATE", ":"))
_SPECIAL = frozenset((*SPECIAL_CALLS, "NULL", "TRUE", "FALSE", "CASE", "INTERVAL", "IDENTIFIER"))


def function_name(parts: list[q.Identifier]) -> tuple[str, tuple[str, ...] | None]:
    """A function's name as it is written, and its parts where it is dotted or quoted."""
    names = tuple(part.text for part in parts)
    return ".".join(names), None if len(parts) == 1 and not parts[0].quoted else names


def constant_text(node: q.Node) -> str | None:
    """The text that string literals and `||` of them make up; None for anything else."""
    if isinstance(node, q.Literal) and node.is_string:
        return node.text
    if isinstance(node, q.Paren):
        return constant_text(node.operand)
    if isinstance(node, q.Binary) and node.operator == "||":
        left, right = constant_text(node.left), constant_text(node.right)
        return None if left is None or right is None else left + right
    return None
