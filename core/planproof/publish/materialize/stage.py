"""Staging: the model's rows are written beside the target, under a name of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from planproof.contract import Model
from planproof.judge.planes import Examined
from planproof.publish.transaction import JournaledPublication, column_list
from planproof.publish.transaction.names import is_within
from planproof.session import Session, SparkFailure, StoredTable, decode_uri
from planproof_engine import AnalysisError, ColumnNames, PhysicalSchema, drop_terminators, quote_literal, quote_parts
from planproof_engine.types import format_ddl

_OWN_PROPERTIES = (
    "spark.sql.",
    "transient_",
    "totalSize",
    "numFiles",
    "numRows",
    "rawDataSize",
    "last_modified_",
    "view.",
)
"""Properties that Spark and Hive keep for themselves."""


def write(publication: JournaledPublication, examined: Examined, schema: PhysicalSchema) -> str:
    """Writes the files of a table whose `schema` stays, without a table over them: a catalog takes its time to make
    one and to drop it again. Returns what was run."""
    publication.unregistered = schema
    # What Python feeds is watched, and compared, as a text.
    if not examined.planes.python_fed and publication.write_files(examined.runs):
        return examined.sql
    location = publication.entry.stage_location
    statement = f"INSERT OVERWRITE DIRECTORY {quote_literal(location)} USING parquet\n{drop_terminators(examined.sql)}"
    publication.run(statement)
    return statement


def create(publication: JournaledPublication, model: Model, examined: Examined, target: StoredTable | None) -> str:
    """Makes the staging table and writes the whole table into it; returns what was run.

    CREATE TABLE AS reads, analyzes and plans a text that was analyzed already, and does not tell its plan. An analyzed
    query is written as it is, where the table's columns are all that CREATE TABLE AS would take of it.
    """
    entry, sql = publication.entry, examined.sql
    clauses = ["USING parquet", *_options(model.options)]
    if model.partition_by:
        clauses.append(f"PARTITIONED BY ({_columns(model.partition_by)})")
    clauses += _buckets(model.options)
    if entry.external:
        clauses.append(f"LOCATION {quote_literal(entry.stage_location)}")
    comment, properties = describe_table(model, target)
    if comment is not None:
        clauses.append(f"COMMENT {quote_literal(comment)}")
    if properties:
        clauses.append(f"TBLPROPERTIES ({format_properties(properties)})")
    if _is_written_as_analyzed(model, examined):
        schema = examined.runs.analyzed.as_nullable()
        columns = column_list((f.name, format_ddl(f.type)) for f in schema)
        # A metastore that may not make folders takes a table whose files are there. What else is wrong is said below.
        with suppress(SparkFailure, AnalysisError):
            publication.run("\n".join([f"CREATE TABLE {entry.staging} ({columns})", *clauses]))
        made = publication.stored(entry.staging)
        is_as_asked = made is not None and _is_as_asked(made, schema, entry.stage_location)
        if is_as_asked and publication.write_files(examined.runs):
            return sql
        publication.drop(entry.staging)
    statement = "\n".join([f"CREATE TABLE {entry.staging}", *clauses, "AS", drop_terminators(sql)])
    publication.run(statement)
    return statement


def _is_as_asked(made: StoredTable, schema: PhysicalSchema, location: str) -> bool:
    """Whether files of that schema, written at the location, are the table's. A database's default collation is one of
    declared columns, and not of a query's."""
    lies = decode_uri(made.location or "")
    return made.schema.as_nullable() == schema and is_within(lies, location) and is_within(location, lies)


def _is_written_as_analyzed(model: Model, examined: Examined) -> bool:
    """Not what Python feeds, which is watched and compared as a text, nor columns with more than a name and a type, nor
    files that follow partitions, buckets or options."""
    if model.partition_by or _buckets(model.options) or _options(model.options):
        return False
    return examined.runs.execution is not None and examined.runs.bare and not examined.planes.python_fed


