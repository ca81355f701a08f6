"""The grammar of queries: Spark's rules `query`, `queryTerm`, `queryPrimary`, `querySpecification`, `fromStatement`."""

from __future__ import annotations

from typing import Any

from planproof.sql import nodes as q
from planproof.sql.keywords import PIPE_WORDS, WORDS
from planproof.sql.pipes import PipeGrammar

_SETS: dict[str, type[q.SetOperation]] = {
    "UNION": q.Union,
    "EXCEPT": q.Except,
    "MINUS": q.Except,
    "INTERSECT": q.Intersect,
}

_ORDERINGS = frozenset(("order", "sort", "distribute", "cluster"))

_DELIMITERS = (
    ("FIELDS", "TERMINATED", "BY"),
    ("ESCAPED", "BY"),
    ("COLLECTION", "ITEMS", "TERMINATED", "BY"),
    ("MAP", "KEYS", "TERMINATED", "BY"),
    ("LINES", "TERMINATED", "BY"),
    ("NULL", "DEFINED", "AS"),
)


class QueryGrammar(PipeGrammar):
    """Queries. What orders or limits a query stands in the arguments of its outermost node, whatever that is."""

    def query(self) -> q.Node:
        start = self.start
        ctes = self.ctes() if self.kind == "WITH" else None
        node = self._query_term(1)
        self.organization(node)
        if ctes is not None:
            node.put("with_", ctes)
        return self.placed(node, start)

    def ctes(self) -> q.With:
        start = self.start
        self.take("WITH")
        recursive = self.kind == "RECURSIVE" and self.peek() in WORDS and self.peek() != "AS"
        if recursive:
            self.advance()
        found = [self._cte()]
        while self.skip(","):
            found.append(self._cte())
        return self.placed(q.With(expressions=found, recursive=recursive), start)

    def _cte(self) -> q.CTE:
        start = self.start
        name = self.captured_identifier()
        columns = []
        if self.kind == "(" and not self.query_at(self.i + 1):
            columns = self.identifier_list()
        alias = self.placed(q.TableAlias(this=name, columns=columns), start)
        node = q.CTE(alias=alias)
        if self.skip_all("MAX", "RECURSION", "LEVEL"):
            node.put("max_recursion", self.number())
        self.skip("AS")
        self.take("(")
        node.put("this", self.query())
        self.take(")")
        return self.placed(node, start)

    def _query_term(self, floor: int) -> q.Node:
        """Set operations and pipes: INTERSECT binds before UNION, EXCEPT and MINUS, and a pipe after them all."""
        start = self.start
        left = self.query_primary()
        while True:
            kind = self.kind
            if kind in _SETS:
                strength = 3 if kind == "INTERSECT" else 2
                if strength < floor:
                    return left
                self.advance()
                distinct = self.quantifier() is not False
                right = self._query_term(strength + 1)
                left = self.placed(_SETS[kind](this=left, expression=right, distinct=distinct), start)
            elif floor == 1 and (kind == "|>" or (kind == "|" and self.peek() in PIPE_WORDS and self.bar_is_pipe)):
                self.advance()
                left = self.placed(self.pipe(left), start)
            else:
                return left

    def quantifier(self) -> bool | None:
        """True for DISTINCT, False for ALL, None where neither stands."""
        if self.kind in ("DISTINCT", "ALL") and self.peek() not in ("=", ".", ",", ")", "EOF"):
            distinct = self.kind == "DISTINCT"
            self.advance()
            return distinct
        return None

    def query_primary(self) -> q.Node:
        kind, start = self.kind, self.start
        if kind == "SELECT":
            return self.placed(self.select(None), start)
        if kind == "(":
            self.advance()
            subquery = q.Subquery(this=self.query())
            self.take(")")
            return self.placed(subquery, start)
        if kind == "VALUES":
            return self.inline_table()
        if kind == "TABLE":
            self.advance()
            return self.placed(q.TableQuery(this=self.relation_name()), start)
        if kind == "FROM":
            return self._from_statement(start)
        if kind in ("MAP", "REDUCE"):
            self.advance()
            return self.placed(self._transform(None), start)
        self.fail()

    def relation_name(self) -> q.Table:
        """Spark's `identifierReference`: a dotted name or `IDENTIFIER(expr)`, as a Table."""
        start = self.start
        if self.kind != "IDENTIFIER" or self.peek() != "(":
            return self.table_name(self.multipart())
        found = self.identifier_clause()
        if not isinstance(found, list):
            return self.placed(q.Table(this=found), start)
        while self.kind == "." and self.peek() in WORDS:
            self.advance()
            found.append(self.captured_identifier())
        return self.table_name(found)

    def _from_statement(self, start: int) -> q.Node:
        """`FROM t SELECT a SELECT b`: one query per SELECT, all of them together; a bare `FROM t` gives all columns."""
        source = self.from_clause()
        bodies: list[q.Node] = []
        while self.kind in ("SELECT", "MAP", "REDUCE"):
            at = self.start
            self.advance()
            body = self._select_body(source) if self.kinds[self.i - 1] == "SELECT" else self._transform(source)
            body.args["from_first"] = True
            self.organization(body)
            bodies.append(self.placed(body, at))
        if not bodies:
            if "bare FROM" in self.lacks:
                self.fail()
            star = self.placed(q.Star(), start)
            bodies.append(self.placed(q.Select(expressions=[star], from_=source, from_only=True), start))
        node = bodies[0]
        for body in bodies[1:]:
            node = self.placed(q.Union(this=node, expression=body, distinct=False), start)
        return node

    def select(self, source: q.From | None) -> q.Node:
        self.take("SELECT")
        return self._select_body(source)

    def _select_body(self, source: q.From | None) -> q.Node:
        """A SELECT after that word, up to its QUALIFY."""
        if self.kind == "TRANSFORM" and self.peek() == "(" and self._transform_follows():
            self.advance()
            return self._transform(source)
        node = q.Select()
        start = self.start
        hints = self.hints()
        if hints:
            node.put("hint", self.placed(q.Hint(expressions=hints), start))
        distinct = self.quantifier()
        if distinct is not None:
            node.args["distinct"] = distinct
        node.put("expressions", self.named_expressions())
        self._specification(node, source)
        if self.kind == "QUALIFY":
            start = self.start
            self.advance()
            node.put("qualify", self.placed(q.Qualify(this=self.expression()), start))
        return node

    def _specification(self, node: q.Node, source: q.From | None) -> None:
        """FROM to WINDOW of a query specification."""
        start = self.start
        if source is None and self.kind == "FROM":
            source = self.from_clause()
        if self.kind == "LATERAL":
            tree = self.lateral_views(source.args["this"] if source is not None else None, start)
            source = self.placed(q.From(this=tree), start)
        if source is not None:
            node.put("from_", source)
        if self.kind == "WHERE":
            node.put("where", self.where())
        if self.kind == "GROUP" and self.peek() == "BY":
            node.put("group", self.group())
        if self.kind == "HAVING":
            start = self.start
            self.advance()
            node.put("having", self.placed(q.Having(this=self.expression()), start))
        if self.kind == "WINDOW" and self.clause_follows():
            node.put("windows", self.windows())

    def hints(self) -> list[q.Node]:
        """Hints as calls. They change no schema; a hint that Spark does not know is a warning to it."""
        found: list[q.Node] = []
        while self.skip("HINT"):
            while not self.skip("HINT_END"):
                start = self.start
                name = self.identifier()
                if self.kind == "(":
                    found.append(self.call(name.args["this"], start))
                else:
                    found.append(self.placed(q.Call(this=name.args["this"], expressions=[]), start))
                self.skip(",")
        return found

    def where(self) -> q.Where:
        start = self.start
        self.take("WHERE")
        return self.placed(q.Where(this=self.expression()), start)

    def group(self, aliases: bool = False) -> q.Group:
        """GROUP BY: `expressions` may hold Rollup, Cube and GroupingSets; `all` says `GROUP BY ALL`.

        `with_kind` is ROLLUP or CUBE for `GROUP BY a WITH ROLLUP`, or GROUPING SETS for
        `GROUP BY a GROUPING SETS (..)`, whose sets are `sets`. Only a pipe's GROUP BY may give an `aliases`.
        """
        start = self.start
        self.take("GROUP")
        self.take("BY")
        node = q.Group()
        found = [self._grouping(aliases)]
        while self.skip(","):
            found.append(self._grouping(aliases))
        node.put("expressions", found)
        if self.kind == "WITH" and self.peek() in ("ROLLUP", "CUBE"):
            node.args["with_kind"] = self.peek()
            self.advance()
            self.advance()
        elif self.kind == "GROUPING" and self.peek() == "SETS":
            node.args["with_kind"] = "GROUPING SETS"
            self.advance()
            self.advance()
            node.put("sets", self._grouping_list(self._grouping_set))
        only = found[0]
        if len(found) == 1 and isinstance(only, q.Column) and only.name.upper() == "ALL" and "table" not in only.args:
            node.args["all"] = not only.this.args["quoted"]
        return self.placed(node, start)

    def _grouping(self, aliases: bool) -> q.Node:
        analytics = self._grouping_analytics()
        if analytics is not None:
            return analytics
        return self.named_expression() if aliases else self.expression()

    def _grouping_analytics(self) -> q.Node | None:
        start = self.start
        if self.kind in ("ROLLUP", "CUBE") and self.peek() == "(":
            kind = q.Rollup if self.kind == "ROLLUP" else q.Cube
            self.advance()
            return self.placed(kind(expressions=self._grouping_list(self._grouping_set)), start)
        if self.skip_all("GROUPING", "SETS"):
            return self.placed(q.GroupingSets(expressions=self._grouping_list(self._grouping_element)), start)
        return None

    def _grouping_list(self, read: Any) -> list[q.Node]:
        self.take("(")
        found = [read()]
        while self.skip(","):
            found.append(read())
        self.take(")")
        return found

    def _grouping_element(self) -> q.Node:
        analytics = self._grouping_analytics()
        return self._grouping_set() if analytics is None else analytics

    def _grouping_set(self) -> q.Node:
        """`()` and `(a, b)` are a Tuple; `(a)` is a Paren, `a` an expression: each is one set."""
        if self.kind == "(" and self.peek() == ")":
            start = self.start
            self.advance()
            self.advance()
            return self.placed(q.Tuple(expressions=[]), start)
        return self.expression()

    def windows(self) -> list[q.Node]:
        """WINDOW's definitions: Windows whose `this` is the name."""
        self.take("WINDOW")
        found = [self._named_window()]
        while self.skip(","):
            found.append(self._named_window())
            name = found[-1].args["this"]
            if any(w.args["this"].args["this"] == name.args["this"] for w in found[:-1]):
                self.later(
                    "INVALID_SQL_SYNTAX.REPETITIVE_WINDOW_DEFINITION",
                    f"Invalid SQL syntax: The definition of window `{name.args['this']}` is repetitive.",
                    *name.span,
                )
        return found

    def _named_window(self) -> q.Node:
        start = self.start
        name = self.captured_identifier()
        self.take("AS")
        node = self.window_spec()
        node.put("this", name)
        return self.placed(node, start)

    def organization(self, node: q.Node) -> None:
        """Spark's `queryOrganization`: ORDER BY, CLUSTER BY, DISTRIBUTE BY, SORT BY, WINDOW, LIMIT, OFFSET."""
        first = start = self.start
        if self.skip_all("ORDER", "BY"):
            node.put("order", self.placed(q.Order(expressions=self.ordered()), start))
        start = self.start
        if self.skip_all("CLUSTER", "BY"):
            node.put("cluster", self.placed(q.Cluster(expressions=self.expressions()), start))
        start = self.start
        if self.skip_all("DISTRIBUTE", "BY"):
            node.put("distribute", self.placed(q.Distribute(expressions=self.expressions()), start))
        start = self.start
        if self.skip_all("SORT", "BY"):
            node.put("sort", self.placed(q.Sort(expressions=self.ordered()), start))
        if len(given := node.args.keys() & _ORDERINGS) > 1 and given != {"distribute", "sort"}:
            self.later(
                "UNSUPPORTED_FEATURE.COMBINATION_QUERY_RESULT_CLAUSES",
                "The feature is not supported: Combination of ORDER BY/SORT BY/DISTRIBUTE BY/CLUSTER BY.",
                first,
                self.stop,
            )
        if self.kind == "WINDOW" and self.clause_follows():
            node.put("windows", [*node.args.get("windows", []), *self.windows()])
        self._limits(node)

    def _limits(self, node: q.Node) -> None:
        start = self.start
        if self.kind == "LIMIT":
            self.advance()
            if self.kind == "ALL":
                self.advance()
                count: q.Node = self.placed(q.Var(this="ALL"), self.starts[self.i - 1])
            else:
                count = self.expression()
            node.put("limit", self.placed(q.Limit(expression=count), start))
        start = self.start
        if self.skip("OFFSET"):
            node.put("offset", self.placed(q.Offset(expression=self.expression()), start))

    def _transform_follows(self) -> bool:
        """Whether this is `TRANSFORM (..) USING`, not a call of the function `transform`."""
        at = self._closing(self.i + 1) + 1
        return self.kinds[at] in ("USING", "ROW", "RECORDWRITER")

    def _transform(self, source: q.From | None) -> q.Node:
        """TRANSFORM, MAP or REDUCE, from its first argument on."""
        node = q.Transform()
        grouped = self.kinds[self.i - 1] == "TRANSFORM"
        if grouped:
            self.take("(")
        distinct = self.quantifier()
        if distinct is not None:
            node.args["distinct"] = distinct
        node.put("expressions", self.expressions())
        if grouped:
            self.take(")")
        row_format = self._row_format()
        if self.skip("RECORDWRITER"):
            self.string()
        self.take("USING")
        node.args["script"] = self.string()
        if self.skip("AS"):
            node.put("columns", self._transform_columns())
        node.args["row_format"] = self._row_format() or row_format
        if self.skip("RECORDREADER"):
            self.string()
        self._specification(node, source)
        return node

    def _transform_columns(self) -> list[q.Node]:
        grouped = self.skip("(")
        found = [self._transform_column()]
        while self.skip(","):
            found.append(self._transform_column())
        if grouped:
            self.take(")")
        if len({column.args["kind"] is None for column in found}) > 1:
            self.fail()
        return found

    def _transform_column(self) -> q.Node:
        start = self.start
        name = self.captured_identifier()
        typed = self.kind in WORDS and not self.clause_follows() and self.kind != "ROW"
        kind = self.data_type() if typed else None
        return self.placed(q.ColumnDef(this=name, kind=kind), start)

    def _row_format(self) -> bool:
        """Steps over a ROW FORMAT; whether one stood."""
        if not self.skip_all("ROW", "FORMAT"):
            return False
        if self.skip("SERDE"):
            self.string()
            if self.skip_all("WITH", "SERDEPROPERTIES"):
                self.back(self._closing(self.i))
                self.take(")")
            return True
        self.take("DELIMITED")
        for words in _DELIMITERS:
            if self.skip_all(*words):
                self.string()
        return True
