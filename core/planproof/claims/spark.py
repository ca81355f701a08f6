"""The claims of Spark's planes, and what their flags prove."""

from __future__ import annotations

from typing import NamedTuple

from planproof.session.protocol import Session, SparkPlanes
from planproof_engine.claim import Claim, join_path, nested_fields
from planproof_engine.schema import PhysicalSchema


class SparkClaims(NamedTuple):
    """Spark's planes of one query, and a claim for each that was read."""

    planes: SparkPlanes
    claims: tuple[Claim, ...]


def read(session: Session, sql: str) -> SparkClaims:
    """Analyzes and plans `sql` without running it. Raises `AnalysisError`, and `SparkFailure` where Spark is away."""
    planes = session.planes(sql)
    schemas = (("analyzed", planes.analyzed), ("optimized", planes.optimized), ("executed", planes.executed))
    return SparkClaims(planes, tuple(Claim(plane, schema) for plane, schema in schemas if schema is not None))


def evidence(planes: SparkPlanes) -> dict[str, str]:
    """Why places of the result hold no null, by dotted path: Spark's own flags, nested ones too.

    A flag that a Python function or Python data may have claimed is no evidence, nor one that the optimizer loosened.
    """
    if planes.python_fed:
        return {}
    if planes.optimized is None:
        return _flag_evidence(planes.analyzed, "NOT NULL in Spark's analyzed plan")
    return _flag_evidence(planes.optimized, "NOT NULL in Spark's optimized plan")


def _flag_evidence(schema: PhysicalSchema, why: str) -> dict[str, str]:
    return {join_path(field.path): why for field in nested_fields(schema) if field.promises}
