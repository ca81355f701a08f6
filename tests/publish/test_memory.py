"""What a guard remembers as proved is what it proved, and only as long as it holds."""

from __future__ import annotations

from typing import Any

import pytest

from planproof import Contract, Guard, Model, Report, Settings
from planproof.session.protocol import SparkFailure

PROMISE = Contract([("id", "int", False)])


@pytest.fixture
def guard(spark: Any) -> Guard:
    return Guard(spark)


def verdict(report: Report, field: str = "id") -> str:
    [finding] = [f for f in report.findings if f.field == field and f.code in ("PP505", "PP506")]
    return finding.verdict.value


def test_a_promise_that_was_not_judged_is_not_remembered(guard: Guard, database: str) -> None:
    loose = Settings(fail_on="never", unproved="allow", allow=("PP506",))
    odd = Contract([("my id", "int", False), ("ID", "int", False)])
    sql = "select if(v > 5, v, null) as `my id`, if(v > 5, v, null) as id from values (1) as t(v)"
    assert guard.publish(Model(f"{database}.t", sql, contract=odd, settings=loose)).outcome == "published"
    assert guard.memory.evidence(f"{database}.t") == {}


def test_a_view_is_forgotten_with_what_it_may_read(guard: Guard, database: str) -> None:
    up, view = f"{database}.up", f"{database}.v"
    guard.publish(Model(up, "select * from values (1) as t(id)", contract=PROMISE))
    over = Model(view, f"select id from {up}", contract=PROMISE, materialized="view")
    assert verdict(guard.publish(over)) == "proved"
    down = Model(f"{database}.down", f"select id from {view}", contract=PROMISE)
    assert verdict(guard.check(down)) == "proved"
    guard.publish(Model(up, "select if(v > 5, v, null) as id from values (1) as t(v)"))
    assert verdict(guard.check(down)) == "unproved"


def test_a_count_over_a_view_holds_for_the_rows_of_its_day(guard: Guard, database: str, spark: Any) -> None:
    """Whoever writes to the source may bring a null: what was counted proves nothing of the view later."""
    spark.sql(f"create table {database}.source using parquet as select 1 as id")
    counted = Model(f"{database}.v", f"select id from {database}.source", contract=PROMISE, materialized="view")
    assert verdict(guard.publish(counted)) == "proved"
    assert guard.memory.evidence(f"{database}.v") == {}


def test_a_temporary_view_in_front_of_a_proved_view_is_not_the_view(guard: Guard, database: str, spark: Any) -> None:
    spark.sql(f"use {database}")
    try:
        guard.publish(Model("v", "select 1 as id", contract=PROMISE, materialized="view"))
        spark.sql("create temporary view v as select if(x > 5, x, null) as id from values (1) as t(x)")
        assert verdict(guard.check(Model("down", "select id from v", contract=PROMISE))) == "unproved"
    finally:
        spark.catalog.dropTempView("v")
        spark.sql("use default")


def test_a_stop_at_unproved_waits_for_the_count(guard: Guard, database: str) -> None:
    strict = Settings(fail_on="unproved", rewrite="off")
    counted = "select if(v = 1, v, null) as id from values (1) as t(v)"
    assert guard.publish(Model(f"{database}.t", counted, contract=PROMISE, settings=strict)).outcome == "published"
    broken = "select if(v = 2, v, null) as id from values (1) as t(v)"
    assert guard.publish(Model(f"{database}.t", broken, contract=PROMISE, settings=strict)).outcome == "rejected"


def test_an_empty_string_in_a_partition_column_is_stored_as_null(guard: Guard, database: str) -> None:
    contract = Contract([("id", "int", False), ("d", "string", False)])
    sql = "select * from values (1, '{}'), (2, 'y') as v(id, d)"
    bad = guard.publish(Model(f"{database}.t", sql.format(""), contract=contract, partition_by=["d"]))
    assert (bad.outcome, verdict(bad, "d")) == ("rejected", "violated")
    good = guard.publish(Model(f"{database}.t", sql.format("x"), contract=contract, partition_by=["d"]))
    assert (good.outcome, verdict(good, "d")) == ("published", "proved")
    plain = guard.publish(Model(f"{database}.u", sql.format(""), contract=contract))
    assert plain.outcome == "published"


