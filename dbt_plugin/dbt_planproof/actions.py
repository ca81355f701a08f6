"""What the gate does at a statement of dbt's: the steps that `decide` chooses from."""

from __future__ import annotations

from dataclasses import dataclass

from dbt_planproof.statement_models import Source
from dbt_planproof.states import NodeState
from planproof.contract import Model
from planproof_engine.texts import Statement


@dataclass(frozen=True)
class RunPutOff:
    """The drops and statements that were put off happen now: what follows is dbt's own, and needs them."""


@dataclass(frozen=True)
class KeepRows:
    """A rename: where the table's rows would be lost by it, it is done in a way that keeps them, and that is all."""

    rename: Statement


@dataclass(frozen=True)
class Check:
    """The planes of a query before a run; a broken contract stops the node."""

    sql: str


@dataclass(frozen=True)
class Weigh:
    """The rows that dbt's own statement is about to store are counted; a broken contract stops the node."""

    source: Source


@dataclass(frozen=True)
class SayUnguarded:
    """It is said that dbt writes the node itself, and why."""

    reason: str


@dataclass(frozen=True)
class RefuseUnreadable:
    """A statement that Spark cannot read stops the node before what was put off happens."""

    sql: str


@dataclass(frozen=True)
class MakeView:
    """The view of a snapshot's new rows is made as a temporary one: not every catalog has views, and another run must
    not find this one."""

    view: Statement


@dataclass(frozen=True)
class LoadSeed:
    """The rows of the seed, which are complete, are published."""


@dataclass(frozen=True)
class Publish:
    """The guard publishes the model, and dbt gets the answer."""

    model: Model


@dataclass(frozen=True)
class Forget:
    """What was proved of the relations in the statement is forgotten."""

    sql: str


@dataclass(frozen=True)
class Answer:
    """dbt gets an empty answer: the statement is not run, or not now."""


Step = (
    RunPutOff
    | KeepRows
    | Check
    | Weigh
    | SayUnguarded
    | RefuseUnreadable
    | MakeView
    | LoadSeed
    | Publish
    | Forget
    | Answer
)


@dataclass(frozen=True)
class Action:
    """The state that follows, and what is done, in this order. Where no step answers, dbt runs the statement."""

    state: NodeState | None
    steps: tuple[Step, ...] = ()
