"""An Airflow connection as Spark settings."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from airflow.providers.common.compat.sdk import BaseHook, mask_secret

from airflow_planproof.errors import PlanproofCannotRun

_log = logging.getLogger(__name__)
_EXTRAS = {"queue": "spark.yarn.queue", "namespace": "spark.kubernetes.namespace", "yarn_queue": "spark.yarn.queue"}
_KNOWN = {*_EXTRAS, "deploy-mode", "deploy_mode", "spark-binary", "spark_binary", "spark-home", "spark_home"}
"""Extras that are used, and those that only say where spark-submit is."""

_NO_SERVER = ("hive_cli", "hive_metastore", "spark_sql", "spark_jdbc")
# Values that are no secrets, as in `spark.security.credentials.hive.enabled=false`. Masking `false` would hide the word
# everywhere.
_PLAIN = re.compile(r"true|false|\d+(ms|s|m|min|h|d)", re.I)


def spark_settings(conn_id: str | None) -> dict[str, str]:
    """The settings of a connection of type `spark`, `spark_connect` or `hiveserver2`.

    `spark`: its host is the master, extras named `spark.*` are taken as they are, `queue` and `namespace` as
    spark-submit's. `spark_connect`: `spark.remote`, with the login as user and the password as token. `hiveserver2`, a
    Thrift server: `thrift.host` and what else PyHive wants, from the fields and extras that Airflow's own hook reads.
    None stands for Spark inside the task's process, as the dbt profile sets it up. Raises `PlanproofCannotRun` for
    another kind of connection, and for one that would need another process as its driver.
    """
    if conn_id is None:
        return {}
    connection = BaseHook.get_connection(conn_id)
    if connection.conn_type == "spark_connect":
        return {"spark.remote": _make_remote_url(connection)}
    if connection.conn_type == "hiveserver2":
        return _read_thrift_settings(connection)
    if connection.conn_type in _NO_SERVER:
        raise PlanproofCannotRun(
            f"connection {conn_id!r} is of type {connection.conn_type!r}, which names no server that planproof can "
            "speak with; a Thrift server's connection is of type 'hiveserver2'"
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
    settings = {key: _format_value(value) for key, value in extra.items() if key.startswith("spark.")}
    settings |= {setting: _format_value(extra[key]) for key, setting in _EXTRAS.items() if extra.get(key)}
    _warn_of_unused(conn_id, sorted(key for key in extra if not (key.startswith("spark.") or key in _KNOWN)))
    if connection.host:
        settings["spark.master"] = connection.host + (f":{connection.port}" if connection.port else "")
    return settings


def _warn_of_unused(conn_id: str, keys: Sequence[str]) -> None:
    if keys:
        _log.warning(
            "connection %r: planproof does not use its extra %s; give Spark's own settings, named spark.*",
            conn_id,
            ", ".join(map(repr, keys)),
        )


def mask_secrets(settings: Mapping[str, Any] | None) -> None:
    """Has Airflow mask what is a secret by its name, or in its value, in logs, rendered fields and the report."""
    from planproof.confidential import secrets_of

    for key, value in (settings or {}).items():
        if isinstance(value, Mapping):
            mask_secrets(value)
            continue
        for secret in secrets_of(str(key), "" if value is None else str(value)):
            if secret and not _PLAIN.fullmatch(secret):
                mask_secret(secret)


def _make_remote_url(connection: Any) -> str:
    extra: Mapping[str, Any] = connection.extra_dejson
    parameters = {key: _format_value(value) for key, value in extra.items() if key != "use_ssl"}
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


def _read_thrift_settings(connection: Any) -> dict[str, str]:
    extra: Mapping[str, Any] = connection.extra_dejson
    auth = extra.get("auth_mechanism") or extra.get("authMechanism") or "NONE"
    if connection.password:
        mask_secret(connection.password)
    place = {
        "host": connection.host or "localhost",
        "port": connection.port or 10000,
        "auth": auth,
        "username": connection.login,
        "password": connection.password,
        "database": connection.schema,
        "kerberos_service_name": extra.get("kerberos_service_name", "hive") if auth == "KERBEROS" else None,
    }
    settings = {key: _format_value(value) for key, value in extra.items() if key.startswith("spark.")}
    return {**settings, **{f"thrift.{key}": str(value) for key, value in place.items() if value}}


def _format_value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
