"""Compares a contract with the columns that dbt found for a query: a first check without another question to Spark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dbt_planproof.dbts import Column
from planproof.contract import Contract, Model
from planproof.invariants import contract as terms
from planproof.invariants import sink
from planproof.judge.allowed import allow
from planproof_engine import PhysicalField, PhysicalSchema, Verdict
from planproof_engine.types import drop_lengths, parse_type


def has_promised_columns(model: Model, columns: Iterable[Column]) -> bool:
    """Whether dbt's columns (name and type as Spark prints it) are those that the contract promises.

    False where that cannot be told from them; it says nothing of nulls.
    """
    schema = _read_schema(columns)
    if model.contract is None or schema is None or not schema.fields:
        return False
    found = terms.check(model.contract, schema, {}, None, model.settings, "analyzed", lambda column: None)
    judged = [allow(f, model.settings) for f in [*found, *sink.check(schema)]]
    return not any(f.verdict is Verdict.VIOLATED for f in judged)


def has_same_columns(contract: Contract, columns: Iterable[Column]) -> bool:
    """Whether dbt's columns are the promised ones by place, name and type: what it would find the contract to have."""
    promised = contract.schema.as_nullable()
    return _read_schema(columns) == PhysicalSchema(
        tuple(PhysicalField(f.name, drop_lengths(f.type), True) for f in promised)
    )


def is_types_query(sql: str, columns: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether a text is the query that dbt makes of a contract's columns alone, to hear from Spark which types they are
    (its macros `get_empty_schema_sql` and `get_empty_subquery_sql`)."""
    nulls = ", ".join(f"cast(null as {c.get('data_type')}) as {_write_column(c)}" for c in columns.values())
    return sql.split() == f"select * from ( select {nulls} ) as __dbt_sbq where false limit 0".split()


def is_columns_query(sql: str, compiled: str) -> bool:
    """Whether a text is the query by which dbt asks for a model's columns (its macro `get_empty_subquery_sql`)."""
    return sql.split() == f"select * from ( {compiled} ) as __dbt_sbq where false limit 0".split()


def is_contract_query(sql: str, compiled: str, columns: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether a text is the query that dbt makes of a model under contract: all of the promised columns, which are the
    model's own, in their order (its macro `get_select_subquery`)."""
    names = ", ".join(map(_write_column, columns.values()))
    return sql.split() == f"select {names} from ( {compiled} ) as model_subq".split()


def _write_column(column: Mapping[str, Any]) -> str:
    return f"`{column['name']}`" if column.get("quote") else str(column["name"])


def _read_schema(columns: Iterable[Column]) -> PhysicalSchema | None:
    """Columns as dbt prints them; None where a type cannot be read."""
    try:
        return PhysicalSchema(tuple(PhysicalField(c.name, parse_type(c.dtype), True) for c in columns))
    except ValueError:
        return None
