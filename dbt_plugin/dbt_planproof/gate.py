"""The gate between dbt and Spark: which statement writes the node that runs, and what the guard says to it."""

from __future__ import annotations

import re
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dbt.adapters.contracts.connection import AdapterResponse
from dbt_common.exceptions import DbtRuntimeError

from dbt_planproof import log, statements
from dbt_planproof.absence import WAY_ON
from dbt_planproof.contracts import asks_for, equal, fits, is_promise, picks_all
from dbt_planproof.message import changes, failure, remarks, suggestions
from dbt_planproof.reach import Reach
from dbt_planproof.record import Record
from dbt_planproof.renamed import with_rows
from dbt_planproof.scope import METHODS, is_reachable, is_written, stored_elsewhere, unguarded
from dbt_planproof.statements import Statement
from dbt_planproof.written import delta_model, plain_form, table_model, unterminated, view_model
from planproof.contract import Contract, Model
from planproof.origin import AnalysisError, Origin
from planproof.project.compiled import relocate
from planproof.project.errors import ProjectError
from planproof.project.nodes import model_of
from planproof.publish.names import quoted as quoted_name
from planproof.report.model import Finding, Report, Verdict
from planproof.session.protocol import SparkFailure

if TYPE_CHECKING:
    from planproof.guard import Guard
    from planproof.session.protocol import Session, SparkPlanes

_HARMLESS = ("read", "about")
_HELD = ("add_columns", "retype_column")
_INSERTS = re.compile(r"\b(insert|merge)\b", re.I)


class Stopped(DbtRuntimeError):
    """planproof did not publish the node: dbt fails it with this message and skips its children."""


@dataclass
class Run:
    """One node while dbt materializes it, on one thread.

    `unguarded` says why dbt writes it itself: then only what the contract says is checked. `readable`: its files can be
    read here. `deferred` are drops, `held` schema changes that dbt asked for and that wait for the audit. `places` are
    where the bare query writes its columns; `fits`: it has the promised schema, so that nobody asked for them yet.
    `promised` are the contract's columns as dbt knows columns, where the query was found to have just these, and
    `analyzed` the query as Spark analyzed it to find that.
    `judged`: it was published under its contract, whose terms dbt may want to add to a table that it takes for Delta's.
    `by_dbt`: dbt wrote rows of it by itself; `altered`: it changed the schema of a table that it writes itself.
    """

    model: Model
    node: dict[str, Any]
    target: tuple[str, str]
    compiled: str
    unguarded: str | None = None
    readable: bool = True
    deferred: list[Any] = field(default_factory=list)
    held: list[tuple[str, Statement]] = field(default_factory=list)
    delta: Statement | None = None
    places: dict[str, Origin] = field(default_factory=dict)
    checked: bool = False
    fits: bool = False
    promised: list[Any] | None = None
    analyzed: SparkPlanes | None = None
    done: bool = False
    judged: bool = False
    by_dbt: bool = False
    altered: bool = False


