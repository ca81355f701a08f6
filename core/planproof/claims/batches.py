"""Arrow batches: row groups of staged files, and results of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from planproof.arrow.footers import FooterError, row_groups
from planproof.arrow.types import physical_schema
from planproof.claims.model import Claim, Facts, Path
from planproof.invariants.batches import check
from planproof.report.model import Finding, Verdict

SAMPLE = 2
"""Row groups that `sample` looks at."""
ROWS = 8192
"""Rows that `sample` decodes of each: a whole row group of a large write costs as much as a fifth of writing it."""


def sample(paths: Sequence[str], mode: str = "sample") -> list[Finding]:
    """I2 over row groups of Parquet files: `sample` decodes the beginnings of the first and the last of each file, at
    most `SAMPLE` of them; `all` decodes everything; `off` nothing. A damaged file is a violation.

    Raises `Undecodable`.
    """
    if mode == "off":
        return []
    found: list[Finding] = []
    try:
        some = (None, None) if mode == "all" else (SAMPLE, ROWS)
        for path, number, table in row_groups(paths, *some):
            found += check(table, f"{path}, row group {number}")
    except FooterError as error:
        found.append(Finding(Verdict.VIOLATED, "PP301", "batches", message=str(error)))
    return found


def read(table: Any) -> Claim:
    """The claim of a result fetched as a pyarrow Table, or of one batch; columns of one name count no facts."""
    names = Counter(table.schema.names)
    nulls: dict[Path, int] = {
        (name,): column.null_count for name, column in zip(table.schema.names, table.columns) if names[name] == 1
    }
    return Claim("batches", physical_schema(table.schema), Facts(table.num_rows, nulls, source="the result's batches"))
