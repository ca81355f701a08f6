"""What the gate asks the guard about a node that dbt runs, and what the answer means for that node."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from dbt_common.exceptions import DbtRuntimeError

from dbt_planproof import log
from dbt_planproof.absence import read_command
from dbt_planproof.message import describe_failure, describe_watched, list_changes, list_remarks, list_suggestions
from dbt_planproof.reach import Reach
from dbt_planproof.record import Record
from dbt_planproof.statement_models import Source
from dbt_planproof.states import ColumnsSeen, NodeState, PlanesSeen, ThisThread, Unseen
from dbt_planproof.trials import Trials
from planproof.contract import LOGGED_FORMATS, Contract, Model
from planproof.own_errors import describe
from planproof.project import ProjectError
from planproof.project.compiled import Promises, relocate
from planproof.report import Details, Report
from planproof.report.parts import join_lines, neutralize, would_stop
from planproof_engine import Finding, Verdict, drop_terminators, evolve
from planproof_engine.types import as_nullable, drop_lengths

if TYPE_CHECKING:
    from dbt_planproof.dbts import Adapter
    from planproof.guard import Guard
    from planproof.session import Session


class Stopped(DbtRuntimeError):
    """planproof did not publish the node: dbt fails it with this message, in which names are text of others, and skips
    its children."""

    def __init__(self, message: str) -> None:
        super().__init__(neutralize(message))


class Questions:
    """Asks the guard for one dbt invocation about the node that a thread runs, and records its reports. dbt's threads
    share it."""

    def __init__(self, adapter: Adapter, here: ThisThread, reach: Reach, trials: Trials) -> None:
        self.adapter, self.here, self.reach, self.trials = adapter, here, reach, trials
        self.lock = threading.RLock()
        self.made: list[Guard] = []
        self.has_said_lenient = False
        # `dbt debug` makes its adapter of a profile alone.
        target = Path(getattr(adapter.config, "project_target_path", "target"))
        self.record = Record(target, read_command(), str(getattr(adapter.config, "project_name", "")))

    @property
    def state(self) -> NodeState:
        assert self.here.state is not None, "a node runs"
        return self.here.state

    def forget(self, sql: str) -> None:
        """Forgets what was proved of the relations in a statement: a hook or a macro may write to a published table."""
        if self.made:
            self.made[0].memory.forget(sql)

    def forget_all(self) -> None:
        """Forgets what was proved of every relation."""
        with self.lock:
            self.made.clear()
        self.here.guard = None

    def check(self, sql: str) -> None:
        """The planes before a run. Raises `Stopped` where the contract is broken for every possible data."""
        report, settings = self._check(sql), self.state.node.settings
        violated = settings.fail_on != "never" and report.of(Verdict.VIOLATED)
        if violated or (_is_ours(report) and settings.on_internal_error == "fail"):
            self._stop(evolve(report, outcome="rejected") if violated else report)

    def _check(self, sql: str) -> Report:
        own = self.state.node.model
        # The publish that follows says what could be rewritten.
        model = evolve(own, sql=drop_terminators(sql), settings=evolve(own.settings, rewrite="off"))
        counting = self.state.is_dbts and model.contract is not None
        self.here.change(self.state, seen=PlanesSeen())
        report = self._ask(model, lambda guard: guard.check(model, counting=counting))
        places = {f.field: f.origin for f in report.findings if f.field and f.origin}
        self.here.change(self.state, seen=PlanesSeen(places, report if self.state.node.is_watched else None))
        return report

    def weigh(self, source: Source) -> None:
        """Counts the rows that a merge or an insert of dbt's is about to store against the contract."""
        node = self.state.node
        model, contract = node.model, node.model.contract
        is_counted = contract is not None and node.settings.fail_on != "never"
        if contract is None or not is_counted or node.distance is not None or isinstance(self.state.seen, Unseen):
            return
        terms = _stored_terms(contract, source.columns)
        report = self._ask(model, lambda guard: guard.audit(source.relation, terms, model.settings))
        details = evolve(report.details, altered=self.state.has_altered)
        if report.of(Verdict.VIOLATED):
            self._stop(evolve(report, model=model.name, details=details, outcome="rejected"))

    def audit(self, ended_well: bool) -> None:
        """Audits what dbt wrote itself: findings are reported, too late to stop it."""
        model, contract, seen = self.state.node.model, self.state.node.model.contract, self.state.seen
        assert contract is not None
        report = self._ask(model, lambda guard: guard.audit(model.name, contract, model.settings))
        if isinstance(seen, PlanesSeen) and seen.report is not None:
            report = merge_reports(seen.report, report)
            report = evolve(report, details=evolve(report.details, published=ended_well or None))
        if report.outcome != "failed":
            self._tell(report)
        elif ended_well:
            said = join_lines(f"{self.state.node.name} was not audited after dbt wrote it: {report.error}")
            self.record.remark(said)
            log.warn(f"planproof: {said}")

    def tell_check(self) -> None:
        """Tells what the check found of a watched node that has not come to a publish or an audit."""
        seen = self.state.seen
        if isinstance(seen, PlanesSeen) and seen.report is not None:
            self._tell(seen.report)

    def _tell(self, report: Report) -> None:
        """Records the report of a node that was not stopped, and warns of what was found, or would have stopped it."""
        path = self.record.add(report)
        for line in (
            [describe_watched(report, self.state.node.name, path)] if would_stop(report) else list_remarks(report)
        ):
            log.warn(line)

    def publish(self, model: Model) -> Report | None:
        """The report of a model that was published; None where planproof itself failed, and the model lets that pass.
        Raises `Stopped` where it was not published."""
        node, seen = self.state.node, self.state.seen
        known = _kinds_replaced(self.state, model)
        is_bare = isinstance(seen, ColumnsSeen) and model.sql == drop_terminators(node.compiled)
        analyzed = seen.planes if isinstance(seen, ColumnsSeen) and is_bare else None
        if analyzed is not None:
            self.here.change(self.state, seen=PlanesSeen())  # The bare query is published, with its places.
        try:
            tests = self.trials.find_tests_before(self.state)
        except ProjectError as error:
            if not node.is_watched:
                raise Stopped(f"planproof: {node.name}: {error}") from error
            log.warn(f"planproof: {node.name}: {error}")
            tests = None
        existed = True if self.state.delta is not None else None

        def publish(guard: Guard) -> Report:
            return guard.publish(model, over=known, analyzed=analyzed, tests=tests, existed=existed)

        report = self._ask(model, publish)
        if _is_ours(report) and _may_pass(report, model):
            log.warn(f"{node.name}: {report.error}; dbt runs this model as if planproof were absent")
            return None
        if report.outcome != "published":
            self._stop(report)
        with self._after_publish():
            self._tell(report)
            for line in list_changes(report):
                log.info(line)
            for line in list_suggestions(report):
                log.debug(line)
        with self._after_publish():
            self.trials.keep_answers(self.state, tests, self.reach.open_session())
        return report

    @contextmanager
    def _after_publish(self) -> Iterator[None]:
        """The table has its new rows by now: no failure in the block fails the node, or has dbt write them again."""
        try:
            yield
        except Exception as error:
            log.warn(f"planproof: {self.state.node.name} was published, and then {describe(error)}. Please report it")
            log.debug(traceback.format_exc())

    def _ask(self, model: Model, question: Callable[[Guard], Report]) -> Report:
        """The guard's report, with its places in the author's file. An error of ours is a report too (PP901)."""
        node = self.state.node
        try:
            report = question(self.find_guard())
        except Exception as error:  # Any error here is planproof's own, and must not look like the model's fault.
            said = describe(error)
            finding = Finding(Verdict.UNPROVED, "PP901", "contract", message=said)
            ours = Details(traceback=traceback.format_exc())
            report = Report(model.name, "failed", (finding,), sql=model.sql, error=said, details=ours)
        if report.details.lenient:
            self._say_lenient(node.name)
        if report.details.traceback is not None:
            log.debug(f"internal error in planproof\n{report.details.traceback}")
        if report.outcome != "published":
            return self._place(report, model)
        with self._after_publish():
            report = self._place(report, model)
        return report

    def _place(self, report: Report, model: Model) -> Report:
        """The report with what only dbt's node tells."""
        node = self.state.node
        is_open, hooked = report.outcome != "published", self.state.hooked
        details = evolve(
            report.details,
            unique_id=model.unique_id,
            name=node.name,
            file=model.file,
            materialized=node.model.materialized,
            fail_on=model.settings.fail_on,
            contract=model.contract is not None,
            hooked=join_lines(hooked) if hooked is not None and is_open else None,
        )
        root = self.adapter.config.project_root
        placed = relocate(evolve(report, details=details), node.form, root)
        placed = Promises(Path(root)).place_findings(placed, node.form)
        unplaced = any(f.field and not f.origin and f.verdict is not Verdict.PROVED for f in placed.findings)
        if isinstance(self.state.seen, ColumnsSeen) and unplaced:
            self._check(node.compiled)
        # dbt wraps a contracted query in another one, where a column's place says nothing: the check saw it bare.
        places = self.state.seen.places if isinstance(self.state.seen, PlanesSeen) else {}
        findings = tuple(evolve(f, origin=f.origin or places.get(f.field or "")) for f in placed.findings)
        return evolve(placed, findings=findings)

    def _say_lenient(self, name: str) -> None:
        """Once in an invocation."""
        with self.lock:
            said, self.has_said_lenient = self.has_said_lenient, True
        if not said:
            log.info(
                f"planproof: dbt-spark sets spark.sql.ansi.enabled to false, and {name} relies on it: a value that "
                "does not fit its type becomes NULL or another value, without an error. A model is stopped if such "
                "values are counted in columns that its contract promises (PP126, PP138)"
            )

    def _stop(self, report: Report) -> NoReturn:
        raise Stopped(describe_failure(report, self.state.node.name, self.record.add(report)))

    def find_guard(self) -> Guard:
        if self.reach.is_shared:
            with self.lock:
                if not self.made:
                    self.made.append(self._make_guard(self.reach.open_session()))
                return self.made[0]
        # A connection to a Thrift server is its thread's own, and lives as long as its node.
        session = self.reach.open_session()
        if self.here.guard is None or self.here.guard.session is not session:
            self.here.guard = self._make_guard(session)
        return self.here.guard

    def _make_guard(self, session: Session) -> Guard:
        guard = make_guard(session)
        guard.memory.plans = self.trials.plans
        return guard


