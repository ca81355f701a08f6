"""What the gate knows of the node that a thread of dbt's runs: one value, which `decide` reads and gives anew.

What one of dbt's threads works on.

A seed on Iceberg or Delta: its rows are held as dbt loads them, and published in one commit.

dbt-spark drops a seed's table, makes it anew, and inserts its rows in batches. Meanwhile readers find no table, or only
some of its rows. Where a value does not fit its column, the old rows are gone. Here the statement that makes the table
is held. Each batch becomes a temporary view, by dbt's own statement with other words before its VALUES.
"""

from __future__ import annotations

import re
import threading
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any

from planproof.contract import LOGGED_FORMATS, Model
from planproof.session.protocol import Session, SparkFailure, SparkPlanes
from planproof.settings import Settings
from planproof_engine.catalog import RelationName
from planproof_engine.origin import AnalysisError, Origin
from planproof_engine.quoting import quote_parts
from planproof_engine.texts import Query, Statement

if TYPE_CHECKING:
    from dbt_planproof.dbts import Column, Node, Relation
    from planproof.guard import Guard
    from planproof.publish.data_tests.trial import StagedRows
    from planproof.report.model import Report
    from planproof.session.thrift import ThriftSession

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
        return replace(self, views=(*self.views, view)), statement

    def analyze_once(self, spark: Any) -> Seed:
        """The seed with its batches in views of a SparkSession that are read without being parsed: a view that is made
        of a text is parsed each time, one of an analyzed plan never again."""
        views = []
        for view in self.views:
            views.append(f"{view}_rows")
            spark.table(view).createOrReplaceTempView(views[-1])
            spark.catalog.dropTempView(view)
        return replace(self, views=tuple(views))

    def make_model(self, model: Model) -> Model:
        """The seed as a model of these rows."""
        return replace(model, sql=" UNION ALL ".join(self._list_selects()))

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


SCHEMA_CHANGES = ("add_columns", "retype_column")


class Phase(Enum):
    """Who writes the node, or how it ended. A node begins as `GUARDED` or `DBTS`."""

    GUARDED = "the guard will publish it, and the statement that writes it has not come"
    DBTS = "dbt writes it itself, for a reason that was said; its contract is checked before, and audited after"
    WRITTEN = "dbt wrote rows of it by a statement that was not understood; its contract is audited after"
    PUBLISHED = "the guard published it"
    PASSED = "planproof itself failed, and the model lets that pass: dbt writes it as if planproof were absent"
    STOPPED = "it failed, and nothing was published"


OPEN = frozenset((Phase.GUARDED, Phase.DBTS, Phase.WRITTEN))
"""The phases in which statements of the node are still gated."""


@dataclass(frozen=True)
class Unseen:
    """The model's query was not compared with its contract."""


@dataclass(frozen=True)
class ColumnsSeen:
    """The query's columns have the promised names and types. Where planproof asked ahead of dbt, `columns` are they as
    dbt knows columns, and `planes` the query as Spark analyzed it."""

    columns: list[Column] | None = None
    planes: SparkPlanes | None = None


@dataclass(frozen=True)
class PlanesSeen:
    """The whole check before a run saw the query. `places` are where the bare query writes columns. `report` is kept
    of a check that let pass what stops other nodes."""

    places: Mapping[str, Origin] = field(default_factory=dict)
    report: Report | None = None


Seen = Unseen | ColumnsSeen | PlanesSeen
"""How far the model's query was compared with its contract."""


