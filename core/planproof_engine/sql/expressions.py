"""The grammar of expressions: Spark's rules `expression`, `booleanExpression`, `predicate` and `valueExpression`.

A predicate (`IS NULL`, `IN`, ...) follows a value once: `a IS NULL = b` is no expression to Spark.
"""

from __future__ import annotations

from planproof_engine.ground import AnalysisError
from planproof_engine.sql import nodes as q
from planproof_engine.sql.calls import ENDS
from planproof_engine.sql.cursor import Cursor
from planproof_engine.sql.keywords import PIPE_WORDS
from planproof_engine.sql.literals import string_literal
from planproof_engine.sql.primary import find_closing, is_query_at, primary
from planproof_engine.sql.tokens import NUMBERS

_STRENGTHS = {
    operator: strength
    for strength, operators in enumerate(
        ("= <=> <> != < <= > >=", "|", "^", "&", "<< >> >>>", "+ - ||", "* / % DIV"), start=1
    )
    for operator in operators.split()
}
"""How strongly operators bind, as in `valueExpression`; operators of one strength group to the left."""

_SIGNS = frozenset("-+~")
_PREDICATES = frozenset(("BETWEEN", "IN", "RLIKE", "LIKE", "ILIKE"))


def expression(c: Cursor) -> q.Node:
    """Any expression: Spark's rule `expression`. OR binds the least."""
    left = _conjunction(c)
    if c.kind != "OR":
        return left
    operands = [left]
    while c.skip("OR"):
        operands.append(_conjunction(c))
    return _balance("OR", operands)


def _conjunction(c: Cursor) -> q.Node:
    left = _negation(c)
    if c.kind != "AND":
        return left
    operands = [left]
    while c.skip("AND"):
        operands.append(_negation(c))
    return _balance("AND", operands)


def _negation(c: Cursor) -> q.Node:
    kind = c.kind
    if kind in ("NOT", "!"):
        start = c.start
        c.advance()
        return c.place(q.Not(_negation(c)), start)
    if kind == "EXISTS" and c.peek() == "(" and is_query_at(c, c.i + 2):
        start = c.start
        c.advance(2)
        node = q.Exists(c.rules.query(c))
        c.take(")")
        return c.place(node, start)
    left = value(c)
    kind = c.kind
    if kind in _PREDICATES or kind == "IS":
        return left if _is_alias(c) else _predicate(c, left)
    if kind in ("NOT", "!") and c.peek() in _PREDICATES:
        return _predicate(c, left)
    return left


def _is_alias(c: Cursor) -> bool:
    """Whether the word of a predicate, at hand, is a name: `SELECT a in FROM t`, `SELECT a like, b FROM t`. Behind LIKE
    and its kin, FROM is a column."""
    if c.peek() == "FROM":
        return c.kind in ("IN", "IS") or (c.kind == "BETWEEN" and c.peek(2) != "AND")
    return c.peek() in ENDS


def value(c: Cursor, floor: int = 1) -> q.Node:
    """A value expression whose operators bind at least as strongly as `floor`."""
    kind = c.kind
    if kind in _SIGNS and not (kind == "-" and c.kinds[c.i + 1] in NUMBERS):
        start = c.start
        c.advance()
        left: q.Node = c.place(q.Unary(kind, value(c, 8)), start)
    else:
        left = primary(c)
    while True:
        operator = c.kind
        strength = _STRENGTHS.get(operator, 0)
        if strength < floor:
            return left
        if operator == "|" and c.kinds[c.i + 1] in PIPE_WORDS and c.bar_is_pipe:
            return left
        c.i += 1
        c.kind = c.kinds[c.i]
        right = value(c, strength + 1)
        node = q.Binary(operator, left, right)
        node.span = (left.span[0], c.stops[c.i - 1])
        left = node


def _predicate(c: Cursor, left: q.Node) -> q.Node:
    start = left.span[0]
    if c.skip("IS"):
        return _is(c, left, start)
    negated = _is_inner_not(c)
    kind = c.kind
    c.advance()
    if kind == "BETWEEN":
        low = value(c)
        c.take("AND")
        node: q.Node = q.Between(left, low, value(c))
    elif kind == "IN":
        node = _in(c, left)
    elif kind == "RLIKE":
        node = q.Like(left, value(c), kind)
    elif c.kind in ("ANY", "SOME", "ALL") and c.peek() == "(":
        return _quantified_like(c, left, kind, negated, start)
    else:
        pattern = value(c)
        node = q.Like(left, pattern, kind, _escape_character(c) if c.skip("ESCAPE") else None)
    c.place(node, start)
    return c.place(q.Not(node, inner=True), start) if negated else node


