"""The grammar of queries: Spark's rules `query`, `queryTerm`, `queryPrimary`, `querySpecification`, `fromStatement`."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from planproof.sql.keywords import PIPE_WORDS, WORDS
from planproof.sql.nodes import TableQuery, Transform
from planproof.sql.pipes import PipeGrammar

_SETS: dict[str, type[exp.SetOperation]] = {
    "UNION": exp.Union,
    "EXCEPT": exp.Except,
    "MINUS": exp.Except,
    "INTERSECT": exp.Intersect,
}

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

    def query(self) -> exp.Expr:
        start = self.start
        ctes = self.ctes() if self.kind == "WITH" else None
        node = self._query_term(1)
        self.organization(node)
        if ctes is not None:
            self._set(node, "with_", ctes)
        return self.placed(node, start)

    def ctes(self) -> exp.With:
        start = self.start
        self.take("WITH")
        recursive = self.kind == "RECURSIVE" and self.peek() in WORDS and self.peek() != "AS"
        if recursive:
            self.advance()
        found = [self._cte()]
        while self.skip(","):
            found.append(self._cte())
        return self.placed(exp.With(expressions=found, recursive=recursive), start)

    def _cte(self) -> exp.CTE:
        start = self.start
        name = self.captured_identifier()
        columns = []
        if self.kind == "(" and not self.query_at(self.i + 1):
            columns = self.identifier_list()
        alias = self.placed(exp.TableAlias(this=name, columns=columns), start)
        node = exp.CTE(alias=alias)
        if self.skip_all("MAX", "RECURSION", "LEVEL"):
            self._set(node, "max_recursion", self.number())
        self.skip("AS")
        self.take("(")
        self._set(node, "this", self.query())
        self.take(")")
        return self.placed(node, start)

    def _query_term(self, floor: int) -> exp.Expr:
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
            elif floor == 1 and (kind == "|>" or (kind == "|" and self.peek() in PIPE_WORDS)):
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

    def query_primary(self) -> exp.Expr:
        kind, start = self.kind, self.start
        if kind == "SELECT":
            return self.placed(self.select(None), start)
        if kind == "(":
            self.advance()
            subquery = exp.Subquery(this=self.query())
            self.take(")")
            return self.placed(subquery, start)
        if kind == "VALUES":
            return self.inline_table()
        if kind == "TABLE":
            self.advance()
            return self.placed(TableQuery(this=self.relation_name()), start)
        if kind == "FROM":
            return self._from_statement(start)
        if kind in ("MAP", "REDUCE"):
            self.advance()
            return self.placed(self._transform(None), start)
        self.fail()

    def relation_name(self) -> exp.Table:
        """Spark's `identifierReference`: a dotted name or `IDENTIFIER(expr)`, as an exp.Table."""
        start = self.start
        if self.kind != "IDENTIFIER" or self.peek() != "(":
            return self.table_name(self.multipart())
        found = self.identifier_clause()
        if not isinstance(found, list):
            return self.placed(exp.Table(this=found), start)
        while self.kind == "." and self.peek() in WORDS:
            self.advance()
            found.append(self.captured_identifier())
        return self.table_name(found)

    def _from_statement(self, start: int) -> exp.Expr:
        """`FROM t SELECT a SELECT b`: one query per SELECT, all of them together; a bare `FROM t` gives all columns."""
        source = self.from_clause()
        bodies: list[exp.Expr] = []
        while self.kind in ("SELECT", "MAP", "REDUCE"):
            at = self.start
            self.advance()
            own = source if not bodies else source.copy()
            body = self._select_body(own) if self.kinds[self.i - 1] == "SELECT" else self._transform(own)
            body.args["from_first"] = True
            self.organization(body)
            bodies.append(self.placed(body, at))
        if not bodies:
            star = self.placed(exp.Star(), start)
            bodies.append(self.placed(exp.Select(expressions=[star], from_=source, from_only=True), start))
        node = bodies[0]
        for body in bodies[1:]:
            node = self.placed(exp.Union(this=node, expression=body, distinct=False), start)
        return node

    def select(self, source: exp.From | None) -> exp.Expr:
        self.take("SELECT")
        return self._select_body(source)

    def _select_body(self, source: exp.From | None) -> exp.Expr:
        """A SELECT after that word, up to its QUALIFY."""
        if self.kind == "TRANSFORM" and self.peek() == "(" and self._transform_follows():
            self.advance()
            return self._transform(source)
        node = exp.Select()
        start = self.start
        hints = self.hints()
        if hints:
            self._set(node, "hint", self.placed(exp.Hint(expressions=hints), start))
        distinct = self.quantifier()
        if distinct is not None:
            node.args["distinct"] = distinct
        self._set(node, "expressions", self.named_expressions())
        self._specification(node, source)
        if self.kind == "QUALIFY":
            start = self.start
            self.advance()
            self._set(node, "qualify", self.placed(exp.Qualify(this=self.expression()), start))
        return node

    def _specification(self, node: exp.Expr, source: exp.From | None) -> None:
        """FROM to WINDOW of a query specification."""
        start = self.start
        if source is None and self.kind == "FROM":
            source = self.from_clause()
        if self.kind == "LATERAL":
            tree = self.lateral_views(source.args["this"] if source is not None else None, start)
            source = self.placed(exp.From(this=tree), start)
        if source is not None:
            self._set(node, "from_", source)
        if self.kind == "WHERE":
            self._set(node, "where", self.where())
        if self.kind == "GROUP" and self.peek() == "BY":
            self._set(node, "group", self.group())
        if self.kind == "HAVING":
            start = self.start
            self.advance()
            self._set(node, "having", self.placed(exp.Having(this=self.expression()), start))
        if self.kind == "WINDOW" and self.clause_follows():
            self._set(node, "windows", self.windows())

    def hints(self) -> list[exp.Expr]:
        """Hints as calls. They change no schema; a hint that Spark does not know is a warning to it."""
        found: list[exp.Expr] = []
        while self.skip("HINT"):
            while not self.skip("HINT_END"):
                start = self.start
                name = self.identifier()
                if self.kind == "(":
                    found.append(self.call(name.args["this"], start))
                else:
                    found.append(self.placed(exp.Anonymous(this=name.args["this"], expressions=[]), start))
                self.skip(",")
        return found

    def where(self) -> exp.Where:
        start = self.start
        self.take("WHERE")
        return self.placed(exp.Where(this=self.expression()), start)

    def group(self, aliases: bool = False) -> exp.Group:
        """GROUP BY: `expressions` may hold exp.Rollup, exp.Cube and exp.GroupingSets; `all` says `GROUP BY ALL`.

        `with_kind` is ROLLUP or CUBE for `GROUP BY a WITH ROLLUP`, or GROUPING SETS for
        `GROUP BY a GROUPING SETS (..)`, whose sets are `sets`. Only a pipe's GROUP BY may give an `aliases`.
        """
        start = self.start
        self.take("GROUP")
        self.take("BY")
        node = exp.Group()
        found = [self._grouping(aliases)]
        while self.skip(","):
            found.append(self._grouping(aliases))
        self._set(node, "expressions", found)
        if self.kind == "WITH" and self.peek() in ("ROLLUP", "CUBE"):
            node.args["with_kind"] = self.peek()
            self.advance()
            self.advance()
        elif self.kind == "GROUPING" and self.peek() == "SETS":
            node.args["with_kind"] = "GROUPING SETS"
            self.advance()
            self.advance()
            self._set(node, "sets", self._grouping_list(self._grouping_set))
        only = found[0]
        if len(found) == 1 and isinstance(only, exp.Column) and only.name.upper() == "ALL" and "table" not in only.args:
            node.args["all"] = not only.this.args["quoted"]
        return self.placed(node, start)

    def _grouping(self, aliases: bool) -> exp.Expr:
        analytics = self._grouping_analytics()
        if analytics is not None:
            return analytics
        return self.named_expression() if aliases else self.expression()

    def _grouping_analytics(self) -> exp.Expr | None:
        start = self.start
        if self.kind in ("ROLLUP", "CUBE") and self.peek() == "(":
            kind = exp.Rollup if self.kind == "ROLLUP" else exp.Cube
            self.advance()
            return self.placed(kind(expressions=self._grouping_list(self._grouping_set)), start)
        if self.skip_all("GROUPING", "SETS"):
            return self.placed(exp.GroupingSets(expressions=self._grouping_list(self._grouping_element)), start)
        return None

    def _grouping_list(self, read: Any) -> list[exp.Expr]:
        self.take("(")
        found = [read()]
        while self.skip(","):
            found.append(read())
        self.take(")")
        return found

    def _grouping_element(self) -> exp.Expr:
        analytics = self._grouping_analytics()
        return self._grouping_set() if analytics is None else analytics

    def _grouping_set(self) -> exp.Expr:
        """`()` and `(a, b)` are an exp.Tuple; `(a)` is an exp.Paren, `a` an expression: each is one set."""
        if self.kind == "(" and self.peek() == ")":
            start = self.start
            self.advance()
            self.advance()
            return self.placed(exp.Tuple(expressions=[]), start)
        return self.expression()

    def windows(self) -> list[exp.Expr]:
        """WINDOW's definitions: exp.Windows whose `this` is the name."""
        self.take("WINDOW")
        found = [self._named_window()]
        while self.skip(","):
            found.append(self._named_window())
            name = found[-1].args["this"]
            if any(w.args["this"].args["this"] == name.args["this"] for w in found[:-1]):
                self.later(
                    "INVALID_SQL_SYNTAX.REPETITIVE_WINDOW_DEFINITION",
                    f"Invalid SQL syntax: The definition of window `{name.args['this']}` is repetitive.",
                    *name._meta["span"],
                )
        return found

    def _named_window(self) -> exp.Expr:
        start = self.start
        name = self.captured_identifier()
        self.take("AS")
        node = self.window_spec()
        self._set(node, "this", name)
        return self.placed(node, start)

    def organization(self, node: exp.Expr) -> None:
        """Spark's `queryOrganization`: ORDER BY, CLUSTER BY, DISTRIBUTE BY, SORT BY, WINDOW, LIMIT, OFFSET."""
        start = self.start
        if self.skip_all("ORDER", "BY"):
            self._set(node, "order", self.placed(exp.Order(expressions=self.ordered()), start))
        start = self.start
        if self.skip_all("CLUSTER", "BY"):
            self._set(node, "cluster", self.placed(exp.Cluster(expressions=self.expressions()), start))
        start = self.start
        if self.skip_all("DISTRIBUTE", "BY"):
            self._set(node, "distribute", self.placed(exp.Distribute(expressions=self.expressions()), start))
        start = self.start
        if self.skip_all("SORT", "BY"):
            self._set(node, "sort", self.placed(exp.Sort(expressions=self.ordered()), start))
        if self.kind == "WINDOW" and self.clause_follows():
            self._set(node, "windows", [*node.args.get("windows", []), *self.windows()])
        self._limits(node)

    def _limits(self, node: exp.Expr) -> None:
        start = self.start
        if self.kind == "LIMIT":
            self.advance()
            if self.kind == "ALL":
                self.advance()
                count: exp.Expr = self.placed(exp.Var(this="ALL"), self.starts[self.i - 1])
            else:
                count = self.expression()
            self._set(node, "limit", self.placed(exp.Limit(expression=count), start))
        start = self.start
        if self.skip("OFFSET"):
            self._set(node, "offset", self.placed(exp.Offset(expression=self.expression()), start))

    def _transform_follows(self) -> bool:
        """Whether this is `TRANSFORM (..) USING`, not a call of the function `transform`."""
        at = self._closing(self.i + 1) + 1
        return self.kinds[at] in ("USING", "ROW", "RECORDWRITER")

    def _transform(self, source: exp.From | None) -> exp.Expr:
        """TRANSFORM, MAP or REDUCE, from its first argument on."""
        node = Transform()
        grouped = self.kinds[self.i - 1] == "TRANSFORM"
        if grouped:
            self.take("(")
        distinct = self.quantifier()
        if distinct is not None:
            node.args["distinct"] = distinct
        self._set(node, "expressions", self.expressions())
        if grouped:
            self.take(")")
        row_format = self._row_format()
        if self.skip("RECORDWRITER"):
            self.string()
        self.take("USING")
        node.args["script"] = self.string()
        if self.skip("AS"):
            self._set(node, "columns", self._transform_columns())
        node.args["row_format"] = self._row_format() or row_format
        if self.skip("RECORDREADER"):
            self.string()
        self._specification(node, source)
        return node

    def _transform_columns(self) -> list[exp.Expr]:
        grouped = self.skip("(")
        found = [self._transform_column()]
        while self.skip(","):
            found.append(self._transform_column())
        if grouped:
            self.take(")")
        if len({column.args["kind"] is None for column in found}) > 1:
            self.fail()
        return found

    def _transform_column(self) -> exp.Expr:
        start = self.start
        name = self.captured_identifier()
        typed = self.kind in WORDS and not self.clause_follows() and self.kind != "ROW"
        kind = self.data_type() if typed else None
        return self.placed(exp.ColumnDef(this=name, kind=kind), start)

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
