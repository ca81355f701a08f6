"""What a failed write tells of the contract, where the table itself keeps a promise: NOT NULL in its own schema.

Spark puts a check around each value for such a column (`AssertNotNull`), which fails the write at the first null.
"""

from __future__ import annotations

import re

from planproof.publish.materialize.materialization import Job
from planproof.publish.transaction import Refused
from planproof.session import SparkFailure
from planproof_engine import Finding, PhysicalSchema, Verdict, fold_name, quote_parts
from planproof_engine.claim import Path, join_path, nested_fields

_NULL = re.compile(r"null value appeared in non-nullable field:(.+?)If the schema is inferred", re.S | re.I)
"""Spark's message (`NOT_NULL_ASSERT_VIOLATION`, in 3.5 a NullPointerException); each part of the path is a line."""


def find_met_null(job: Job, failure: SparkFailure) -> bool:
    """After a write that failed: whether it met a null where the table and the contract say NOT NULL, which is then
    violated. Raises `Refused` where the table alone says so. A null that something else forbids, as a Dataset's encoder
    does, is not this one."""
    found = _NULL.search(str(failure))
    if found is None:
        return False
    path = tuple(part.strip() for part in found[1].strip().splitlines())
    if job.target is None or not _is_promised(job.target.schema, path):
        return False
    contract = job.model.contract
    if contract is not None and _is_promised(contract.schema, path):
        field = join_path(path)
        message = (
            f"{field}: promised NOT NULL, and the write met a null: {job.model.name} has NOT NULL in its own schema "
            "there, and takes no such row. How many there are was not counted"
        )
        origin = job.examined.locate(path[0])
        job.draft.add([Finding(Verdict.VIOLATED, "PP505", "executed", field, "NOT NULL", "a null", message, origin)])
        if job.draft.fails:
            return True
    raise Refused(describe_forbidden_null(job, path)) from failure


def describe_forbidden_null(job: Job, path: Path) -> str:
    """What is said of a null that a table's own schema forbids, and what to do."""
    first = "first DROP IDENTIFIER FIELDS, then " if job.target and "identifier-fields" in job.target.properties else ""
    return (
        f"{job.model.name} says NOT NULL of {join_path(path)} in its own schema, and what would be written holds a "
        f"null there; nothing was published. Filter the null, or make the column nullable: {first}ALTER TABLE "
        f"{job.names.target.quoted} ALTER COLUMN {quote_parts(path)} DROP NOT NULL"
    )


def _is_promised(schema: PhysicalSchema, path: Path) -> bool:
    wanted = list(map(fold_name, path))
    return any(f.promises and list(map(fold_name, f.path)) == wanted for f in nested_fields(schema))