class Gate:
    """Gates the models of one dbt invocation; the threads of dbt share it."""

    def __init__(self, adapter: Any) -> None:
        self.adapter = adapter
        self.local = threading.local()
        self.lock = threading.RLock()
        self.made: list[Guard] = []
        self.said: set[str] = set()
        self.reach = Reach(adapter)
        self.record = Record(str(getattr(adapter.config, "project_name", "")))

    # --- dbt's side -------------------------------------------------------------------------------------------------

    def enter(self, config: Any) -> None:
        """A node begins on this thread. Raises `Stopped` where its planproof settings or contract cannot be read."""
        self.local.run, node = None, getattr(config, "model", None)
        try:
            self.local.run = self._run(node)
        except ProjectError as error:
            raise Stopped(f"planproof: {error}") from error
        except Exception as error:
            log.debug(f"internal error in planproof\n{traceback.format_exc()}")
            said = f"internal error in planproof: {type(error).__name__}: {error}"
            if not _passes_ours(node):
                raise Stopped(said) from error
            log.warn(f"{node.name}: {said}; dbt runs this model as if planproof were absent")

    def leave(self) -> None:
        """The node that this thread ran has ended, well or not."""
        if sys.exc_info()[0] is None:
            # A materialization of the project's own may drop a table and make none.
            self.let_through()
        run, self.local.run = getattr(self.local, "run", None), None
        if run is None or run.done or run.model.contract is None:
            return
        if (run.unguarded or run.by_dbt) and run.readable and run.checked:
            self._audit(run)

    def defer_drop(self, relation: Any) -> bool:
        """True where dbt wants to drop the table that is about to be replaced: the guard replaces it itself."""
        run = self._open()
        if run is None or _names(relation) != run.target:
            return False
        run.deferred.append(relation)
        return True

    def let_through(self) -> None:
        """Does the drops and schema changes that were put off: what comes is dbt's own, and counts on them."""
        run = self._open()
        while run is not None and run.deferred:
            self.adapter.drop_now(run.deferred.pop(0))
        while run is not None and run.held:
            self.adapter.execute_now(run.held.pop(0)[0])

    def with_held(self, relation: Any, columns: list[Any]) -> list[Any]:
        """A relation's columns as dbt expects them after the schema changes that are still held."""
        run = self._open()
        if run is None or not run.held or _names(relation) != run.target:
            return columns
        added = [c for _, statement in run.held for c in statement.clauses.get("columns", ())]
        stored = self._guard().session.table(quoted_name(run.target))
        last = {name.lower() for name in (stored.partition_by if stored else ())}
        new = [self.adapter.Column(column=name, dtype=kind) for name, kind in added]
        return [
            *(c for c in columns if c.name.lower() not in last),
            *new,
            *(c for c in columns if c.name.lower() in last),
        ]

    def check_contract(self, sql: str, columns: Sequence[Any] = ()) -> None:
        """Raises `Stopped` where the contract is broken for every possible data. `columns` are what dbt found the query
        to have."""
        run = self._open()
        if run is None or run.model.contract is None or run.checked or run.compiled not in sql:
            return
        # What is published is examined in full, later on.
        if run.unguarded is None and fits(run.model, columns):
            run.checked = run.fits = True
        else:
            self._check(run, run.compiled)

    def columns(self, sql: str) -> list[Any] | None:
        """A query's columns, where nobody needs to ask Spark for them once more: those of a model that has what its
        contract promises, and of the promise, with which dbt compares them. None for any other query."""
        run = self._open()
        if run is None or run.unguarded is not None or run.model.contract is None:
            return None
        if run.promised is None and not run.checked and asks_for(sql, run.compiled):
            self._analyze(run, run.model.contract)
            return run.promised
        return run.promised if run.promised is not None and is_promise(sql, run.node["columns"]) else None

    def _analyze(self, run: Run, contract: Contract) -> None:
        """Analyzes the model for the statement that follows, in which dbt wraps it. Nothing is kept where it
        disappoints: what dbt is to hear then, and where, is for the whole check."""
        session = self.reach.session()
        if session.capabilities.kind != "classic":
            return
        try:
            planes = session.analyzed(unterminated(run.compiled))
        except (AnalysisError, SparkFailure):
            return
        columns = [self.adapter.Column(column=f.name, dtype=f.type.simple) for f in planes.analyzed]
        if equal(contract, columns) and fits(run.model, columns):
            run.checked = run.fits = True
            run.promised, run.analyzed = columns, planes

    def execute(self, sql: str) -> tuple[AdapterResponse, Any] | None:
        """The answer to a statement that was gated, or None for one that dbt is to run itself."""
        run, statement = self._open(), statements.read(sql)
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
        if statement.kind in _HARMLESS:
            return None
        if self._is_delta(run, statement):
            self._check(run, statement.query)
            run.delta = statement
            return None
        if run.delta is not None and statement.kind in _HELD and _parts(statement) == run.target:
            run.held.append((sql, statement))
            return _answer()
        model = None if run.unguarded else self._model(run, statement)
        if model is None:
            self._leave_to_dbt(run, statement, sql)
            return None
        return self._publish(run, model)

    def _is_judged(self, statement: Statement) -> bool:
        """Whether it would add a term of the contract, by which the published rows were judged, to a Parquet table that
        cannot keep it: without a `file_format` dbt-spark's `persist_constraints` takes every table for Delta's."""
        run: Run | None = getattr(self.local, "run", None)
        return run is not None and run.judged and _parts(statement) == run.target

    def _leave_to_dbt(self, run: Run, statement: Statement, sql: str) -> None:
        """dbt runs the statement as it is, and what it counts on happens first."""
        run.analyzed = None
        if run.unguarded is None and _writes(run, sql):
            run.by_dbt = True
            self._say_unguarded(
                run.node["name"], "the statement in which dbt writes it is not one that planproof understands"
            )
        if run.compiled in sql and run.model.contract is not None and not run.checked:
            self._check(run, run.compiled)
        if run.unguarded and _parts(statement) == run.target:
            run.altered |= statement.kind in _HELD
            if statement.kind == "merge":
                self._weigh(run, quoted_name(statement.clauses["source"]))
        self.let_through()
        self._forget(statement, sql)

    # --- which statement it is --------------------------------------------------------------------------------------

    def _run(self, node: Any) -> Run | None:
        if node is None:
            raise ProjectError(f"dbt does not say which node begins; it cannot be guarded. {WAY_ON}")
        if not is_written(node, _command()):
            return None
        if not is_reachable(self.reach.method):
            self._say_unreachable(node.name)
            return None
        mute = self.reach.refusal()
        if mute is not None:
            self._say_unguarded(node.name, mute)
            return None
        reason = unguarded(node)
        relation = self.adapter.Relation.create_from(self.adapter.config, node)
        existing = self.adapter.get_relation(relation.database, relation.schema, relation.identifier)
        reason = reason or stored_elsewhere(existing, node, self._is_full_refresh(node)) or self.reach.other_catalog()
        distance = self.reach.distance(node, existing)
        reason = reason or distance
        if reason is not None:
            self._say_unguarded(node.name, reason)
        if node.resource_type != "model" or node.language != "sql" or not node.compiled_code:
            return None
        try:
            run = self._begun(node, _names(relation), reason)
        except ProjectError as error:
            if reason is None:
                raise
            log.warn(f"planproof does not check {node.name}: {error}")
            return None
        run.readable = distance is None
        return run

    def _begun(self, node: Any, target: tuple[str, str], reason: str | None) -> Run:
        form = node.to_dict()
        promises = bool(node.config.contract and node.config.contract.enforced)
        # What a bare `timestamp` in a contract means is a setting of the session.
        conf = self.reach.session().conf if promises else None
        model = model_of(plain_form(form) if reason else form, defaults={"rewrite": "suggest"}, conf=conf)
        return Run(model, form, target, node.compiled_code.strip(), reason)

    def _say_unreachable(self, name: str) -> None:
        """One warning for the invocation, and a remark for each node."""
        how = self.reach.method
        said = f"planproof does not guard this run: it reaches Spark by {' or '.join(METHODS)}, not by {how}"
        if self._remarked(name, f"dbt reaches Spark by {how}") and said not in self.said:
            self.said.add(said)
            log.warn(said)

    def _say_unguarded(self, name: str, reason: str) -> None:
        if self._remarked(name, reason):
            log.warn(f"planproof does not guard {name}: {reason}; dbt runs it as it is")

    def _remarked(self, name: str, reason: str) -> bool:
        """Says in the record that a node was left to dbt; False where it says so already."""
        target = Path(self.adapter.config.project_target_path)
        return self.record.remark(f"{name} was not guarded: {reason}", target, _command())

    def _is_full_refresh(self, node: Any) -> bool:
        from dbt.flags import get_flags

        own = node.config.full_refresh
        return bool(getattr(get_flags(), "FULL_REFRESH", False) if own is None else own)

    def _open(self) -> Run | None:
        run: Run | None = getattr(self.local, "run", None)
        return None if run is None or run.done else run

    def _is_delta(self, run: Run, statement: Statement) -> bool:
        return (
            statement.kind == "temp_view"
            and run.model.materialized == "incremental"
            and statement.relation[-1].lower() == f"{run.target[1]}__dbt_tmp"
            and run.compiled in statement.query
        )

    def _model(self, run: Run, statement: Statement) -> Model | None:
        """The model that the statement publishes, None where it is not the node's own or not understood."""
        if _parts(statement) != run.target:
            return None
        if statement.kind == "insert" and run.delta is not None:
            return delta_model(run.model, statement, run.delta)
        if run.compiled not in statement.query:
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

    # --- what the guard says ----------------------------------------------------------------------------------------

    def _forget(self, statement: Statement, sql: str) -> None:
        """A hook or a macro may write to a published table: what was proved of it no longer counts."""
        if self.made and statement.kind not in _HARMLESS:
            self.made[0].memory.forget(sql)

    def _check(self, run: Run, sql: str) -> None:
        run.checked = True
        report = self._checked(run, sql)
        model = run.model
        violated = model.settings.fail_on != "never" and report.of(Verdict.VIOLATED)
        if violated or (_is_ours(report) and model.settings.on_internal_error == "fail"):
            self._stop(run, replace(report, outcome="rejected") if violated else report)

    def _checked(self, run: Run, sql: str) -> Report:
        # The publish that follows says what could be rewritten.
        model = replace(run.model, sql=unterminated(sql), settings=replace(run.model.settings, rewrite="off"))
        report = self._asked(run, model, lambda guard: guard.check(model))
        run.places = {f.field: f.origin for f in report.findings if f.field and f.origin}
        return report

    def _weigh(self, run: Run, source: str) -> None:
        """The rows that a merge stores as they are, counted against the contract before any of them is stored."""
        model, contract = run.model, run.model.contract
        if contract is None or not run.readable or not run.checked:
            return
        # A key into the table itself may find what is stored there already.
        inner = [c for c in contract.constraints if c.kind != "foreign_key"]
        terms = Contract([(f.name, f.type, f.nullable) for f in contract.schema], inner, contract.places)
        report = self._asked(run, model, lambda guard: guard.audit(source, terms, model.settings))
        report = replace(report, model=model.name, details={**report.details, "altered": run.altered})
        if model.settings.fail_on != "never" and report.of(Verdict.VIOLATED):
            self._stop(run, replace(report, outcome="rejected"))

    def _audit(self, run: Run) -> None:
        """What dbt wrote itself against its contract: said, and too late to stop it."""
        model, contract = run.model, run.model.contract
        assert contract is not None
        report = self._asked(run, model, lambda guard: guard.audit(model.name, contract, model.settings))
        if report.outcome == "failed":
            return
        self._recorded(report)
        for line in remarks(report):
            log.warn(line)

    def _publish(self, run: Run, model: Model) -> tuple[AdapterResponse, Any] | None:
        known = _known_to_dbt(run, model)
        analyzed = run.analyzed if model.sql == unterminated(run.compiled) else None
        if analyzed is not None:
            run.fits = False  # The bare query is what is published, with its places.
        report = self._asked(run, model, lambda guard: guard.publish(model, over=known, analyzed=analyzed))
        if _is_ours(report) and _may_pass(report, model):
            log.warn(f"{run.node['name']}: {report.error}; dbt runs this model as if planproof were absent")
            self.let_through()
            run.done = True
            return None
        if report.outcome != "published":
            self._stop(run, report)
        run.done = True
        run.judged = model.contract is not None and not run.node["config"].get("file_format")
        for relation in run.deferred:
            self.adapter.cache_dropped(relation)
        self._recorded(report)
        for line in remarks(report):
            log.warn(line)
        for line in [*changes(report), *suggestions(report)]:
            log.info(line)
        return _answer(report.rows)

    def _asked(self, run: Run, model: Model, question: Callable[[Guard], Report]) -> Report:
        """The guard's report, with its places in the author's file. An error of ours is a report too (PP901)."""
        try:
            report = question(self._guard())
        except Exception as error:  # Whatever it is, it is ours, and must not look like the model's fault.
            said = f"internal error in planproof: {type(error).__name__}: {error}"
            finding = Finding(Verdict.UNPROVED, "PP901", "contract", message=said)
            details = {"traceback": traceback.format_exc()}
            report = Report(model.name, "failed", (finding,), sql=model.sql, error=said, details=details)
        if "traceback" in report.details:
            log.debug(f"internal error in planproof\n{report.details['traceback']}")
        details = {
            **report.details,
            "unique_id": model.unique_id,
            "name": run.node["name"],
            "file": model.file,
            "materialized": run.model.materialized,
            "fail_on": model.settings.fail_on,
            "contract": model.contract is not None,
        }
        placed = relocate(replace(report, details=details), run.node, self.adapter.config.project_root)
        if run.fits and any(f.field and not f.origin and f.verdict is not Verdict.PROVED for f in placed.findings):
            run.fits = False
            self._checked(run, run.compiled)
        # dbt wraps a contracted query in another one, where a column's place says nothing: the check saw it bare.
        findings = tuple(replace(f, origin=f.origin or run.places.get(f.field or "")) for f in placed.findings)
        return replace(placed, findings=findings)

    def _stop(self, run: Run, report: Report) -> None:
        run.done = True
        raise Stopped(failure(report, run.node["name"], self._recorded(report)))

    def _recorded(self, report: Report) -> Path:
        target = Path(self.adapter.config.project_target_path)
        return self.record.add(report, target, _command())

    def _guard(self) -> Guard:
        if self.reach.is_shared:
            with self.lock:
                if not self.made:
                    self.made.append(make_guard(self.reach.session()))
                return self.made[0]
        # A connection to a Thrift server is its thread's own, and lives as long as its node.
        session, found = self.reach.session(), getattr(self.local, "guard", None)
        if found is None or found.session is not session:
            found = self.local.guard = make_guard(session)
        return found


