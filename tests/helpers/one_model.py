"""A source, and a model over it with a contract."""

from __future__ import annotations

ORDERS = {"raw.orders": {"id": {"data_type": "bigint", "constraints": [{"type": "not_null"}]}, "amount": "double"}}


def mart(sql, **columns):
    return {"mart": {"sql": sql, "parents": ["raw.orders"], "contract": True, "columns": columns}}
