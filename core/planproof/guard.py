"""The story in one page: analyse -> rewrite -> stage -> audit -> publish -> report."""

from __future__ import annotations

import functools
import itertools
import traceback
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import planproof.session
from planproof.contract import Contract, Model
from planproof.judge.draft import Draft
from planproof.judge.effect import Effect
from planproof.judge.planes import ARRAYS_UNSEEN, Examined, Spark, examine
from planproof.own_errors import describe
from planproof.publish import quarantine
from planproof.publish.audit.batch_schemas import FitsByPlace, comparing, mismatch, uncompared
from planproof.publish.audit.comparison import compare, refuse_keys
from planproof.publish.audit.hazards import decide_hazards, swapped_views
from planproof.publish.audit.limits import refuse_unknown
from planproof.publish.audit.python_claims import breaks_its_claims, watching
from planproof.publish.audit.refusals import met_null
from planproof.publish.audit.relation import audit_stored
from planproof.publish.audit.samples import broken_rows
from planproof.publish.audit.staged import look
from planproof.publish.data_tests.trial import Tests, try_tests
from planproof.publish.formats import Format, format_of
from planproof.publish.functions import Functions, broken, fed_by_rows
from planproof.publish.materialize.incremental import overflowed
from planproof.publish.materialize.materialization import Job, Materialization, Publishing
from planproof.publish.memory import Memory
from planproof.publish.parting import parted, told
from planproof.publish.transaction import lock
from planproof.publish.transaction.journal import publishes
from planproof.publish.transaction.lock import Evicted, Lock
from planproof.publish.transaction.names import Names, Refused
from planproof.publish.transaction.places import database_root
from planproof.publish.transaction.recover import locked, recover, recover_held, roots
from planproof.report.model import Report
from planproof.session.protocol import Moved, Session, SparkFailure, SparkPlanes, StoredTable
from planproof.session.store import store_of
from planproof.settings import Settings
from planproof_engine.api import LogicalPlan, plan
from planproof_engine.catalog import Catalog
from planproof_engine.finding import Finding, Verdict
from planproof_engine.origin import AnalysisError
from planproof_engine.quoting import quoted
from planproof_engine.schema import PhysicalSchema

