"""The grammar of expressions: Spark's rules `expression`, `booleanExpression`, `predicate` and `valueExpression`."""

from __future__ import annotations

from planproof.origin import AnalysisError
from planproof.sql import nodes as q
from planproof.sql.keywords import PIPE_WORDS
from planproof.sql.primary import PrimaryGrammar
from planproof.sql.tokens import NUMBERS

_BINARY: dict[str, tuple[int, type[q.Binary]]] = {
    "*": (7, q.Mul),
    "/": (7, q.Div),
    "%": (7, q.Mod),
    "DIV": (7, q.IntDiv),
    "+": (6, q.Add),
    "-": (6, q.Sub),
    "||": (6, q.DPipe),
    "<<": (5, q.BitwiseLeftShift),
    ">>": (5, q.BitwiseRightShift),
    ">>>": (5, q.UnsignedRightShift),
    "&": (4, q.BitwiseAnd),
    "^": (3, q.BitwiseXor),
    "|": (2, q.BitwiseOr),
    "=": (1, q.EQ),
    "<=>": (1, q.NullSafeEQ),
    "<>": (1, q.NEQ),
    "!=": (1, q.NEQ),
    "<": (1, q.LT),
    "<=": (1, q.LTE),
    ">": (1, q.GT),
    ">=": (1, q.GTE),
}
"""Binding strength, highest first, as in `valueExpression`; operators of one strength group to the left."""

_UNARY: dict[str, type[q.Unary]] = {"-": q.Neg, "+": q.Pos, "~": q.BitwiseNot}
_PREDICATES = frozenset(("BETWEEN", "IN", "RLIKE", "LIKE", "ILIKE"))
_LIKES: dict[str, type[q.Like]] = {"LIKE": q.Like, "ILIKE": q.ILike}


