"""The gate between dbt and Spark: it asks `decide` what becomes of each statement, and carries that out."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from dbt.adapters.contracts.connection import AdapterResponse
from dbt_common.exceptions import DbtRuntimeError

from dbt_planproof import decide as steps
from dbt_planproof import log
from dbt_planproof.admission import Admission, lets_own_errors_pass
from dbt_planproof.command_line import call_at_end
from dbt_planproof.contracts import has_promised_columns, has_same_columns, is_columns_query, is_types_query
from dbt_planproof.dbts import Adapter, Column, Node, Relation, names_of
from dbt_planproof.decide import decide
from dbt_planproof.questions import Questions, Stopped
from dbt_planproof.reach import Reach
from dbt_planproof.renamed import rename_with_rows
from dbt_planproof.seeds import why_unreadable
from dbt_planproof.states import SCHEMA_CHANGES, ColumnsSeen, NodeState, Phase, ThisThread, Unseen
from dbt_planproof.trials import Trials
from planproof.contract import Model
from planproof.own_errors import describe, place_of
from planproof.project import ProjectError
from planproof.publish.data_tests.trial import NotRun
from planproof.session import SparkFailure
from planproof_engine import AnalysisError, ColumnNames, quote_parts
from planproof_engine.texts import Statement, drop_terminators, read_head

Answered = tuple[AdapterResponse, Any]
"""What dbt gets for a statement that the gate answers: the response, and a table without rows."""

_OF_OTHERS = (DbtRuntimeError, ProjectError, SparkFailure, AnalysisError, NotRun)
"""Errors that are no defect of planproof's."""
_WAY_ON = "`on_internal_error: pass` in its meta.planproof leaves such a model to dbt. Please report it"