STAGINGS = 4
"""How often a model is staged at most, where other writers change its table, or batches turn out to fit by place."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """What `Guard.publish` was asked for; with `keys` what was staged is compared by them, and not published."""

    model: Model
    full_refresh: bool
    over: Sequence[str] | None = None
    tests: Tests | None = None
    keys: tuple[str, ...] = ()


class Unsettled(Exception):
    """A publish failed, and so did bringing its target back: the journal entry and the lock stay."""


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
        """Planes 1 to 6; nothing is written, and no row is read but by `counting`, which decides hazards by the rows of
        the model's sources: for a model that another program writes."""
        return self._reported(model, functools.partial(self._check, counting))

    def publish(
        self,
        model: Model,
        full_refresh: bool = False,
        over: Sequence[str] | None = None,
        analyzed: SparkPlanes | None = None,
        tests: Tests | None = None,
    ) -> Report:
        """Stages the model, audits what was staged, and puts it in the target's place only when its contract holds.

        `over` names the kinds of relation (`table`, `view`) that may stand there already; by default any may.
        `analyzed` is the model's query as this guard's session has just analyzed it. `tests` run over what was staged,
        as `publish.trial` says; one that fails is a violation.
        """
        asked = _Asked(model, full_refresh, over, tests)
        again: FitsByPlace | None = None
        for _ in range(STAGINGS):
            work = functools.partial(self._publish, asked, analyzed, again)
            try:
                return self._reported(model, work)
            except FitsByPlace as found:
                again = found
            except Moved:
                pass  # The other writer's rows stay. The model was staged without them, and is staged anew.
            analyzed = None
        return self._reported(model, self._give_way)

    def compare(self, model: Model, keys: Sequence[str], full_refresh: bool = False) -> Report:
        """Stages and audits the model, compares what the table would hold with what it holds, row by row by `keys`, and
        publishes nothing: `details.comparison`. Its outcome is `checked`, or `rejected` where a publish would be."""
        asked = _Asked(model, full_refresh, keys=tuple(keys))

        def work(again: FitsByPlace | None, draft: Draft) -> Report:
            report = self._publish(asked, None, again, draft)
            stopped = report.outcome != "rejected" or draft.fails
            return report if stopped else replace(report, outcome="checked")

        try:
            return self._reported(model, functools.partial(work, None))
        except FitsByPlace as found:
            return self._reported(model, functools.partial(work, found))

    def audit(
        self, name_or_path: str, contract: Contract, settings: Settings | None = None, at: str | None = None
    ) -> Report:
        """What is stored now, a table or a Parquet path, against a contract. The guard's own settings win.

        `at`: what an Iceberg table held at a snapshot (its id), a tag, or the end of a branch.
        """
        model = Model(name_or_path, "", contract=contract, settings=settings or Settings())
        return self._reported(model, lambda draft: audit_stored(draft, self.session, at))

    def recover(self, force: bool = False) -> list[Report]:
        """Finishes or undoes publishes that were killed. `force` takes over those whose owner may still be alive."""
        is_chosen = self.root is not None
        return recover(self.session, store_of(self.session), roots(self.session, self.root), force, is_chosen)

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
        examined = self._examined(draft)
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
        model, full_refresh = asked.model, asked.full_refresh
        quarantine.refuse_setting(model, draft.settings)
        draft.add(again.remarks if again else [])
        # A table that is staged from its analyzed plan is planned when it is written.
        examined = self._examined(draft, model.materialized != "table", analyzed)
        if examined is None or draft.fails_already:
            return draft.report("rejected")
        room = format_of(self.session, model)
        names = room.names(model, self.run, next(self._tries))
        home = database_root(self.session, names.database) if room.is_journaled else ""
        root = self.root or home
        with self._lock(draft, names, root) if room.is_journaled else nullcontext((None, False)) as (held, appeared):
            target = room.target(names)
            _refuse_unknown(model, target, asked.over, full_refresh, appeared)
            if held is not None and target is not None and _may_read(draft, names):
                examined = self._read_again(examined, names)
            refuse_unknown(model, draft.settings.limits, examined.promised, target)
            refuse_keys(model, asked.keys, examined.promised, target)
            before = self.memory.evidence(quoted(names.target), target)
            placed = (target, root, home, held, again is None)
            job = Job(self.session, names, model, draft, examined, *placed, asked.keys, asked.tests)
            way = room.way(job, full_refresh)
            publication = way.begin(job)
            if publication is None:
                outcome = "rejected"
            else:
                draft.strategy = publication.entry.strategy
                draft.effect = room.staged(job, publication).effect
                outcome = self._settled(job, room, way, publication, before)
        return draft.report(outcome)

    def _examined(self, draft: Draft, ahead: bool = True, analyzed: SparkPlanes | None = None) -> Examined | None:
        conf = self.session.conf
        catalog = self.memory.catalog(draft.sources)

        def planned() -> LogicalPlan:
            return plan(draft.model.sql, catalog, conf=conf, registry=self.functions.registry)

        spark = Spark(self.session, conf, catalog, self.functions, ahead, analyzed)
        examined = examine(draft, planned, spark).examined
        draft.add(swapped_views(draft))
        return examined

    def _read_again(self, examined: Examined, names: Names) -> Examined:
        """What a query of its own target reads, now that nobody else publishes to it. Raises `Refused` where the query
        gives other columns by now."""
        self.session.rows(f"REFRESH TABLE {quoted(names.target)}")
        runs = self.session.analyzed(examined.sql)
        if runs.analyzed != examined.runs.analyzed:
            raise Refused(
                f"{'.'.join(names.target)} got other columns while this model waited for it; run the model again",
                transient=True,
            )
        return examined._replace(runs=runs)

    def _give_way(self, draft: Draft) -> Report:
        raise Refused(
            f"{draft.model.name} was changed by other writers each of the {STAGINGS} times that it was staged; their "
            "rows are kept, and nothing of this run was published. Run it again, or while nobody else writes to it",
            transient=True,
        )

    def _settled(
        self,
        job: Job,
        room: Format[Any],
        way: Materialization[Any],
        publication: Publishing,
        before: Mapping[str, str],
    ) -> str:
        """Carries the publish out; where a step fails, the target goes back to the old state or on to the new one.
        Returns the outcome.

        A process that dies instead leaves the journal entry behind, which `recover` settles.
        """
        if not self._brought_through(job, room, way, publication):
            return "rejected"
        self._remember(job, room, way.written(job, publication), before)
        return "published"

    def _brought_through(self, job: Job, room: Format[Any], way: Materialization[Any], publication: Publishing) -> bool:
        """Whether the publish came to its end; False where the audit forbids it."""
        try:
            return self._carry_out(job, room, way, publication)
        except Evicted as eviction:
            if room.stands(publication):
                raise Evicted(
                    f"{job.model.name} (its new rows stand there, by a call that was under way)"
                ) from eviction
            raise
        except (Exception, KeyboardInterrupt, SystemExit) as error:
            if not self._brought_back(job.draft, room, publication, error) or not isinstance(error, Exception):
                raise
            message = f"{job.model.name} was published, and its clean-up failed at first: {error}"
            job.draft.add([Finding(Verdict.WARNING, "PP603", "catalog", message=message)])
            return True

    def _brought_back(self, draft: Draft, room: Format[Any], publication: Publishing, error: BaseException) -> bool:
        """Settles a publish that failed; True where it is finished. Raises `Unsettled` where that fails, too."""
        try:
            if room.settle(publication) == "finished":
                return True
            if isinstance(error, (AnalysisError, SparkFailure)):
                room.refuse_changed(publication)
            return False
        except (Evicted, Refused) as better:
            raise better from error
        except Exception as second:
            draft.tell(unsettled=True, transient=bool(getattr(second, "transient", False)))
            if not isinstance(error, Exception):
                raise error from second
            entry = publication.entry
            raise Unsettled(
                f"the publish of {entry.model} failed ({error}), and so did bringing it back from step "
                f"{entry.step!r} ({second}). Nothing else is done to it: {publication.way_on}"
            ) from error

    def _remember(self, job: Job, room: Format[Any], written: PhysicalSchema, before: Mapping[str, str]) -> None:
        """What follows a publish. The target has changed by now, and no failure here undoes that."""
        try:
            now = look(job, written, room.describe)
            quarantine.tidied(job)
            self.memory.learn(job, before, now)
        except Exception as error:
            self.memory.drop(job.names.target)
            job.draft.tell(traceback=traceback.format_exc())
            message = f"{job.model.name} was published, and planproof failed to look at it: {error!r}"
            job.draft.add([Finding(Verdict.WARNING, "PP403", "catalog", message=message)])

    def _carry_out(self, job: Job, room: Format[Any], way: Materialization[Any], publication: Publishing) -> bool:
        """Stage, audit, swap: only the swap touches the target. False where the audit forbids it."""
        draft = job.draft
        # Nothing is written beside a view.
        (publication.note if draft.effect is Effect.DEFINES else publication.step)("stage")
        try:
            with comparing(job), fed_by_rows(job.session, draft.lowered), watching(job, publication) as staged:
                statement = way.stage(staged, publication)
            if not job.is_rest:
                draft.add(uncompared(job))
                draft.executed_sql = statement.replace(staged.examined.sql, job.examined.sql)
                _told_of_arrays(job)
        except SparkFailure as failure:
            found = mismatch(failure)
            draft.add([found] if found else [])
            is_told = found or overflowed(job, failure) or met_null(job, failure) or breaks_its_claims(job, failure)
            if not is_told:
                raise
            self._reject(draft, publication, keep=False)
            return False
        publication.note("audit")
        way.audit(job, publication)
        if job.tests is not None and not draft.fails:
            try_tests(job, room.staged(job, publication), job.tests)
        if draft.fails:
            try:
                room.refuse_changed(publication)
            except Refused:  # A staging of a table that somebody altered meanwhile says nothing of the model.
                draft.findings = [f for f in draft.findings if f.verdict is not Verdict.VIOLATED]
                raise
            return self._without_bad_rows(job, room, way, publication)
        if job.keys:
            if job.target is not None:
                draft.tell(comparison=compare(job, job.keys, room.staged(job, publication).rows_after()))
            self._reject(draft, publication, keep=False)
            return False
        draft.add(room.commit(publication))
        publication.close()
        return True

    def _without_bad_rows(
        self, job: Job, room: Format[Any], way: Materialization[Any], publication: Publishing
    ) -> bool:
        """After an audit that failed: publishes the rows that keep the contract, where the model asks for that and
        rows are all that breaks it. False where nothing is published."""
        draft = job.draft
        if job.is_rest:
            publication.step("reject")
            room.settle(publication)
            return False
        if draft.settings.on_violation == "quarantine":
            aside = quarantine.aside_of(job)
            names = room.names(job.model, self.run, next(self._tries))
            parting = parted(job, aside, publication, room.staged(job, publication), names)
            if parting is not None:
                rest, second = aside.begin(parting, way, job)
                with told(job, parting) as outcome:
                    own = aside.room(parting)
                    outcome.published = self._brought_through(rest, own, aside.way(parting, way), second)
                if outcome.published:
                    return True
        broken_rows(job, room.staged(job, publication))
        self._reject(draft, publication, draft.settings.keep_rejected)
        return False

    def _reject(self, draft: Draft, publication: Publishing, keep: bool) -> None:
        publication.step("reject")
        if keep and publication.can_be_kept:
            publication.keep()
            draft.tell(rejected=publication.entry.staging)
        else:
            publication.discard()
            # For a view nothing was staged that could be kept.
            if keep and draft.effect is not Effect.DEFINES:
                message = "keep_rejected keeps nothing here: what is not committed does not outlive its transaction"
                draft.add([Finding(Verdict.WARNING, "PP611", "catalog", message=message)])
        publication.close()

    @contextmanager
    def _lock(self, draft: Draft, names: Names, root: str) -> Iterator[tuple[Lock, bool]]:
        """Holds the target's lock below `root`, and whether the target was missing and has been brought back: what
        earlier holders left half way is recovered first."""
        store, table, appeared = store_of(self.session), ".".join(names.target), False
        held = lock.acquire(store, root, names.slug, names.stamp, table)
        try:
            if publishes(store, root, names.slug):
                appeared = self.session.registered(quoted(names.target)) is None
                for report in recover_held(self.session, held, self.root is not None):
                    draft.add(report.findings)
                    if report.outcome == "failed":
                        raise Refused(report.error or f"{table} could not be recovered")
            yield held, appeared
        finally:
            self._release(draft, held)

    def _release(self, draft: Draft, held: Lock) -> None:
        """Gives the lock back. What became of the target is known by now, and a failure here does not change it."""
        try:
            held.release()
        except SparkFailure as failure:
            message = f"the lock {held.location} could not be removed: {failure}; the next publish or recovery does it"
            draft.add([Finding(Verdict.WARNING, "PP604", "catalog", message=message)])

    def _reported(self, model: Model, work: Callable[[Draft], Report]) -> Report:
        """What `work` reports. Every failure of it becomes a report too."""
        settings = self.settings or model.settings
        draft = Draft(model, settings)
        try:
            return work(draft)
        except (FitsByPlace, Moved):
            raise
        except lock.Locked as refusal:
            draft.tell(transient=True)
            draft.add([locked(str(refusal))])
            return draft.report("failed", str(refusal))
        except Evicted as eviction:
            draft.tell(transient=True)
            draft.add([Finding(Verdict.UNPROVED, "PP620", "catalog", message=str(eviction))])
            return draft.report("failed", str(eviction))
        except Unsettled as failure:
            draft.add([Finding(Verdict.UNPROVED, "PP608", "catalog", message=str(failure))])
            return draft.report("failed", str(failure))
        except Refused as refusal:
            draft.tell(transient=refusal.transient)
            draft.add([Finding(Verdict.UNPROVED, "PP601", "catalog", message=str(refusal))])
            return draft.report("failed", str(refusal))
        except AnalysisError as rejection:
            # The place is one in the statement that stages, not in the model.
            said = f"[{rejection.condition}] {rejection.message}"
            message = f"Spark rejects the statement that writes the model: {said}"
            draft.add([Finding(Verdict.VIOLATED, "PP110", "executed", found=rejection.condition, message=message)])
            return draft.report("rejected")
        except SparkFailure as failure:
            found = broken(failure)
            if found is not None:
                draft.add([found])
                return draft.report("rejected")
            draft.tell(transient=failure.transient)
            draft.add([Finding(Verdict.UNPROVED, "PP302", "executed", found=failure.condition, message=str(failure))])
            return draft.report("failed", str(failure))
        except Exception as error:
            said = describe(error)
            draft.tell(traceback=traceback.format_exc())
            draft.add([Finding(Verdict.UNPROVED, "PP901", "contract", message=said)])
            return draft.report("failed", said)
        finally:
            self.functions.release(draft.lowered)


