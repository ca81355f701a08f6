"""A contract, rows that keep it, rows that break it, and what is quarantined of them: for Parquet and Iceberg."""

from __future__ import annotations

from planproof import Contract

CONTRACT = Contract(
    [("id", "int", False), ("v", "int", True), ("code", "string", True)],
    [{"kind": "check", "expression": "v >= 0"}, {"kind": "unique", "columns": ["id"], "name": "one_id"}],
)
GOOD = "select * from values (1, 1, 'a'), (2, null, 'b') as t(id, v, code)"
BAD = "select * from values (1, 1, 'a'), (null, 2, 'b'), (3, -1, 'c'), (4, 4, 'd'), (4, -5, 'e') as t(id, v, code)"
QUARANTINED = [
    (3, -1, "c", ("check(v >= 0)",)),
    (4, -5, "e", ("check(v >= 0)", "one_id: unique(id)")),
    (4, 4, "d", ("one_id: unique(id)",)),
    (None, 2, "b", ("not_null(id)",)),
]
