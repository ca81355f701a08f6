"""I2: the contents of a batch are consistent with its schema."""

from __future__ import annotations

from typing import Any

from planproof.arrow.batches import find_faults
from planproof.report import format_count
from planproof_engine import Finding, Verdict, join_path


def check(batch: Any, where: str) -> list[Finding]:
    """Full validation of a RecordBatch or Table, and its nulls against its own flags. `where` names it to people.

    Bytes that are no UTF-8 are a warning: Spark casts any binary to a string, stores it and reads it back.
    """
    found = []
    for fault in find_faults(batch):
        path = join_path(fault.path) if fault.path else None
        counted = f": {fault.nulls} of them in {path}" if fault.nulls else ""
        found.append(
            Finding(
                Verdict.WARNING if fault.text else Verdict.VIOLATED,
                "PP301",
                "batches",
                path,
                promised="NOT NULL" if fault.nulls else None,
                found=format_count(fault.nulls, "null") if fault.nulls else None,
                message=f"{where}: {fault.message}{counted}",
            )
        )
    return found