def _stored_terms(contract: Contract, columns: frozenset[str] | None) -> Contract:
    """The part of a contract that binds every row of a statement that stores only these columns (None: all columns).

    A key into the table itself may find what is stored there already.
    """
    if columns is None or columns.issuperset(f.name.lower() for f in contract.schema):
        inner = [c for c in contract.constraints if c.kind != "foreign_key"]
        return Contract([(f.name, f.type, f.nullable) for f in contract.schema], inner, contract.places)
    fields = [
        (f.name, f.type, f.nullable) if f.name.lower() in columns else (f.name, as_nullable(drop_lengths(f.type)), True)
        for f in contract.schema
    ]
    keys = [c for c in contract.constraints if c.kind in ("unique", "primary_key")]
    return Contract(fields, [c for c in keys if columns.issuperset(n.lower() for n in c.columns)], contract.places)


def make_guard(session: Session) -> Guard:
    """One guard per invocation: it remembers what it proved of each relation."""
    from planproof.guard import Guard

    return Guard(session)


def _is_ours(report: Report) -> bool:
    return any(f.code == "PP901" and f.verdict is not Verdict.WARNING for f in report.findings)


def _kinds_replaced(state: NodeState, model: Model) -> tuple[str, ...] | None:
    """Which kinds of relation dbt's statement replaces, None for any: CREATE TABLE, without a drop before it, none.
    What a CREATE OR REPLACE may not replace is refused in any case."""
    if state.drops or state.delta is not None or model.file_format in LOGGED_FORMATS:
        return None
    return ("view",) if model.materialized == "view" else ()


