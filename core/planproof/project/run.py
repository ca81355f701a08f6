"""The executor's loop: the selected models of a project through a guard, parents first."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from planproof.contract import Model
from planproof.project import Project, ProjectError, ProjectNode
from planproof.project.branches import Branch, find_branch
from planproof.project.compiled import Promises, relocate
from planproof.project.seeds import find_seed_obstacle, find_seeds, load_seed, read_seed
from planproof.project.statements import Around, Hook, grants_of, hooks_of, list_never_run
from planproof.publish.transaction import Refused
from planproof.report import Details, Report
from planproof.session import Session, SparkFailure
from planproof_engine import AnalysisError, Finding, Verdict, evolve, fold_name, quote_name, record, split_name
from planproof_engine.texts import may_change, read_head

if TYPE_CHECKING:
    from planproof.project.data_tests import DataTests
    from planproof.publish.data_tests.trial import Tests

NEW = Branch.NEW_ROWS
LOADED_BY_DBT = ("seed", "snapshot")
FRESH_ONLY = ("incremental",)
"""Materializations whose compiled SQL depends on whether the table existed when dbt compiled it."""


class Publisher(Protocol):
    """The part of `Guard` that the loop needs."""

    def publish(
        self, model: Model, full_refresh: bool = False, *, tests: Tests | None = None, existed: bool | None = None
    ) -> Report: ...

    def columns(self, model: Model) -> Sequence[str]: ...


class Comparer(Publisher, Protocol):
    """The part of `Guard` that compares."""

    def compare(self, model: Model, keys: Sequence[str], full_refresh: bool = False) -> Report: ...


def find_refusals(
    nodes: Iterable[ProjectNode], *, fresh: bool, older: Older | None = None
) -> list[tuple[ProjectNode, str]]:
    """The models that cannot be run, each with its reason. `fresh`: the manifest was compiled for this run; else
    `older` says what of incremental models is known."""
    found: list[tuple[ProjectNode, str]] = []
    for node in nodes:
        reason = node.find_obstacle()
        if reason is None and not fresh and node.materialized in FRESH_ONLY:
            reason = _describe_outdated(node, older)
        if reason is None and node.kind != "seed" and node.sql is None:
            reason = "not compiled"
        if reason is not None:
            found.append((node, reason))
    return found


@record(frozen=True, slots=True)
class Older:
    """A compile that was made before: its project, and where a session is there, whether a table stands now."""

    project: Project
    has_table: Callable[[ProjectNode], bool] | None = None


def _describe_outdated(node: ProjectNode, older: Older | None) -> str | None:
    """Why the compiled text of an incremental model is not the one for its table as it is now; None where it is."""
    branch = find_branch(older.project, node) if older is not None else Branch.UNKNOWN
    if branch is Branch.UNKNOWN:
        return (
            f"{node.materialized}: its compiled SQL is good only for the warehouse that dbt compiled it against, and "
            "the text does not tell whether its table was there"
        )
    if branch is Branch.EITHER or older is None or older.has_table is None:
        return None
    if (branch is NEW) == (older.has_table(node) and not is_rebuilt(node, False)):
        return None
    if branch is NEW:
        return f"{node.materialized}: it was compiled for a table that is not there; compile it again"
    return f"{node.materialized}: it was compiled without its table, which is there now: its rows would come twice"


def is_rebuilt(node: ProjectNode, asked: bool) -> bool:
    """Whether a run builds an incremental model anew: as its own config says, else as the run was `asked` to (dbt's
    macro should_full_refresh)."""
    own = (node.raw.get("config") or {}).get("full_refresh")
    return asked if own is None else bool(own)


def select_runnable(
    nodes: Sequence[ProjectNode], *, fresh: bool, older: Older | None = None
) -> tuple[ProjectNode, ...]:
    """The nodes that the loop runs; ephemeral ones are part of their children. Raises `ProjectError` for a refusal."""
    refused = find_refusals(nodes, fresh=fresh, older=older)
    if refused:
        listed = "\n".join(f"  {node.name}: {reason}" for node, reason in refused)
        names = " ".join(node.name for node, _ in refused)
        step = "" if fresh else "compile them with dbt just before the run, or "
        raise ProjectError(
            f"these models cannot be run by planproof, and nothing was run:\n{listed}\n"
            f'{step}leave them to `dbt build`: --exclude "{names}"'
        )
    found = tuple(node for node in nodes if node.materialized != "ephemeral")
    if nodes and not found:
        raise ProjectError("only ephemeral models are selected; they run as part of the models that read them")
    return found


@record(frozen=True, slots=True)
class Comparing:
    """A guard that compares in place of publishing: no data test is asked, as there is nothing that one would stop."""

    guard: Comparer
    keys: tuple[str, ...]

    def publish(
        self, model: Model, full_refresh: bool = False, *, tests: Tests | None = None, existed: bool | None = None
    ) -> Report:
        return self.guard.compare(model, self.keys, full_refresh)

    def columns(self, model: Model) -> Sequence[str]:
        return self.guard.columns(model)


def run_project(
    project: Project,
    nodes: Sequence[ProjectNode],
    guard: Publisher,
    *,
    session: Session | None = None,
    overrides: Mapping[str, Any] | None = None,
    full_refresh: bool = False,
    threads: int = 1,
    starting: Callable[[ProjectNode], None] | None = None,
    finished: Callable[[Report], None] | None = None,
    around: Around | None = None,
) -> list[Report]:
    """Publishes `nodes` (from `select_runnable`), parents first; below a model that was not published nothing is run.

    With `threads` above 1, models that do not depend on each other run beside each other; the reports keep the nodes'
    order. `overrides` are settings before the models' own. With `session`, a table is stored in its contract's order,
    as dbt stores it, and the rows of a table that was left as it is are counted. `starting` is told each model in the
    thread that runs it, `finished` each report in the calling thread; where `finished` raises, no further model is
    begun. `around` runs the hooks and grants of the models and of the project. Raises `ProjectError` before anything
    runs, and `SparkFailure` for an on-run-start hook, or a database that is missing and cannot be made; a model that
    cannot run is a report with the outcome `failed`.
    """
    conf = session.conf if session is not None else None
    models = {node.unique_id: node.model(overrides=overrides, conf=conf) for node in nodes}
    loop = _Loop(project, list(nodes))

    from planproof.project.data_tests import DataTests  # It reads Parquet files, and `check` runs without pyarrow.

    tests = DataTests(project, models, lambda: loop.published)
    one = _NodePublisher(project, guard, session, full_refresh, around, tests)

    def publish(node: ProjectNode) -> Report:
        if starting is not None:
            starting(node)
        return one.publish(node, models[node.unique_id])

    if around is not None:
        if not _has_own_create_schema(project):
            around.create_databases(model.name for model in models.values())
        around.run(project.on_run, "on-run-start")
    with ThreadPoolExecutor(threads, "planproof") if threads > 1 else _CallingThread() as pool:
        running: dict[Future[Report], ProjectNode] = {}
        while loop.waiting or running:
            for node in loop.take_ready(threads - len(running)):
                reason = loop.find_blocker(node)
                model = models[node.unique_id]
                if reason is None:
                    running[pool.submit(publish, node)] = node
                    continue
                skipped = Report(model.name, "skipped", sql=model.sql, error=reason)
                loop.record_end(node, _complete_report(skipped, node, model, project, session), finished)
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                loop.record_end(running.pop(future), future.result(), finished)
    reports = [loop.reports[node.unique_id] for node in nodes]
    ending = _run_end_hooks(around, project) if around is not None else None
    if ending is not None and finished is not None:
        finished(ending)
    return [*reports, ending] if ending is not None else reports


def _has_own_create_schema(project: Project) -> bool:
    """Whether a macro of the project's, or of a package, says where dbt makes databases: only dbt runs it."""
    names = ("create_schema", "spark__create_schema")
    macros = (m for m in project.macros.values() if isinstance(m, Mapping))
    return any(m.get("name") in names and m.get("package_name") not in ("dbt", "dbt_spark") for m in macros)