class Gate:
    """Gates the nodes of one dbt invocation; the threads of dbt share it."""

    def __init__(self, adapter: Adapter) -> None:
        self.adapter, self.here = adapter, ThisThread()
        self.reach = Reach(adapter, self.here)
        self.trials = Trials(adapter, self.here)
        self.questions = Questions(adapter, self.here, self.reach, self.trials)
        self.record = self.questions.record
        self.admission = Admission(adapter, self.reach, self.record)
        self.record.begin()
        self.results: Sequence[Any] = ()
        self.ends_with_command = call_at_end(self._close)

    def begin(self, manifest: Any, selected: Collection[str], results: Sequence[Any]) -> None:
        """dbt begins to run these nodes of its manifest; it adds each one's result to `results`."""
        self.results = results
        self.trials.begin(manifest, selected)

    # --- a node begins and ends -------------------------------------------------------------------------------------

    def enter(self, config: Any) -> None:
        """A node begins on this thread. Raises `Stopped` where its planproof settings or contract cannot be read."""
        self.here.state = None
        node: Node | None = getattr(config, "model", None)
        self.here.node = node
        try:
            self.here.state = self.admission.begin(node)
        except ProjectError as error:
            raise self._refuse(node, f"planproof: {error}") from error
        except Stopped as error:
            raise self._refuse(node, str(error.msg)) from error
        except Exception as error:
            log.debug(traceback.format_exc())
            if node is None or not lets_own_errors_pass(node):
                raise self._refuse(node, f"{describe(error)}; {_WAY_ON}") from error
            log.warn(f"{node.name}: {describe(error)}; dbt runs this model as if planproof were absent")

    def _refuse(self, node: Node | None, said: str) -> Stopped:
        """The error of a node that cannot be run; the report and the closing line name it."""
        if node is not None:
            self.record.add_failed(node, said)
        return Stopped(said)

    def leave(self) -> None:
        """The node that this thread ran has ended, well or not."""
        ended_well = sys.exc_info()[0] is None
        try:
            if ended_well:
                with self._catch_own_errors():
                    self._load_seed()
                    # A project's own materialization may drop a table and make no new one.
                    self.run_put_off()
                self._is_built()
            self._end_node(self.here.running, ended_well)
        finally:
            self._drop_seed_views()
            self.here.state = None

    def _end_node(self, state: NodeState | None, ended_well: bool) -> None:
        if state is None:
            return
        if ended_well and state.phase is Phase.GUARDED:
            self.admission.say_unguarded(state.node.name, "dbt ended it without a statement that writes it")
        is_dbts = state.phase in (Phase.DBTS, Phase.WRITTEN) and state.node.distance is None
        if is_dbts and not isinstance(state.seen, Unseen) and state.node.model.contract is not None:
            self.questions.audit(ended_well)
        elif state.node.is_watched:
            self.questions.tell_check()

    def end(self) -> None:
        """dbt is done with its adapter. The closing line comes after dbt's own where dbt tells when that is."""
        self.record.add_failures(self.results)
        self.record.flush()
        if not self.ends_with_command:
            self._close()

    def _close(self) -> None:
        said = self.record.close()
        if said is not None:
            log.info(said)

    def _is_built(self) -> None:
        if self.here.node is not None:
            self.trials.is_built(self.here.node.unique_id)

    # --- statements -------------------------------------------------------------------------------------------------

    def execute(self, sql: str) -> Answered | None:
        """The answer to a statement that was gated, or None for one that dbt is to run itself."""
        self.reach.launch()
        with self._catch_own_errors():
            statement = read_head(sql)
            self.trials.refuse_query(statement)
            action = decide(self.here.state, statement, self.reach.read_setting)
            self.here.state = action.state
            for step in action.steps:
                answer = _CARRY_OUT[type(step)](self, step)
                if answer is not None:
                    return answer
        return None

    def run_put_off(self) -> None:
        """Does what was put off: what follows is dbt's own, and needs it."""
        while (state := self.here.running) is not None and state.put_off:
            self.here.state = state.drop_first_put_off()
            self._run_one(state.put_off[0])

    def _run_one(self, item: Relation | Statement) -> None:
        if isinstance(item, Statement):
            self.adapter.execute_now(item.text)
        else:
            self.adapter.drop_now(item)

    def _keep_rows(self, rename: Statement) -> Answered | None:
        if not rename_with_rows(self.adapter, self.reach, rename):
            return None
        self.questions.forget(rename.text)
        return _make_answer()

    def _refuse_unreadable(self, sql: str) -> None:
        """Of a seed whose table dbt is to drop before."""
        state = self.questions.state
        why = why_unreadable(self.reach.open_session(), sql) if state.drops else None
        if why is not None:
            raise Stopped(f"planproof: Spark cannot make {state.node.name}; its table stays as it was: {why}")

    def _make_view(self, view: Statement) -> None:
        name, query = quote_parts(view.relation[-1:]), drop_terminators(view.query)
        self.adapter.execute_now(f"CREATE OR REPLACE TEMPORARY VIEW {name} AS\n{query}")

    def _load_seed(self) -> None:
        """Publishes the seed whose rows are held: dbt has given all of them."""
        state = self.here.running
        if state is None or state.seed is None or state.seed.made is None:
            return
        seed = state.seed
        if self.reach.is_shared:
            seed = seed.analyze_once(self.reach.find_spark())
        # dbt has put the new table into its cache where it ends without a statement.
        self.here.change(state, seed=seed, put_off=())
        if self._publish(seed.make_model(state.node.model)) is None:
            for item in state.put_off:
                self._run_one(item)
            for statement in seed.list_inserts():
                self.adapter.execute_now(statement)

    def _publish(self, model: Model) -> Answered | None:
        """The answer for a model that the guard published; None where planproof failed, and dbt is to write it."""
        report = self.questions.publish(model)
        if report is None:
            self.run_put_off()
            self.here.change(self.questions.state, phase=Phase.PASSED)
            return None
        state = self.here.change(self.questions.state, phase=Phase.PUBLISHED)
        for relation in state.drops:
            self.adapter.cache_dropped(relation)
        return _make_answer(report.rows)

    @contextmanager
    def _catch_own_errors(self) -> Iterator[None]:
        """Within the block a model that is stopped is noted as such. An error of planproof's own stops the node, or
        where the node lets that pass, and where nothing is known of a node, leaves the rest of it to dbt."""
        try:
            yield
        except Stopped:
            self._note(Phase.STOPPED)
            raise
        except _OF_OTHERS:
            raise
        except Exception as error:
            if place_of(error) is None:
                raise
            log.debug(traceback.format_exc())
            state, said = self.here.running, describe(error)
            self.questions.forget_all()  # The statement may write to any table.
            if state is not None and state.node.settings.on_internal_error != "pass":
                self._note(Phase.STOPPED)
                raise Stopped(f"planproof stopped {state.node.name}: {said}; {_WAY_ON}") from error
            self.run_put_off()
            self._note(Phase.PASSED)
            what = f"{state.node.name}: " if state is not None else ""
            log.warn(f"planproof: {what}{said}; dbt goes on as if planproof were absent. Please report it")

    def _note(self, phase: Phase) -> None:
        if self.here.running is not None:
            self.here.change(self.here.running, phase=phase)

    # --- what dbt asks of its adapter -------------------------------------------------------------------------------

    def answer(self, test: Any) -> Any | None:
        """What a data test found in rows that were staged, where they stand as they are now; None for dbt to ask."""
        if not self.trials.published:
            return None
        try:
            return self.trials.answer(test, self.reach.open_session())
        except Exception as error:
            log.warn(f"planproof: {describe(error)}; dbt runs the test {test.name} itself. Please report it")
            log.debug(traceback.format_exc())
            return None

    def put_off_drop(self, relation: Relation) -> bool:
        """True where dbt wants to drop the table that is about to be replaced: the guard replaces it itself."""
        state = self.here.running
        if state is None or names_of(relation) != state.node.target:
            return False
        self.here.change(state, put_off=(*state.put_off, relation))
        return True

    def hold_rows(self, sql: str) -> str | None:
        """The statement that holds a batch of a seed's rows, in place of the one that inserts it; None for any other
        one."""
        self.reach.launch()
        state = self.here.running
        found = state.seed.add_batch(sql) if state is not None and state.seed is not None else None
        if state is None or found is None:
            return None
        self.here.change(state, seed=found[0])
        return found[1]

    def _drop_seed_views(self) -> None:
        state = self.here.state
        if state is not None and state.seed is not None and state.seed.views:
            state.seed.drop_views(self.reach.open_session())

    def mark_stored(self, relation: Relation | None) -> Relation | None:
        """The relation, marked as Iceberg's where it is the table of the snapshot that runs: dbt-spark does not see
        that in the session's own catalog."""
        state = self.here.running
        if relation is None or state is None or not state.node.is_snapshot or relation.is_iceberg:
            return relation
        target = state.node.target
        tables = self.reach.open_session().transactions() if names_of(relation) == target else None
        is_iceberg = tables is not None and tables.table(target.quoted) is not None
        return relation.replace(is_iceberg=True) if is_iceberg else relation

    def add_changed_columns(self, relation: Relation, columns: list[Column]) -> list[Column]:
        """A relation's columns as they will be after the schema changes that were put off."""
        state = self.here.running
        if state is None or names_of(relation) != state.node.target:
            return columns
        changes = [statement for statement in state.held if statement.kind in SCHEMA_CHANGES]
        if not changes:
            return columns
        added = [c for statement in changes for c in statement.clauses.get("columns", ())]
        stored = self.questions.find_guard().session.table(state.node.target.quoted)
        last = ColumnNames(stored.partition_by if stored else ())
        new = [self.adapter.Column(column=name, dtype=kind) for name, kind in added]
        return [*(c for c in columns if c.name not in last), *new, *(c for c in columns if c.name in last)]

    def check_contract(self, sql: str, columns: Sequence[Column] = ()) -> None:
        """Raises `Stopped` where the contract is broken for every possible data. `columns` are what dbt found the query
        to have."""
        state = self.here.running
        if state is None or state.node.model.contract is None or not isinstance(state.seen, Unseen):
            return
        with self._catch_own_errors():
            if not state.node.query.is_in(sql):
                return
            # What is published is examined in full, later on.
            if not state.is_dbts and has_promised_columns(state.node.model, columns):
                self.here.change(state, seen=ColumnsSeen())
            else:
                self.questions.check(state.node.compiled)

    def find_columns(self, sql: str) -> list[Column] | None:
        """A query's columns, where they are known without asking Spark again: of a model that has the columns of its
        contract, and of the empty query for the contract with which dbt compares them. None for any other query."""
        state = self.here.running
        if state is None or state.is_dbts or state.node.model.contract is None:
            return None
        with self._catch_own_errors():
            if isinstance(state.seen, ColumnsSeen) and state.seen.columns is not None:
                return state.seen.columns if is_types_query(sql, state.node.form["columns"]) else None
            if isinstance(state.seen, Unseen) and is_columns_query(sql, state.node.compiled):
                return self._analyze(state)
        return None

    def _analyze(self, state: NodeState) -> list[Column] | None:
        """The columns of the model, analyzed ahead of the statement in which dbt wraps it; None where they are not the
        promised ones. A failure here is not reported: the whole check that follows says what is wrong, and where."""
        session, model = self.reach.open_session(), state.node.model
        if session.capabilities.kind != "classic" or model.contract is None:
            return None
        try:
            planes = session.analyze(drop_terminators(state.node.compiled))
        except (AnalysisError, SparkFailure):
            return None
        columns = [self.adapter.Column(column=f.name, dtype=f.type.simple) for f in planes.analyzed]
        if not has_same_columns(model.contract, columns) or not has_promised_columns(model, columns):
            return None
        self.here.change(state, seen=ColumnsSeen(columns, planes))
        return columns


_CARRY_OUT: dict[type, Callable[[Gate, Any], Answered | None]] = {
    steps.RunPutOff: lambda gate, step: gate.run_put_off(),
    steps.KeepRows: lambda gate, step: gate._keep_rows(step.rename),
    steps.Check: lambda gate, step: gate.questions.check(step.sql),
    steps.Weigh: lambda gate, step: gate.questions.weigh(step.source),
    steps.SayUnguarded: lambda gate, step: gate.admission.say_unguarded(gate.questions.state.node.name, step.reason),
    steps.RefuseUnreadable: lambda gate, step: gate._refuse_unreadable(step.sql),
    steps.MakeView: lambda gate, step: gate._make_view(step.view),
    steps.LoadSeed: lambda gate, step: gate._load_seed(),
    steps.Publish: lambda gate, step: gate._publish(step.model),
    steps.Forget: lambda gate, step: gate.questions.forget(step.sql),
    steps.Answer: lambda gate, step: _make_answer(),
}
"""How each step is carried out. It gives dbt's answer, or None."""


def _make_answer(rows: int | None = None) -> Answered:
    from dbt_common.clients.agate_helper import empty_table

    return AdapterResponse(_message="OK", rows_affected=rows), empty_table()  # type: ignore[no-untyped-call]
