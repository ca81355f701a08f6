"""The grammar of operands: Spark's rule `primaryExpression`."""

from __future__ import annotations

from planproof.quoting import backticked
from planproof.sql import nodes as q
from planproof.sql.calls import ENDS, SPECIAL_CALLS, CallGrammar
from planproof.sql.keywords import WORDS
from planproof.sql.tokens import AHEAD, NUMBERS

_QUERY_WORDS = frozenset(("SELECT", "WITH", "VALUES", "FROM", "TABLE", "MAP", "REDUCE"))
_NOT_AFTER_QUERY_WORD = frozenset(
    (*ENDS, ".", "=", "<", ">", "<>", "!=", "<=", ">=", "<=>", "/", "%", "||", "::", "[", "->")
)
_AFTER_QUERY = frozenset(
    (
        ")",
        "EOF",
        "UNION",
        "EXCEPT",
        "MINUS",
        "INTERSECT",
        "ORDER",
        "SORT",
        "CLUSTER",
        "DISTRIBUTE",
        "LIMIT",
        "OFFSET",
        "|>",
    )
)


class PrimaryGrammar(CallGrammar):
    """Operands: constants, names, calls, stars, subqueries, rows, lambdas, CASE, and what may follow each."""

    def primary(self) -> q.Node:
        kind = self.kind
        if kind in WORDS:
            node = self._word(kind)
        elif kind == "STRING_LITERAL":
            node = self.string_literal()
        elif kind in NUMBERS or kind == "-":
            node = self.number()
        elif kind == "(":
            node = self._parenthesis()
        elif kind == "*":
            start = self.start
            self.advance()
            return self._star(start, [])
        elif kind in ("?", ":"):
            node = self.parameter()
        else:
            self.fail()
        while self.kind in _POSTFIX:
            longer = self._postfix(node)
            if longer is None:
                break
            node = longer
        return node

    def _postfix(self, node: q.Node) -> q.Node | None:
        kind = self.kind
        start = node.span[0]
        if kind == "[":
            self.advance()
            index = self.value()
            self.take("]")
            return self.placed(q.Bracket(node, index), start)
        if kind == ".":
            self.advance()
            return self.placed(q.Dot(node, self.identifier()), start)
        if kind == "::":
            self.advance()
            return self.placed(q.Cast(node, self.data_type(), colons=True), start)
        if kind == "COLLATE":
            if self.peek() not in WORDS or "COLLATE" in self.lacks:
                return None
            self.advance()
            name = [self.captured_identifier()]
            while self.skip("."):
                name.append(self.captured_identifier())
            self.check_collation(name[-1])
            return self.placed(q.Collate(node, self.column(name)), start)
        if (self.peek() not in WORDS and self.peek() != "[") or "variant path" in self.lacks:
            return None
        return self._variant_path(node, start)

    def _variant_path(self, node: q.Node, start: int) -> q.Node:
        self.advance()
        at = self.start
        if self.kind in WORDS:
            self.identifier()
        else:
            self._path_bracket(("STRING_LITERAL", "INTEGER_VALUE"))
        while self.kind in (".", "["):
            if self.skip("."):
                self.identifier()
            else:
                self._path_bracket(("STRING_LITERAL", "INTEGER_VALUE", *WORDS))
        return self.placed(q.VariantPath(node, self.text[at : self.stop]), start)

    def _path_bracket(self, allowed: tuple[str, ...]) -> None:
        self.take("[")
        if self.kind not in allowed:
            self.fail()
        self.advance()
        self.take("]")

    def _word(self, kind: str) -> q.Node:
        following = self.kinds[self.i + 1]
        if kind in _SPECIAL:
            special = self._special(kind, following)
            if special is not None:
                return special
        start = self.starts[self.i]
        if following == "(":
            name = self.identifier()
            return self.call(name.text, start, (name.text,) if name.quoted else None)
        if following == "STRING_LITERAL":
            return self.typed_literal()
        if following == "->":
            parameter = self.identifier()
            self.advance()
            return self.placed(q.Lambda([parameter], self.expression()), start)
        if following != ".":
            return self.placed(q.Column([self.identifier()]), start)
        return self.dotted([self.identifier()], start)

    def dotted(self, parts: list[q.Identifier], start: int) -> q.Node:
        """Reads on after a name, over dots and parentheses: it is a column, a call, or the star of a relation or
        struct."""
        while self.kind == ".":
            following = self.peek()
            if following == "*":
                self.advance()
                self.advance()
                return self._star(start, parts)
            if following not in WORDS:
                break
            self.advance()
            # `t.IDENTIFIER('a')` calls the function t.identifier.
            parts.append(self.identifier(literals=False))
        if self.kind == "(":
            name, given = called(parts)
            return self.call(name, start, given)
        return self.placed(q.Column(parts), start)

    def column(self, parts: list[q.Identifier]) -> q.Column:
        """The column of a dotted name, placed where its parts stand."""
        node = q.Column(parts)
        node.span = (parts[0].span[0], parts[-1].span[1])
        return node

    def _star(self, start: int, qualifier: list[q.Identifier]) -> q.Star:
        node = q.Star(qualifier)
        if self.kind == "EXCEPT" and self.peek() == "(" and self._columns_are_excepted():
            self.advance()
            self.advance()
            names = [self.multipart()]
            while self.skip(","):
                names.append(self.multipart())
            self.take(")")
            node.except_ = [self.column(name) for name in names]
        return self.placed(node, start)

    def _columns_are_excepted(self) -> bool:
        return "star EXCEPT" not in self.lacks and not self.query_at(self.i + 2)

    def multipart(self) -> list[q.Identifier]:
        """A dotted name."""
        parts = [self.captured_identifier()]
        while self.kind == "." and self.peek() in WORDS:
            self.advance()
            parts.append(self.captured_identifier())
        return parts

    def _special(self, kind: str, following: str) -> q.Node | None:
        """A keyword with a syntax of its own, or None where it is a name here."""
        if following == "(":
            reader = SPECIAL_CALLS.get(kind)
            if reader is not None:
                at = self.i
                found = reader(self)
                if found is None:
                    self.back(at)
                return found
            if kind == "IDENTIFIER":
                return self._identifier_clause()
            if kind != "CASE":
                return None
        if kind in ("NULL", "TRUE", "FALSE"):
            return None if following == "->" else self.constant()
        if kind == "CASE":
            return None if following in (*ENDS, ".", "FROM") else self._case()
        if kind == "INTERVAL" and self.interval_follows():
            return self.interval()
        return None

    def _case(self) -> q.Node:
        start = self.start
        self.advance()
        operand = None if self.kind == "WHEN" else self.expression()
        branches = []
        while self.kind == "WHEN":
            at = self.start
            self.advance()
            condition = self.expression()
            self.take("THEN")
            branches.append(self.placed(q.When(condition, self.expression()), at))
        if not branches:
            self.fail()
        default = self.expression() if self.skip("ELSE") else None
        self.take("END")
        return self.placed(q.Case(operand, branches, default), start)

    def identifier_clause(self) -> q.IdentifierClause | list[q.Identifier]:
        """`IDENTIFIER(expr)`: the parts of the name where literals alone make it up, else an `IdentifierClause`."""
        start = self.start
        self.take("IDENTIFIER")
        self.take("(")
        argument = self.expression()
        self.take(")")
        text = constant_text(argument)
        if text is None:
            return self.placed(q.IdentifierClause(argument), start)
        inner = type(self)(text, self.conf)
        parts = inner.multipart()
        if inner.kind != "EOF":
            inner.fail()
        for part in parts:
            self.placed(part, start)
        return parts

    def _identifier_clause(self) -> q.Node:
        start = self.start
        found = self.identifier_clause()
        if isinstance(found, list) and self.kind != "(":
            # To Spark this is an expression of its own: it takes no further parts, and has no name of its own.
            literal = q.Literal(".".join(backticked(part.text) for part in found), True)
            return self.placed(q.IdentifierClause(self.placed(literal, start)), start)
        if isinstance(found, list):
            return self.dotted(found, start)
        return self.call(found, start) if self.kind == "(" else found

    def _parenthesis(self) -> q.Node:
        start = self.start
        if self.query_at(self.i + 1):
            self.advance()
            subquery = q.Subquery(self.query())
            self.take(")")
            return self.placed(subquery, start)
        if self.kinds[self.i + 1] in WORDS and self.kinds[self.i + 2] == "," and self._parameters_follow():
            parameters = self.identifier_list()
            self.take("->")
            return self.placed(q.Lambda(parameters, self.expression()), start)
        self.advance()
        first = self.named_expression()
        if self.kind == ",":
            members = [first]
            while self.skip(","):
                members.append(self.named_expression())
            self.take(")")
            return self.placed(q.Tuple(members), start)
        if isinstance(first, (q.Alias, q.Aliases)):
            self.fail()
        self.take(")")
        return self.placed(q.Paren(first), start)

    def _parameters_follow(self) -> bool:
        kinds, at = self.kinds, self.i + 2
        while kinds[at] == "," and kinds[at + 1] in WORDS:
            at += 2
        return kinds[at] == ")" and kinds[at + 1] == "->"

    def query_at(self, at: int) -> bool:
        """Whether a query, not an expression, begins at the token with this index."""
        kinds = self.kinds
        kind = kinds[at]
        if kind == "(":
            return self.query_at(at + 1) and kinds[self._closing(at) + 1] in _AFTER_QUERY
        if kind not in _QUERY_WORDS:
            return False
        following = kinds[at + 1]
        if kind in ("SELECT", "VALUES"):
            return following not in _NOT_AFTER_QUERY_WORD
        if kind == "FROM":
            return following in WORDS or following == "("
        return following in WORDS or (following == "STRING_LITERAL" and kind != "TABLE")

    def _closing(self, at: int) -> int:
        """The index of the parenthesis that closes the one at `at`. Where none does, the index of the last token but
        one."""
        depth = 0
        for index, kind in enumerate(self.kinds[at:], at):
            if kind == "(":
                depth += 1
            elif kind == ")":
                depth -= 1
                if depth == 0:
                    return index
        return len(self.kinds) - AHEAD - 1


_POSTFIX = frozenset(("[", ".", "::", "COLLATE", ":"))
_SPECIAL = frozenset((*SPECIAL_CALLS, "NULL", "TRUE", "FALSE", "CASE", "INTERVAL", "IDENTIFIER"))


def called(parts: list[q.Identifier]) -> tuple[str, tuple[str, ...] | None]:
    """A function's name as it is written, and its parts where it is dotted or quoted."""
    names = tuple(part.text for part in parts)
    return ".".join(names), None if len(parts) == 1 and not parts[0].quoted else names


def constant_text(node: q.Node) -> str | None:
    """The text that string literals and `||` of them make up; None for anything else."""
    if isinstance(node, q.Literal) and node.is_string:
        return node.text
    if isinstance(node, q.Paren):
        return constant_text(node.operand)
    if isinstance(node, q.DPipe):
        left, right = constant_text(node.left), constant_text(node.right)
        return None if left is None or right is None else left + right
    return None
