"""What the gate knows of the node that a thread of dbt's runs: one value, which `decide` reads and gives anew; and what
each of dbt's threads works on.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dbt_planproof.seeds import Seed
from planproof.contract import Model
from planproof.session import SparkPlanes
from planproof.settings import Settings
from planproof_engine import Origin, RelationName, evolve
from planproof_engine.texts import Query, Statement

if TYPE_CHECKING:
    from dbt_planproof.dbts import Column, Node, Relation
    from planproof.guard import Guard
    from planproof.publish.data_tests.trial import StagedRows
    from planproof.report import Report
    from planproof.session.thrift import ThriftSession


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
        return evolve(self, put_off=tuple(rest), done=(*self.done, *deleted))


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
        self.state = evolve(state, **known)
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
