"""A publish that died, met by another metastore over the same folder: what that one does not know stays as it is."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from planproof import Guard, Model
from planproof.publish.transaction.journal import list_publishes, read
from planproof.publish.transaction.places import database_root
from planproof.publish.transaction.recover import recover

pytestmark = pytest.mark.hive

OLD = "create table {t} using parquet as select 1 as id, 'a' as s"
PARTS = "create table {t} using parquet partitioned by (d) as select * from values (1, 'x'), (2, 'y') as v(id, d)"
CASES: dict[str, tuple[str | None, dict[str, Any]]] = {
    "first": (None, {"sql": "select 2 as id"}),
    "placed": (None, {"sql": "select 2 as id", "options": {"location_root": "{root}/lake"}}),
    "same": (OLD, {"sql": "select 2 as id, 'b' as s"}),
    "changed": (OLD, {"sql": "select 2L as id"}),
    "overwritten": (
        PARTS,
        {
            "sql": "select * from values (3, 'x'), (4, 'z') as v(id, d)",
            "partition_by": ["d"],
            "materialized": "incremental",
            "incremental_strategy": "insert_overwrite",
        },
    ),
    "view over a table": (OLD, {"sql": "select 2 as id", "materialized": "view"}),
}
SETTLED = ("begin", "stage", "audit", "clean")


class Another:
    """The run's session as one over another metastore: of the database's tables it knows `own`, and changes none."""

    def __init__(self, inner: Any, own: Any) -> None:
        self._inner, self.own = inner, own

    @property
    def catalog_id(self) -> str:
        return "another"

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def table(self, name: str) -> Any:
        return self.own if self.own is not None and name == self.own.name else None

    registered_table = table

    def partitions(self, name: str, among: Any = None) -> Any:
        return []

    def rows(self, sql: str) -> Any:
        if sql.startswith("SHOW TABLES"):
            shown = self._inner.rows(sql)
            return [row for row in shown if self.own is not None and f"`{row[0]}`.`{row[1]}`" == self.own.name]
        return self._inner.rows(sql) if sql.startswith(("SET ", "SHOW ")) else []


def files(root: str) -> list[str]:
    return sorted(str(p) for p in Path(root).rglob("*.parquet"))


@pytest.mark.conformance
@pytest.mark.parametrize("knows", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_nothing_is_deleted_that_another_catalog_may_hold(
    name: str, knows: bool, spark: Any, session: Any, database: str, dying: Any, killed: Any
) -> None:
    root = database_root(session, (database,)).removeprefix("file:")
    before, form = CASES[name]
    table, at = f"`{database}`.`t`", 3
    model = Model(f"{database}.t", **{**form, "options": _options(form, root)})
    spark.sql(f"create table {database}.theirs using parquet as select 7 as id")
    own = replace(session.table(f"{database}.theirs"), name=table) if knows else None
    refused = 0
    while True:
        if before is not None and session.table(table) is None:
            spark.sql(before.replace("{t}", table))
        frail, _ = dying(at)
        try:
            Guard(frail).publish(model)
        except killed:
            pass
        else:
            break
        stood = files(root)
        store = frail.store._inner
        step = [journal.entry.step for p in list_publishes(store, root) if (journal := read(store, root, p))]
        reports = recover(Another(session, own), store, [root])
        if not {*step} & {*SETTLED}:
            assert files(root) == stood, f"died at call {at}, step {step}"
        if "failed" in [r.outcome for r in reports]:
            assert step != []
            assert "another metastore" in (reports[0].error or ""), reports[0].error
            assert "failed" not in [r.outcome for r in recover(session, store, [root])]
            refused += 1
        assert spark.newSession().table(f"{database}.theirs").count() == 1
        _dropped(spark, database)
        for left in ("lake", "t", "__planproof"):
            shutil.rmtree(f"{root}/{left}", ignore_errors=True)
        at += 2
    assert refused


def _options(form: dict[str, Any], root: str) -> dict[str, str]:
    return {k: v.replace("{root}", root) for k, v in form.get("options", {}).items()}


def _dropped(spark: Any, database: str) -> None:
    for row in spark.sql(f"show tables in {database}").collect():
        if row[1] != "theirs":
            kind = spark.catalog.getTable(f"{database}.{row[1]}").tableType
            spark.sql(f"drop {'view' if kind == 'VIEW' else 'table'} {database}.{row[1]}")


def test_a_version_that_was_never_put_in_place_stays_for_a_call_that_may_come(
    spark: Any, session: Any, database: str, dying: Any, killed: Any
) -> None:
    """Another metastore may know a table that lies where this one did, and cannot tell whether it moved on there. A
    call that points the table to it may still come."""
    root = database_root(session, (database,)).removeprefix("file:")
    table, at = f"`{database}`.`t`", 0
    spark.sql(OLD.replace("{t}", table))
    old, stood = session.table(table), files(root)
    step: list[str] = []
    while step != ["swap"]:
        frail, _ = dying(at)
        with pytest.raises(killed):
            Guard(frail).publish(Model(f"{database}.t", "select 2 as id, 'b' as s"))
        store = frail.store._inner
        step = [journal.entry.step for p in list_publishes(store, root) if (journal := read(store, root, p))]
        if step == ["swap"]:
            journal = Path(root, ".planproof")
            shutil.copytree(journal, f"{root}/.kept")
            assert [r.outcome for r in recover(Another(session, old), store, [root])] == ["rejected"]
            assert len(files(root)) == len(stood) + 1, "it may be where the other metastore's table lies"
            shutil.rmtree(journal)
            Path(root, ".kept").rename(journal)
        assert "failed" not in [r.outcome for r in recover(session, store, [root])]
        left = [file for file in files(root) if file not in stood]
        assert len(left) == len(files(root)) - len(stood) == (step == ["swap"]), f"died at call {at}, step {step}"
        at += 1
    assert spark.newSession().table(table).count() == 1
