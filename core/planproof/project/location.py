"""Where a project lies and which of its targets is meant: how each door comes to models, dbt's settings and Spark."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planproof.project.compiler import NOT_HANDED_IN, Compiler
from planproof.project.manifest import Project, read_project
from planproof.project.profile import DBT_CONF, OfDatabricks, Profile, read_profile
from planproof.project.reads import ProjectError
from planproof.project.target_folder import target_folder
from planproof_engine import Conf, evolve, record

if TYPE_CHECKING:
    from planproof.session import Session

_SERVERS = frozenset({"spark.remote", "thrift.host"})
"""Settings that name a server."""

OWN_TARGET = "planproof/dbt"
"""Where dbt compiles for planproof, below its own target folder: a manifest of a part of the project must not replace
the whole one's."""


@record(frozen=True, slots=True)
class ProjectLocation:
    """A dbt project's directory, a manifest in place of its own, the directory of profiles.yml, the target's name,
    and the folder where dbt writes, None where dbt's own order says which.

    A manifest alone, without a directory, has no profile. `compiler` is dbt, where the door knows it.
    """

    project_dir: Path | None = Path()
    manifest: Path | None = None
    profiles_dir: Path | None = None
    target: str | None = None
    target_path: Path | None = None
    compiler: Compiler | None = field(default=None, compare=False, repr=False)

    def project(self) -> Project:
        """The project as it was compiled last, or as `manifest` has it. Raises `ProjectError`."""
        if self.manifest is None:
            return evolve(read_project(self._directory, self.target_path), compiler=self.compiler)
        project = evolve(read_project(self.manifest), compiler=self.compiler)
        return evolve(project, directory=self.project_dir) if self._has_project_file else project

    @property
    def has_dbt(self) -> bool:
        """Whether dbt 1, which compiles in this process, is installed."""
        return self.compiler is not None and self.compiler.missing() is None

    def compile_project(
        self,
        select: Iterable[str] = (),
        exclude: Iterable[str] = (),
        vars: Mapping[str, Any] | None = None,
        full_refresh: bool = False,
        selector: str | None = None,
        state: str | Path | None = None,
        failed: Callable[[str], None] | None = None,
    ) -> Project:
        """The project after `dbt compile` in the target, on the SparkSession that runs in this process, if one does.

        Where dbt cannot compile some models, `failed` is told why; without it that is an error.
        Raises `ProjectError`.
        """
        missing = NOT_HANDED_IN if self.compiler is None else self.compiler.missing()
        if self.compiler is None or missing is not None:
            raise ProjectError(
                f"dbt has to compile the models, and it is not installed ({missing}); install planproof[dbt]"
            )
        manifest = self.compiler.compile_project(
            self._directory,
            profiles_dir=Path(str(self.profile().file)).parent,
            target=self.target,
            select=select,
            exclude=exclude,
            vars=vars,
            full_refresh=full_refresh,
            target_path=str(self._own_folder()),
            selector=selector,
            state=Path(state).resolve() if state is not None else None,
            failed=failed,
        )
        return evolve(read_project(manifest), directory=self._directory, compiler=self.compiler)

    @property
    def folder(self) -> Path:
        """The target folder, where dbt writes the project's artifacts and planproof its report."""
        return target_folder(self.project_dir or Path(), self.target_path)

    def _own_folder(self) -> Path:
        """Where dbt compiles for planproof, as dbt takes it: from the project's directory on, where it lies below."""
        try:
            return self.folder.relative_to(self._directory) / OWN_TARGET
        except ValueError:
            return self.folder.absolute() / OWN_TARGET

    def profile(self) -> Profile:
        """The profile's target. Raises `ProjectError`."""
        return read_profile(self._directory, self.profiles_dir, self.target)

    def find_profile(self) -> Profile | None:
        """None where there is no project file: a manifest alone has no profile."""
        return self.profile() if self._has_project_file else None

    def conf(self, settings: Mapping[str, str] | None = None) -> Conf:
        """The session settings for an offline check: the profile's, then `settings`.

        A profile that cannot be read matters only where one was asked for. Raises `ProjectError`.
        """
        conf = DBT_CONF
        try:
            profile = self.find_profile()
            conf = conf.with_settings(profile.settings) if profile is not None else conf
        except OfDatabricks:
            pass
        except ProjectError:
            if self.profiles_dir is not None or self.target is not None:
                raise
        return conf.with_settings(settings or {})

    def threads(self) -> int:
        """How many models run beside each other: as the profile says, else one at a time. Raises `ProjectError`."""
        try:
            profile = self.find_profile()
        except ProjectError:  # A session that was opened without the profile was named in another way.
            profile = None
        return profile.threads if profile is not None else 1

    def open_session(self, settings: Mapping[str, str] | None = None) -> Session:
        """The Spark that the profile's target, or `settings` before it, names.

        `spark.remote` names a Spark Connect server, `thrift.host`, or the profile's method `thrift`, a Thrift server;
        else it is the Spark that runs in this process, or one of our own. dbt-spark's session method uses Hive's
        catalog, so that an own session does too. Raises `SparkFailure` and `ProjectError`.
        """
        import planproof.session

        given = {**self._merge_settings(settings or {}), **(settings or {})}
        try:
            if "spark.remote" in given:
                return planproof.session.open_connect(given)
            if "thrift.host" in given:
                return planproof.session.open_thrift(given)
            return planproof.session.open_embedded({"spark.sql.catalogImplementation": "hive", **given})
        except planproof.session.SparkFailure as failure:
            # Without what caused it, which says the same.
            raise planproof.session.SparkFailure(self._hide(str(failure)), failure.condition, failure.outside) from None

    def _hide(self, message: str) -> str:
        """As `Profile.hide`, where there is a profile."""
        try:
            profile = self.find_profile()
        except ProjectError:
            profile = None
        return message if profile is None else profile.hide(message)

    def is_in_process(self) -> bool:
        """Whether dbt compiles in a Spark of this process. Raises `ProjectError`."""
        return self.profile().method == "session" and _find_server(self._merge_settings({})) is None

    def describe_spark(self, settings: Mapping[str, str]) -> str:
        """In words, which Spark `open_session` reaches. Raises `ProjectError` where neither the profile nor `settings`
        name one: a Spark of our own would know nobody's tables."""
        if settings.keys() & {*_SERVERS, "spark.master"}:
            return _find_server(settings) or f"Spark at {settings['spark.master']}"
        profile = self.profile()
        return f"target {profile.target} of {profile.file}"

    def refuse_other_server(self, settings: Mapping[str, str]) -> None:
        """Raises `ProjectError` where `settings` name a server that `dbt compile` would not ask.

        What dbt compiles depends on the tables that stand where it compiles.
        """
        target = self._merge_settings({})
        said, meant = _find_server(settings), _find_server(target)
        # dbt's session method takes a Connect server from outside where the target names none.
        if said is None or said == meant or (meant is None and "spark.remote" in settings):
            return
        profile = self.profile()
        raise ProjectError(
            f"{profile.file}: dbt would compile against the target {profile.target!r}, and the models would run on "
            f"{said}: name that server in the profile's target, or give a manifest that was compiled there"
        )

    def _merge_settings(self, settings: Mapping[str, str]) -> dict[str, str]:
        """The profile's settings, with the server that it names unless `settings` name one. Raises `ProjectError`."""
        try:
            profile = self.find_profile()
        except ProjectError:
            # A profile that only dbt can read is not needed where the settings say what it would.
            if (
                not settings.keys() & {*_SERVERS, "spark.master"}
                or self.profiles_dir is not None
                or self.target is not None
            ):
                raise
            return {"spark.sql.ansi.enabled": "false"}
        if profile is None:
            return {}
        named = settings.keys() & _SERVERS
        if not named and profile.method not in ("session", "thrift"):
            method = profile.hide(profile.method)
            raise ProjectError(
                f"{profile.file}: the target {profile.target!r} connects by {method!r}; planproof reaches "
                "Spark by `method: session` (also over Spark Connect) and `method: thrift`, or by --conf "
                "spark.remote=sc://HOST:PORT"
            )
        found = dict(profile.settings)
        if named:
            found.pop("spark.remote", None)
        elif profile.method == "thrift":
            found |= profile.server
        elif "SPARK_REMOTE" in os.environ:
            found.setdefault("spark.remote", os.environ["SPARK_REMOTE"])
        return found

    @property
    def _directory(self) -> Path:
        if self.project_dir is None or not self.project_dir.is_dir():
            raise ProjectError(f"{self.project_dir or 'project'}: there is no such directory; give the dbt project's")
        return self.project_dir

    @property
    def _has_project_file(self) -> bool:
        return self.project_dir is not None and (self.project_dir / "dbt_project.yml").exists()


def _find_server(settings: Mapping[str, str]) -> str | None:
    """The server that settings name, None where Spark runs in this process."""
    if "spark.remote" in settings:
        return f"the Spark Connect server {settings['spark.remote']}"
    if "thrift.host" in settings:
        return f"the Thrift server {settings['thrift.host']}:{settings.get('thrift.port', '10000')}"
    return None