def _may_pass(report: Report, model: Model) -> bool:
    """Whether dbt may run the statement itself. After a delta's publish began, dbt could add the rows a second time. A
    table that is half way is for `recover`, which would replace dbt's table by the one that it knows."""
    began = model.materialized == "incremental" and bool(report.strategy)
    return model.settings.in_force.on_internal_error == "pass" and not began and not report.details.unsettled


_COUNTED = {"PP506": "PP505", "PP508": "PP507"}
"""What a term is called once its rows are counted, by its code before."""


def merge_reports(checked: Report, audited: Report) -> Report:
    """The report of an audit, with what the check of the query found besides.

    Where both judge one term, the stored rows decide, and the query says where the column is written.
    """
    if audited.outcome == "failed":
        return audited if checked.outcome == "failed" else evolve(checked, error=audited.error)
    judged = {_term(finding) for finding in audited.findings}
    of_query = tuple(f for f in checked.findings if _term(f) not in judged)
    places = {f.field: f.origin for f in checked.findings if f.field and f.origin}
    planes = {p.plane: p for p in checked.planes}
    planes |= {p.plane: p for p in audited.planes if p.status == "read" or p.plane not in planes}
    invariants = {i.invariant: i for i in audited.invariants}
    invariants |= {i.invariant: i for i in checked.invariants if i.enforced}
    return evolve(
        audited,
        findings=(*of_query, *(evolve(f, origin=f.origin or places.get(f.field or "")) for f in audited.findings)),
        planes=tuple(planes.values()),
        invariants=tuple(invariants.values()),
        rewrites=checked.rewrites,
    )


def _term(finding: Finding) -> tuple[str, str | None, str | None]:
    return _COUNTED.get(finding.code, finding.code), finding.field, finding.promised