def make_guard(session: Session) -> Guard:
    """One guard per invocation: it remembers what it proved of each relation."""
    from planproof.guard import Guard

    return Guard(session)


def _is_ours(report: Report) -> bool:
    return any(f.code == "PP901" and f.verdict is not Verdict.WARNING for f in report.findings)


def _known_to_dbt(run: Run, model: Model) -> tuple[str, ...] | None:
    """Which kinds of relation dbt's statement replaces, None for any: CREATE TABLE, without a drop before it, none."""
    if run.deferred or run.delta is not None:
        return None
    return ("view",) if model.materialized == "view" else ()


def _passes_ours(node: Any) -> bool:
    """What the node says of errors of planproof's own. Its other settings, which may be what fails, are not read."""
    own = (node.config.meta or {}).get("planproof")
    return isinstance(own, dict) and own.get("on_internal_error") == "pass"


def _may_pass(report: Report, model: Model) -> bool:
    """Whether dbt may run the statement itself. Once a delta's publish has begun, it could add its rows twice; and what
    is half way is for `recover`, which would put the table that it knows in the place of dbt's."""
    began = model.materialized == "incremental" and bool(report.strategy)
    return model.settings.on_internal_error == "pass" and not began and not report.details.get("unsettled")


def _writes(run: Run, sql: str) -> bool:
    """Whether a statement holds the model's query, or inserts from the view that stands for it."""
    if run.compiled in sql:
        return True
    return run.delta is not None and run.delta.relation[-1].lower() in sql.lower() and bool(_INSERTS.search(sql))


def _names(relation: Any) -> tuple[str, str]:
    return str(relation.schema).lower(), str(relation.identifier).lower()


def _parts(statement: Statement) -> tuple[str, ...]:
    return tuple(part.lower() for part in statement.relation[-2:])


def _command() -> str:
    from dbt.flags import get_flags

    return str(getattr(get_flags(), "WHICH", None) or "")


def _answer(rows: int | None = None) -> tuple[AdapterResponse, Any]:
    from dbt_common.clients.agate_helper import empty_table

    return AdapterResponse(_message="OK", rows_affected=rows), empty_table()
