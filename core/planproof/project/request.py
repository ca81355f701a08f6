"""The one way in: a request to planproof as plain data, and how it is carried out.

The command line, the Airflow operators and another interpreter build the same `Request`, and get the same reports.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import KW_ONLY, asdict, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planproof.contract import ContractError, Model
from planproof.project import Cache, ProjectLocation
from planproof.project.compiler import Compiler
from planproof.project.contracts import parse_contract, read_contract
from planproof.project.finished import Earlier, Finished, form_of_conf, key_of
from planproof.project.garbage import reduce_collections
from planproof.project.manifest import MANIFEST, Project, ProjectNode
from planproof.project.reads import ProjectError, note_reads
from planproof.project.selection import describe_left_to_dbt, read_default_selector, select_nodes, split_guarded
from planproof.report import Report
from planproof.session import Session, SparkFailure
from planproof.settings import Settings, SettingsError
from planproof.settings import check_settings as checked_settings
from planproof_engine import AnalysisError, record

# What judges and runs models is imported where it is needed: a check in which nothing changed needs none of it.
if TYPE_CHECKING:
    from planproof.project.audit import Promise

PURPOSES = ("check", "run", "audit", "publish")
_LISTS = ("select", "exclude", "functions", "names", "keys")


class Progress:
    """What a door is told while a request is done. Each method does nothing; a door overrides those that it shows."""

    def on_spark_start(self) -> None:
        """Spark is about to start, or to be reached."""

    def on_compile(self) -> None:
        """dbt is about to compile the project."""

    def on_project(self, project: Project) -> None:
        """The project that the request is about."""

    def on_project_name(self, project: str) -> None:
        """The name of the project that the request is about; what it holds was not read again."""

    def on_selection(self, nodes: Sequence[ProjectNode]) -> None:
        """These models are about to run, in this order."""

    def on_model_begin(self, node: ProjectNode) -> None:
        """A model begins, in the thread that runs it."""

    def on_model_end(self, report: Report) -> None:
        """A model ended, in the thread that asked. Where this raises, no further model is begun."""

    def on_remark(self, remark: str) -> None:
        """A remark on the project as a whole."""


@record(frozen=True, slots=True)
class Request:
    """What is asked: the models or tables, the settings, the session, and what for. All fields but `compiler`, which is
    dbt where the door knows it, have JSON's types.

    `purpose` is `check` (offline), `run`, `audit`, or `publish` (a table of the caller's own). `spark` are Spark
    settings before the profile's, `settings` planproof's before each model's own. For a check: `sources`, a freeze
    file, `compiles`, whether dbt compiles the project first, `cache`, whether what earlier checks found out is used,
    and `jobs`, how many processes judge beside each other (None: one per core). For a run: `full_refresh`, `threads`
    (None: as the profile says), `functions` (`module:name`), `keys` (what was staged is compared by them, and not
    published; no hook runs). For both, where dbt compiles: `vars`. For an audit:
    `names` (tables, paths, or models of the project) and `contract`, as in a contract file, or `contract_file`; without
    either the project's contracts count; `at` names a snapshot, tag or branch of Iceberg tables. Raises ValueError and
    `SettingsError`.
    """

    purpose: str
    _: KW_ONLY
    project_dir: str | None = None
    manifest: str | None = None
    profiles_dir: str | None = None
    target: str | None = None
    target_path: str | None = None
    select: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    selector: str | None = None
    state: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    spark: Mapping[str, str] = field(default_factory=dict)
    vars: Mapping[str, Any] | None = None
    full_refresh: bool = False
    threads: int | None = None
    functions: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    contract: Mapping[str, Any] | None = None
    contract_file: str | None = None
    at: str | None = None
    sources: str | None = None
    compiles: bool = False
    cache: bool = True
    jobs: int | None = None
    keys: tuple[str, ...] = ()
    compiler: Compiler | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.purpose not in PURPOSES:
            raise ValueError(f"unknown purpose {self.purpose!r}; known: {', '.join(PURPOSES)}")
        if self.threads is not None and self.threads < 1:
            raise ValueError(f"threads is {self.threads}; it takes at least one")
        if self.jobs is not None and self.jobs < 1:
            raise ValueError(f"jobs is {self.jobs}; it takes at least one")
        checked_settings(self.settings)
        for name in _LISTS:
            object.__setattr__(self, name, tuple(getattr(self, name)))

    def to_dict(self) -> dict[str, Any]:
        """The fields that have JSON's types."""
        form = asdict(replace(self, compiler=None))
        del form["compiler"]
        return form

    @property
    def location(self) -> ProjectLocation:
        return ProjectLocation(
            _to_path(self.project_dir),
            _to_path(self.manifest),
            _to_path(self.profiles_dir),
            self.target,
            _to_path(self.target_path),
            self.compiler,
        )

    def open_session(self, progress: Progress | None = None) -> Session:
        """The session that a run or an audit works on; `spark.remote` among the Spark settings, the request's or the
        profile's, is a Spark Connect server, `thrift.host` a Thrift server.

        Raises `SparkFailure` and `ProjectError`.
        """
        location = self.location
        if location.project_dir is not None and not location.project_dir.is_dir():
            raise ProjectError(f"{location.project_dir}: there is no such directory; give the dbt project's")
        self._refuse_early()
        (progress or Progress()).on_spark_start()
        return location.open_session(self.spark)

    def reports(
        self, session: Session | None, progress: Progress | None = None, *, brief: bool = False
    ) -> list[Report]:
        """Does what is asked; a check needs no session. Raises what `is_lasting` knows, and `SparkFailure`.

        `brief`: a check's reports may lack plans, lineage and the text of healthy models, which is enough for all that
        people read in a terminal; where nothing changed they are those of the check before.
        """
        progress = progress or Progress()
        if self.purpose == "check":
            with reduce_collections():
                again = brief and self.cache and not self.compiles
                return self._check_again(progress) if again else self._check(progress, brief=brief)
        assert session is not None, f"a session is needed for: {self.purpose}"
        if self.purpose == "audit":
            from planproof.project.audit import audit_all

            return audit_all(session, self._select_promises(progress), progress.on_model_end, self.at)
        return self._run(session, progress)

    def publish(self, session: Session, model: Model) -> Report:
        """One model of the caller's, under the request's settings, through a guard of its own."""
        from planproof.guard import Guard

        settings = Settings.of(self.settings)
        report = Guard(session).publish(replace(model, settings=settings))
        contract = model.contract
        details = replace(
            report.details,
            fail_on=settings.fail_on,
            contract=contract is not None,
            contract_hash=contract.fingerprint if contract is not None else None,
        )
        return replace(report, details=details)

    def _refuse_early(self) -> None:
        """Raises what can be known before Spark starts, which takes a while."""
        if self.purpose == "audit":
            self._select_promises(Progress())
        if self.purpose != "run":
            return
        from planproof.project.functions import LoadedFunctions
        from planproof.project.run import Older, select_runnable

        LoadedFunctions.of(self.functions, Path(self.project_dir or "."))
        if self._compiles_now:
            self.location.profile()  # dbt needs it.
            self.location.refuse_other_server(self.spark)
            return
        if self.vars or self.full_refresh:
            why = "they do not go with --manifest" if self.manifest is not None else "dbt is not installed here"
            raise ProjectError(f"--vars and --full-refresh change what dbt compiles; {why}")
        project = self.location.project()
        select_runnable(self._select_for_run(project, fresh=False), fresh=False, older=Older(project))

    @property
    def _compiles_now(self) -> bool:
        """Whether dbt compiles for this run; else a compile that was made before is run: the one that was named, or
        the project's own where dbt 1 is not installed."""
        return self.manifest is None and self.location.has_dbt

    def _check_again(self, progress: Progress) -> list[Report]:
        """As `_check`; where all that the check before read is as it was, what it found."""
        location, cache = self.location, Cache.of_user()
        file = location.manifest or location.folder / MANIFEST
        asked = {name: value for name, value in self.to_dict().items() if name not in ("jobs", "cache")}
        key = key_of((asked, file, form_of_conf(location.conf(self.spark))))
        entry = cache.get(key)
        found = Finished.of(entry)
        if found is None:
            noted, earlier = _NotedProgress(progress), Earlier.of(cache, key, entry)
            with note_reads() as reads:
                reports = self._check(noted, brief=True, earlier=earlier)
            Finished(noted.project, tuple(noted.remarks), tuple(reports)).keep(cache, key, reads, earlier)
            return reports
        cache.close_file()
        progress.on_project_name(found.project)
        for remark in found.remarks:
            progress.on_remark(remark)
        return list(found.reports)

    def _check(self, progress: Progress, *, brief: bool, earlier: Earlier | None = None) -> list[Report]:
        from planproof.project.check import check_project
        from planproof.project.schedule import count_cores

        location = self.location
        if self.compiles and self.manifest is not None:
            raise ProjectError(f"{self.manifest}: dbt compiles the project, not a manifest; give one or the other")
        if self.compiles:
            if location.has_dbt and location.is_in_process():
                # dbt takes this session. Had it started its own, the JVM would write between the lines of the report.
                progress.on_spark_start()
                location.open_session()
            progress.on_compile()
        # All of it: what is selected reads what is not. Without a selection dbt takes the default selector's.
        everything = ("*",) if read_default_selector(location.project_dir) is not None else ()
        project = (
            location.compile_project(
                everything, vars=self.vars, failed=lambda why: progress.on_remark(f"dbt compiled a part only: {why}")
            )
            if self.compiles
            else location.project()
        )
        progress.on_project(project)
        for remark in self._describe_selector(project):
            progress.on_remark(remark)
        conf = location.conf(self.spark)
        found = check_project(
            project,
            self.select,
            self.exclude,
            conf,
            frozen=self.sources,
            overrides=self.settings,
            selector=self.selector,
            state=self.state,
            on_remark=progress.on_remark,
            cache=Cache.of_user(brief=brief) if self.cache else None,
            jobs=self.jobs or count_cores(),
            earlier=earlier,
            is_brief=brief,
        )
        return list(found)

    def _select_for_run(self, project: Project, *, fresh: bool) -> Sequence[ProjectNode]:
        """The models that a run is about, and the seeds of what dbt 2 compiled before, where their files can be read.
        Raises `ProjectError` where dbt is to build all of them."""
        from planproof.project.seeds import find_seed_obstacle, find_seeds

        nodes = self._select_nodes(project)
        seeds = find_seeds(project, nodes) if not fresh and not self.keys else ()
        published = {seed.unique_id for seed in seeds if find_seed_obstacle(project, seed) is None}
        asked = [n for n in nodes if n.kind == "model" or n.unique_id in published]
        guarded, off = split_guarded(asked, self.settings)
        if off and not guarded:
            raise ProjectError(
                f"{describe_left_to_dbt(off)[0]}; `dbt build` builds what is selected, and nothing was run"
            )
        return guarded

    def _select_nodes(self, project: Project) -> Sequence[ProjectNode]:
        return select_nodes(project, self.select, self.exclude, self.selector, self.state)

    def _describe_selector(self, project: Project) -> list[str]:
        """A remark where a selector of the project chose, and nobody asked for one."""
        name = None if self.select or self.exclude or self.selector else read_default_selector(project.directory)
        return [f"selected by {name!r}, the default selector of selectors.yml"] if name is not None else []

    def _run(self, session: Session, progress: Progress) -> list[Report]:
        from planproof.project.functions import LoadedFunctions
        from planproof.project.run import Comparing, Older, list_remarks, run_project, select_runnable
        from planproof.project.stale import Files
        from planproof.project.statements import Around

        known = LoadedFunctions.of(self.functions, Path(self.project_dir or "."))
        location = self.location
        fresh = self._compiles_now
        project = self._compile_project(progress) if fresh else location.project()
        progress.on_project(project)
        everything = self._select_nodes(project)
        older = Older(project, lambda node: _has_table(session, node))
        nodes = select_runnable(self._select_for_run(project, fresh=fresh), fresh=fresh, older=older)
        if not fresh:
            progress.on_remark(
                f"what dbt {project.dbt_version} compiled before ({project.generated_at}) is run as it is"
            )
            files = Files(project)
            for node in nodes:
                # A seed's rows are read anew.
                changed = files.find_change(node) if node.kind != "seed" else None
                if changed:
                    progress.on_remark(f"{node.name} is run as it was compiled: since then {changed}")
        looked_at, off = split_guarded(everything, self.settings)
        for remark in (
            *self._describe_selector(project),
            *describe_left_to_dbt(off),
            *list_remarks(project, looked_at, nodes),
        ):
            progress.on_remark(remark)
        progress.on_selection(nodes)
        guard = known.make_guard(session)
        with _restore_settings(session, self.spark):
            return run_project(
                project,
                nodes,
                Comparing(guard, self.keys) if self.keys else guard,
                session=session,
                overrides=self.settings,
                full_refresh=self.full_refresh,
                threads=self.threads or location.threads(),
                starting=progress.on_model_begin,
                finished=progress.on_model_end,
                around=None if self.keys else Around(session, guard.memory.forget),
            )

    def _compile_project(self, progress: Progress) -> Project:
        progress.on_compile()
        with _use_server(self.spark):
            return self.location.compile_project(
                self.select, self.exclude, self.vars, self.full_refresh, self.selector, self.state
            )

    def _select_promises(self, progress: Progress) -> list[Promise]:
        from planproof.project.audit import Promise, select_promises

        if self.contract_file is not None:
            contract = read_contract(self.contract_file)
        elif self.contract is not None:
            contract = parse_contract(self.contract, "contract")
        else:
            location = self.location
            project = location.project()
            progress.on_project(project)
            chosen = (self.select, self.exclude, self.settings, location.conf(), self.selector, self.state)
            return select_promises(project, self.names, *chosen)
        settings = Settings.of(self.settings)
        return [Promise(name, contract, settings) for name in self.names]


class _NotedProgress(Progress):
    """Passes on what a check tells, and keeps it."""

    def __init__(self, progress: Progress) -> None:
        self.progress, self.project, self.remarks = progress, "", list[str]()

    def on_project(self, project: Project) -> None:
        self.project = project.name
        self.progress.on_project(project)

    def on_remark(self, remark: str) -> None:
        self.remarks.append(remark)
        self.progress.on_remark(remark)


def _has_table(session: Session, node: ProjectNode) -> bool:
    """Whether a table stands where the model's is, which is what dbt's `is_incremental()` asks."""
    found = session.registered_table(node.relation)
    return found is not None and found.kind == "table"


@contextmanager
def _use_server(spark: Mapping[str, str]) -> Iterator[None]:
    """Within the block dbt's session method finds the Spark Connect server that the settings name."""
    remote, before = spark.get("spark.remote"), os.environ.get("SPARK_REMOTE")
    if remote is None:
        yield
        return
    os.environ["SPARK_REMOTE"] = remote
    try:
        yield
    finally:
        del os.environ["SPARK_REMOTE"]
        if before is not None:
            os.environ["SPARK_REMOTE"] = before


@contextmanager
def _restore_settings(session: Session, spark: Mapping[str, str]) -> Iterator[None]:
    """Within the block the settings of the request hold again: dbt put the profile's in their place to compile.

    What Spark sets at its start only was set then, and is left.
    """
    with ExitStack() as stack:
        for key, value in spark.items():
            if not key.startswith("spark.sql."):
                continue
            try:
                stack.enter_context(session.change_settings({key: value}))
            except (AnalysisError, SparkFailure):
                continue
        yield


def is_lasting(error: BaseException) -> bool:
    """Whether the error would come again however often the request is tried: the project or the arguments are wrong.

    dbt may fail to compile because the warehouse was away; that is not lasting.
    """
    if type(error).__name__ == "CompileFailed":
        return not is_by_warehouse(str(error))
    from planproof_engine.python_functions import DeclarationError

    return isinstance(error, (ProjectError, ContractError, SettingsError, DeclarationError))


def is_by_warehouse(said: str) -> bool:
    """Whether dbt failed because the warehouse could not answer: words are all that dbt passes on. With dbt-spark's
    session method it says "Database Error" of none of Spark's."""
    from planproof.session.outside import speaks_of_outside

    return "Database Error" in said or speaks_of_outside(said)


def _to_path(given: str | None) -> Path | None:
    return Path(given).expanduser() if given else None