class ExpressionGrammar(PrimaryGrammar):
    """Operators. A predicate (`IS NULL`, `IN`, ...) follows a value once: `a IS NULL = b` is no expression to Spark."""

    def expression(self) -> q.Node:
        left = self._conjunction()
        if self.kind != "OR":
            return left
        operands = [left]
        while self.skip("OR"):
            operands.append(self._conjunction())
        return _balanced(q.Or, operands)

    def _conjunction(self) -> q.Node:
        left = self._negation()
        if self.kind != "AND":
            return left
        operands = [left]
        while self.skip("AND"):
            operands.append(self._negation())
        return _balanced(q.And, operands)

    def _negation(self) -> q.Node:
        kind = self.kind
        if kind in ("NOT", "!"):
            start = self.start
            self.advance()
            return self.placed(q.Not(self._negation()), start)
        if kind == "EXISTS" and self.peek() == "(" and self.query_at(self.i + 2):
            start = self.start
            self.advance()
            self.advance()
            node = q.Exists(self.query())
            self.take(")")
            return self.placed(node, start)
        left = self.value()
        kind = self.kind
        if kind in _PREDICATES or kind == "IS":
            return self._predicate(left)
        if kind in ("NOT", "!") and self.peek() in _PREDICATES:
            return self._predicate(left)
        return left

    def value(self, floor: int = 1) -> q.Node:
        """A value expression whose operators bind at least as strongly as `floor`."""
        kind = self.kind
        unary = _UNARY.get(kind)
        if unary is not None and not (kind == "-" and self.kinds[self.i + 1] in NUMBERS):
            start = self.start
            self.advance()
            left: q.Node = self.placed(unary(self.value(8)), start)
        else:
            left = self.primary()
        while True:
            operator = _BINARY.get(self.kind)
            if operator is None or operator[0] < floor:
                return left
            if operator[0] == 2 and self.kinds[self.i + 1] in PIPE_WORDS and self.bar_is_pipe:
                return left
            self.i += 1
            self.kind = self.kinds[self.i]
            right = self.value(operator[0] + 1)
            node = operator[1](left, right)
            node.span = (left.span[0], self.stops[self.i - 1])
            left = node

    def _predicate(self, left: q.Node) -> q.Node:
        start = left.span[0]
        if self.skip("IS"):
            return self._is(left, start)
        negated = self._inner_not()
        kind = self.kind
        self.advance()
        if kind == "BETWEEN":
            low = self.value()
            self.take("AND")
            node: q.Node = q.Between(left, low, self.value())
        elif kind == "IN":
            node = self._in(left)
        elif kind == "RLIKE":
            node = q.RegexpLike(left, self.value())
        elif self.kind in ("ANY", "SOME", "ALL") and self.peek() == "(":
            return self._quantified_like(left, kind, negated, start)
        else:
            pattern = self.value()
            node = _LIKES[kind](left, pattern, self._escape_character() if self.skip("ESCAPE") else None)
        self.placed(node, start)
        return self.placed(q.Not(node, inner=True), start) if negated else node

    def _escape_character(self) -> q.Literal:
        start = self.start
        text = self.string_literal()
        if len(text.text) != 1:
            self.later("INVALID_ESC", "The escape string of LIKE is one character.", start, self.start)
        return text

    def _inner_not(self) -> bool:
        """Whether NOT stands here, within a predicate; `!` is one only under `spark.sql.legacy.bangEqualsNot`."""
        if self.kind not in ("NOT", "!"):
            return False
        if self.kind == "!" and not self.conf.bang_equals_not:
            self.later(
                "SYNTAX_DISCONTINUED.BANG_EQUALS_NOT",
                "Support of the clause or keyword: '!' has been discontinued in this context.",
                self.start,
                self.stops[self.i],
            )
        self.advance()
        return True

    def _is(self, left: q.Node, start: int) -> q.Node:
        negated = self._inner_not()
        kind, at = self.kind, self.start
        if kind == "DISTINCT":
            self.advance()
            self.take("FROM")
            right = self.value()
            distinct = q.NullSafeEQ if negated else q.NullSafeNEQ
            return self.placed(distinct(left, right), start)
        tests: dict[str, q.Null | q.Boolean | q.Var] = {
            "NULL": q.Null(),
            "TRUE": q.Boolean(True),
            "FALSE": q.Boolean(False),
            "UNKNOWN": q.Var("UNKNOWN"),
        }
        test = tests.get(kind)
        if test is None:
            self.fail()
        self.advance()
        self.placed(test, at)
        return self.placed(q.Is(left, test, negated), start)

    def _in(self, left: q.Node) -> q.Node:
        start = self.start
        self.take("(")
        if self.query_at(self.i):
            if self.kind == "SELECT" and self.peek() == "STRING_LITERAL" and self.peek(2) in (")", ","):
                self.later(
                    "UNSUPPORTED_TYPED_LITERAL",
                    'Literals of the type "SELECT" are not supported: behind IN, Spark reads an expression before a '
                    "query. Give the subquery's column a name.",
                    self.start,
                    self.stops[self.i],
                )
            query = q.Subquery(self.query())
            self.take(")")
            return q.In(left, query=self.placed(query, start))
        if self.kind == ")":
            self.later(
                "INVALID_SQL_SYNTAX.EMPTY_IN_PREDICATE",
                "Invalid SQL syntax: IN predicate requires at least one value. Empty IN clauses like 'IN ()' are not "
                "allowed. Consider using 'WHERE FALSE' if you need an always-false condition.",
                left.span[0],
                self.stops[self.i],
            )
        members = [] if self.kind == ")" else self.expressions()
        self.take(")")
        return q.In(left, members)

    def _quantified_like(self, left: q.Node, kind: str, negated: bool, start: int) -> q.Node:
        quantifier = "ALL" if self.kind == "ALL" else "ANY"
        self.advance()
        self.take("(")
        if self.kind == ")":
            raise AnalysisError(
                "INVALID_SQL_SYNTAX.EMPTY_QUANTIFIED_PATTERN",
                "Invalid SQL syntax: Expected something between '(' and ')'.",
                self.origin(),
            )
        patterns = self.expressions()
        self.take(")")
        node = q.QuantifiedLike(left, patterns, kind, quantifier, negated)
        return self.placed(node, start)

    def expressions(self) -> list[q.Node]:
        found = [self.expression()]
        while self.skip(","):
            found.append(self.expression())
        return found


def _balanced(kind: type[q.Binary], operands: list[q.Node]) -> q.Node:
    """One tree of a chain of ANDs or ORs, as low as can be: Spark's parser builds it so, and names columns by it."""
    if len(operands) == 1:
        return operands[0]
    middle = (len(operands) + 1) // 2
    left, right = _balanced(kind, operands[:middle]), _balanced(kind, operands[middle:])
    node = kind(left, right)
    node.span = (left.span[0], right.span[1])
    return node
