"""An Airflow connection as Spark settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow.providers.common.compat.sdk import BaseHook

from airflow_planproof.errors import PlanproofCannotRun

_EXTRAS = {"queue": "spark.yarn.queue", "namespace": "spark.kubernetes.namespace", "yarn_queue": "spark.yarn.queue"}


def spark_settings(conn_id: str | None) -> dict[str, str]:
    """The settings of a `spark` connection: its host is the master, extras named `spark.*` are taken as they are.

    None stands for Spark inside the task's process, as the dbt profile sets it up. Raises `PlanproofCannotRun` for a
    connection that this process cannot be the driver of.
    """
    if conn_id is None:
        return {}
    connection = BaseHook.get_connection(conn_id)
    if connection.conn_type not in ("spark", "generic"):
        raise PlanproofCannotRun(
            f"connection {conn_id!r} is of type {connection.conn_type!r}; planproof reaches Spark through a connection "
            "of type 'spark' (its host is the master), or inside the task's process without conn_id"
        )
    extra: Mapping[str, Any] = connection.extra_dejson
    mode = extra.get("deploy-mode") or extra.get("deploy_mode") or "client"
    if mode != "client":
        raise PlanproofCannotRun(
            f"connection {conn_id!r}: deploy mode {mode!r}; the task is the driver, so set 'client'"
        )
    settings = {key: _text(value) for key, value in extra.items() if key.startswith("spark.")}
    settings |= {setting: _text(extra[key]) for key, setting in _EXTRAS.items() if extra.get(key)}
    if connection.host:
        settings["spark.master"] = connection.host + (f":{connection.port}" if connection.port else "")
    return settings


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