@record(frozen=True, slots=True)
class _NodePublisher:
    """How one model of a run is published, with its project's hooks and grants around it."""

    project: Project
    guard: Publisher
    session: Session | None
    full_refresh: bool
    around: Around | None
    tests: DataTests

    def publish(self, node: ProjectNode, model: Model) -> Report:
        if node.kind != "seed" or self.session is None:
            return self._publish(node, model)
        try:
            with load_seed(self.session, read_seed(self.project, node)) as sql:
                return self._publish(node, evolve(model, sql=sql))
        except (ProjectError, SparkFailure, AnalysisError, Refused) as failure:
            return _complete_report(_report_failure(model, failure), node, model, self.project, self.session)

    def _publish(self, node: ProjectNode, model: Model) -> Report:
        begun: list[Hook] = []
        try:
            existed = self.around is not None and self._prepare(self.around, node, model, begun)
        except (SparkFailure, AnalysisError) as failure:
            report = _note_hooks(_report_failure(model, failure), begun)
            return _complete_report(report, node, model, self.project, self.session)
        if self.session is not None:
            model = add_comments(order_columns(model, self.guard), node, self.guard)
        tests = self.tests.tests_of(node) if model.settings.tests == "before" else None
        is_anew, is_there = is_rebuilt(node, self.full_refresh), _tell_existed(self.project, node)
        report = _publish_model(self.guard, model, is_anew, tests, is_there)
        if self.around is not None and report.outcome == "published":
            report = _finish_publish(self.around, node, report, existed)
        elif self.around is not None:
            report = _note_hooks(report, begun)
        return _complete_report(report, node, model, self.project, self.session)

    @staticmethod
    def _prepare(around: Around, node: ProjectNode, model: Model, begun: list[Hook]) -> bool:
        """Runs the pre-hooks, each noted as it begins; whether a relation stood there that may have grants."""
        config = node.raw.get("config") or {}
        for hook in hooks_of(config):
            begun.append(hook)
            around.run((hook,), "pre-hook")
        return bool(grants_of(config)) and around.session.registered_table(model.name) is not None


