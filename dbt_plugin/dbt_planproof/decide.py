"""What becomes of a statement that dbt sends: a function of the node's state and the statement, without effects. It
chooses from the steps here, which the gate carries out.

A statement that writes the node is published by the guard. A drop, a schema change or a delete of the node's own table
waits for it: all happens, or nothing. What is not understood is dbt's to run, after what was put off.
"""

from __future__ import annotations

from dataclasses import dataclass

from dbt_planproof import statement_models as models
from dbt_planproof.contracts import is_contract_query
from dbt_planproof.states import SCHEMA_CHANGES, ColumnsSeen, NodeState, Phase, Unseen
from planproof.contract import Model
from planproof_engine import RelationName, evolve
from planproof_engine.texts import Statement, drop_terminators, may_change


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

    source: models.Source


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


_READS = ("read", "about")
_MERGES = ("merge", "merge_some")
_INSERTS = ("insert", "merge")
_ABOUT_TABLES = ("describe", "desc", "show")
_NOT_UNDERSTOOD = "the statement in which dbt writes it is not one that planproof understands"


def decide(state: NodeState | None, statement: Statement, setting: models.Setting) -> Action:
    """What becomes of a statement, where the thread's node is in `state` (None: it has none). `setting` reads a setting
    of Spark's."""
    if state is not None and _is_judged_term(state, statement):
        return Action(state, (Answer(),))
    if state is None or not state.is_open:
        first: tuple[Step, ...] = (KeepRows(statement),) if statement.kind == "rename" else ()
        return Action(state, (*first, *_forget(statement)))
    action = _decide(state, statement, setting)
    if statement.kind == "rename":
        return Action(action.state, (RunPutOff(), KeepRows(statement), *action.steps))
    return action


def names_of(statement: Statement) -> RelationName:
    """Schema and name of what is written."""
    return RelationName(statement.relation).in_schema


def _decide(state: NodeState, statement: Statement, setting: models.Setting) -> Action:
    if state.seed is not None:
        return _decide_seed(state, statement)
    if statement.kind in _READS:
        if not _waits_for_delete(state) or _may_pass_by(state, statement):
            return Action(state)
        return Action(state, (RunPutOff(),))
    if _is_delta(state, statement):
        return _decide_delta(state, statement)
    if _is_own_delete(state, statement) and not _may_be_put_off(state):
        state = evolve(state, done=(*state.done, statement))
    elif _is_own_delete(state, statement) or _is_own_change(state, statement):
        waiting = evolve(state, put_off=(*state.put_off, statement))
        return Action(waiting, (*_forget(statement), Answer()))
    # A publish of the rows alone could fail after a delete.
    is_whole = not state.is_dbts and not state.has_deleted and not _waits_for_delete(state)
    model = _make_model(state, statement, setting) if is_whole else None
    return Action(state, (Publish(model),)) if model is not None else _leave_to_dbt(state, statement)


def _decide_seed(state: NodeState, statement: Statement) -> Action:
    """A seed's table is made later, with its rows. Any other statement comes before them, or counts on them."""
    assert state.seed is not None
    if state.seed.is_made_by(statement):
        return Action(evolve(state, seed=evolve(state.seed, made=statement)), (Answer(),))
    if state.seed.made is not None:
        return Action(state, (LoadSeed(), *_forget(statement)))
    if statement.kind in _READS:
        return Action(state)
    return Action(state, (RefuseUnreadable(drop_terminators(statement.text)), RunPutOff(), *_forget(statement)))


def _decide_delta(state: NodeState, statement: Statement) -> Action:
    state = evolve(state, delta=statement)
    if not state.node.is_snapshot:
        return Action(state, (Check(statement.query),))
    # A view that dbt names by its schema is one that it reads and drops by that name.
    if len(statement.relation) > 1:
        return Action(state)
    return Action(state, (MakeView(statement), Answer()))


def _leave_to_dbt(state: NodeState, statement: Statement) -> Action:
    """dbt runs the statement as it is. What was put off before it happens first."""
    steps: list[Step] = []
    node, is_seen = state.node, not isinstance(state.seen, Unseen)
    if isinstance(state.seen, ColumnsSeen):
        state = evolve(state, seen=evolve(state.seen, planes=None))
    if state.phase is Phase.GUARDED and state.delta is None and may_change(statement, node.target.last):
        state = evolve(state, hooked=statement.text)
    if not state.is_dbts and _writes(state, statement):
        state = evolve(state, phase=Phase.WRITTEN)
        steps.append(SayUnguarded(_NOT_UNDERSTOOD))
    if node.model.contract is not None and not is_seen and node.query.is_in(statement.words):
        steps.append(Check(node.compiled))
    if (state.is_dbts or _waits_for_delete(state)) and names_of(statement) == node.target:
        if statement.kind in SCHEMA_CHANGES:
            state = evolve(state, done=(*state.done, statement))
        source = models.source_of(statement)
        # The table would be worse off without its new rows than with bad ones, which the audit after it finds.
        steps += [Weigh(source)] if source is not None and not state.has_deleted else []
    if not _waits_for_delete(state) or not _may_pass_by(state, statement):
        steps.append(RunPutOff())
    return Action(state, (*steps, *_forget(statement)))


