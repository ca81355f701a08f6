"""Columns of the projects that the offline check reads here, and what its reports say."""

from __future__ import annotations

from planproof_engine.finding import Verdict

NOT_NULL = [{"type": "not_null"}]
ID = {"data_type": "bigint", "constraints": NOT_NULL}
ORDERS = {"raw.orders": {"id": ID, "amount": "decimal(12,2)", "tags": "array<string>"}}
TABLE = {"materialized": "table"}
VIEW = {"materialized": "view"}


def found(report, *verdicts):
    return [(f.code, f.field) for f in report.findings if f.verdict in (verdicts or tuple(Verdict))]


def logical(report):
    return next(p for p in report.planes if p.plane == "logical")