def _note_hooks(report: Report, begun: Iterable[Hook]) -> Report:
    """The report with the pre-hook that may have changed the model's table, of those that had begun."""
    name = split_name(report.model)[-1]
    hooks = (h for h in begun if h.moment == "pre-hook" and h.runs)
    found = next((h.shown for h in hooks if may_change(read_head(h.sql), name)), None)
    return evolve(report, details=evolve(report.details, hooked=found))


def _finish_publish(around: Around, node: ProjectNode, report: Report, existed: bool) -> Report:
    """What follows a publish, as in dbt: grants, then post-hooks. Where it fails the model has failed, as in dbt, and
    its table is the new one."""
    config = node.raw.get("config") or {}
    try:
        around.grant(report.model, grants_of(config), existed)
        around.run(hooks_of(config), "post-hook")
    except SparkFailure as failure:
        details = evolve(report.details, published=True, transient=failure.transient)
        error = f"it was published, and then {failure}"
        found = Finding(Verdict.UNPROVED, "PP302", "catalog", found=failure.condition, message=error)
        return evolve(report, outcome="failed", error=error, details=details, findings=(*report.findings, found))
    return report


def _report_failure(model: Model, failure: SparkFailure | AnalysisError | ProjectError | Refused) -> Report:
    error = f"{failure}; nothing was published"
    condition = failure.condition if isinstance(failure, (SparkFailure, AnalysisError)) else None
    found = Finding(Verdict.UNPROVED, "PP302", "catalog", found=condition, message=error)
    transient = isinstance(failure, SparkFailure) and failure.transient
    return Report(model.name, "failed", (found,), sql=model.sql, error=error, details=Details(transient=transient))


def _run_end_hooks(around: Around, project: Project) -> Report | None:
    """Runs the on-run-end hooks, whatever became of the models; a report where one of them failed."""
    try:
        around.run(project.on_run, "on-run-end")
    except SparkFailure as failure:
        found = Finding(Verdict.UNPROVED, "PP302", "catalog", found=failure.condition, message=str(failure))
        details = Details(transient=failure.transient, contract=False)
        return Report("on-run-end", "failed", (found,), error=str(failure), details=details)
    return None


def list_remarks(project: Project, nodes: Iterable[ProjectNode], chosen: Iterable[ProjectNode]) -> list[str]:
    """What a run of `chosen`, taken from the selected `nodes`, leaves undone, each with its reason."""
    run = {node.unique_id for node in chosen}
    found = [
        f"{hook.shown} has Jinja, which only dbt renders; it is not run" for hook in project.on_run if not hook.is_plain
    ]
    by_dbt = [node for node in nodes if node.kind in LOADED_BY_DBT and node.unique_id not in run]
    if by_dbt:
        reasons = {seed.unique_id: find_seed_obstacle(project, seed) for seed in find_seeds(project, by_dbt)}
        shown = ((n, reasons.get(n.unique_id)) for n in by_dbt)
        listed = ", ".join(f"{n.kind} {n.name}" + (f" ({reason})" if reason else "") for n, reason in shown)
        found.append(f"left to dbt (`dbt seed`, `dbt snapshot`), and read as they stand: {listed}")
    for node in nodes:
        if node.kind != "model":
            continue
        found += [f"{node.name}: {said}" for said in list_never_run(node.raw.get("config") or {})]
        if node.unique_id not in run:
            found.append(
                f"{node.name} is {node.materialized}: it is part of the models that read it, and not run itself"
            )
    return found


