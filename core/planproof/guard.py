"""The guard: a model is analysed, published by `publish.kernel`, and reported, whatever happens on the way."""

from __future__ import annotations

import functools
import itertools
import traceback
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple

import planproof.session
from planproof.arrow.isolated import prepare
from planproof.contract import Contract, Model
from planproof.judge.draft import Draft
from planproof.judge.planes import Examined, Spark, examine
from planproof.own_errors import describe
from planproof.publish import kernel, quarantine
from planproof.publish.audit.batch_schemas import FitsByPlace
from planproof.publish.audit.comparison import refuse_keys
from planproof.publish.audit.hazards import decide_hazards, find_swapped_views
from planproof.publish.audit.limits import refuse_unknown
from planproof.publish.audit.relation import audit_stored
from planproof.publish.data_tests.trial import Tests
from planproof.publish.formats import format_of
from planproof.publish.functions import Functions, find_broken_declaration
from planproof.publish.materialize.materialization import Job
from planproof.publish.memory import Memory
from planproof.publish.transaction import Lock, Names, Refused, database_root, lock
from planproof.publish.transaction.journal import list_publishes
from planproof.publish.transaction.recover import list_roots, recover, recover_held
from planproof.publish.transaction.states import Stopped, tell
from planproof.publish.undoing import tell_unseen
from planproof.report import Report
from planproof.session import Moved, Session, SparkFailure, SparkPlanes, StoredTable, store_of
from planproof.settings import Settings
from planproof_engine import AnalysisError, Catalog, Finding, LogicalPlan, RelationName, Verdict, evolve, plan