def test_what_follows_a_publish_cannot_undo_it(guard: Guard, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planproof.publish.kernel.look", lambda job, written, describe: 1 / 0)
    report = guard.publish(Model(f"{database}.t", "select * from values (1) as t(id)", contract=PROMISE))
    assert (report.outcome, report.error) == ("published", None)
    assert [f.code for f in report.findings if f.verdict.value == "warning"][-1] == "PP403"
    assert guard.memory.evidence(f"{database}.t") == {}


def test_what_cannot_be_looked_at_after_a_publish_is_told(
    guard: Guard, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(publication: object) -> bool:
        raise SparkFailure("the metastore is away", outside=True)

    monkeypatch.setattr("planproof.publish.parquet.is_intact", fail)
    report = guard.publish(Model(f"{database}.t", "select * from values (1) as t(id)", contract=PROMISE))
    assert report.outcome == "published"
    assert [f.code for f in report.findings if "the metastore is away" in (f.message or "")] == ["PP403"]


def test_rows_are_appended_whatever_the_model_says_of_partitions(guard: Guard, database: str, spark: Any) -> None:
    name = f"{database}.t"
    spark.sql(f"create table {name} using parquet as select 1 as id, 'x' as d")
    delta = Model(name, "select 2 as id, 'y' as d", materialized="incremental", partition_by=["d"])
    assert guard.publish(delta).outcome == "published"
    assert spark.table(name).count() == 2


def test_a_purging_drop_of_the_staging_table_never_takes_the_new_files(guard: Guard, database: str, spark: Any) -> None:
    name = f"{database}.t"
    spark.sql(f"create table {name} using parquet tblproperties ('external.table.purge' = 'true') as select 1 as id")
    report = guard.publish(Model(name, "select 2 as id"))
    assert (report.strategy, "external.table.purge" in (report.executed_sql or "")) == ("location", False)
    assert guard.session.table(name).properties["external.table.purge"] == "true"  # type: ignore[union-attr]


NULLS = "select if(v > 5, v, null) as id from values (1) as t(v)"


def test_what_others_wrote_since_is_not_proved(guard: Guard, database: str, spark: Any) -> None:
    up, down = f"{database}.up", Model(f"{database}.down", f"select id from {database}.up", contract=PROMISE)
    model = Model(up, "select * from values (1) as t(id)", contract=PROMISE)
    for statement in (
        f"insert into {up} {NULLS}",
        f"insert overwrite {up} {NULLS}",
        f"alter table {up} set location '{{other}}'",
        f"drop table {up}; create table {up} using parquet as {NULLS}",
    ):
        assert guard.publish(model).outcome == "published"
        assert verdict(guard.check(down)) == "proved"
        other = f"{guard.session.table(up).location}_other"  # type: ignore[union-attr]
        for part in statement.format(other=other).split("; "):
            # Another session: this one's caches are none of its business.
            spark.newSession().sql(part)
        assert verdict(guard.check(down)) == "unproved", statement


def test_rows_appended_to_what_others_wrote_prove_nothing(guard: Guard, database: str, spark: Any) -> None:
    name = f"{database}.t"
    first = Model(name, "select * from values (1) as t(id)", contract=PROMISE)
    delta = Model(name, "select * from values (2) as t(id)", contract=PROMISE, materialized="incremental")
    assert guard.publish(first).outcome == "published"
    assert guard.publish(delta).outcome == "published"
    assert guard.memory.evidence(name) != {}
    spark.newSession().sql(f"insert into {name} {NULLS}")
    assert guard.publish(delta).outcome == "published"
    assert guard.memory.evidence(name) == {}


def test_a_view_that_others_replaced_is_not_the_view(guard: Guard, database: str, spark: Any) -> None:
    over = Model(f"{database}.v", "select 1 as id", contract=PROMISE, materialized="view")
    down = Model(f"{database}.down", f"select id from {database}.v", contract=PROMISE)
    assert guard.publish(over).outcome == "published"
    assert verdict(guard.check(down)) == "proved"
    spark.newSession().sql(f"create or replace view {database}.v as {NULLS}")
    assert verdict(guard.check(down)) == "unproved"


def test_a_partitioned_table_is_known_by_the_files_of_its_partitions(guard: Guard, database: str, spark: Any) -> None:
    name = f"{database}.t"
    contract = Contract([("id", "int", False), ("d", "string", True)])
    model = Model(name, "select * from values (1, 'x') as t(id, d)", contract=contract, partition_by=["d"])
    assert guard.publish(model).outcome == "published"
    assert "id" in guard.memory.evidence(name)
    spark.newSession().sql(f"insert into {name} partition (d = 'y') select cast(null as int)")
    assert guard.memory.evidence(name) == {}
