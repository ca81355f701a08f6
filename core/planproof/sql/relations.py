"""The grammar of relations: Spark's rules `relation`, `relationPrimary`, `joinRelation`, `lateralView`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import TypeVar

from planproof.sql import nodes as q
from planproof.sql.aliases import AliasGrammar
from planproof.sql.calls import ENDS
from planproof.sql.keywords import WORDS
from planproof.sql.primary import called

_JOIN_WORDS = frozenset(("JOIN", "INNER", "CROSS", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI", "NATURAL", "ASOF"))
_JOIN_KINDS = _JOIN_WORDS - {"JOIN", "NATURAL", "ASOF"}

Part = TypeVar("Part")


class RelationGrammar(AliasGrammar):
    """What stands in FROM. Relations side by side form one tree that leans left, as Spark's plan does."""

    def from_clause(self) -> q.From:
        """FROM and all that Spark's `fromClause` takes: commas, joins, lateral views, a pivot, an unpivot."""
        start = self.start
        self.take("FROM")
        tree = self._relation(None)
        while self.skip(","):
            tree = self._relation(tree)
        while self.lateral_view_follows():
            tree = self.lateral_view(tree, start)
        while self.kind in ("PIVOT", "UNPIVOT") and self.clause_follows():
            tree = self._pivoting(tree)
        return self.placed(q.From(tree), start)

    def lateral_view_follows(self) -> bool:
        return self.kind == "LATERAL" and self.peek() == "VIEW"

    def lateral_view(self, tree: q.Node | None, start: int) -> q.LateralView:
        """One LATERAL VIEW over a relation, or over nothing."""
        self.advance()
        self.advance()
        outer = self.kind == "OUTER" and self.peek() in WORDS
        if outer:
            self.advance()
        call = self._generator()
        at = self.start
        name = self.identifier()
        columns = []
        if (self.peek() not in ENDS and self.skip("AS")) or (self.kind in WORDS and not self._after_lateral_view()):
            columns.append(self.identifier())
            while self.kind == "," and self.peek() in WORDS:
                self.advance()
                columns.append(self.identifier())
        alias = self.placed(q.TableAlias(name, columns), at)
        return self.placed(q.LateralView(tree, call, alias, outer), start)

    def _generator(self) -> q.Call:
        """The call of a LATERAL VIEW: Spark's rule has expressions in it and no named arguments, unlike other calls."""
        start = self.start
        call = self.dotted([self.identifier()], start)
        if not isinstance(call, q.Call):
            self.fail()
        for argument in call.arguments:
            if isinstance(argument, q.Kwarg):
                self.back(self.starts.index(argument.span[0]) + 1)
                self.fail()
        return call

    def _after_lateral_view(self) -> bool:
        return self.kind in _JOIN_WORDS or (self.kind != "IDENTIFIER_TOKEN" and self.clause_follows())

    def _relation(self, left: q.Node | None) -> q.Node:
        """One entry of a FROM list with its joins; joined to what stands before it, as Spark does."""
        lateral = self.kind == "LATERAL" and self.peek() != "VIEW"
        if lateral:
            self.advance()
        start = self.start if left is None else left.span[0]
        tree = self.relation_primary()
        if lateral:
            self._check_lateral(tree)
        if left is not None:
            tree = self.placed(q.Joined(left, tree, "INNER", comma=True, lateral=lateral), start)
        elif lateral:
            tree = self.placed(q.Joined(None, tree, "INNER", comma=True, lateral=True), start)
        while True:
            if self.kind in _JOIN_WORDS and self.join_follows():
                tree = self.join(tree, tree.span[0])
            elif self.kind in ("PIVOT", "UNPIVOT") and self.clause_follows():
                tree = self._pivoting(tree)
            elif self.kind == "BIN" and self.peek() == "BY":
                self.unknown("BIN BY")
            else:
                return tree

    def _check_lateral(self, relation: q.Node) -> None:
        if not isinstance(relation, (q.Subquery, q.TableFunction, q.Unnest)):
            start, stop = relation.span
            self.later(
                "INVALID_SQL_SYNTAX.LATERAL_WITHOUT_SUBQUERY_OR_TABLE_VALUED_FUNC",
                "Invalid SQL syntax: LATERAL can only be used with subquery and table-valued functions.",
                start,
                stop,
            )

    def join_follows(self) -> bool:
        return self.kind != "ASOF" or self.peek() == "JOIN"

    def join(self, left: q.Node | None, start: int) -> q.Joined:
        """A join, from its first word on; `left` is None in a pipe."""
        natural = self.skip("NATURAL")
        kind = self._join_kind()
        if self.kind == "ASOF":
            self.unknown("ASOF JOIN")
        self.take("JOIN")
        lateral = self.skip("LATERAL")
        right = self.relation_primary()
        if lateral:
            self._check_lateral(right)
            if natural:
                self.later(
                    "INCOMPATIBLE_JOIN_TYPES", "The join types LATERAL and NATURAL are incompatible.", start, self.stop
                )
        node = q.Joined(left, right, kind, natural=natural, lateral=lateral)
        if natural:
            pass
        elif self.skip("ON"):
            node.on = self.expression()
        elif self.kind == "USING":
            self.advance()
            node.using = self.identifier_list()
            if lateral:
                self.later(
                    "UNSUPPORTED_FEATURE.LATERAL_JOIN_USING",
                    "The feature is not supported: JOIN USING with LATERAL correlation.",
                    start,
                    self.stop,
                )
        elif self.kind in ("APPROX", "EXACT") and self.peek() == "NEAREST":
            self.unknown("NEAREST BY")
        return self.placed(node, start)

    def _join_kind(self) -> str:
        kind = self.kind
        if kind in ("JOIN", "ASOF"):
            return "INNER"
        if kind not in _JOIN_KINDS:
            self.fail()
        self.advance()
        if kind in ("SEMI", "ANTI"):
            return f"LEFT {kind}"
        if kind == "LEFT" and self.kind in ("SEMI", "ANTI"):
            kind = f"LEFT {self.kind}"
            self.advance()
        elif kind in ("LEFT", "RIGHT", "FULL"):
            self.skip("OUTER")
        return kind

    def relation_primary(self) -> q.Node:
        kind, start = self.kind, self.start
        if kind == "(":
            return self._parenthesized_relation(start)
        if kind == "VALUES" and not self._name_ends(1) and not (self.peek() == "(" and self.peek(2) == ")"):
            return self.inline_table()
        if kind == "UNNEST" and self.peek() == "(":
            return self._unnest(start)
        if kind == "JSON_TABLE" and self.peek() == "(":
            self.unknown("JSON_TABLE")
        if kind == "STREAM" and (self.peek() == "(" or self.peek() in WORDS) and not self._name_ends(1):
            self.unknown("STREAM")
        if kind == "IDENTIFIER" and self.peek() == "(":
            return self._identifier_relation(start)
        if kind not in WORDS:
            self.fail()
        return self._named_relation(self.multipart(), start)

    def _name_ends(self, ahead: int) -> bool:
        """Whether the word at hand is a whole relation name, judging by what follows."""
        following = self.peek(ahead)
        return following in (".", ")", ",", "EOF", ";", "AS") or following in _JOIN_WORDS or following == "WHERE"

    def _identifier_relation(self, start: int) -> q.Node:
        found = self.identifier_clause()
        if isinstance(found, list):
            while self.skip("."):
                found.append(self.captured_identifier())
            return self._named_relation(found, start)
        if self.kind == "(":
            return self._table_function(found, start, None)
        return self._table(q.Table((), found), start)

    def _named_relation(self, parts: list[q.Identifier], start: int) -> q.Node:
        if self.kind == "(":
            name, given = called(parts)
            return self._table_function(name, start, given)
        if self.kind == "@":
            self.unknown("time travel by @")
        return self._table(self.table_name(parts), start)

    def table_name(self, parts: list[q.Identifier]) -> q.Table:
        """A dotted name as a Table."""
        return self.placed(q.Table(parts), parts[0].span[0])

    def _table(self, node: q.Table, start: int) -> q.Table:
        """What may follow a table's name."""
        if self.kind == "CHANGES" and self.peek() == "FROM":
            self.unknown("CHANGES")
        node.version = self._time_travel()
        if self.kind == "WITH" and self.peek() == "(" and "table options" not in self.lacks:
            node.options = self.properties_text()
        self._sample_and_alias(node)
        return self.placed(node, start)

    def properties_text(self) -> str:
        """`WITH (key = value, ...)`, as text: it changes no schema here."""
        self.advance()
        start, at = self.start, self._closing(self.i)
        self.back(at)
        self.take(")")
        return self.text[start : self.stop]

    def _time_travel(self) -> q.Version | None:
        ahead = 1 if self.kind == "FOR" else 0
        word = self.peek(ahead)
        if word not in ("VERSION", "SYSTEM_VERSION", "TIMESTAMP", "SYSTEM_TIME"):
            return None
        if self.peek(ahead + 1) != "AS" or self.peek(ahead + 2) != "OF":
            return None
        start = self.start
        self.back(self.i + ahead + 3)
        kind = "VERSION" if word.endswith("VERSION") else "TIMESTAMP"
        if kind == "VERSION":
            at: q.Node = self.string_literal() if self.kind == "STRING_LITERAL" else self.number()
        else:
            at = self.value()
        return self.placed(q.Version(kind, at), start)

    def _sample_and_alias(self, node: q.Table | q.Subquery | q.Grouped) -> None:
        if self.kind == "TABLESAMPLE" and self.clause_follows():
            node.sample = self.sample()
        if self.kind == "WATERMARK" and self.clause_follows():
            self.unknown("WATERMARK")
        node.alias = self.table_alias()

    def sample(self) -> q.TableSample:
        """TABLESAMPLE: it changes no schema, so only its size and seed are kept."""
        start = self.start
        self.take("TABLESAMPLE")
        node = q.TableSample(self.kind if self.kind in ("SYSTEM", "BERNOULLI") else None)
        if node.method:
            self.advance()
        self.take("(")
        if self.kind == "BUCKET":
            self.advance()
            taken, node.bucket_numerator = self._whole()
            self.take("OUT")
            self.take("OF")
            of, node.bucket_denominator = self._whole()
            if self.skip("ON"):
                node.bucket_field = self.value()
                message = "TABLESAMPLE (BUCKET x OUT OF y ON ..) is not supported."
                self.later("_LEGACY_ERROR_TEMP_0015", message, start, self.stops[self.i])
            else:
                # So many buckets out of none are no share of a table.
                self._check_fraction(taken / of if of else math.inf, start)
        elif self.kind != ")":
            size = self.expression()
            if self.kind == "PERCENT":
                self._check_percentage(size, start)
                self.advance()
                node.percent = size
            elif self.skip("ROWS"):
                node.rows = size
            else:
                self._refuse_bytes(size)
                node.size = size
        self.take(")")
        if self.kind == "REPEATABLE" and self.peek() == "(":
            self.advance()
            self.advance()
            node.seed = self.number()
            self.take(")")
        return self.placed(node, start)

    def _refuse_bytes(self, size: q.Node) -> None:
        """Spark's grammar has samples by a number of bytes. Its parser refuses them, with one of two conditions."""
        text = self.text[slice(*size.span)]
        condition = "_LEGACY_ERROR_TEMP_0015" if re.fullmatch(r"\d+[bkmgBKMG]", text) else "_LEGACY_ERROR_TEMP_0016"
        self.later(condition, "TABLESAMPLE takes PERCENT, ROWS or BUCKET, not a size.", *size.span)

    def _check_percentage(self, size: q.Node, start: int) -> None:
        """Refuses a percentage that is no plain number or more than 100. Spark's parser does so, before its
        analyzer."""
        text = self.text[slice(*size.span)].replace(" ", "")
        if not re.fullmatch(r"-?(\d+|\d+\.\d*|\.\d+)", text):
            self.fail()
        self._check_fraction(float(text) / 100, start)

    def _whole(self) -> tuple[int, q.Literal]:
        if self.kind != "INTEGER_VALUE":
            self.fail()
        node = self.number()
        return int(node.text), node

    def _check_fraction(self, fraction: float, start: int) -> None:
        if not -1e-6 <= fraction <= 1 + 1e-6:
            message = f"Sampling fraction ({fraction}) must be on interval [0, 1]."
            self.later("INVALID_TABLESAMPLE_FRACTION", message, start, self.stops[self.i])

    def _parenthesized_relation(self, start: int) -> q.Node:
        query = self.query_at(self.i + 1)
        self.advance()
        if query:
            node: q.Subquery | q.Grouped = q.Subquery(self.query())
        else:
            node = q.Grouped(self._relation(None))
        self.take(")")
        self._sample_and_alias(node)
        return self.placed(node, start)

    def inline_table(self) -> q.Values:
        start = self.start
        self.take("VALUES")
        rows = self.expressions()
        return self.placed(q.Values(rows, self.table_alias()), start)

    def _unnest(self, start: int) -> q.Unnest:
        self.advance()
        self.advance()
        arguments = self.expressions()
        self.take(")")
        ordinality = self.skip_all("WITH", "ORDINALITY")
        return self.placed(q.Unnest(arguments, ordinality, self.table_alias()), start)

    def _table_function(
        self, name: str | q.IdentifierClause, start: int, parts: tuple[str, ...] | None
    ) -> q.TableFunction:
        self.advance()
        arguments = []
        if self.kind != ")":
            arguments.append(self._table_function_argument())
            while self.skip(","):
                arguments.append(self._table_function_argument())
        self.take(")")
        call = self.placed(q.Call(name, arguments, parts), start)
        if (self.kind, self.peek()) in (("IDENTIFIED", "BY"), ("WATERMARK", "(")):
            self.unknown(self.kind)
        return self.placed(q.TableFunction(call, self.table_alias()), start)

    def _table_function_argument(self) -> q.Node:
        if self.kind == "TABLE" and (self.peek() == "(" or self.peek() in WORDS):
            return self._table_argument()
        if self.peek() == "=>" and self.peek(2) == "TABLE" and (self.peek(3) == "(" or self.peek(3) in WORDS):
            start = self.start
            name = self.identifier()
            self.advance()
            return self.placed(q.Kwarg(name, self._table_argument()), start)
        return self.argument()

    def _table_argument(self) -> q.TableArgument:
        start = self.start
        self.advance()
        if self.skip("("):
            relation: q.Table | q.Query
            relation = self.query() if self.query_at(self.i) else self.table_name(self.multipart())
            self.take(")")
        else:
            relation = self.table_name(self.multipart())
        node = q.TableArgument(relation)
        if "partitioned table argument" in self.lacks:
            return self.placed(node, start)
        if self.skip_all("WITH", "SINGLE", "PARTITION"):
            node.single = True
        elif self.skip_all("PARTITION", "BY") or self.skip_all("DISTRIBUTE", "BY"):
            node.partition_by = self._maybe_parenthesized(self.expression)
        if self.skip_all("ORDER", "BY") or self.skip_all("SORT", "BY"):
            node.order = self._maybe_parenthesized(self.sort_item)
        return self.placed(node, start)

    def _maybe_parenthesized(self, read: Callable[[], Part]) -> list[Part]:
        grouped = self.kind == "(" and self.kinds[self._closing(self.i) + 1] in (",", ")", "ORDER", "SORT")
        if not grouped:
            return [read()]
        self.advance()
        found = [read()]
        while self.skip(","):
            found.append(read())
        self.take(")")
        return found

    def _pivoting(self, tree: q.Node) -> q.Pivoted | q.Unpivoted:
        start = tree.span[0]
        return self.pivot(tree, start) if self.kind == "PIVOT" else self.unpivot(tree, start)

    def pivot(self, tree: q.Node | None, start: int) -> q.Pivoted:
        """A PIVOT, from that word on; `tree` is None in a pipe."""
        self.take("PIVOT")
        self.take("(")
        aggregates = self.named_expressions()
        self.take("FOR")
        columns = self.identifier_list() if self.kind == "(" else [self.captured_identifier()]
        self.take("IN")
        self.take("(")
        values = self.named_expressions()
        self.take(")")
        self.take(")")
        return self.placed(q.Pivoted(tree, aggregates, columns, values, self.bare_alias()), start)

    def unpivot(self, tree: q.Node | None, start: int) -> q.Unpivoted:
        """An UNPIVOT, from that word on; `tree` is None in a pipe."""
        self.take("UNPIVOT")
        include_nulls = self.skip_all("INCLUDE", "NULLS")
        if not include_nulls:
            self.skip_all("EXCLUDE", "NULLS")
        self.take("(")
        multi = self.kind == "("
        values = self.identifier_list() if multi else [self.identifier()]
        self.take("FOR")
        name = self.identifier()
        self.take("IN")
        self.take("(")
        columns = [self._unpivot_set(multi)]
        while self.skip(","):
            columns.append(self._unpivot_set(multi))
        self.take(")")
        self.take(")")
        node = q.Unpivoted(tree, values, name, columns, multi, include_nulls, self.bare_alias())
        return self.placed(node, start)

    def _unpivot_set(self, multi: bool) -> q.UnpivotSet:
        start = self.start
        if multi:
            self.take("(")
        columns = [self.column(self.multipart())]
        while multi and self.skip(","):
            columns.append(self.column(self.multipart()))
        if multi:
            self.take(")")
        alias = None
        if self.skip("AS") or self.kind in WORDS:
            alias = self.captured_identifier()
        return self.placed(q.UnpivotSet(columns, alias), start)
