"""The grammar of pipe operators: Spark's rule `operatorPipeRightSide`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from planproof.sql import nodes as q
from planproof.sql.calls import ENDS
from planproof.sql.keywords import WORDS
from planproof.sql.relations import RelationGrammar


class PipeGrammar(RelationGrammar):
    """`query |> operator`: each operator is one `Pipe` around the query before it; nothing is rewritten into CTEs."""

    def query_primary(self) -> q.Node:
        raise NotImplementedError

    def quantifier(self) -> bool | None:
        raise NotImplementedError

    def where(self) -> q.Where:
        raise NotImplementedError

    def group(self, aliases: bool = False) -> q.Group:
        raise NotImplementedError

    def hints(self) -> list[q.Node]:
        raise NotImplementedError

    def windows(self) -> list[q.Node]:
        raise NotImplementedError

    def organization(self, node: q.Node) -> None:
        raise NotImplementedError

    def pipe(self, before: q.Node) -> q.Pipe:
        """The operator after `|>`."""
        reader = _OPERATORS.get(self.kind)
        if reader is None and self.kind in ENDS:
            reader = PipeGrammar._organize  # Spark allows a pipe with nothing after it
        if reader is None:
            self.fail()
        return reader(self, before)

    def _select(self, before: q.Node) -> q.Pipe:
        self.advance()
        node = q.Pipe(this=before, kind="SELECT")
        start = self.start
        hints = self.hints()
        if hints:
            node.put("hint", self.placed(q.Hint(expressions=hints), start))
        distinct = self.quantifier()
        if distinct is not None:
            node.args["distinct"] = distinct
        node.put("expressions", self.named_expressions())
        if self.kind == "GROUP" and self.peek() == "BY" and "grouping in pipe SELECT" not in self.lacks:
            node.put("group", self.group(aliases=True))
        self._windows(node)
        return node

    def _windows(self, node: q.Pipe) -> None:
        if self.kind == "WINDOW" and self.clause_follows():
            node.put("windows", self.windows())

    def _extend(self, before: q.Node) -> q.Pipe:
        self.advance()
        return q.Pipe(this=before, kind="EXTEND", expressions=self.named_expressions())

    def _assign(self, before: q.Node) -> q.Pipe:
        self.advance()
        found = [self._assignment()]
        while self.skip(","):
            found.append(self._assignment())
        return q.Pipe(this=before, kind="SET", expressions=found)

    def _assignment(self) -> q.Node:
        start = self.start
        name = self._column(self.multipart())
        self.take("=")
        return self.placed(q.EQ(this=name, expression=self.expression()), start)

    def _drop(self, before: q.Node) -> q.Pipe:
        self.advance()
        found = [self._dropped()]
        while self.skip(","):
            found.append(self._dropped())
        return q.Pipe(this=before, kind="DROP", expressions=found)

    def _dropped(self) -> q.Node:
        return self._column([self.identifier()] if "pipe DROP of fields" in self.lacks else self.multipart())

    def _rename(self, before: q.Node) -> q.Pipe:
        self.advance()
        return q.Pipe(this=before, kind="AS", expression=self.captured_identifier())

    def _filter(self, before: q.Node) -> q.Pipe:
        node = q.Pipe(this=before, kind="WHERE", expression=self.where())
        self._windows(node)
        return node

    def _aggregate(self, before: q.Node) -> q.Pipe:
        self.advance()
        found = []
        if not (self.kind == "GROUP" and self.peek() == "BY") and self.kind in WORDS | _EXPRESSION_STARTS:
            found = self.named_expressions()
        node = q.Pipe(this=before, kind="AGGREGATE", expressions=found)
        if self.kind == "GROUP" and self.peek() == "BY":
            node.put("group", self.group(aliases=True))
        return node

    def _combine(self, before: q.Node) -> q.Pipe:
        kind = "EXCEPT" if self.kind == "MINUS" else self.kind
        self.advance()
        distinct = self.quantifier() is not False
        return q.Pipe(this=before, kind=kind, expression=self.query_primary(), distinct=distinct)

    def _join_pipe(self, before: q.Node) -> q.Pipe:
        return q.Pipe(this=before, kind="JOIN", expression=self._right_side(self.join, before))

    def _pivot_pipe(self, before: q.Node) -> q.Pipe:
        return q.Pipe(this=before, kind="PIVOT", expression=self._right_side(self.pivot, before))

    def _unpivot_pipe(self, before: q.Node) -> q.Pipe:
        return q.Pipe(this=before, kind="UNPIVOT", expression=self._right_side(self.unpivot, before))

    def _right_side(self, read: Callable[[Any], q.Node], before: q.Node) -> q.Node:
        """A join or pivot of the pipe's input: its `this` is None, and its span starts at its own word."""
        start = self.start
        left = q.Placeholder(kind="INPUT")
        left.span = (start, start)
        node = read(left)
        node.args["this"] = None
        return self.placed(node, start)

    def _sample_pipe(self, before: q.Node) -> q.Pipe:
        return q.Pipe(this=before, kind="TABLESAMPLE", expression=self.sample())

    def _organize(self, before: q.Node) -> q.Pipe:
        node = q.Pipe(this=before, kind="ORGANIZE")
        self.organization(node)
        return node


_EXPRESSION_STARTS = frozenset(("(", "STRING_LITERAL", "-", "+", "~", "*", "!", "INTEGER_VALUE", "DECIMAL_VALUE"))

_OPERATORS: dict[str, Callable[[PipeGrammar, q.Node], q.Pipe]] = {
    "SELECT": PipeGrammar._select,
    "EXTEND": PipeGrammar._extend,
    "SET": PipeGrammar._assign,
    "DROP": PipeGrammar._drop,
    "AS": PipeGrammar._rename,
    "WHERE": PipeGrammar._filter,
    "AGGREGATE": PipeGrammar._aggregate,
    "PIVOT": PipeGrammar._pivot_pipe,
    "UNPIVOT": PipeGrammar._unpivot_pipe,
    "TABLESAMPLE": PipeGrammar._sample_pipe,
    **dict.fromkeys(("UNION", "EXCEPT", "MINUS", "INTERSECT"), PipeGrammar._combine),
    **dict.fromkeys(
        ["JOIN", "INNER", "CROSS", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI", "NATURAL", "ASOF"], PipeGrammar._join_pipe
    ),
    **dict.fromkeys(["ORDER", "CLUSTER", "DISTRIBUTE", "SORT", "WINDOW", "LIMIT", "OFFSET"], PipeGrammar._organize),
}
