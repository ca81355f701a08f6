"""A contract against the columns that dbt found a query to have: a first look, without another question to Spark."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from planproof.contract import Model
from planproof.invariants import contract as terms
from planproof.invariants import sink
from planproof.report.model import Verdict
from planproof.schema import PhysicalField, PhysicalSchema
from planproof.types import TypeSyntaxError, parse_type


def fits(model: Model, columns: Iterable[Any]) -> bool:
    """Whether dbt's columns (name and type as Spark prints it) are those that the contract promises.

    False where that cannot be told from them; it says nothing of nulls.
    """
    try:
        schema = PhysicalSchema(tuple(PhysicalField(c.name, parse_type(c.dtype), True) for c in columns))
    except TypeSyntaxError:
        return False
    if model.contract is None or not schema.fields:
        return False
    found = terms.check(model.contract, schema, {}, None, model.settings, "analyzed", lambda column: None)
    return not any(f.verdict is Verdict.VIOLATED for f in [*found, *sink.check(schema)])
