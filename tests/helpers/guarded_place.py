"""A table that a guard is about to publish, of each way to publish one, and another session beside it."""

from __future__ import annotations

from typing import Any

from planproof import Guard, Model
from planproof.session import open as opened
from planproof.session.store import store_of

Rows = list[tuple[Any, ...]]
OLD = "create table {t} using parquet as select 1 as id, 'a' as s"
PARTS = "create table {t} using parquet partitioned by (d) as select * from values (1, 'x'), (2, 'y') as v(id, d)"
APPEND = {"materialized": "incremental", "incremental_strategy": "append"}
OVERWRITE = {"materialized": "incremental", "incremental_strategy": "insert_overwrite", "partition_by": ["d"]}
CASES: dict[str, tuple[str | None, dict[str, Any], Rows | None, Rows]] = {
    "location": (OLD, {"sql": "select 2 as id, 'b' as s"}, [(1, "a")], [(2, "b")]),
    "rename": (OLD, {"sql": "select 2L as id, 'b' as s"}, [(1, "a")], [(2, "b")]),
    "first": (None, {"sql": "select 2 as id"}, None, [(2,)]),
    "append": (OLD, {"sql": "select 2 as id, 'b' as s", **APPEND}, [(1, "a")], [(1, "a"), (2, "b")]),
    "partitions": (
        PARTS,
        {"sql": "select * from values (3, 'x'), (4, 'z') as v(id, d)", **OVERWRITE},
        [(1, "x"), (2, "y")],
        [(2, "y"), (3, "x"), (4, "z")],
    ),
    "append to partitions": (
        PARTS,
        {"sql": "select * from values (3, 'x'), (4, 'z') as v(id, d)", **APPEND},
        [(1, "x"), (2, "y")],
        [(1, "x"), (2, "y"), (3, "x"), (4, "z")],
    ),
    "table to view": (OLD, {"sql": "select 2 as id", "materialized": "view"}, [(1, "a")], [(2,)]),
    "view": ("create view {t} as select 1 as id", {"sql": "select 2 as id", "materialized": "view"}, [(1,)], [(2,)]),
}


class Place:
    """A table `t` of one case, a guard that is about to publish it, and another session beside it."""

    def __init__(self, spark: Any, database: str, name: str) -> None:
        self.spark, self.database, self.name = spark, database, f"{database}.t"
        before, model, self.old, self.new = CASES[name]
        if before is not None:
            spark.sql(before.replace("{t}", self.name))
        self.model = Model(self.name, **model)
        self.other = spark.newSession()

    def publish(self) -> Any:
        return Guard(self.spark).publish(self.model)

    def rows(self) -> Rows | None:
        if not self.spark.catalog.tableExists(self.name):
            return None
        return sorted((tuple(r) for r in self.spark.newSession().sql(f"select * from {self.name}").collect()), key=str)


def drop(there: Place) -> None:
    for row in there.spark.sql(f"show tables in {there.database}").collect():
        kind = there.spark.catalog.getTable(f"{there.database}.{row[1]}").tableType
        there.spark.sql(f"drop {'view' if kind == 'VIEW' else 'table'} {there.database}.{row[1]}")
    root = there.spark.sql(f"describe database {there.database}").collect()
    home = next(r[1] for r in root if r[0] == "Location")
    store = store_of(opened(there.spark))
    for left in store.names(home):
        store.delete(f"{home}/{left}")