STAGINGS = 4
"""How often a model is staged at most, where other writers change its table, or batches turn out to fit by place."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """What `Guard.publish` was asked for; with `keys` what was staged is compared by them, and not published. `moved`:
    it was staged before, and others have changed the table."""

    model: Model
    full_refresh: bool
    over: Sequence[str] | None = None
    tests: Tests | None = None
    keys: tuple[str, ...] = ()
    existed: bool | None = None
    moved: bool = False


class _Settled(NamedTuple):
    """What settling earlier publishes of the target has made of it: it was missing, or got the rows of an append."""

    appeared: bool = False
    has_grown: bool = False


class Guard:
    """Checks models, and publishes them only when their contracts hold.

    `spark` is a SparkSession or a planproof session; every statement runs under its settings, and none is changed.
    `functions` ({name: `planproof.Function` or pyspark UDF}) are registered in it, and may stand in lambdas. `settings`
    win over each model's own, `catalog` over what Spark's catalog says. `root` is where journal and locks lie, by
    default the target database's location.
    Whatever goes wrong is in the report that is returned: `outcome` says whether the target changed.
    """

    def __init__(
        self,
        spark: Any,
        functions: Mapping[str, Any] | None = None,
        settings: Settings | None = None,
        catalog: Catalog | None = None,
        root: str | None = None,
    ) -> None:
        self.session: Session = planproof.session.open(spark)
        self.settings, self.root = settings, root
        self.memory = Memory(self.session, catalog)
        self.run, self._tries = uuid.uuid4().hex[:10], itertools.count(1)
        self.functions = Functions(self.session, functions or {})

    def check(self, model: Model, *, counting: bool = False) -> Report:
        """Compares the contract with planproof's plan and with Spark's (planes 1 to 6), and writes nothing. With
        `counting`, for a model that another program writes, it counts rows of the model's sources to decide hazards;
        otherwise it reads no row."""
        return self._report_work(model, functools.partial(self._check, counting))

    def publish(
        self,
        model: Model,
        full_refresh: bool = False,
        over: Sequence[str] | None = None,
        analyzed: SparkPlanes | None = None,
        tests: Tests | None = None,
        existed: bool | None = None,
    ) -> Report:
        """Stages the model, audits the staged rows, and puts them in the target's place only if the contract holds.

        `over` names the kinds of relation (`table`, `view`) that the target may be already; by default any.
        `analyzed` is the model's query as this guard's session has just analyzed it. `tests` run over the staged rows,
        as `publish.trial` says; one that fails is a violation. `existed` says of an incremental model whether its table
        was there when its query was compiled, which then gives the new rows only; None where that is not known.
        """
        asked = _Asked(model, full_refresh, over, tests, existed=existed)
        again: FitsByPlace | None = None
        replaces = False
        for _ in range(STAGINGS):
            work = functools.partial(self._publish, asked, analyzed, again)
            try:
                return _tell_of_replaced(self._report_work(model, work), replaces)
            except FitsByPlace as found:
                again = found
            except Moved as moved:
                # The other writer's rows stay. The model was staged without them, and is staged anew.
                replaces = replaces or moved.replaces
                asked = evolve(asked, moved=True)
            analyzed = None
        return self._report_work(model, self._give_way)

    def compare(self, model: Model, keys: Sequence[str], full_refresh: bool = False) -> Report:
        """Stages and audits the model, compares what the table would hold with what it holds, row by row by `keys`, and
        publishes nothing: `details.comparison`. Its outcome is `checked`, or `rejected` where a publish would be."""
        asked = _Asked(model, full_refresh, keys=tuple(keys))

        def work(again: FitsByPlace | None, draft: Draft) -> Report:
            report = self._publish(asked, None, again, draft)
            stopped = report.outcome != "rejected" or draft.fails
            return report if stopped else evolve(report, outcome="checked")

        try:
            return self._report_work(model, functools.partial(work, None))
        except FitsByPlace as found:
            return self._report_work(model, functools.partial(work, found))

    def audit(
        self, name_or_path: str, contract: Contract, settings: Settings | None = None, at: str | None = None
    ) -> Report:
        """Checks what a table or a Parquet path holds now against a contract. The guard's own settings win.

        `at` asks for an earlier state: a snapshot's id, a tag or a branch of Iceberg, a version or timestamp of Delta.
        """
        model = Model(name_or_path, "", contract=contract, settings=settings or Settings())
        return self._report_work(model, lambda draft: audit_stored(draft, self.session, at))

    def recover(self, force: bool = False) -> list[Report]:
        """Finishes or undoes publishes that were killed. `force` takes over those whose owner may still be alive."""
        is_chosen = self.root is not None
        return recover(self.session, store_of(self.session), list_roots(self.session, self.root), force, is_chosen)

    def columns(self, model: Model) -> Sequence[str]:
        """The names of the model's columns, in order; empty where its query is not understood."""
        try:
            return self.session.planes(model.sql).analyzed.names
        except SparkFailure:
            return ()
        except AnalysisError:  # Spark refuses Python functions in lambdas; our own plan knows them.
            conf = self.session.conf
            return self.functions.columns(model.sql, self.memory.catalog(), conf)

    def _check(self, counting: bool, draft: Draft) -> Report:
        examined = self._examine(draft)
        if counting and examined is not None and not draft.fails_already:
            decide_hazards(draft, self.session, examined)
        return draft.report("checked")

    def _publish(
        self,
        asked: _Asked,
        analyzed: SparkPlanes | None,
        again: FitsByPlace | None,
        draft: Draft,
    ) -> Report:
        """`again`, in a second attempt, says why batches are not compared with their schemas."""
        prepare()
        model, full_refresh = asked.model, asked.full_refresh
        quarantine.refuse_setting(model, draft.settings)
        draft.add(again.remarks if again else [])
        # A table that is staged from its analyzed plan is planned when it is written.
        examined = self._examine(draft, model.materialized != "table", analyzed)
        if examined is None or draft.fails_already:
            self._refuse_changed(asked, draft)
            return draft.report("rejected")
        format = format_of(self.session, model)

        def next_names() -> Names:
            return format.names(model, self.run, next(self._tries))

        names = next_names()
        home = database_root(self.session, names.target.namespace) if format.is_journaled else ""
        root = self.root or home
        with self._lock(draft, names, root) if format.is_journaled else nullcontext((None, _Settled())) as found:
            held, settled = found
            target = format.target(names)
            if settled.has_grown and not self._reads_target(draft, names):
                _refuse_older_query(asked)
            _refuse_unknown(asked, target, settled.appeared)
            if held is not None and target is not None and _may_read(draft, names):
                examined = self._read_again(examined, names)
            refuse_unknown(model, draft.settings.limits, examined.promised, target)
            refuse_keys(model, asked.keys, examined.promised, target)
            before = self.memory.evidence(names.target.quoted, target)
            placed = (target, root, home, held, again is None)
            job = Job(self.session, names, model, draft, examined, *placed, asked.keys, asked.tests)
            publish = kernel.begin(job, format, full_refresh, next_names)
            if publish is None:
                self._refuse_changed(asked, draft)
                return draft.report("rejected")
            if not publish.run():
                return draft.report("rejected")
            self._remember(publish, before, held)
        return draft.report("published")

    def _examine(self, draft: Draft, ahead: bool = True, analyzed: SparkPlanes | None = None) -> Examined | None:
        conf = self.session.conf
        catalog = self.memory.catalog(draft.sources)

        def planned() -> LogicalPlan:
            return plan(draft.model.sql, catalog, conf=conf, registry=self.functions.registry)

        spark = Spark(self.session, conf, catalog, self.functions, ahead, analyzed)
        examined = examine(draft, planned, spark).examined
        draft.add(find_swapped_views(draft))
        return examined

    def _refuse_changed(self, asked: _Asked, draft: Draft) -> None:
        """Raises `Refused` where others have changed the target, or taken it away, since the query was compiled, which
        may read it, or ask for the columns that it had: the model is not to blame."""
        try:
            if asked.moved:
                raise Refused(
                    f"{asked.model.name} was changed by other writers while its rows were staged, and its query, which "
                    "Spark had accepted, does not fit any more. Nothing was published; compile and run the model again",
                    transient=True,
                )
            if asked.existed:
                format = format_of(self.session, asked.model)
                target = format.target(format.names(asked.model, self.run, next(self._tries)))
                _refuse_unknown(asked, target, appeared=False)
        except Refused:
            draft.forget_violations()
            raise

    def _read_again(self, examined: Examined, names: Names) -> Examined:
        """What a query of its own target reads, now that nobody else publishes to it. Raises `Refused` where the query
        gives other columns by now."""
        self.session.rows(f"REFRESH TABLE {names.target.quoted}")
        runs = self.session.analyze(examined.sql)
        if runs.analyzed != examined.runs.analyzed:
            raise Refused(
                f"{names.target} got other columns while this model waited for it; run the model again",
                transient=True,
            )
        return examined._replace(runs=runs)

    def _reads_target(self, draft: Draft, names: Names) -> bool:
        """Whether the model's query is known to read its own target, and no namesake in another database."""
        read = (RelationName.parse(name).within(self.session.namespace) for name in draft.sources)
        return names.target in read

    def _give_way(self, draft: Draft) -> Report:
        raise Refused(
            f"{draft.model.name} was changed by other writers each of the {STAGINGS} times that it was staged; their "
            "rows are kept, and nothing of this run was published. Run it again, or while nobody else writes to it",
            transient=True,
        )

    def _remember(self, publish: kernel.Publish[Any], before: Mapping[str, str], held: Lock | None) -> None:
        """What follows a publish. The target has changed by now, and no failure here undoes that. Who was evicted
        touches nothing more: no comment is set, and no bad row expires."""
        job = publish.job
        try:
            if held is not None:
                held.fence()
            now = publish.look()
            quarantine.tidy(job, publish.steps.format)
            self.memory.learn(job, before, now, lambda state: publish.steps.format.is_alone(publish.publication, state))
        except lock.Evicted as eviction:
            self.memory.drop(job.names.target)
            publish.tell_of_eviction(eviction)
        except Exception as error:
            self.memory.drop(job.names.target)
            job.draft.set_details(traceback=traceback.format_exc())
            job.draft.add([tell_unseen(job.model.name, error)])

    @contextmanager
    def _lock(self, draft: Draft, names: Names, root: str) -> Iterator[tuple[Lock, _Settled]]:
        """Holds the target's lock below `root`: what earlier holders left half way is recovered first."""
        store, table, settled = store_of(self.session), str(names.target), _Settled()
        held = lock.acquire(store, root, names.slug, names.stamp, table)
        try:
            if list_publishes(store, root, names.slug):
                settled = _Settled(self.session.registered_table(names.target.quoted) is None)
                for report in recover_held(self.session, held, self.root is not None):
                    draft.add(report.findings)
                    grows = report.strategy == "append" and report.outcome == "published"
                    settled = settled._replace(has_grown=settled.has_grown or grows)
                    if report.outcome == "failed":
                        raise Refused(report.error or f"{table} could not be recovered")
            yield held, settled
        finally:
            self._release(draft, held)

    def _release(self, draft: Draft, held: Lock) -> None:
        """Gives the lock back. What became of the target is known by now, and a failure here does not change it."""
        try:
            held.release()
        except SparkFailure as failure:
            message = f"the lock {held.location} could not be removed: {failure}; the next publish or recovery does it"
            draft.add([Finding(Verdict.WARNING, "PP604", "catalog", message=message)])

    def _report_work(self, model: Model, work: Callable[[Draft], Report]) -> Report:
        """What `work` reports. Every failure of it becomes a report too."""
        settings = self.settings or model.settings
        draft = Draft(model, settings)
        try:
            return work(draft)
        except (FitsByPlace, Moved):
            raise
        except Stopped as stop:
            draft.set_details(transient=stop.transient)
            draft.add(tell(stop.end, str(stop)))
            return draft.report("failed", str(stop))
        except AnalysisError as rejection:
            # The place is one in the statement that stages, not in the model.
            said = f"[{rejection.condition}] {rejection.message}"
            message = f"Spark rejects the statement that writes the model: {said}"
            draft.add([Finding(Verdict.VIOLATED, "PP110", "executed", found=rejection.condition, message=message)])
            return draft.report("rejected")
        except SparkFailure as failure:
            found = find_broken_declaration(failure)
            if found is not None:
                draft.add([found])
                draft.mark_enforced("I3", f"each batch that a Python function gave in a lambda, until {found.code}")
                return draft.report("rejected")
            draft.set_details(transient=failure.transient)
            draft.add([Finding(Verdict.UNPROVED, "PP302", "executed", found=failure.condition, message=str(failure))])
            return draft.report("failed", str(failure))
        except Exception as error:
            said = describe(error)
            draft.set_details(traceback=traceback.format_exc())
            draft.add([Finding(Verdict.UNPROVED, "PP901", "contract", message=said)])
            return draft.report("failed", said)
        finally:
            self.functions.release(draft.lowered)


