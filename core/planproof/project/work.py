"""A run or an audit as plain data: what a scheduler asks for, in this process or in another interpreter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import planproof.session
from planproof.contract import ContractError
from planproof.functions.declared import DeclarationError
from planproof.project.audit import Promise, audit_all, promises
from planproof.project.contracts import contract_from
from planproof.project.errors import ProjectError
from planproof.project.functions import Loaded
from planproof.project.manifest import ProjectNode
from planproof.project.place import Place
from planproof.project.run import run_project, runnable
from planproof.project.selection import selected
from planproof.report.model import Report
from planproof.session.protocol import Session
from planproof.settings import Settings, SettingsError

KINDS = ("run", "audit")


@dataclass(frozen=True, slots=True)
class Work:
    """`kind` is `run` or `audit`; all fields have JSON's types.

    For a run: `vars`, `full_refresh`, `threads`, `functions` (`module:name`). For an audit: `names` (tables, paths, or
    models of the project) and `contract`, as in a contract file; without one the project's contracts count. `spark` are
    Spark settings beyond the profile's, `settings` planproof's before each model's own.
    """

    kind: str
    project_dir: str | None = None
    manifest: str | None = None
    profiles_dir: str | None = None
    target: str | None = None
    select: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    spark: Mapping[str, str] = field(default_factory=dict)
    vars: Mapping[str, Any] | None = None
    full_refresh: bool = False
    threads: int = 1
    functions: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    contract: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"unknown work {self.kind!r}; known: {', '.join(KINDS)}")
        if self.threads < 1:
            raise ValueError(f"threads is {self.threads}; it takes at least one")
        for name in ("select", "exclude", "functions", "names"):
            object.__setattr__(self, name, tuple(getattr(self, name)))

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def place(self) -> Place:
        return Place(_path(self.project_dir), _path(self.manifest), _path(self.profiles_dir), self.target)

    def open_session(self) -> Session:
        """The session that the work runs on; `spark.remote` among the settings is a Spark Connect server, `thrift.host`
        a Thrift server.

        Raises `SparkFailure` and `ProjectError`.
        """
        if "spark.remote" in self.spark:
            return planproof.session.connected(self.spark)
        if "thrift.host" in self.spark:
            return planproof.session.served(self.spark)
        place = self.place
        if place.project_dir is not None and not place.project_dir.is_dir():
            raise ProjectError(f"{place.project_dir}: there is no such directory; give the dbt project's")
        return place.open_session(self.spark)

    def reports(
        self,
        session: Session,
        starting: Callable[[], None] | None = None,
        finished: Callable[[Report], None] | None = None,
        noted: Callable[[str], None] | None = None,
    ) -> list[Report]:
        """Does the work. `starting` is called before each model in the thread that runs it, `finished` as in
        `run_project`, `noted` with each remark on the project. Raises what `is_lasting` knows, and `SparkFailure`."""
        if self.kind == "audit":
            return audit_all(session, self._promises(), finished)
        return self._run(session, starting, finished, noted)

    def _run(
        self,
        session: Session,
        starting: Callable[[], None] | None,
        finished: Callable[[Report], None] | None,
        noted: Callable[[str], None] | None,
    ) -> list[Report]:
        def begun(_: ProjectNode) -> None:
            if starting is not None:
                starting()

        known = Loaded.of(self.functions, Path(self.project_dir or "."))
        project = self.place.compiled(self.select, self.exclude, self.vars, self.full_refresh)
        if noted is not None:
            for remark in project.remarks:
                noted(remark)
        return run_project(
            project,
            runnable(selected(project, self.select, self.exclude), fresh=True),
            known.guard(session),
            session=session,
            overrides=self.settings,
            full_refresh=self.full_refresh,
            threads=self.threads,
            starting=begun,
            finished=finished,
        )

    def _promises(self) -> list[Promise]:
        if self.contract is None:
            place = self.place
            return promises(place.project(), self.names, self.select, self.exclude, self.settings, place.conf())
        contract, settings = contract_from(self.contract, "contract"), Settings.of(self.settings)
        return [Promise(name, contract, settings) for name in self.names]


def is_lasting(error: BaseException) -> bool:
    """Whether the error would come again however often the work is tried: the project or the arguments are wrong.

    dbt may fail to compile because the warehouse was away; that is not lasting.
    """
    if type(error).__name__ == "CompileFailed":
        return "Database Error" not in str(error)
    return isinstance(error, (ProjectError, ContractError, SettingsError, DeclarationError))


def _path(given: str | None) -> Path | None:
    return Path(given).expanduser() if given else None
