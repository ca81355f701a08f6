"""The model that a statement of dbt's writes: the project's, with what the statement says of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from planproof.contract import LOGGED_FORMATS, Model
from planproof_engine import RelationName, Statement, drop_terminators, evolve, quote_name, quote_parts

Setting = Callable[[str], "str | None"]
"""A setting of Spark's by its key, None where it has no value."""


def make_delta_model(model: Model, statement: Statement, delta: Statement) -> Model | None:
    """An incremental's later run: the delta's query as a CTE that bears the temporary view's name, and the insert's."""
    overwrite = bool(statement.clauses["overwrite"])
    if overwrite != (model.incremental_strategy == "insert_overwrite"):
        return None
    view = quote_name(delta.relation[-1])
    return evolve(model, sql=f"with {view} as (\n{drop_terminators(delta.query)}\n)\n{statement.query}")


def make_merge_model(
    model: Model, statement: Statement, delta: Statement, adds: Sequence[str] | None = None
) -> Model | None:
    """A later run that merges the delta's view into an Iceberg table, by the clauses that dbt wrote. A snapshot's
    source has columns for these clauses alone: `adds` are those that dbt would add to its table."""
    source = statement.clauses["source"]
    if model.incremental_strategy != "merge" or source[-1].lower() != delta.relation[-1].lower():
        return None
    options = {**model.options, "merge": drop_terminators(statement.query)}
    if adds is not None:
        options["adds"] = tuple(adds)
    return evolve(model, sql=drop_terminators(delta.query), options=options)


def make_table_model(model: Model, statement: Statement, setting: Setting) -> Model | None:
    """The whole table: a first run and a full refresh of an incremental write it, too. None where the statement makes
    a table of another format, or elsewhere, than the model says, or replaces one of a format that Spark cannot."""
    clauses = statement.clauses
    root, location = model.options.get("location_root"), clauses.get("location")
    if not _is_of_format(model.file_format, clauses, setting):
        return None
    if location is not None and location != f"{root}/{statement.relation[-1]}":
        return None
    columns, buckets = clauses.get("clustered_by", (None, None))
    options = {
        **model.options,
        # A project's own `location_clause` may leave it out.
        "location_root": None if location is None else root,
        "options": clauses.get("options"),
        "tblproperties": clauses.get("tblproperties"),
        "clustered_by": columns,
        "buckets": buckets,
    }
    return evolve(
        model,
        sql=statement.query,
        materialized="table",
        partition_by=clauses.get("partition_by") or clauses.get("transforms", ()),
        options={key: value for key, value in options.items() if value is not None},
        comment=clauses.get("comment"),
    )


def _is_of_format(format: str, clauses: Any, setting: Setting) -> bool:
    """Whether a CREATE TABLE makes a table of the format. Only those with a log are replaced, and have transforms."""
    using = clauses.get("using", "parquet").lower()
    if format in LOGGED_FORMATS or using != "parquet":
        return bool(using == format and format in LOGGED_FORMATS)
    return _parquet_by_default(clauses, setting) and "replace" not in clauses and "transforms" not in clauses


def _parquet_by_default(clauses: Any, setting: Setting) -> bool:
    """Whether a CREATE TABLE without USING makes a Parquet table in this session."""
    if "using" in clauses:
        return True
    return setting("spark.sql.sources.default") in ("parquet", None) and setting(
        "spark.sql.legacy.createHiveTableByDefault"
    ) in ("false", None)


def make_view_model(model: Model, statement: Statement) -> Model:
    """The model with what a CREATE VIEW says of it: its columns and properties."""
    options = {
        **model.options,
        "columns": statement.clauses.get("columns"),
        "tblproperties": statement.clauses.get("tblproperties"),
    }
    return evolve(
        model,
        sql=statement.query,
        options={key: value for key, value in options.items() if value is not None},
        comment=statement.clauses.get("comment"),
    )