def _may_read(draft: Draft, names: Names) -> bool:
    """Whether the model's query may read its own target: its text names it, or a view, which may read anything."""
    views = any(source.kind != "table" for source in draft.sources.values())
    return views or names.target.last.lower() in draft.model.sql.lower()


def _refuse_older_query(asked: _Asked) -> None:
    """Raises `Refused` for an addition whose query was compiled before the target got rows that it does not read."""
    if asked.existed and asked.model.materialized == "incremental" and not asked.full_refresh:
        raise Refused(
            f"a publish of {asked.model.name} had been killed, and its rows have just been made whole; a query that "
            "was compiled without them, and does not read them, may give them again. Nothing else was changed; compile "
            "and run the model again",
            transient=True,
        )


def _refuse_unknown(asked: _Asked, target: StoredTable | None, appeared: bool) -> None:
    """Raises `Refused` for a target that was otherwise when the model was compiled."""
    model, over = asked.model, asked.over
    is_added = model.materialized == "incremental" and not asked.full_refresh
    if target is not None and over is not None and target.kind not in over and not appeared:
        raise Refused(
            f"{model.name} exists as a {target.kind}, which was not known when this run began: another run, or a hook, "
            "made it since. Nothing was changed; run the model again",
            transient=True,
        )
    if target is not None and appeared and is_added:
        raise Refused(
            f"{model.name} was missing because a publish of it had been killed, and has just been recovered; a query "
            "that was compiled without it may hold all of its rows again. Compile and run the model again",
            transient=True,
        )
    has_table = target is not None and target.kind != "view"
    if is_added and asked.existed is not None and asked.existed != has_table:
        said = (
            "has disappeared since the model was compiled: its query gives only the rows that were new to it"
            if asked.existed
            else "has appeared since the model was compiled: its query may give rows that it already holds"
        )
        raise Refused(f"{model.name} {said}. Nothing was changed; compile and run the model again", transient=True)


def _tell_of_replaced(report: Report, replaces: bool) -> Report:
    """`replaces`: what others have left while the model was staged first has been replaced."""
    if not replaces or report.outcome != "published":
        return report
    message = (
        f"another writer changed rows of {report.model} while its new rows were staged. They were staged anew, and "
        "replaced what that writer had left; an older version of the table holds it"
    )
    return evolve(report, findings=(*report.findings, Finding(Verdict.WARNING, "PP621", "catalog", message=message)))
