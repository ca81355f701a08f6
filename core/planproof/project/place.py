"""Where a project lies and which of its targets is meant: how each door comes to models, dbt's settings and Spark."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from planproof.conf import Conf
from planproof.project.errors import ProjectError
from planproof.project.manifest import Project, read_project
from planproof.project.offline import DBT_CONF
from planproof.project.profile import Profile, read_profile
from planproof.session.protocol import Session


@dataclass(frozen=True, slots=True)
class Place:
    """A dbt project's directory, a manifest in place of its own, the directory of profiles.yml, the target's name.

    A manifest alone, without a directory, has no profile.
    """

    project_dir: Path | None = Path()
    manifest: Path | None = None
    profiles_dir: Path | None = None
    target: str | None = None

    def project(self) -> Project:
        """The project as it was compiled last, or as `manifest` has it. Raises `ProjectError`."""
        if self.manifest is None:
            return read_project(self._directory)
        project = read_project(self.manifest)
        return replace(project, directory=self.project_dir) if self._has_project_file else project

    def compiled(
        self,
        select: Iterable[str] = (),
        exclude: Iterable[str] = (),
        vars: Mapping[str, Any] | None = None,
        full_refresh: bool = False,
    ) -> Project:
        """The project after `dbt compile` in the target, on the SparkSession that runs in this process, if one does.

        Raises `ProjectError`, and dbt_planproof.invoke's `CompileFailed`.
        """
        try:
            invoke = importlib.import_module("dbt_planproof.invoke")
            importlib.import_module("dbt.cli.main")
        except ImportError as error:
            raise ProjectError(f"dbt compiles the models, and it is not installed ({error}): planproof[dbt]") from error
        manifest = invoke.compile_project(
            self._directory,
            profiles_dir=Path(str(self.profile().file)).parent,
            target=self.target,
            select=select,
            exclude=exclude,
            vars=vars,
            full_refresh=full_refresh,
        )
        return replace(read_project(manifest), directory=self._directory)

    def profile(self) -> Profile:
        """The profile's target. Raises `ProjectError`."""
        return read_profile(self._directory, self.profiles_dir, self.target)

    def profile_if_any(self) -> Profile | None:
        """None where there is no project file: a manifest alone has no profile."""
        return self.profile() if self._has_project_file else None

    def conf(self, settings: Mapping[str, str] | None = None) -> Conf:
        """The session settings for an offline check: the profile's, then `settings`.

        A profile that cannot be read matters only where one was asked for. Raises `ProjectError`.
        """
        conf = DBT_CONF
        try:
            profile = self.profile_if_any()
            conf = conf.with_settings(profile.settings) if profile is not None else conf
        except ProjectError:
            if self.profiles_dir is not None or self.target is not None:
                raise
        return conf.with_settings(settings or {})

    def open_session(self, settings: Mapping[str, str] | None = None) -> Session:
        """The Spark that runs in this process, or one of our own under the profile's settings, then `settings`.

        dbt-spark's session method uses Hive's catalog, so that an own session does too. Raises `SparkFailure` and
        `ProjectError`.
        """
        import planproof.session

        profile = self.profile_if_any()
        if profile is not None and profile.method != "session":
            raise ProjectError(
                f"{profile.file}: the target {profile.target!r} connects by {profile.method!r}; "
                "planproof's own executor runs Spark in this process (method: session)"
            )
        given = {**(profile.settings if profile is not None else {}), **(settings or {})}
        return planproof.session.embedded({"spark.sql.catalogImplementation": "hive", **given})

    @property
    def _directory(self) -> Path:
        if self.project_dir is None or not self.project_dir.is_dir():
            raise ProjectError(f"{self.project_dir or 'project'}: there is no such directory; give the dbt project's")
        return self.project_dir

    @property
    def _has_project_file(self) -> bool:
        return self.project_dir is not None and (self.project_dir / "dbt_project.yml").exists()