@dataclass(frozen=True)
class Source:
    """The relation whose rows a statement stores, in backticks; `columns` are those that it stores of each of them,
    None for all."""

    relation: str
    columns: frozenset[str] | None = None


def source_of(statement: Statement) -> Source | None:
    """What one of dbt's own statements stores of an incremental's rows; None where it is not understood."""
    if statement.kind in ("merge", "merge_some"):
        source = quote_parts(statement.clauses["source"])
        columns = None if statement.kind == "merge" else _read_updated(statement.query_words)
        return None if statement.kind != "merge" and columns is None else Source(source, columns)
    if statement.kind not in ("insert", "insert_some"):
        return None
    selected = _read_selected(statement.query_words)
    if selected is None or selected[1] != delta_name(RelationName(statement.relation)):
        return None
    stored, view = selected
    named = tuple(name.lower() for name in statement.clauses.get("columns", ()))
    if named and named != stored:
        return None
    every = statement.kind == "insert" or stored == ("*",)
    return Source(quote_parts((view,)), None if every else frozenset(stored))


def delta_name(target: RelationName) -> str:
    """The name, in lower case, of the view that dbt makes for an incremental's new rows."""
    return f"{target.key[-1]}__dbt_tmp"


def _read_selected(words: Sequence[str]) -> tuple[tuple[str, ...], str] | None:
    """Columns and relation of `select a, b from c`, in lower case; None where the query does more."""
    lowered = _lower_words(words)
    if lowered[-1:] == [")"]:
        lowered.pop()
    if lowered[-2:] == ["as", "dbt_internal_source"]:
        del lowered[-2:]
    *head, before, view = lowered if len(lowered) > 1 else ["", ""]
    columns, commas = head[1::2], set(head[2::2])
    if before != "from" or head[:1] != ["select"] or len(head) % 2 or not commas <= {","}:
        return None
    return tuple(columns), view


def _read_updated(words: Sequence[str]) -> frozenset[str] | None:
    """The columns of `update set a = DBT_INTERNAL_SOURCE.a, ... when not matched then insert *`."""
    lowered = _lower_words(words)
    found: set[str] = set()
    at = next((i for i in range(1, len(lowered)) if lowered[i - 1 : i + 1] == ["update", "set"]), len(lowered)) + 1
    while (
        lowered[at + 1 : at + 4] == ["=", "dbt_internal_source", "."]
        and lowered[at : at + 1] == lowered[at + 4 : at + 5]
    ):
        found.add(lowered[at])
        at += 5
        if lowered[at : at + 1] != [","]:
            break
        at += 1
    rest = lowered[at:]
    return frozenset(found) if found and rest == ["when", "not", "matched", "then", "insert", "*"] else None


def _lower_words(words: Sequence[str]) -> list[str]:
    """The words without quotes, and without the semicolons at the end."""
    lowered = [word.strip("`").lower() for word in words]
    while lowered[-1:] == [";"]:
        lowered.pop()
    return lowered


def convert_stored(form: dict[str, Any]) -> dict[str, Any]:
    """A seed or a snapshot as the model that it is to the guard: a table, or one that is merged into. No contract of
    dbt's binds either."""
    config = dict(form.get("config") or {})
    is_snapshot = form.get("resource_type") == "snapshot"
    config["materialized"] = "incremental" if is_snapshot else "table"
    config["incremental_strategy"] = "merge" if is_snapshot else None
    return drop_contract({**form, "resource_type": "model", "config": config})


def drop_contract(form: dict[str, Any]) -> dict[str, Any]:
    """The node with nothing promised."""
    return {**form, "contract": None, "config": {**(form.get("config") or {}), "contract": None}}


def convert_plain(form: dict[str, Any]) -> dict[str, Any]:
    """The node as a table or view: enough to check its query and its contract, whatever dbt makes of it."""
    config = dict(form.get("config") or {})
    kept = "view" if config.get("materialized") == "view" else "table"
    return {**form, "config": {**config, "materialized": kept, "incremental_strategy": None}}
