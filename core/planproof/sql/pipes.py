"""The grammar of pipe operators: Spark's rule `operatorPipeRightSide`."""

from __future__ import annotations

from collections.abc import Callable

from planproof.sql import nodes as q
from planproof.sql.calls import ENDS
from planproof.sql.keywords import WORDS
from planproof.sql.relations import RelationGrammar

SETS: dict[str, type[q.SetOperation]] = {
    "UNION": q.Union,
    "EXCEPT": q.Except,
    "MINUS": q.Except,
    "INTERSECT": q.Intersect,
}


class PipeGrammar(RelationGrammar):
    """`query |> operator`: each operator is one `Pipe` around the query before it; nothing is rewritten into CTEs."""

    def query_primary(self) -> q.Query:
        raise NotImplementedError

    def quantifier(self) -> bool | None:
        raise NotImplementedError

    def where(self) -> q.Where:
        raise NotImplementedError

    def group(self, aliases: bool = False) -> q.Group:
        raise NotImplementedError

    def hints(self) -> q.Hint | None:
        raise NotImplementedError

    def windows(self) -> list[q.NamedWindow]:
        raise NotImplementedError

    def organization(self, node: q.Query) -> None:
        raise NotImplementedError

    def pipe(self, before: q.Query) -> q.Pipe:
        """The operator after `|>`."""
        reader = _OPERATORS.get(self.kind)
        if reader is None and self.kind in ENDS:
            reader = PipeGrammar._organize  # Spark allows a pipe with nothing after it
        if reader is None:
            self.fail()
        return reader(self, before)

    def _select(self, before: q.Query) -> q.Pipe:
        self.advance()
        node = q.PipeSelect(before, self.hints(), self.quantifier(), self.named_expressions())
        if self.kind == "GROUP" and self.peek() == "BY" and "grouping in pipe SELECT" not in self.lacks:
            node.group = self.group(aliases=True)
        self._windows(node)
        return node

    def _windows(self, node: q.Pipe) -> None:
        if self.kind == "WINDOW" and self.clause_follows():
            node.windows = self.windows()

    def _extend(self, before: q.Query) -> q.Pipe:
        self.advance()
        return q.PipeExtend(before, self.named_expressions())

    def _assign(self, before: q.Query) -> q.Pipe:
        self.advance()
        found = [self.assignment()]
        while self.skip(","):
            found.append(self.assignment())
        return q.PipeSet(before, found)

    def assignment(self) -> q.EQ:
        """`a = 1`, of SET."""
        start = self.start
        name = self.column(self.multipart())
        self.take("=")
        return self.placed(q.EQ(name, self.expression()), start)

    def _drop(self, before: q.Query) -> q.Pipe:
        self.advance()
        found = [self._dropped()]
        while self.skip(","):
            found.append(self._dropped())
        return q.PipeDrop(before, found)

    def _dropped(self) -> q.Column:
        return self.column([self.identifier()] if "pipe DROP of fields" in self.lacks else self.multipart())

    def _rename(self, before: q.Query) -> q.Pipe:
        self.advance()
        return q.PipeAs(before, self.captured_identifier())

    def _filter(self, before: q.Query) -> q.Pipe:
        node = q.PipeWhere(before, self.where())
        self._windows(node)
        return node

    def _aggregate(self, before: q.Query) -> q.Pipe:
        self.advance()
        found: list[q.Node] = []
        if not (self.kind == "GROUP" and self.peek() == "BY") and self.kind in WORDS | _EXPRESSION_STARTS:
            found = self.named_expressions()
        node = q.PipeAggregate(before, found)
        if self.kind == "GROUP" and self.peek() == "BY":
            node.group = self.group(aliases=True)
        return node

    def _combine(self, before: q.Query) -> q.Pipe:
        kind = SETS[self.kind]
        self.advance()
        distinct = self.quantifier() is not False
        return q.PipeSetOperation(before, kind, self.query_primary(), distinct)

    def _join_pipe(self, before: q.Query) -> q.Pipe:
        return q.PipeJoin(before, self.join(None, self.start))

    def _pivot_pipe(self, before: q.Query) -> q.Pipe:
        return q.PipePivot(before, self.pivot(None, self.start))

    def _unpivot_pipe(self, before: q.Query) -> q.Pipe:
        return q.PipeUnpivot(before, self.unpivot(None, self.start))

    def _sample_pipe(self, before: q.Query) -> q.Pipe:
        return q.PipeSample(before, self.sample())

    def _organize(self, before: q.Query) -> q.Pipe:
        node = q.PipeOrganize(before)
        self.organization(node)
        return node


_EXPRESSION_STARTS = frozenset(("(", "STRING_LITERAL", "-", "+", "~", "*", "!", "INTEGER_VALUE", "DECIMAL_VALUE"))

_OPERATORS: dict[str, Callable[[PipeGrammar, q.Query], q.Pipe]] = {
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
    **dict.fromkeys(SETS, PipeGrammar._combine),
    **dict.fromkeys(
        ["JOIN", "INNER", "CROSS", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI", "NATURAL", "ASOF"], PipeGrammar._join_pipe
    ),
    **dict.fromkeys(["ORDER", "CLUSTER", "DISTRIBUTE", "SORT", "WINDOW", "LIMIT", "OFFSET"], PipeGrammar._organize),
}
