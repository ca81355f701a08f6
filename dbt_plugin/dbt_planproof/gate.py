"""The gate between dbt and Spark: it finds the statement that writes the node, and asks the guard about it."""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dbt.adapters.contracts.connection import AdapterResponse

from dbt_planproof import deletes, log
from dbt_planproof.admission import Admission, names_of, passes_ours
from dbt_planproof.command_line import at_the_end
from dbt_planproof.contracts import asks_for, equal, fits, is_promise, picks_all
from dbt_planproof.dbts import Adapter, Column, Node, Relation
from dbt_planproof.questions import Questions, Stopped
from dbt_planproof.reach import Reach
from dbt_planproof.renamed import with_rows
from dbt_planproof.seeds import Seed, unreadable
from dbt_planproof.statement_models import (
    delta_model,
    merge_model,
    source_of,
    table_model,
    view_model,
)
from dbt_planproof.states import Event, Run, Seen, State
from dbt_planproof.trials import Trials
from planproof.contract import Contract, Model
from planproof.own_errors import describe
from planproof.project.errors import ProjectError
from planproof.session.protocol import SparkFailure
from planproof_engine.origin import AnalysisError
from planproof_engine.quoting import quoted
from planproof_engine.sql.ending import unterminated
from planproof_engine.sql.heads import Statement, may_change, names_in, read_head

_HARMLESS = ("read", "about")
_HELD = ("add_columns", "retype_column")
_MERGES = ("merge", "merge_some")
_INSERTS = ("insert", "merge")