class _CallingThread(Executor):
    """Runs each call where it is submitted."""

    def submit(self, call: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(call(*args, **kwargs))
        return future


@dataclass(slots=True)
class _Loop:
    """Which models still wait, and what became of the others."""

    project: Project
    waiting: list[ProjectNode]
    reports: dict[str, Report] = field(default_factory=dict)
    chosen: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self.chosen = frozenset(node.unique_id for node in self.waiting)

    def take_ready(self, most: int) -> list[ProjectNode]:
        """Takes the first models, at most so many, of whose selected parents none is still to end."""
        found: list[ProjectNode] = []
        for node in self.waiting:
            parents = {parent.unique_id for parent in self.project.stored_parents(node)} & self.chosen
            if len(found) < most and parents <= self.reports.keys():
                found.append(node)
        self.waiting = [node for node in self.waiting if node not in found]
        return found

    @property
    def published(self) -> frozenset[str]:
        """The models that stand by now."""
        return frozenset(key for key, report in list(self.reports.items()) if report.outcome == "published")

    def find_blocker(self, node: ProjectNode) -> str | None:
        for parent in self.project.stored_parents(node):
            report = self.reports.get(parent.unique_id)
            if report is not None and report.outcome != "published":
                failed = "failed after it was published" if report.details.published else "was not published"
                return f"its parent {parent.relation} {failed}"
        return None

    def record_end(self, node: ProjectNode, report: Report, finished: Callable[[Report], None] | None) -> None:
        self.reports[node.unique_id] = report
        if finished is not None:
            finished(report)


def order_columns(model: Model, guard: Publisher) -> Model:
    """The model whose query yields the contract's columns in the contract's order.

    dbt wraps a contracted table's query so (`get_select_subquery`); where the order agrees the text stays as it is.
    """
    if model.contract is None or model.materialized not in ("table", "incremental"):
        return model
    wanted = [f.name for f in model.contract.schema]
    names, promised = (list(map(fold_name, given)) for given in (guard.columns(model), wanted))
    if names == promised or sorted(names) != sorted(promised):
        return model
    from planproof_engine import drop_terminators

    columns = ", ".join(map(quote_name, wanted))
    return evolve(model, sql=f"select {columns} from (\n{drop_terminators(model.sql)}\n) as model_subq")


def add_comments(model: Model, node: ProjectNode, guard: Publisher) -> Model:
    """The view with the comments of its columns, where `persist_docs` asks for them."""
    comments = node.column_comments()
    columns = [(name, comments.get(name)) for name in guard.columns(model)] if comments else []
    return evolve(model, options={**model.options, "columns": columns}) if columns else model


def _tell_existed(project: Project, node: ProjectNode) -> bool | None:
    """Whether an incremental model's table was there when dbt compiled the model, where its text tells."""
    branch = find_branch(project, node) if node.materialized == "incremental" else Branch.UNKNOWN
    return {Branch.NEW_ROWS: True, Branch.ALL_ROWS: False}.get(branch)


def _publish_model(
    guard: Publisher, model: Model, full_refresh: bool, tests: Tests | None, existed: bool | None
) -> Report:
    started = time.perf_counter()
    try:
        if existed is None:
            return guard.publish(model, full_refresh=full_refresh, tests=tests)
        return guard.publish(model, full_refresh=full_refresh, tests=tests, existed=existed)
    except Exception as error:  # One model that could not run must not hide the others' reports.
        said = str(error) or type(error).__name__
        return Report(
            model.name,
            "failed",
            sql=model.sql,
            seconds=round(time.perf_counter() - started, 3),
            error=said,
            details=Details(transient=bool(getattr(error, "transient", False)), exception=type(error).__name__),
        )


def _complete_report(
    report: Report, node: ProjectNode, model: Model, project: Project, session: Session | None
) -> Report:
    left = _find_previous(session, model.name) if session is not None and report.outcome == "rejected" else {}
    details = evolve(
        report.details,
        **left,
        unique_id=node.unique_id,
        name=node.name,
        file=node.file,
        materialized=node.materialized,
        fail_on=model.settings.fail_on,
        contract=model.contract is not None,
        contract_hash=model.contract.fingerprint if model.contract is not None else None,
    )
    placed = relocate(evolve(report, details=details), node.raw, project.directory)
    return Promises(project.directory).place_findings(placed, node.raw)


def _find_previous(session: Session, name: str) -> dict[str, Any]:
    """What stands at the target of a model that was not published: nothing, or a table with so many rows."""
    try:
        stored = session.table(name)
        if stored is None:
            return {"previous": False}
        if stored.kind != "table":
            return {"previous": True}
        rows = session.rows(f"select count(*) from {'.'.join(map(quote_name, split_name(name)))}")
        return {"previous": True, "previous_rows": int(rows[0][0])}
    except (AnalysisError, SparkFailure):
        return {}