def _escape_character(c: Cursor) -> q.Literal:
    start = c.start
    text = string_literal(c)
    if len(text.text) != 1:
        c.keep_error("INVALID_ESC", "The escape string of LIKE is one character.", start, c.start)
    return text


def _is_inner_not(c: Cursor) -> bool:
    """Whether NOT stands here, within a predicate; `!` is one only under `spark.sql.legacy.bangEqualsNot`."""
    if c.kind not in ("NOT", "!"):
        return False
    if c.kind == "!" and not c.conf.bang_equals_not:
        message = "Support of the clause or keyword: '!' has been discontinued in this context."
        c.keep_error_here("SYNTAX_DISCONTINUED.BANG_EQUALS_NOT", message)
    c.advance()
    return True


def _is(c: Cursor, left: q.Node, start: int) -> q.Node:
    negated = _is_inner_not(c)
    kind, at = c.kind, c.start
    if kind == "DISTINCT":
        c.advance()
        c.take("FROM")
        right = value(c)
        return c.place(q.Binary("<=>" if negated else "<!>", left, right), start)
    tests: dict[str, q.Null | q.Boolean | q.Var] = {
        "NULL": q.Null(),
        "TRUE": q.Boolean(True),
        "FALSE": q.Boolean(False),
        "UNKNOWN": q.Var("UNKNOWN"),
    }
    test = tests.get(kind)
    if test is None:
        c.fail()
    c.advance()
    c.place(test, at)
    return c.place(q.Is(left, test, negated), start)


def _in(c: Cursor, left: q.Node) -> q.Node:
    start = c.start
    c.take("(")
    if is_query_at(c, c.i) and not _is_member(c):
        if c.kind == "SELECT" and c.peek() == "STRING_LITERAL" and c.peek(2) in (")", ","):
            message = (
                'Literals of the type "SELECT" are not supported: behind IN, Spark reads an expression before a '
                "query. Give the subquery's column a name."
            )
            c.keep_error_here("UNSUPPORTED_TYPED_LITERAL", message)
        query = q.Subquery(c.rules.query(c))
        c.take(")")
        return q.In(left, query=c.place(query, start))
    if c.kind == ")":
        message = (
            "Invalid SQL syntax: IN predicate requires at least one value. Empty IN clauses like 'IN ()' are not "
            "allowed. Consider using 'WHERE FALSE' if you need an always-false condition."
        )
        c.keep_error_here("INVALID_SQL_SYNTAX.EMPTY_IN_PREDICATE", message, left.span[0])
    members = [] if c.kind == ")" else expressions(c)
    c.take(")")
    return q.In(left, members)


def _is_member(c: Cursor) -> bool:
    """Whether Spark reads `(select 1)` as a value, and `values (1)` as a call of a function: behind IN it tries
    expressions before queries."""
    opening = c.i if c.kind == "(" else c.i + 1
    beside = c.kind == "(" or (c.kind == "VALUES" and c.peek() == "(")
    return beside and c.kinds[find_closing(c, opening) + 1] in (",", ")")


def _quantified_like(c: Cursor, left: q.Node, kind: str, negated: bool, start: int) -> q.Node:
    quantifier = "ALL" if c.kind == "ALL" else "ANY"
    c.advance()
    c.take("(")
    if c.kind == ")":
        text = "Invalid SQL syntax: Expected something between '(' and ')'."
        raise AnalysisError("INVALID_SQL_SYNTAX.EMPTY_QUANTIFIED_PATTERN", text, c.origin())
    patterns = expressions(c)
    c.take(")")
    node = q.QuantifiedLike(left, patterns, kind, quantifier, negated)
    return c.place(node, start)


def expressions(c: Cursor) -> list[q.Node]:
    """One or more, between commas."""
    return c.read_list(expression)


def _balance(operator: str, operands: list[q.Node]) -> q.Node:
    """One tree of a chain of ANDs or ORs, as low as can be: Spark's parser builds it so, and names columns by it."""
    if len(operands) == 1:
        return operands[0]
    middle = (len(operands) + 1) // 2
    left, right = _balance(operator, operands[:middle]), _balance(operator, operands[middle:])
    node = q.Binary(operator, left, right)
    node.span = (left.span[0], right.span[1])
    return node