class Gate:
    """Gates the models of one dbt invocation; the threads of dbt share it."""

    def __init__(self, adapter: Adapter) -> None:
        self.adapter = adapter
        self.local = threading.local()
        self.reach = Reach(adapter)
        self.trials = Trials(adapter, self.local)
        self.questions = Questions(adapter, self.reach, self.trials)
        self.record = self.questions.record
        self.admission = Admission(adapter, self.reach, self.record)
        self.ends_with_command = at_the_end(self._close)

    # --- dbt's side -------------------------------------------------------------------------------------------------

    def enter(self, config: Any) -> None:
        """A node begins on this thread. Raises `Stopped` where its planproof settings or contract cannot be read."""
        self.local.run = None
        node: Node | None = getattr(config, "model", None)
        self.local.node = node
        try:
            self.local.run = self.admission.run(node)
        except ProjectError as error:
            raise Stopped(f"planproof: {error}") from error
        except Stopped:
            raise
        except Exception as error:
            log.debug(f"internal error in planproof\n{traceback.format_exc()}")
            said = f"internal error in planproof: {type(error).__name__}: {error}"
            if node is None or not passes_ours(node):
                raise Stopped(said) from error
            log.warn(f"{node.name}: {said}; dbt runs this model as if planproof were absent")

    def leave(self) -> None:
        """The node that this thread ran has ended, well or not."""
        ended_well = sys.exc_info()[0] is None
        try:
            if ended_well:
                self._load()
                # A project's own materialization may drop a table and make no new one.
                self.let_through()
                self._is_built()
                self._watch()
        finally:
            self._forget_rows()
            run, self.local.run = self._open(), None
        if run is None:
            return
        if ended_well and run.state in (State.WAITING, State.DELTA):
            self.admission.say_unguarded(run.node["name"], "dbt ended it without a statement that writes it")
        audited = run.state in (State.DBTS, State.WRITTEN) and run.distance is None and run.seen is not Seen.NOTHING
        if audited and run.model.contract is not None:
            self.questions.audit(run)

    def end(self) -> None:
        """dbt is done with its adapter. The closing line comes after dbt's own where dbt tells when that is."""
        self.record.flush()
        if not self.ends_with_command:
            self._close()

    def _close(self) -> None:
        said = self.record.close()
        if said is not None:
            log.info(said)

    def answer(self, test: Any) -> Any | None:
        """What a data test found in rows that were staged, where they stand as they are now; None for dbt to ask."""
        if not self.trials.published:
            return None
        try:
            return self.trials.answer(test, self.reach.session())
        except Exception as error:
            log.warn(f"planproof: {describe(error)}; dbt runs the test {test.name} itself. Please report it")
            log.debug(traceback.format_exc())
            return None

    def _is_built(self) -> None:
        node: Node | None = getattr(self.local, "node", None)
        if node is not None:
            self.trials.is_built(node.unique_id)

    def _watch(self) -> None:
        """Looks at a node that dbt wrote as if planproof were absent. Nothing that goes wrong here is the node's."""
        node: Node | None = getattr(self.local, "node", None)
        try:
            run = self.admission.watched(node) if node is not None else None
            if run is not None:
                self.questions.watch(run)
        except Exception as error:
            log.debug(traceback.format_exc())
            named = getattr(node, "name", "a node")
            log.warn(f"planproof cannot look at {named}, and dbt has written it: {describe(error)}")

    def defer_drop(self, relation: Relation) -> bool:
        """True where dbt wants to drop the table that is about to be replaced: the guard replaces it itself."""
        run = self._open()
        if run is None or names_of(relation) != run.target:
            return False
        run.deferred.append(relation)
        return True

    def let_through(self) -> None:
        """Does the drops and schema changes that were put off: the statement that follows is dbt's own and needs
        them."""
        run = self._open()
        while run is not None and run.deferred:
            self.adapter.drop_now(run.deferred.pop(0))
        while run is not None and run.held:
            sql, statement = run.held.pop(0)
            run.has_deleted |= statement.kind == "delete"
            self.adapter.execute_now(sql)

    def hold_rows(self, sql: str) -> str | None:
        """The statement that holds a batch of a seed's rows, in place of the one that inserts it; None for any other
        one."""
        run = self._open()
        return None if run is None or run.seed is None else run.seed.view(sql)

    def recognized(self, relation: Relation | None) -> Relation | None:
        """A relation as dbt knows it, with what dbt-spark does not see in the session's own catalog: that the table of
        the snapshot that runs is Iceberg's."""
        run = self._open()
        if relation is None or run is None or not run.is_snapshot or relation.is_iceberg:
            return relation
        tables = self.reach.session().transactions() if names_of(relation) == run.target else None
        is_iceberg = tables is not None and tables.table(quoted(run.target)) is not None
        return relation.replace(is_iceberg=True) if is_iceberg else relation

    def with_held(self, relation: Relation, columns: list[Column]) -> list[Column]:
        """A relation's columns as dbt expects them after the schema changes that are still held."""
        run = self._open()
        if run is None or names_of(relation) != run.target:
            return columns
        changes = [statement for _, statement in run.held if statement.kind in _HELD]
        if not changes:
            return columns
        added = [c for statement in changes for c in statement.clauses.get("columns", ())]
        stored = self.questions.guard().session.table(quoted(run.target))
        last = {name.lower() for name in (stored.partition_by if stored else ())}
        new = [self.adapter.Column(column=name, dtype=kind) for name, kind in added]
        return [
            *(c for c in columns if c.name.lower() not in last),
            *new,
            *(c for c in columns if c.name.lower() in last),
        ]

    def check_contract(self, sql: str, columns: Sequence[Column] = ()) -> None:
        """Raises `Stopped` where the contract is broken for every possible data. `columns` are what dbt found the query
        to have."""
        run = self._open()
        if run is None or run.model.contract is None or run.seen is not Seen.NOTHING or not run.query.stands_in(sql):
            return
        # What is published is examined in full, later on.
        if not run.is_dbts and fits(run.model, columns):
            run.seen = Seen.COLUMNS
        else:
            self.questions.check(run, run.compiled)

    def columns(self, sql: str) -> list[Column] | None:
        """A query's columns, where they are known without asking Spark again: of a model that has the columns of its
        contract, and of the empty query for the contract with which dbt compares them. None for any other query."""
        run = self._open()
        if run is None or run.is_dbts or run.model.contract is None:
            return None
        if run.promised is None and run.seen is Seen.NOTHING and asks_for(sql, run.compiled):
            self._analyze(run, run.model.contract)
            return run.promised
        return run.promised if run.promised is not None and is_promise(sql, run.node["columns"]) else None

    def _analyze(self, run: Run, contract: Contract) -> None:
        """Analyzes the model ahead of the statement in which dbt wraps it. A failure here is not reported: the whole
        check that follows says what is wrong, and where."""
        session = self.reach.session()
        if session.capabilities.kind != "classic":
            return
        try:
            planes = session.analyzed(unterminated(run.compiled))
        except (AnalysisError, SparkFailure):
            return
        columns = [self.adapter.Column(column=f.name, dtype=f.type.simple) for f in planes.analyzed]
        if equal(contract, columns) and fits(run.model, columns):
            run.seen = Seen.COLUMNS
            run.promised, run.analyzed = columns, planes

    def execute(self, sql: str) -> tuple[AdapterResponse, Any] | None:
        """The answer to a statement that was gated, or None for one that dbt is to run itself."""
        self.trials.refuse_query(sql)
        run, statement = self._open(), read_head(sql)
        if statement.kind == "constrain" and self._is_judged(statement):
            return _answer()
        if statement.kind == "rename":
            self.let_through()
            if with_rows(self.adapter, self.reach, statement, sql):
                self._forget(statement, sql)
                return _answer()
        if run is None:
            self._forget(statement, sql)
            return None
        if run.seed is not None:
            return self._of_seed(run.seed, statement, sql)
        if statement.kind in _HARMLESS:
            if deletes.waiting(run) and not deletes.goes_by(run, statement, sql):
                self.let_through()
            return None
        if self._is_delta(run, statement):
            return self._delta(run, statement)
        if self._waits(run, statement):
            run.held.append((sql, statement))
            self._forget(statement, sql)
            return _answer()
        model = None if run.is_dbts or deletes.are_part(run) else self._model(run, statement)
        if model is None:
            self._leave_to_dbt(run, statement, sql)
            return None
        return self._publish(run, model)

    def _waits(self, run: Run, statement: Statement) -> bool:
        """Whether it is put off until the statement that writes: a schema change, or a delete that makes room."""
        if deletes.is_own(run, statement):
            run.has_deleted |= not deletes.may_wait(run)
            return deletes.may_wait(run)
        return run.delta is not None and statement.kind in _HELD and _parts(statement) == run.target

    def _delta(self, run: Run, statement: Statement) -> tuple[AdapterResponse, Any] | None:
        if not run.is_snapshot:
            self.questions.check(run, statement.query)
        run.to(Event.DELTA_MADE)
        run.delta = statement
        # A view that dbt names by its schema is one that it reads and drops by that name.
        if not run.is_snapshot or len(statement.relation) > 1:
            return None
        # Not every catalog has views, and another run must not find this one.
        view = quoted(statement.relation[-1:])
        self.adapter.execute_now(f"CREATE OR REPLACE TEMPORARY VIEW {view} AS\n{unterminated(statement.query)}")
        return _answer()

    def _of_seed(self, seed: Seed, statement: Statement, sql: str) -> tuple[AdapterResponse, Any] | None:
        """Its table is made later, with its rows; any other statement comes before them, or counts on them."""
        if seed.makes(statement, sql):
            return _answer()
        if seed.made is not None:
            self._load()
        elif statement.kind not in _HARMLESS:
            self._refuse_unreadable(sql)
            self.let_through()
        self._forget(statement, sql)
        return None

    def _refuse_unreadable(self, sql: str) -> None:
        """Raises `Stopped` where the statement after a drop that was put off would fail, for example by a column's
        type."""
        run = self._open()
        why = unreadable(self.reach.session(), unterminated(sql)) if run is not None and run.deferred else None
        if run is not None and why is not None:
            run.to(Event.STOPPED)
            raise Stopped(f"planproof: Spark cannot make {run.node['name']}; its table stays as it was: {why}")

    def _load(self) -> None:
        """Publishes the seed whose rows are held: dbt has given all of them."""
        run = self._open()
        if run is None or run.seed is None or run.seed.made is None:
            return
        # dbt has put the new table into its cache where it ends without a statement.
        deferred, run.deferred = run.deferred, []
        if self._publish(run, run.seed.model(run.model, self.reach.spark())) is None:
            for relation in deferred:
                self.adapter.drop_now(relation)
            for statement in run.seed.inserts():
                self.adapter.execute_now(statement)

    def _publish(self, run: Run, model: Model) -> tuple[AdapterResponse, Any] | None:
        report = self.questions.publish(run, model)
        if report is None:
            self.let_through()
            run.to(Event.PASSED)
            return None
        run.to(Event.PUBLISHED)
        for relation in run.deferred:
            self.adapter.cache_dropped(relation)
        return _answer(report.rows)

    def _is_judged(self, statement: Statement) -> bool:
        """Whether it would add a term of the contract, by which the published rows were judged, to a Parquet table that
        cannot keep it: without a `file_format` dbt-spark's `persist_constraints` takes every table for Delta's. Of a
        Delta table, too, no column that may hold nulls is made NOT NULL; its checks become the table's own."""
        run: Run | None = getattr(self.local, "run", None)
        if run is None or not run.was_judged or _parts(statement) != run.target:
            return False
        return run.model.file_format != "delta" or not statement.query

    def _leave_to_dbt(self, run: Run, statement: Statement, sql: str) -> None:
        """dbt runs the statement as it is. What was put off before it happens first."""
        run.analyzed = None
        if run.state is State.WAITING and may_change(sql, statement, run.target[1]):
            run.hooked = sql
        if not run.is_dbts and _writes(run, sql):
            run.to(Event.ROWS_WRITTEN)
            self.admission.say_unguarded(
                run.node["name"], "the statement in which dbt writes it is not one that planproof understands"
            )
        if run.model.contract is not None and run.seen is Seen.NOTHING and run.query.stands_in(sql):
            self.questions.check(run, run.compiled)
        if (run.is_dbts or deletes.waiting(run)) and _parts(statement) == run.target:
            if statement.kind in _HELD:
                run.changes.append(statement)
            source = source_of(statement)
            # The table would be worse off without its new rows than with bad ones, which the audit after it finds.
            if source is not None and not run.has_deleted:
                self.questions.weigh(run, source)
        if not deletes.waiting(run) or not deletes.goes_by(run, statement, sql):
            self.let_through()
        self._forget(statement, sql)

    # --- which statement it is --------------------------------------------------------------------------------------

    def _forget_rows(self) -> None:
        run: Run | None = getattr(self.local, "run", None)
        if run is not None and run.seed is not None and run.seed.views:
            run.seed.forget(self.reach.spark())

    def _open(self) -> Run | None:
        run: Run | None = getattr(self.local, "run", None)
        return None if run is None or not run.is_open else run

    def _is_delta(self, run: Run, statement: Statement) -> bool:
        return (
            statement.kind == ("view" if run.is_snapshot else "temp_view")
            and run.model.materialized == "incremental"
            and (len(statement.relation) == 1 or not run.is_snapshot or run.model.file_format == "delta")
            and statement.relation[-1].lower() == f"{run.target[1]}__dbt_tmp"
            and run.query.stands_in(statement.query)
        )

    def _model(self, run: Run, statement: Statement) -> Model | None:
        """The model that the statement publishes; None where the statement does not write the node, or is not
        understood."""
        if _parts(statement) != run.target:
            return None
        if statement.kind == "insert" and run.delta is not None:
            return delta_model(run.model, statement, run.delta)
        if statement.kind in _MERGES and run.delta is not None:
            adds = [name for _, held in run.held for name, _ in held.clauses.get("columns", ())]
            return merge_model(run.model, statement, run.delta, adds if run.is_snapshot else None)
        if not run.query.stands_in(statement.query):
            return None
        query = unterminated(statement.query)
        if run.analyzed is not None and picks_all(query, run.compiled, run.node["columns"]):
            query = unterminated(run.compiled)
        statement = replace(statement, query=query)
        if statement.kind == "table" and run.model.materialized in ("table", "incremental"):
            return table_model(run.model, statement, self.reach.setting)
        if statement.kind == "view" and run.model.materialized == "view":
            return view_model(run.model, statement)
        return None

    def _forget(self, statement: Statement, sql: str) -> None:
        if statement.kind not in _HARMLESS:
            self.questions.forget(sql)


def _writes(run: Run, sql: str) -> bool:
    """Whether a statement holds the model's query, or inserts from the view that stands for it."""
    if run.query.stands_in(sql):
        return True
    named = names_in(sql) if run.delta is not None else frozenset()
    return run.delta is not None and run.delta.relation[-1].lower() in named and not named.isdisjoint(_INSERTS)


def _parts(statement: Statement) -> tuple[str, ...]:
    return tuple(part.lower() for part in statement.relation[-2:])


def _answer(rows: int | None = None) -> tuple[AdapterResponse, Any]:
    from dbt_common.clients.agate_helper import empty_table

    return AdapterResponse(_message="OK", rows_affected=rows), empty_table()  # type: ignore[no-untyped-call]