def _forget(statement: Statement) -> tuple[Step, ...]:
    """A hook or a macro may write to a table that was published."""
    return () if statement.kind in _READS else (Forget(statement.text),)


# --- which statement it is ------------------------------------------------------------------------------------------


def _is_judged_term(state: NodeState, statement: Statement) -> bool:
    """Whether it would add a term of the contract, by which the published rows were judged, to a Parquet table that
    cannot keep it: without a `file_format` dbt-spark's `persist_constraints` takes every table for Delta's. Of a Delta
    table, too, no column that may hold nulls is made NOT NULL; its checks become the table's own."""
    if statement.kind != "constrain" or not state.was_judged or names_of(statement) != state.node.target:
        return False
    return state.node.model.file_format != "delta" or not statement.query


def _is_own_delete(state: NodeState, statement: Statement) -> bool:
    """Whether the node that dbt writes deletes from its own table. A hook before a delta that the guard publishes is
    not part of what it does."""
    is_written = state.is_dbts or state.delta is not None
    return is_written and statement.kind == "delete" and names_of(statement) == state.node.target


def _may_be_put_off(state: NodeState) -> bool:
    """Whether a delete is put off: there is a contract to count by, and no drop before it."""
    return state.node.model.contract is not None and not state.drops


def _is_own_change(state: NodeState, statement: Statement) -> bool:
    """Whether the schema of a table changes to which the guard is about to add a delta."""
    return state.delta is not None and statement.kind in SCHEMA_CHANGES and names_of(statement) == state.node.target


def _waits_for_delete(state: NodeState) -> bool:
    return any(statement.kind == "delete" for statement in state.held)


def _may_pass_by(state: NodeState, statement: Statement) -> bool:
    """Whether a delete may wait while this statement runs: the statement reads no rows of the table, and does not
    change what the delete does. A view of the new rows is only read by the statement that stores them."""
    if statement.kind == "temp_view":
        view = models.delta_name(state.node.target)
        return statement.relation[-1].lower() == view and not any(view in held.names for held in state.held)
    return statement.kind == "read" and statement.words[0].lower() in _ABOUT_TABLES


def _is_delta(state: NodeState, statement: Statement) -> bool:
    node = state.node
    return (
        statement.kind == ("view" if node.is_snapshot else "temp_view")
        and node.model.materialized == "incremental"
        and (len(statement.relation) == 1 or not node.is_snapshot or node.model.file_format == "delta")
        and statement.relation[-1].lower() == models.delta_name(node.target)
        and node.query.is_in(statement.query_words)
    )


def _writes(state: NodeState, statement: Statement) -> bool:
    """Whether a statement holds the model's query, or inserts from the view that stands for it."""
    if state.node.query.is_in(statement.words):
        return True
    if state.delta is None:
        return False
    return state.delta.relation[-1].lower() in statement.names and not statement.names.isdisjoint(_INSERTS)


def _make_model(state: NodeState, statement: Statement, setting: models.Setting) -> Model | None:
    """The model that the statement publishes; None where the statement does not write the node, or is not
    understood."""
    node = state.node
    if names_of(statement) != node.target:
        return None
    if state.delta is not None and statement.kind == "insert":
        return models.make_delta_model(node.model, statement, state.delta)
    if state.delta is not None and statement.kind in _MERGES:
        adds = [name for held in state.held for name, _ in held.clauses.get("columns", ())]
        return models.make_merge_model(node.model, statement, state.delta, adds if node.is_snapshot else None)
    if not node.query.is_in(statement.query_words):
        return None
    query = drop_terminators(statement.query)
    is_analyzed = isinstance(state.seen, ColumnsSeen) and state.seen.planes is not None
    if is_analyzed and is_contract_query(query, node.compiled, node.form["columns"]):
        query = drop_terminators(node.compiled)
    statement = evolve(statement, query=query)
    if statement.kind == "table" and node.model.materialized in ("table", "incremental"):
        return models.make_table_model(node.model, statement, setting)
    if statement.kind == "view" and node.model.materialized == "view":
        return models.make_view_model(node.model, statement)
    return None
