"""What the flags of Spark's planes prove."""

from __future__ import annotations

from planproof.session.protocol import SparkPlanes
from planproof_engine.claim import join_path, nested_fields
from planproof_engine.schema import PhysicalSchema


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
