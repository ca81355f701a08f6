"""An Airflow connection as Spark settings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from airflow.providers.common.compat.sdk import BaseHook, mask_secret

from airflow_planproof.errors import PlanproofCannotRun

_EXTRAS = {"queue": "spark.yarn.queue", "namespace": "spark.kubernetes.namespace", "yarn_queue": "spark.yarn.queue"}
_THRIFT = ("hive_cli", "hiveserver2", "hive_metastore", "spark_sql", "spark_jdbc")
# Spark's own default of spark.redaction.regex, and what environment variables are called.
_SECRET = re.compile(r"secret|passw|token|credential|(access|api|private)[._-]?key", re.I)
# What no secret is, as in `spark.security.credentials.hive.enabled=false`: it would be masked wherever it stands.
_PLAIN = re.compile(r"true|false|\d+(ms|s|m|min|h|d)", re.I)


def spark_settings(conn_id: str | None) -> dict[str, str]:
    """The settings of a connection of type `spark` or `spark_connect`.

    `spark`: its host is the master, extras named `spark.*` are taken as they are, `queue` and `namespace` as
    spark-submit's. `spark_connect`: `spark.remote`, with the login as user and the password as token. None stands for
    Spark inside the task's process, as the dbt profile sets it up. Raises `PlanproofCannotRun` for a connection that
    this process cannot be the driver of.
    """
    if conn_id is None:
        return {}
    connection = BaseHook.get_connection(conn_id)
    if connection.conn_type == "spark_connect":
        return {"spark.remote": _remote(connection)}
    if connection.conn_type in _THRIFT:
        raise PlanproofCannotRun(
            f"connection {conn_id!r} is of type {connection.conn_type!r}: a thrift server gives no Spark session; give "
            "a connection of type 'spark', or run dbt with `method: thrift` by PlanproofDbtOperator"
        )
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


def mask(settings: Mapping[str, Any]) -> None:
    """Has Airflow mask the values that Spark itself would redact by their names, in logs and in the report."""
    for key, value in settings.items():
        if value and _SECRET.search(key) and not _PLAIN.fullmatch(str(value)):
            mask_secret(str(value))


def _remote(connection: Any) -> str:
    extra: Mapping[str, Any] = connection.extra_dejson
    parameters = {key: _text(value) for key, value in extra.items() if key != "use_ssl"}
    if str(extra.get("use_ssl") or "").lower() in ("true", "1"):
        parameters["use_ssl"] = "true"
    if connection.login:
        parameters["user_id"] = connection.login
    if connection.password:
        mask_secret(connection.password)
        parameters["token"] = connection.password
    given = ";".join(f"{key}={quote(value, safe='')}" for key, value in parameters.items())
    host = str(connection.host or "").removeprefix("sc://")
    return f"sc://{host}:{connection.port or 15002}/;{given}".rstrip(";")


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
