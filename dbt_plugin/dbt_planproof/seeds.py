"""A seed on Iceberg or Delta: its rows are held as dbt loads them, and published in one commit.

dbt-spark drops a seed's table, makes it anew, and inserts its rows in batches. Meanwhile readers find no table, or only
some of its rows. Where a value does not fit its column, the old rows are gone. Here the statement that makes the table
is held. Each batch becomes a temporary view, by dbt's own statement with other words before its VALUES.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from dbt_planproof.scope import LOGGED
from planproof.contract import Model
from planproof.session.protocol import Session, SparkFailure
from planproof_engine.catalog import split_name
from planproof_engine.origin import AnalysisError
from planproof_engine.quoting import quoted
from planproof_engine.sql.heads import Statement

EMPTY = "SELECT 1 AS nothing"
"""Stands for a seed's query until its rows are there."""
_INSERT = re.compile(r"\s*insert\s+into\s+((?:`(?:[^`]|``)*`|[^\s`])+)\s+values(?=[\s(])", re.I)


@dataclass
class Seed:
    """The rows of one seed under way. `made` is the statement that makes its table, once it came, and `text` its text;
    `views` hold the batches."""

    target: tuple[str, str]
    made: Statement | None = None
    text: str = ""
    views: list[str] = field(default_factory=list)

    def makes(self, statement: Statement, sql: str) -> bool:
        """Whether the statement makes the seed's table; it is held then."""
        named = tuple(part.lower() for part in statement.relation[-2:])
        is_made = statement.kind == "empty_table" and named == self.target and self.made is None
        if not is_made or str(statement.clauses.get("using", "")).lower() not in LOGGED:
            return False
        self.made, self.text = statement, sql
        return True

    def view(self, sql: str) -> str | None:
        """The statement that holds a batch of rows, in place of the one that inserts it; None for any other one."""
        found = _INSERT.match(sql)
        if self.made is None or found is None:
            return None
        try:
            named = tuple(part.lower() for part in split_name(found[1])[-2:])
        except AnalysisError:
            return None
        if named != self.target:
            return None
        view = f"planproof_seed_{uuid.uuid4().hex}"
        self.views.append(view)
        return f"CREATE OR REPLACE TEMPORARY VIEW {quoted((view,))} AS SELECT * FROM VALUES{sql[found.end() :]}"

    def model(self, model: Model, spark: Any) -> Model:
        """The seed as a model of these rows."""
        self._read_once(spark)
        return replace(model, sql=" UNION ALL ".join(self._selects()))

    def inserts(self) -> Iterator[str]:
        """What dbt would have run, over the rows that are held."""
        assert self.made is not None
        yield self.text
        for view in self.views:
            yield f"INSERT INTO {quoted(self.made.relation)} SELECT * FROM {quoted((view,))}"

    def forget(self, spark: Any) -> None:
        for view in self.views:
            spark.catalog.dropTempView(view)
        self.views.clear()

    def _selects(self) -> Iterator[str]:
        assert self.made is not None
        columns: tuple[tuple[str, str], ...] = self.made.clauses["columns"]
        names = ", ".join(f"col{at} AS {quoted((name,))}" for at, (name, _) in enumerate(columns, 1))
        for view in self.views:
            yield f"SELECT {names} FROM {quoted((view,))}"
        if not self.views:
            nulls = ", ".join(f"CAST(NULL AS {kind}) AS {quoted((name,))}" for name, kind in columns)
            yield f"SELECT {nulls} FROM range(0)"

    def _read_once(self, spark: Any) -> None:
        """A view that is made of a text is parsed each time that it is read; of an analyzed plan never again."""
        for at, view in enumerate(self.views):
            self.views[at] = f"{view}_rows"
            spark.table(view).createOrReplaceTempView(self.views[at])
            spark.catalog.dropTempView(view)


def unreadable(session: Session, sql: str) -> str | None:
    """Why Spark cannot read a statement, None where it can."""
    try:
        session.rows(f"EXPLAIN {sql}")
    except (AnalysisError, SparkFailure) as error:
        return str(error)
    return None