def fill(
    publication: JournaledPublication, model: Model, target: StoredTable, sql: str, produced: Sequence[str]
) -> str:
    """Writes a delta into a staging table of the target's own shape, with the columns that the target is to get;
    returns the statement.

    INSERT BY NAME gives what Spark's store assignment gives (casts that lose nothing, char and varchar lengths), so
    that the files have the stored types. Columns that neither has are left out, as dbt does.
    """
    entry = publication.entry
    _create_like(publication, model, target)
    if entry.columns:
        publication.run(f"ALTER TABLE {entry.staging} ADD COLUMNS ({column_list(entry.columns)})")
    known = ColumnNames((*target.schema.names, *(name for name, _ in entry.columns)))
    text = drop_terminators(sql)
    if any(name not in known for name in produced):
        kept = [name for name in produced if name in known]
        text = f"SELECT {_columns(kept)} FROM (\n{text}\n)"
    statement = f"INSERT INTO {entry.staging} BY NAME\n{text}"
    publication.write(statement)
    return statement


def _create_like(publication: JournaledPublication, model: Model, target: StoredTable) -> None:
    """An empty table of the target's shape; where it is to become the target, with its properties and comment too."""
    entry = publication.entry
    statement = f"CREATE TABLE {entry.staging} LIKE {entry.target}"
    if entry.external:
        statement += f" LOCATION {quote_literal(entry.stage_location)}"
    if not entry.swap.renames:
        publication.run(statement)
        return
    comment, properties = describe_table(model, target)
    publication.run(statement + (f" TBLPROPERTIES ({format_properties(properties)})" if properties else ""))
    if comment is not None:
        publication.run(f"COMMENT ON TABLE {entry.staging} IS {quote_literal(comment)}")


def describe_table(model: Model, target: StoredTable | None) -> tuple[str | None, dict[str, str]]:
    """The comment and the properties that the new table gets: the model's own, else the old table's."""
    own = {str(k): str(v) for k, v in (model.options.get("tblproperties") or {}).items()}
    if target is None or target.kind != "table":
        return model.comment, own
    kept = own_properties(target)
    return (model.comment if model.comment is not None else target.comment), {**kept, **own}


def own_properties(target: StoredTable) -> dict[str, str]:
    """The properties that people gave to a relation."""
    return {k: v for k, v in target.properties.items() if not k.startswith(_OWN_PROPERTIES) and k != "EXTERNAL"}


def describe(session: Session, model: Model, target: StoredTable, name: str) -> None:
    """Gives a table that kept its identity the model's comment and properties, where they differ."""
    comment, properties = describe_table(model, target)
    if comment is not None and comment != target.comment:
        session.rows(f"COMMENT ON TABLE {name} IS {quote_literal(comment)}")
    changed = {k: v for k, v in properties.items() if target.properties.get(k) != v}
    if changed:
        session.rows(f"ALTER TABLE {name} SET TBLPROPERTIES ({format_properties(changed)})")


def format_properties(properties: Mapping[str, Any]) -> str:
    """Properties as they stand in TBLPROPERTIES, quoted."""
    return ", ".join(f"{quote_literal(str(k))} = {quote_literal(str(v))}" for k, v in properties.items())


def _options(options: Mapping[str, Any]) -> list[str]:
    given = options.get("options") or {}
    return [f"OPTIONS ({format_properties(given)})"] if given else []


def _buckets(options: Mapping[str, Any]) -> list[str]:
    columns, buckets = options.get("clustered_by"), options.get("buckets")
    if not columns or not buckets:
        return []
    names = [columns] if isinstance(columns, str) else list(columns)
    return [f"CLUSTERED BY ({_columns(names)}) INTO {int(buckets)} BUCKETS"]


def _columns(names: Sequence[str]) -> str:
    return ", ".join(quote_parts((name,)) for name in names)
