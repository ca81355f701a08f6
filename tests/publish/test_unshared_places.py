"""A publish that is undone, or that tidies up, deletes no other table's files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from planproof import Guard, Model
from planproof.publish.swaps import settle
from planproof.publish.transaction import lock
from planproof.publish.transaction.begin import begin_publication
from planproof.publish.transaction.names import Names, Refused
from planproof.session.store import store_of


@pytest.mark.parametrize("name", ["s.`..`", "s.`../../etc`", "s.`a/b`", "s.`.`"])
def test_a_name_never_becomes_a_path(name: str) -> None:
    with pytest.raises(Refused, match="folder"):
        Names.of(name, ("spark_catalog", "default"), "r", 1)


def test_two_databases_may_share_a_location_root(spark: Any, database: str, tmp_path: Path) -> None:
    other, options = f"{database}_too", {"location_root": str(tmp_path)}
    spark.sql(f"create database {other}")
    guard = Guard(spark)
    try:
        for value in (1, 2, 3):
            for name in (database, other):
                report = guard.publish(Model(f"{name}.t", f"select {value} as id", options=options))
                assert report.outcome == "published", report.error
        for name in (database, other):
            assert spark.newSession().sql(f"select * from {name}.t").collect() == [(3,)]
    finally:
        spark.sql(f"drop database {other} cascade")


def test_a_place_that_was_taken_meanwhile_is_left_alone(
    spark: Any, session: Any, database: str, tmp_path: Path
) -> None:
    names = Names.of(f"{database}.t", session.namespace, "r", 1)
    store, root = store_of(session), str(tmp_path / "state")
    held = lock.acquire(store, root, names.slug, names.stamp, "t")
    going = begin_publication(session, names, None, "rename", root, {"location_root": str(tmp_path)}, held)
    store.write(f"{going.entry.stage_location}/part.parquet", "staged")
    store.write(f"{tmp_path}/t/part.parquet", "another table's")
    spark.sql(f"create table {going.entry.staging} (id int) using parquet location '{going.entry.stage_location}'")
    going.step("place")
    assert settle(going) == "undone"
    assert store.read(f"{tmp_path}/t/part.parquet") == "another table's"
    assert not store.exists(going.entry.stage_location)
    held.release()


def test_the_state_may_lie_elsewhere(spark: Any, database: str, tmp_path: Path) -> None:
    guard = Guard(spark, root=str(tmp_path))
    for sql in ("select 1 as id", "select 2 as id", "select 3L as id"):
        assert guard.publish(Model(f"{database}.t", sql)).outcome == "published"
    location = dict(tuple(r)[:2] for r in spark.sql(f"describe database {database}").collect())["Location"]
    # Nothing of the second version, which stood in a directory of its own, is left beside the third.
    assert [p.name for p in Path(location.removeprefix("file:")).glob("[!._]*")] == ["t"]
    assert not list(Path(location.removeprefix("file:")).glob("__planproof/t/*"))
    assert sorted(p.name for p in tmp_path.iterdir()) == [".planproof"]
