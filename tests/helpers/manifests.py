"""Manifests as dbt writes them, from what a test means to say."""

from __future__ import annotations

from typing import Any


def _columns(given: dict[str, Any]) -> dict[str, Any]:
    forms = {name: {"data_type": form} if isinstance(form, str) else form for name, form in given.items()}
    return {name: {"name": name, "constraints": [], **form} for name, form in forms.items()}


def _unique_id(name: str, seeds: Any) -> str:
    kind = "source" if "." in name else "seed" if name in seeds else "model"
    return f"{kind}.shop.{name}"


def _node(kind: str, name: str, form: dict[str, Any], seeds: Any) -> dict[str, Any]:
    folder, suffix = ("seeds", "csv") if kind == "seed" else ("models", "sql")
    given = dict(form)
    sql, contract = given.pop("sql", None), given.pop("contract", False)
    config = {"materialized": "seed" if kind == "seed" else "table", **given.pop("config", {})}
    return {
        "resource_type": kind,
        "unique_id": f"{kind}.shop.{name}",
        "name": name,
        "alias": name,
        "schema": "shop",
        "package_name": "shop",
        "relation_name": None if config["materialized"] == "ephemeral" else f"shop.{name}",
        "fqn": ["shop", *given.pop("folder", []), name],
        "original_file_path": f"{folder}/{name}.{suffix}",
        "language": "sql",
        "raw_code": sql or "",
        "compiled_code": sql,
        "config": {"contract": {"enforced": contract}, **config},
        "columns": _columns(given.pop("columns", {})),
        "depends_on": {"nodes": [_unique_id(parent, seeds) for parent in given.pop("parents", [])]},
        "tags": [],
        **given,
    }


def _source(name: str, form: dict[str, Any]) -> dict[str, Any]:
    schema, table = name.split(".")
    return {
        "resource_type": "source",
        "unique_id": f"source.shop.{name}",
        "name": table,
        "source_name": schema,
        "identifier": table,
        "schema": schema,
        "package_name": "shop",
        "relation_name": f"{schema}.{table}",
        "fqn": ["shop", schema, table],
        "original_file_path": "models/sources.yml",
        "columns": _columns(form),
    }


def dbt_manifest(models: Any = None, sources: Any = None, seeds: Any = None, **extra: Any) -> dict[str, Any]:
    """A manifest v12 as dbt 1.11 writes it for the project `shop`, schema `shop`.

    `models` and `seeds` map a name to the node's keys; `sql`, `parents` (names), `columns` ({name: type, or the
    column}), `contract` and `config` are spelled short. `sources` map a `source.table` to columns in the same way.
    """
    seeds = seeds or {}
    nodes = [_node("model", name, form, seeds) for name, form in (models or {}).items()]
    nodes += [_node("seed", name, form, seeds) for name, form in seeds.items()]
    return {
        "metadata": {
            "dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v12.json",
            "dbt_version": "1.11.16",
            "project_name": "shop",
            "adapter_type": "spark",
        },
        "nodes": {**{found["unique_id"]: found for found in nodes}, **extra},
        "sources": {f"source.shop.{name}": _source(name, form) for name, form in (sources or {}).items()},
    }