@dataclass(frozen=True)
class GuardedNode:
    """What is known of a node from its beginning. `form` is dbt's node, `target` its schema and name in lower case,
    `compiled` its SQL. `reason` says why dbt writes it itself, `distance` why its files cannot be read here."""

    model: Model
    form: Mapping[str, Any]
    target: RelationName
    compiled: str
    reason: str | None = None
    distance: str | None = None

    @property
    def name(self) -> str:
        return str(self.form["name"])

    @property
    def is_snapshot(self) -> bool:
        return bool(self.form.get("resource_type") == "snapshot")

    @property
    def settings(self) -> Settings:
        """The settings by which the node is stopped, or is not."""
        return self.model.settings.in_force

    @property
    def is_watched(self) -> bool:
        return self.settings.guard == "watch"

    @cached_property
    def query(self) -> Query:
        return Query(self.compiled)


@dataclass(frozen=True)
class NodeState:
    """One node while dbt materializes it.

    `put_off` are drops, and schema changes and deletes, that dbt asked for and that wait for the statement that writes;
    `done` are the schema changes and deletes that dbt has made to its own table. `delta` is the statement of the view
    that stands for the delta. `hooked` is a statement of somebody's that may have changed the table before. `seed`
    holds the rows of a seed that the guard publishes.
    """

    node: GuardedNode
    phase: Phase = Phase.GUARDED
    seen: Seen = Unseen()
    put_off: tuple[Relation | Statement, ...] = ()
    done: tuple[Statement, ...] = ()
    delta: Statement | None = None
    hooked: str | None = None
    seed: Seed | None = None

    @classmethod
    def of(cls, node: GuardedNode, seed: Seed | None = None) -> NodeState:
        return cls(node, Phase.GUARDED if node.reason is None else Phase.DBTS, seed=seed)

    @property
    def is_open(self) -> bool:
        """Whether its statements are still gated."""
        return self.phase in OPEN

    @property
    def is_dbts(self) -> bool:
        """Whether dbt writes it itself, for a reason that was known when it began."""
        return self.phase is Phase.DBTS

    @property
    def drops(self) -> tuple[Relation, ...]:
        """The relations whose drop is put off."""
        return tuple(item for item in self.put_off if not isinstance(item, Statement))

    @property
    def held(self) -> tuple[Statement, ...]:
        """The statements that are put off."""
        return tuple(item for item in self.put_off if isinstance(item, Statement))

    @property
    def has_deleted(self) -> bool:
        """Whether dbt has deleted rows of its own table, in whose place others are to come."""
        return any(statement.kind == "delete" for statement in self.done)

    @property
    def has_altered(self) -> bool:
        """Whether dbt has changed the schema of its own table."""
        return any(statement.kind in SCHEMA_CHANGES for statement in self.done)

    @property
    def was_judged(self) -> bool:
        """Whether it was published under its contract; dbt, which takes its table for Delta's, will add the terms."""
        published = self.phase is Phase.PUBLISHED and self.node.model.contract is not None
        return published and (self.node.form["config"].get("file_format") or "delta") == "delta"

    def drop_first_put_off(self) -> NodeState:
        """The state when the first of what was put off has been done."""
        first, *rest = self.put_off
        deleted = (first,) if isinstance(first, Statement) and first.kind == "delete" else ()
        return replace(self, put_off=tuple(rest), done=(*self.done, *deleted))


class ThisThread(threading.local):
    """The node that the thread runs, and its state where the gate looks at it; the rows over which dbt compiles a test;
    over Thrift, where each thread has a connection of its own, the session on it and the guard."""

    node: Node | None = None
    state: NodeState | None = None
    staged: StagedRows | None = None
    session: ThriftSession | None = None
    guard: Guard | None = None

    @property
    def running(self) -> NodeState | None:
        """The node's state, while its statements are gated."""
        return self.state if self.state is not None and self.state.is_open else None

    def change(self, state: NodeState, **known: Any) -> NodeState:
        """The node's next state: `state`, with what is known now."""
        self.state = replace(state, **known)
        return self.state

    @contextmanager
    def hide_node(self) -> Iterator[None]:
        """Within the block the statements of the thread are dbt's own."""
        node, state = self.node, self.state
        self.node = self.state = None
        try:
            yield
        finally:
            self.node, self.state = node, state
