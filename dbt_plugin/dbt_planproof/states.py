"""The states of one node while dbt materializes it, and the events that lead from one state to the next."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

from planproof.contract import Model
from planproof_engine.origin import Origin
from planproof_engine.sql.heads import Query, Statement

if TYPE_CHECKING:
    from dbt_planproof.dbts import Column, Relation
    from dbt_planproof.seeds import Seed
    from planproof.session.protocol import SparkPlanes


class State(Enum):
    """Where a node stands. A node begins as `WAITING` or `DBTS`; no statement of a node that has ended is gated."""

    WAITING = "the guard will publish it, and the statement that writes it has not come"
    DELTA = "dbt made the view that stands for its delta; the insert from it has not come"
    DBTS = "dbt writes it itself, for a reason that was said; its contract is checked before, and audited after"
    WRITTEN = "dbt wrote rows of it by a statement that was not understood; its contract is audited after"
    PUBLISHED = "the guard published it"
    PASSED = "planproof itself failed, and the model lets that pass: dbt writes it as if planproof were absent"
    STOPPED = "it failed, and nothing was published"


class Event(Enum):
    """What happens to a node."""

    DELTA_MADE = "dbt makes the temporary view of its delta"
    ROWS_WRITTEN = "dbt writes its rows by a statement that is not understood"
    PUBLISHED = "the guard has published it"
    PASSED = "planproof failed, and on_internal_error says pass"
    STOPPED = "a check, a count or the publish failed it"


TRANSITIONS: dict[State, dict[Event, State]] = {
    State.WAITING: {
        Event.DELTA_MADE: State.DELTA,
        Event.ROWS_WRITTEN: State.WRITTEN,
        Event.PUBLISHED: State.PUBLISHED,
        Event.PASSED: State.PASSED,
        Event.STOPPED: State.STOPPED,
    },
    State.DELTA: {
        Event.DELTA_MADE: State.DELTA,
        Event.ROWS_WRITTEN: State.WRITTEN,
        Event.PUBLISHED: State.PUBLISHED,
        Event.PASSED: State.PASSED,
        Event.STOPPED: State.STOPPED,
    },
    State.WRITTEN: {
        Event.DELTA_MADE: State.WRITTEN,
        Event.ROWS_WRITTEN: State.WRITTEN,
        Event.PUBLISHED: State.PUBLISHED,
        Event.PASSED: State.PASSED,
        Event.STOPPED: State.STOPPED,
    },
    State.DBTS: {Event.STOPPED: State.STOPPED},
    State.PUBLISHED: {},
    State.PASSED: {},
    State.STOPPED: {},
}
"""By state and event: the next state. An event that is not listed for a state cannot happen in it."""

OPEN = frozenset(state for state, events in TRANSITIONS.items() if events)
"""The states in which statements of the node are still gated."""


class Seen(Enum):
    """How far the model's query was compared with its contract."""

    NOTHING = "not at all"
    COLUMNS = "its columns have the promised names and types, as dbt prints them"
    PLANES = "by the whole check before a run"


@dataclass
class Run:
    """One node while dbt materializes it, on one thread.

    `reason` says why dbt writes it itself, `distance` why its files cannot be read here. `deferred` are drops, `held`
    schema changes and deletes that dbt asked for and that wait for the audit; `changes` are those that it made to its
    own table. `has_deleted` says that dbt has deleted rows of its own table, in whose place others are to come. `delta`
    is the statement of the view that stands for the delta. `places` are where the bare query writes columns. `promised`
    are the contract's columns as dbt knows columns, where the query was found to have just these, and `analyzed` the
    query as Spark analyzed it to find that. `answers` are dbt's results of its data tests over the staged rows, each
    with what they rest on. `hooked` is a statement of somebody's that may have changed the table before. `seed` holds
    the rows of a seed that the guard publishes.
    """

    model: Model
    node: dict[str, Any]
    target: tuple[str, str]
    compiled: str
    reason: str | None = None
    distance: str | None = None
    state: State = State.WAITING
    seen: Seen = Seen.NOTHING
    deferred: list[Relation] = field(default_factory=list)
    held: list[tuple[str, Statement]] = field(default_factory=list)
    changes: list[Statement] = field(default_factory=list)
    has_deleted: bool = False
    hooked: str | None = None
    delta: Statement | None = None
    places: dict[str, Origin] = field(default_factory=dict)
    promised: list[Column] | None = None
    analyzed: SparkPlanes | None = None
    seed: Seed | None = None
    is_snapshot: bool = False
    answers: dict[str, tuple[Any, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.query = Query(self.compiled)
        if self.reason is not None:
            self.state = State.DBTS

    def to(self, event: Event) -> None:
        """The event happens. Raises `KeyError` where it cannot, in the state that the node is in."""
        self.state = TRANSITIONS[self.state][event]

    @property
    def is_open(self) -> bool:
        """Whether its statements are still gated."""
        return self.state in OPEN

    @property
    def is_dbts(self) -> bool:
        """Whether dbt writes it itself, for a reason that was known when it began."""
        return self.state is State.DBTS

    @property
    def was_judged(self) -> bool:
        """Whether it was published under its contract; dbt, which takes its table for Delta's, will add the terms."""
        published = self.state is State.PUBLISHED and self.model.contract is not None
        return published and (self.node["config"].get("file_format") or "delta") == "delta"
