"""The grammar of queries: Spark's rules `query`, `queryTerm`, `queryPrimary`, `querySpecification`, `fromStatement`."""

from __future__ import annotations

from collections.abc import Callable

from planproof.sql import nodes as q
from planproof.sql.keywords import PIPE_WORDS, WORDS
from planproof.sql.pipes import SETS, PipeGrammar

_DELIMITERS = (
    ("FIELDS", "TERMINATED", "BY"),
    ("ESCAPED", "BY"),
    ("COLLECTION", "ITEMS", "TERMINATED", "BY"),
    ("MAP", "KEYS", "TERMINATED", "BY"),
    ("LINES", "TERMINATED", "BY"),
    ("NULL", "DEFINED", "AS"),
)


class QueryGrammar(PipeGrammar):
    """Queries. ORDER BY, LIMIT and the like stand in the fields of the query's outermost node, whatever its class."""

    def query(self) -> q.Query:
        start = self.start
        ctes = self.ctes() if self.kind == "WITH" else None
        node = self._query_term(1)
        self.organization(node)
        if ctes is not None:
            node.with_ = ctes
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
        return self.placed(q.With(found, recursive), start)

    def _cte(self) -> q.CTE:
        start = self.start
        name = self.captured_identifier()
        columns = []
        if self.kind == "(" and not self.query_at(self.i + 1):
            columns = self.identifier_list()
        alias = self.placed(q.TableAlias(name, columns), start)
        most = self.number() if self.skip_all("MAX", "RECURSION", "LEVEL") else None
        self.skip("AS")
        self.take("(")
        query = self.query()
        self.take(")")
        return self.placed(q.CTE(alias, most, query), start)

    def _query_term(self, floor: int) -> q.Query:
        """Set operations and pipes: INTERSECT binds before UNION, EXCEPT and MINUS, and a pipe after them all."""
        start = self.start
        left = self.query_primary()
        while True:
            kind = self.kind
            if kind in SETS:
                strength = 3 if kind == "INTERSECT" else 2
                if strength < floor:
                    return left
                self.advance()
                distinct = self.quantifier() is not False
                right = self._query_term(strength + 1)
                left = self.placed(SETS[kind](left, right, distinct), start)
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

    def query_primary(self) -> q.Query:
        kind, start = self.kind, self.start
        if kind == "SELECT":
            return self.placed(self.select(None), start)
        if kind == "(":
            self.advance()
            subquery = q.Subquery(self.query())
            self.take(")")
            return self.placed(subquery, start)
        if kind == "VALUES":
            return self.inline_table()
        if kind == "TABLE":
            self.advance()
            return self.placed(q.TableQuery(self.relation_name()), start)
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
            return self.placed(q.Table((), found), start)
        while self.kind == "." and self.peek() in WORDS:
            self.advance()
            found.append(self.captured_identifier())
        return self.table_name(found)

    def _from_statement(self, start: int) -> q.Query:
        """`FROM t SELECT a SELECT b`: one query per SELECT, all of them together; a bare `FROM t` gives all columns."""
        source = self.from_clause()
        bodies: list[q.Block] = []
        while self.kind in ("SELECT", "MAP", "REDUCE"):
            at = self.start
            self.advance()
            body = self._select_body(source) if self.kinds[self.i - 1] == "SELECT" else self._transform(source)
            body.from_first = True
            self.organization(body)
            bodies.append(self.placed(body, at))
        if not bodies:
            if "bare FROM" in self.lacks:
                self.fail()
            star = self.placed(q.Star(), start)
            bodies.append(self.placed(q.Select(items=[star], from_=source, from_only=True), start))
        node: q.Query = bodies[0]
        for body in bodies[1:]:
            node = self.placed(q.Union(node, body, False), start)
        return node

    def select(self, source: q.From | None) -> q.Block:
        self.take("SELECT")
        return self._select_body(source)

    def _select_body(self, source: q.From | None) -> q.Block:
        """A SELECT after that word, up to its QUALIFY."""
        if self.kind == "TRANSFORM" and self.peek() == "(" and self._transform_follows():
            self.advance()
            return self._transform(source)
        node = q.Select(self.hints(), self.quantifier(), self.named_expressions())
        self._specification(node, source)
        if self.kind == "QUALIFY":
            start = self.start
            self.advance()
            node.qualify = self.placed(q.Qualify(self.expression()), start)
        return node

    def _specification(self, node: q.Block, source: q.From | None) -> None:
        """FROM to WINDOW of a query specification."""
        start = self.start
        if source is None and self.kind == "FROM":
            source = self.from_clause()
        while self.lateral_view_follows():
            view = self.lateral_view(source.relation if source is not None else None, start)
            source = self.placed(q.From(view), start)
        node.from_ = source
        if self.kind == "WHERE":
            node.where = self.where()
        if self.kind == "GROUP" and self.peek() == "BY":
            node.group = self.group()
        if self.kind == "HAVING":
            start = self.start
            self.advance()
            node.having = self.placed(q.Having(self.expression()), start)
        if self.kind == "WINDOW" and self.clause_follows():
            node.windows = self.windows()

    def hints(self) -> q.Hint | None:
        """Hints as calls. They change no schema; a hint that Spark does not know is a warning to it."""
        first = self.start
        found: list[q.Call] = []
        while self.skip("HINT"):
            while not self.skip("HINT_END"):
                start = self.start
                name = self.identifier()
                if self.kind == "(":
                    found.append(self.call(name.text, start))
                else:
                    found.append(self.placed(q.Call(name.text), start))
                self.skip(",")
        return self.placed(q.Hint(found), first) if found else None

    def where(self) -> q.Where:
        start = self.start
        self.take("WHERE")
        return self.placed(q.Where(self.expression()), start)

    def group(self, aliases: bool = False) -> q.Group:
        """GROUP BY: its keys may be Rollup, Cube and GroupingSets, and with `aliases`, in a pipe, Aliases."""
        start = self.start
        self.take("GROUP")
        self.take("BY")
        found = [self._grouping(aliases)]
        while self.skip(","):
            found.append(self._grouping(aliases))
        node = q.Group(found)
        if self.kind == "WITH" and self.peek() in ("ROLLUP", "CUBE"):
            node.with_kind = self.peek()
            self.advance()
            self.advance()
        elif self.kind == "GROUPING" and self.peek() == "SETS":
            node.with_kind = "GROUPING SETS"
            self.advance()
            self.advance()
            node.sets = self._grouping_list(self._grouping_set)
        only = found[0]
        if len(found) == 1 and isinstance(only, q.Column) and len(only.parts) == 1:
            node.is_all = only.parts[0].text.upper() == "ALL" and not only.parts[0].quoted
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
            return self.placed(kind(self._grouping_list(self._grouping_set)), start)
        if self.skip_all("GROUPING", "SETS"):
            return self.placed(q.GroupingSets(self._grouping_list(self._grouping_element)), start)
        return None

    def _grouping_list(self, read: Callable[[], q.Node]) -> list[q.Node]:
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
            return self.placed(q.Tuple(()), start)
        return self.expression()

    def windows(self) -> list[q.NamedWindow]:
        """WINDOW's definitions."""
        self.take("WINDOW")
        found = [self._named_window()]
        while self.skip(","):
            found.append(self._named_window())
            name = found[-1].name
            if any(w.name.text == name.text for w in found[:-1]):
                self.later(
                    "INVALID_SQL_SYNTAX.REPETITIVE_WINDOW_DEFINITION",
                    f"Invalid SQL syntax: The definition of window `{name.text}` is repetitive.",
                    *name.span,
                )
        return found

    def _named_window(self) -> q.NamedWindow:
        start = self.start
        name = self.captured_identifier()
        self.take("AS")
        return self.placed(q.NamedWindow(name, self.window_spec()), start)

    def organization(self, node: q.Query) -> None:
        """Spark's `queryOrganization`: ORDER BY, CLUSTER BY, DISTRIBUTE BY, SORT BY, WINDOW, LIMIT, OFFSET."""
        first = start = self.start
        if self.skip_all("ORDER", "BY"):
            node.order = self.placed(q.Order(self.ordered()), start)
        start = self.start
        if self.skip_all("CLUSTER", "BY"):
            node.cluster = self.placed(q.Cluster(self.expressions()), start)
        start = self.start
        if self.skip_all("DISTRIBUTE", "BY"):
            node.distribute = self.placed(q.Distribute(self.expressions()), start)
        start = self.start
        if self.skip_all("SORT", "BY"):
            node.sort = self.placed(q.Sort(self.ordered()), start)
        given = [c for c in (node.order, node.cluster, node.distribute, node.sort) if c is not None]
        if len(given) > 2 or (len(given) == 2 and given != [node.distribute, node.sort]):
            self.later(
                "UNSUPPORTED_FEATURE.COMBINATION_QUERY_RESULT_CLAUSES",
                "The feature is not supported: Combination of ORDER BY/SORT BY/DISTRIBUTE BY/CLUSTER BY.",
                first,
                self.stop,
            )
        if self.kind == "WINDOW" and self.clause_follows():
            node.windows = [*node.windows, *self.windows()]
        self._limits(node)

    def _limits(self, node: q.Query) -> None:
        start = self.start
        if self.kind == "LIMIT":
            self.advance()
            if self.kind == "ALL":
                self.advance()
                count: q.Node = self.placed(q.Var("ALL"), self.starts[self.i - 1])
            else:
                count = self.expression()
            node.limit = self.placed(q.Limit(count), start)
        start = self.start
        if self.skip("OFFSET"):
            node.offset = self.placed(q.Offset(self.expression()), start)

    def _transform_follows(self) -> bool:
        """Whether this is `TRANSFORM (..) USING`, not a call of the function `transform`."""
        at = self._closing(self.i + 1) + 1
        return self.kinds[at] in ("USING", "ROW", "RECORDWRITER")

    def _transform(self, source: q.From | None) -> q.Transform:
        """TRANSFORM, MAP or REDUCE, from its first argument on."""
        node = q.Transform()
        grouped = self.kinds[self.i - 1] == "TRANSFORM"
        if grouped:
            self.take("(")
        node.distinct = self.quantifier()
        node.items = self.expressions()
        if grouped:
            self.take(")")
        row_format = self._row_format()
        if self.skip("RECORDWRITER"):
            self.string()
        self.take("USING")
        node.script = self.string()
        if self.skip("AS"):
            node.columns = self._transform_columns()
        node.row_format = self._row_format() or row_format
        if self.skip("RECORDREADER"):
            self.string()
        self._specification(node, source)
        return node

    def _transform_columns(self) -> list[q.ColumnDef]:
        grouped = self.skip("(")
        found = [self._transform_column()]
        while self.skip(","):
            found.append(self._transform_column())
        if grouped:
            self.take(")")
        if len({column.type is None for column in found}) > 1:
            self.fail()
        return found

    def _transform_column(self) -> q.ColumnDef:
        start = self.start
        name = self.captured_identifier()
        typed = self.kind in WORDS and not self.clause_follows() and self.kind != "ROW"
        kind = self.data_type() if typed else None
        return self.placed(q.ColumnDef(name, kind), start)

    def _row_format(self) -> bool:
        """Steps over a ROW FORMAT. Returns whether there was one."""
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
