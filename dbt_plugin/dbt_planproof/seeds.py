"""A seed on Iceberg or Delta: its rows are held as dbt loads them, and published in one commit.

dbt-spark drops a seed's table, makes it anew, and inserts its rows in batches. Meanwhile readers find no table, or only
some of its rows. Where a value does not fit its column, the old rows are gone. Here the statement that makes the table
is held. Each batch becomes a temporary view, by dbt's own statement with other words before its VALUES.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from planproof.contract import LOGGED_FORMATS, Model
from planproof.session import Session, SparkFailure
from planproof_engine import AnalysisError, RelationName, Statement, evolve, quote_parts

EMPTY = "SELECT 1 AS nothing"
"""Stands for a seed's query until its rows are there."""
_INSERT = re.compile(r"\s*insert\s+into\s+((?:`(?:[^`]|``)*`(?!`)|[^\s`])+)\s+values(?=[\s(])", re.I)


@dataclass(frozen=True)
class Seed:
    """The rows of one seed under way. `made` is the statement that makes its table, once it came; `views` hold the
    batches."""

    target: RelationName
    made: Statement | None = None
    views: tuple[str, ...] = ()

    def is_made_by(self, statement: Statement) -> bool:
        """Whether the statement makes the seed's table; it is held then."""
        named = RelationName(statement.relation).in_schema
        is_logged = str(statement.clauses.get("using", "")).lower() in LOGGED_FORMATS
        return self.made is None and statement.kind == "empty_table" and named == self.target and is_logged

    def add_batch(self, sql: str) -> tuple[Seed, str] | None:
        """The seed with one more batch of rows, and the statement that holds them in place of the one that inserts
        them; None for any other statement."""
        found = _INSERT.match(sql)
        if self.made is None or found is None:
            return None
        try:
            named = RelationName.parse(found[1]).in_schema
        except AnalysisError:
            return None
        if named != self.target:
            return None
        view = f"planproof_seed_{uuid.uuid4().hex}"
        statement = (
            f"CREATE OR REPLACE TEMPORARY VIEW {quote_parts((view,))} AS SELECT * FROM VALUES{sql[found.end() :]}"
        )
        return evolve(self, views=(*self.views, view)), statement

    def analyze_once(self, spark: Any) -> Seed:
        """The seed with its batches in views of a SparkSession that are read without being parsed: a view that is made
        of a text is parsed each time, one of an analyzed plan never again."""
        views = []
        for view in self.views:
            views.append(f"{view}_rows")
            spark.table(view).createOrReplaceTempView(views[-1])
            spark.catalog.dropTempView(view)
        return evolve(self, views=tuple(views))

    def make_model(self, model: Model) -> Model:
        """The seed as a model of these rows."""
        return evolve(model, sql=" UNION ALL ".join(self._list_selects()))

    def list_inserts(self) -> Iterator[str]:
        """What dbt would have run, over the rows that are held."""
        assert self.made is not None
        yield self.made.text
        for view in self.views:
            yield f"INSERT INTO {quote_parts(self.made.relation)} SELECT * FROM {quote_parts((view,))}"

    def drop_views(self, session: Session) -> None:
        for view in self.views:
            session.rows(f"DROP VIEW IF EXISTS {quote_parts((view,))}")

    def _list_selects(self) -> Iterator[str]:
        assert self.made is not None
        columns: tuple[tuple[str, str], ...] = self.made.clauses["columns"]
        names = ", ".join(f"col{at} AS {quote_parts((name,))}" for at, (name, _) in enumerate(columns, 1))
        for view in self.views:
            yield f"SELECT {names} FROM {quote_parts((view,))}"
        if not self.views:
            nulls = ", ".join(f"CAST(NULL AS {kind}) AS {quote_parts((name,))}" for name, kind in columns)
            yield f"SELECT {nulls} FROM range(0)"


def why_unreadable(session: Session, sql: str) -> str | None:
    """Why Spark cannot read a statement, None where it can."""
    try:
        session.rows(f"EXPLAIN {sql}")
    except (AnalysisError, SparkFailure) as error:
        return str(error)
    return None