def _told_of_arrays(job: Job) -> None:
    """I3: which functions' arrays were checked in the run that has ended. Spark's own functions show no arrays."""
    if job.draft.lowered is not None:
        job.draft.enforced("I3", "each batch that a Python function gave in a lambda: type, length and nulls")
    elif job.compare_batches and job.examined.planes.python_fed:
        compared = (
            "Spark compares the schema of each Arrow batch that a Python function gives; it does not tell of which"
        )
        job.draft.not_enforced("I3", compared)
    else:
        job.draft.not_enforced("I3", ARRAYS_UNSEEN)


def _may_read(draft: Draft, names: Names) -> bool:
    """Whether the model's query may read its own target: its text names it, or a view, which may read anything."""
    views = any(source.kind != "table" for source in draft.sources.values())
    return views or names.table.lower() in draft.model.sql.lower()


def _refuse_unknown(
    model: Model, target: StoredTable | None, over: Sequence[str] | None, full_refresh: bool, appeared: bool
) -> None:
    """Raises `Refused` for a target that was not there, or was of another kind, when the model was compiled."""
    if target is None:
        return
    if over is not None and target.kind not in over and not appeared:
        raise Refused(
            f"{model.name} exists as a {target.kind}, which was not known when this run began: another run, or a hook, "
            "made it since. Nothing was changed; run the model again",
            transient=True,
        )
    if appeared and model.materialized == "incremental" and not full_refresh:
        raise Refused(
            f"{model.name} was missing because a publish of it had been killed, and has just been recovered; a query "
            "that was compiled without it may hold all of its rows again. Compile and run the model again",
            transient=True,
        )
