"""Aliases without AS. Spark's keywords may be names, so the next tokens tell an alias from the start of a clause."""

from __future__ import annotations

from planproof.sql import nodes as q
from planproof.sql.calls import ENDS
from planproof.sql.expressions import ExpressionGrammar
from planproof.sql.keywords import ALIAS_WORDS, WORDS

_BY = frozenset(("BY",))
_QUERY_STARTS = frozenset(("ALL", "DISTINCT", "SELECT", "FROM", "VALUES", "TABLE", "MAP", "REDUCE", "("))

_CLAUSES: dict[str, frozenset[str]] = {
    "GROUP": _BY,
    "ORDER": _BY,
    "SORT": _BY,
    "CLUSTER": _BY,
    "DISTRIBUTE": _BY,
    "BIN": _BY,
    "PARTITION": frozenset(("BY", "(")),
    "FROM": WORDS | {"("},
    "LATERAL": frozenset(("VIEW",)),
    "UNION": _QUERY_STARTS,
    "EXCEPT": _QUERY_STARTS,
    "INTERSECT": _QUERY_STARTS,
    "MINUS": _QUERY_STARTS,
    "FOR": WORDS | {"("},
    "USING": WORDS | {"STRING_LITERAL", "("},
    "INSERT": frozenset(("INTO", "OVERWRITE", "WITH")),
    "PIVOT": frozenset(("(",)),
    "UNPIVOT": frozenset(("(", "INCLUDE", "EXCLUDE")),
    "TABLESAMPLE": frozenset(("(", "SYSTEM", "BERNOULLI")),
    "ASOF": frozenset(("JOIN",)),
    "REPLACE": frozenset(("WHERE", "ON", "USING")),
    "WHEN": frozenset(("MATCHED", "NOT", "!")),
    "MATCH_CONDITION": frozenset(("(",)),
    "APPROX": frozenset(("NEAREST",)),
    "EXACT": frozenset(("NEAREST",)),
    "WITH": frozenset(("(", "SCHEMA")),
    "IDENTIFIED": _BY,
    "VALUES": frozenset(("(",)),
    "TABLE": WORDS,
}
"""By keyword: the tokens that, right after it, make it the start of a clause and not a name."""

_BEFORE_EXPRESSION = frozenset(("WHERE", "HAVING", "QUALIFY", "LIMIT", "OFFSET", "SELECT", "WATERMARK"))
_NOT_EXPRESSION = frozenset((*ENDS, ".", "="))
_SET_ASSIGNMENT = frozenset(("=", "."))


class AliasGrammar(ExpressionGrammar):
    """Spark's rules `namedExpression` and `tableAlias`."""

    def clause_follows(self) -> bool:
        """Whether the keyword at hand begins a clause here, rather than being a name."""
        return self.kind != "BACKQUOTED" and self.decide(self._clause_likely())

    def _clause_likely(self) -> bool:
        kind, following = self.kind, self.peek()
        openers = _CLAUSES.get(kind)
        if kind == "FROM" and following == "FROM" and self.peek(2) in _CLAUSES["FROM"]:
            return False
        if openers is not None:
            return following in openers
        if kind in _BEFORE_EXPRESSION:
            return following not in _NOT_EXPRESSION
        if kind == "WINDOW":
            literal = following == "IDENTIFIER" and self.identifier_literal_at(self.i + 1)
            return literal or (following in WORDS and self.peek(2) == "AS")
        if kind == "SET":
            return following in WORDS and self.peek(2) in _SET_ASSIGNMENT
        return False

    def named_expression(self) -> q.Node:
        node = self.expression()
        kind = self.kind
        if kind == "AS" and self.peek() not in ENDS:
            if not self._as_is_a_name():
                self.advance()
            if self.kind == "(":
                return self._aliases(node)
        elif kind == "(" and self.peek() in WORDS:
            return self._aliases(node)
        elif kind not in WORDS or (kind != "IDENTIFIER_TOKEN" and self.clause_follows()):
            return node
        alias = self.captured_identifier()
        start = node.span[0]
        return self.placed(q.Alias(node, alias), start)

    def _as_is_a_name(self) -> bool:
        """Whether the AS at hand is the name itself, and a clause follows: `SELECT total AS FROM orders`."""
        following = self.peek()
        if following not in _CLAUSES and following not in _BEFORE_EXPRESSION:
            return False
        return self.decide(following == "FROM" != self.peek(2) and self.peek(2) in _CLAUSES["FROM"])

    def _aliases(self, node: q.Node) -> q.Node:
        start = node.span[0]
        return self.placed(q.Aliases(node, self.identifier_list()), start)

    def named_expressions(self) -> list[q.Node]:
        found = [self.named_expression()]
        while self.skip(","):
            found.append(self.named_expression())
        return found

    def table_alias(self) -> q.TableAlias | None:
        """An alias of a relation, with or without AS, perhaps with column names; None where none stands."""
        start, kind = self.start, self.kind
        if kind == "AS" and self.peek() != "(":
            if self.peek() in ALIAS_WORDS and not self._as_is_a_name():
                self.advance()
        elif kind not in ALIAS_WORDS or (kind != "IDENTIFIER_TOKEN" and self.clause_follows()):
            return None
        name = self.identifier(ALIAS_WORDS)
        columns = self.identifier_list() if self.kind == "(" else ()
        return self.placed(q.TableAlias(name, columns), start)

    def bare_alias(self) -> q.Identifier | None:
        """`[AS] name`, as after PIVOT; None where none stands."""
        if self.skip("AS"):
            return self.captured_identifier()
        if self.kind not in ALIAS_WORDS or (self.kind != "IDENTIFIER_TOKEN" and self.clause_follows()):
            return None
        return self.captured_identifier()

    def ordered(self) -> list[q.Ordered]:
        """Spark's `sortItem`s: `desc` a flag, `nulls_first` True, False or None where nothing is said."""
        found = [self.sort_item()]
        while self.skip(","):
            found.append(self.sort_item())
        return found

    def sort_item(self) -> q.Ordered:
        start = self.start
        operand = self.expression()
        desc = self.kind == "DESC"
        if self.kind in ("ASC", "DESC"):
            self.advance()
        nulls_first = None
        if self.kind == "NULLS" and self.peek() in ("FIRST", "LAST"):
            self.advance()
            nulls_first = self.kind == "FIRST"
            self.advance()
        return self.placed(q.Ordered(operand, desc, nulls_first), start)
