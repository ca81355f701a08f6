"""The Spark session of a command: under the profile's settings, as dbt would run."""

from __future__ import annotations

from planproof.cli.options import Place
from planproof.session.protocol import Session


def open_session(place: Place, extra: dict[str, str] | None = None) -> Session:
    """The session that dbt left running in this process, or one of our own. Raises `SparkFailure`, `ProjectError`.

    dbt-spark's session method uses Hive's catalog, so that an own session does too.
    """
    import planproof.session
    from planproof.project.errors import ProjectError

    profile = place.profile_if_any()
    if profile is not None and profile.method != "session":
        raise ProjectError(
            f"{profile.file}: the target {profile.target!r} connects by {profile.method!r}; "
            "planproof's own commands run Spark in this process (method: session)"
        )
    settings = {**(profile.settings if profile is not None else {}), **(extra or {})}
    return planproof.session.embedded({"spark.sql.catalogImplementation": "hive", **settings})
