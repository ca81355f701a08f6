"""`table` on Iceberg: staged in a transaction, audited, committed by compare and swap; otherwise nothing happened."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from killed import Killed

from planproof import Contract, Guard, Model
from planproof.report.model import Report
from planproof.session.protocol import SparkFailure
from planproof.settings import Settings
from planproof_engine.finding import Verdict

_COLUMNS = [("id", "bigint", False), ("amount", "decimal(10,2)", True)]


@pytest.fixture
def guard(iceberg: Any) -> Guard:
    return Guard(iceberg)


@pytest.fixture
def rows(iceberg: Any) -> Callable[[str], list[tuple[Any, ...]]]:
    return lambda name: sorted((tuple(r) for r in iceberg.newSession().sql(f"select * from {name}").collect()), key=str)


def model(name: str, sql: str, *columns: tuple[str, str, bool], **more: Any) -> Model:
    contract = Contract(columns, more.pop("constraints", ())) if columns else None
    return Model(name, sql, contract=contract, file_format="iceberg", **more)


def codes(report: Report) -> set[str]:
    return {f.code for f in report.of(Verdict.VIOLATED)}


def snapshots(spark: Any, name: str) -> list[int]:
    return [r[0] for r in spark.sql(f"select snapshot_id from {name}.snapshots order by committed_at").collect()]


def orphans(spark: Any, name: str) -> list[str]:
    """Files of a table's folder that none of its snapshots and metadata files names."""
    spark.catalog.refreshTable(name)  # Another session may have written to it since.
    shown = spark.sql(f"describe extended {name}").collect()
    root = next(str(r[1]) for r in shown if r[0] == "Location").removeprefix("file:")
    known = {r[0] for r in spark.sql(f"select file_path from {name}.all_files").collect()}
    known |= {r[0] for r in spark.sql(f"select path from {name}.all_manifests").collect()}
    known |= {r[0] for r in spark.sql(f"select manifest_list from {name}.snapshots").collect()}
    plain = {path.removeprefix("file:") for path in known}
    files = [str(f) for f in Path(root).rglob("*") if f.is_file() and not f.name.startswith(".")]
    return [f for f in files if f not in plain and "metadata.json" not in f and "version-hint" not in f]


def test_new_same_and_changed(place: str, guard: Guard, rows: Any, iceberg: Any) -> None:
    """One table through its life, on each catalog: made, replaced, its columns and partitions changed, and refused."""
    name = f"{place}.orders"
    made = guard.publish(model(name, "select id, cast(id as decimal(10,2)) amount from range(3)", *_COLUMNS))
    assert (made.outcome, made.strategy, made.rows, made.verdict) == ("published", "replace", 3, Verdict.PROVED), made
    same = guard.publish(model(name, "select id, cast(0 as decimal(10,2)) amount from range(2)", *_COLUMNS))
    assert same.outcome == "published", same
    assert [r[0] for r in rows(name)] == [0, 1]
    assert len(snapshots(iceberg, name)) == 2, "a replacement keeps the history"

    changed = model(
        name,
        "select id, 'n' as region, timestamp'2026-01-01 00:00:00' as at from range(4)",
        ("id", "bigint", False),
        ("region", "string", False),
        ("at", "timestamp", False),
        partition_by=["region", "days(at)"],
    )
    report = guard.publish(changed)
    assert report.outcome == "published", report
    assert guard.session.registered_table(name).partition_by == ("region", "days(at)")
    before = rows(name), snapshots(iceberg, name)

    broken = model(name, "select if(id > 0, id, null) id, 1 as one from range(4)", ("id", "bigint", False))
    assert codes(guard.publish(broken)) >= {"PP502"}
    null = model(name, "select if(id > 0, id, null) id from range(4)", ("id", "bigint", False))
    report = guard.publish(null)
    assert (report.outcome, codes(report)) == ("rejected", {"PP505"}), report
    twice = [{"kind": "unique", "columns": ["id"]}, {"kind": "check", "expression": "id < 3"}]
    report = guard.publish(model(name, "select id % 2 as id from range(8)", ("id", "bigint", True), constraints=twice))
    assert (report.outcome, codes(report)) == ("rejected", {"PP507"}), report
    failing = guard.publish(model(name, "select cast(raise_error('no') as bigint) as id"))
    assert failing.outcome == "failed"
    assert (rows(name), snapshots(iceberg, name)) == before
    assert orphans(iceberg, name) == []


def test_what_people_gave_a_table_stays(lake: str, guard: Guard, iceberg: Any) -> None:
    name = f"{lake}.t"
    iceberg.sql(f"create table {name} (id bigint comment 'key', n int) using iceberg comment 'ours'")
    iceberg.sql(f"alter table {name} set tblproperties ('owner.team' = 'sales')")
    iceberg.sql(f"insert into {name} values (1, 1)")
    iceberg.sql(f"alter table {name} create tag first")
    assert guard.publish(model(name, "select id, 's' as n from range(2)")).outcome == "published"
    now = guard.session.registered_table(name)
    assert (now.comment, now.properties["owner.team"]) == ("ours", "sales")
    described = {r[0]: r[2] for r in iceberg.sql(f"describe table {name}").collect()}
    assert described["id"] == "key"
    assert iceberg.sql(f"select count(*) from {name} version as of 'first'").collect()[0][0] == 1


def test_what_spark_has_cached_is_read_anew(lake: str, guard: Guard, iceberg: Any) -> None:
    name = f"{lake}.t"
    assert guard.publish(model(name, "select 1 as id")).outcome == "published"
    iceberg.sql(f"cache table {name}")
    try:
        assert guard.publish(model(name, "select 2 as id")).outcome == "published"
        assert iceberg.table(name).collect()[0][0] == 2
    finally:
        iceberg.sql(f"uncache table {name}")


def test_what_is_cached_of_a_query_over_it_is_forgotten(lake: str, guard: Guard, iceberg: Any) -> None:
    name = f"{lake}.t"
    assert guard.publish(model(name, "select 1 as id")).outcome == "published"
    over = iceberg.table(name).where("id > 0").cache()
    try:
        assert over.count() == 1
        assert guard.publish(model(name, "select id from range(1, 4)")).outcome == "published"
        assert iceberg.table(name).where("id > 0").count() == 3
    finally:
        over.unpersist()


def test_the_order_of_rows_stays_where_its_columns_stay(place: str, guard: Guard, iceberg: Any) -> None:
    name = f"{place}.t"
    iceberg.sql(f"create table {name} (id bigint, at timestamp) using iceberg")
    iceberg.sql(f"alter table {name} write ordered by days(at) desc, id desc nulls last")

    def order() -> str | None:
        found = iceberg.sql(f"show tblproperties {name}").collect()
        return next((r["value"] for r in found if r["key"] == "sort-order"), None)

    asked = order()
    assert asked is not None
    day = "timestamp'2026-01-01 00:00:00' as at"
    for sql in (f"select id, {day} from range(9)", f"select 's' as more, {day}, id as id from range(9)"):
        assert guard.publish(model(name, sql)).outcome == "published"
        assert order() == asked
        files: dict[str, list[int]] = {}
        for file, number in iceberg.newSession().sql(f"select _file, id from {name}").collect():
            files.setdefault(file, []).append(number)
        assert all(numbers == sorted(numbers, reverse=True) for numbers in files.values()), files
        assert sum(map(len, files.values())) == 9
    changed = "select 'no day' as at, id from range(3)"
    report = guard.publish(model(name, changed))
    if report.outcome == "failed":
        # Iceberg 1.11.0 binds every order that the table ever had (SerializableTable.sortOrders), for everybody.
        with pytest.raises(Exception, match="Unsupported type: string"):
            iceberg.sql(f"create or replace table {name} using iceberg as {changed}")
        assert "Unsupported type: string" in str(report.error)
        assert order() == asked
        return
    assert report.outcome == "published", report.error
    assert order() in (None, ""), "days of a text are none"
    iceberg.sql(f"alter table {name} write ordered by id")
    assert guard.publish(model(name, "select 1 as other")).outcome == "published"
    assert order() in (None, "")


def test_names_that_files_spell_otherwise(lake: str, guard: Guard, rows: Any) -> None:
    """Iceberg writes `order id` as `order_x20id` into its files; the facts of the footer still find the column."""
    columns = (("order id", "bigint", False), ("a", "struct<`2nd é`:int>", True))
    sql = "select if(id >= 0, id, null) `order id`, named_struct('2nd é', 1) a from range(3)"
    report = guard.publish(model(f"{lake}.odd", sql, *columns))
    assert (report.outcome, report.verdict) == ("published", Verdict.PROVED), report.findings
    assert {p.plane: p.status for p in report.planes}["files"] == "read"


def test_types_that_change_on_the_way(lake: str, guard: Guard) -> None:
    """Iceberg keeps tinyint as int, and no length: the change is said, and texts are counted."""
    sql = "select cast(id as tinyint) t, 'abcdef' as v from range(2)"
    report = guard.publish(model(f"{lake}.t", sql, ("t", "tinyint", True), ("v", "varchar(3)", True)))
    assert report.outcome == "rejected"
    assert {f.field for f in report.of(Verdict.VIOLATED)} == {"v"}
    report = guard.publish(model(f"{lake}.t", sql, ("t", "tinyint", True), ("v", "varchar(6)", True)))
    assert report.outcome == "published", report.findings
    assert any(f.code == "PP403" and f.field == "t" for f in report.of(Verdict.WARNING))
    report = guard.publish(model(f"{lake}.t", "select null as n, interval 1 day as d"))
    assert (report.outcome, codes(report)) == ("rejected", {"PP103"}), report.findings


def test_refused_by_name(lake: str, guard: Guard, iceberg: Any, database: str) -> None:
    iceberg.sql(f"create table {database}.p using parquet as select 1 as id")
    report = guard.publish(model(f"{database}.p", "select 2 as id"))
    assert report.outcome == "failed"
    assert "parquet table, which no Iceberg commit replaces" in (report.error or "")
    iceberg.sql(f"create table {database}.i using iceberg as select 1 as id")
    report = guard.publish(Model(f"{database}.i", "select 2 as id"))
    assert (report.outcome, iceberg.table(f"{database}.i").collect()[0][0]) == ("failed", 1)
    report = guard.publish(model("nowhere.db.t", "select 1 as id"))
    assert "catalog nowhere cannot make such tables" in (report.error or "")


@pytest.mark.parametrize("key", ["spark.wap.branch", "spark.wap.id"])
def test_a_setting_that_leads_rows_elsewhere_is_refused_where_the_table_heeds_it(
    lake: str, guard: Guard, iceberg: Any, key: str
) -> None:
    added = {"materialized": "incremental", "incremental_strategy": "append"}
    iceberg.conf.set(key, "audit")
    try:
        for name, heeds in (("on", "true"), ("off", "false")):
            iceberg.sql(f"create table {lake}.{name} (id int) using iceberg")
            iceberg.sql(f"alter table {lake}.{name} set tblproperties ('write.wap.enabled' = '{heeds}')")
            for how in ({}, added):
                report = guard.publish(model(f"{lake}.{name}", "select 1 as id", **how))
                assert (key in (report.error or "")) == (name == "on"), report.error
                assert report.outcome == ("failed" if name == "on" else "published"), report.error
        asked = {"tblproperties": {"write.wap.enabled": "true"}}
        assert key in str(guard.publish(model(f"{lake}.new", "select 1 as id", options=asked)).error)
        assert guard.publish(model(f"{lake}.plain", "select 1 as id")).outcome == "published"
    finally:
        iceberg.conf.unset(key)
    assert [iceberg.table(f"{lake}.{name}").count() for name in ("on", "off", "plain")] == [0, 2, 1]


_OTHERS = {
    "append": "insert into {t} values (100, 1.0)",
    "update": "update {t} set amount = 9 where id = 1",
    "delete": "delete from {t} where id = 0",
    "column": "alter table {t} add column more int",
    "property": "alter table {t} set tblproperties ('a' = 'b')",
}


@pytest.mark.parametrize("other", sorted(_OTHERS))
def test_another_writer_while_a_table_is_staged(
    lake: str, guard: Guard, iceberg: Any, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its change comes between the staging and the commit: rows and properties are replaced as by the bare statement;
    where columns have changed, the model is staged anew, over what is there then."""
    name = f"{lake}.t"
    first = model(name, "select id, cast(id as decimal(10,2)) amount from range(3)", *_COLUMNS)
    assert guard.publish(first).outcome == "published"
    elsewhere, staged = iceberg.newSession(), []
    write = guard.session.write

    def interrupted(sql: str) -> Any:
        done = write(sql)
        staged.append(sql)
        if len(staged) == 1:
            elsewhere.sql(_OTHERS[other].format(t=name))
        return done

    monkeypatch.setattr(guard.session, "write", interrupted)
    report = guard.publish(first)
    assert (report.outcome, len(staged)) == ("published", 2 if other == "column" else 1), report
    history = iceberg.sql(f"select is_current_ancestor from {name}.history").collect()
    assert len(history) == (2 if other in ("column", "property") else 3), "their commit stays in the table's history"
    assert orphans(iceberg, name) == []


def test_a_writer_who_never_rests(lake: str, guard: Guard, iceberg: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who changes the columns each time has the model staged anew each time, until it gives way."""
    name = f"{lake}.t"
    first = model(name, "select id, cast(id as decimal(10,2)) amount from range(3)", *_COLUMNS)
    guard.publish(first)
    write, other = guard.session.write, iceberg.newSession()
    columns = iter(range(100))

    def interrupted(sql: str) -> Any:
        done = write(sql)
        other.sql(f"alter table {name} add column c{next(columns)} int")
        return done

    monkeypatch.setattr(guard.session, "write", interrupted)
    report = guard.publish(first)
    assert (report.outcome, report.details.transient) == ("failed", True)
    assert "their rows are kept" in (report.error or "")
    assert len(iceberg.newSession().table(name).columns) == 2 + 4
    assert orphans(iceberg, name) == []


@pytest.mark.parametrize("landed", [True, False])
def test_a_commit_of_which_nobody_knows(
    lake: str, guard: Guard, iceberg: Any, landed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection breaks at the commit: the table itself tells what became of it."""
    from planproof.session.iceberg import IcebergTransaction

    name = f"{lake}.t"
    assert guard.publish(model(name, "select id from range(3)")).outcome == "published"
    commit = IcebergTransaction.commit

    def cut(transaction: Any) -> None:
        if landed:
            commit(transaction)
        raise SparkFailure("the connection was lost", outside=True)

    monkeypatch.setattr(IcebergTransaction, "commit", cut)
    report = guard.publish(model(name, "select id from range(5)"))
    assert report.outcome == ("published" if landed else "failed")
    assert iceberg.table(name).count() == (5 if landed else 3)
    # A catalog may still carry out what it was asked for: its files stay where the table does not have them yet.
    assert bool(orphans(iceberg, name)) is not landed
    if not landed:
        for force, code in ((False, "PP609"), (True, "PP602")):
            (said,) = [r for r in Guard(iceberg).recover(force=force) if r.model == name]
            assert [f.code for f in said.findings] == [code], said
        assert orphans(iceberg, name) == []


def test_evidence_of_a_published_table(lake: str, guard: Guard, iceberg: Any) -> None:
    """What was proved of a table holds until somebody else writes it."""
    name = f"{lake}.t"
    assert guard.publish(model(name, "select id from range(3)", ("id", "bigint", False))).outcome == "published"
    reader = model(f"{lake}.u", f"select id from {name}", ("id", "bigint", False))
    assert guard.check(reader).verdict is Verdict.PROVED
    iceberg.newSession().sql(f"alter table {name} alter column id drop not null")
    iceberg.newSession().sql(f"insert into {name} values (null)")
    assert guard.check(reader).verdict is not Verdict.PROVED
    kept = model(f"{lake}.u", f"select id from {name}", ("id", "bigint", False), settings=Settings(keep_rejected=True))
    report = guard.publish(kept)
    assert (report.outcome, report.details.rejected) == ("rejected", None)
    assert "PP611" in {f.code for f in report.of(Verdict.WARNING)}, "keep_rejected is not silently nothing"
    tables = guard.session.transactions()
    assert tables is not None
    folder = Path(str(tables.namespace_location(lake.split("."))).removeprefix("file:"))
    assert [p.name for p in folder.iterdir()] == ["t"], "nothing is left of a table that was not made"
    assert guard.publish(model(f"{lake}.u", "select 1L as id", ("id", "bigint", False))).outcome == "published"


@pytest.mark.parametrize("step", ["before the write", "after the write", "audit", "before the commit", "after it"])
def test_a_process_that_dies(
    lake: str, guard: Guard, iceberg: Any, rows: Any, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table is wholly the old or the new one, nothing keeps the next run out, and recover has nothing to do."""
    from planproof.session.iceberg import IcebergTransaction

    name = f"{lake}.t"
    old = model(name, "select id, 1 as version from range(3)", ("id", "bigint", False), ("version", "int", True))
    assert guard.publish(old).outcome == "published"
    place, call = {
        "before the write": (guard.session, "write"),
        "after the write": (guard.session, "write"),
        "audit": (IcebergTransaction, "files"),
        "before the commit": (IcebergTransaction, "commit"),
        "after it": (IcebergTransaction, "commit"),
    }[step]
    known = getattr(place, call)

    def dies(*given: Any) -> Any:
        if step.startswith("after"):
            known(*given)
        raise Killed

    new = model(name, "select id, 'new' as version from range(5)")
    monkeypatch.setattr(place, call, dies)
    with pytest.raises(Killed):
        guard.publish(new)
    monkeypatch.setattr(place, call, known)
    expected = 5 if step == "after it" else 3
    assert len(rows(name)) == expected
    assert {type(r[1]) for r in rows(name)} == {str if step == "after it" else int}
    again = Guard(iceberg.newSession())
    assert again.publish(old).outcome == "published"
    # The process lives here, so that recovery has to be forced.
    ending = "published" if step == "after it" else "rejected"
    assert [r.outcome for r in again.recover(force=True) if r.model == name] == [ending]
    # Which manifests a write has made is noted when it has ended.
    unnoted = "/metadata/" if step == "after the write" else "/no such folder/"
    assert [file for file in orphans(iceberg, name) if unnoted not in file] == []
    assert [r[1] for r in rows(name)] == [1, 1, 1]


def test_what_a_publish_asks_the_jvm(lake: str, guard: Guard, iceberg: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each question to the JVM takes a tenth of a millisecond; py4j's loops ask sixty at their end."""
    name, asked = f"{lake}.small", list[str]()
    client = iceberg.sparkContext._gateway._gateway_client
    send = client.send_command

    def noted(command: str, *more: Any, **options: Any) -> Any:
        asked.append(command[:1])
        return send(command, *more, **options)

    monkeypatch.setattr(client, "send_command", noted)
    whole = model(name, "select id from range(3)", ("id", "bigint", False))
    added = model(name, "select id from range(3)", ("id", "bigint", False), materialized="incremental")
    numbers = []
    for one in (whole, whole, added, added):
        asked.clear()
        assert guard.publish(one).outcome == "published"
        numbers.append(len(asked) - asked.count("m"))  # Objects that Python has done with go when its collector comes.
    # The first of a kind looks up what stays.
    assert max(numbers[1], numbers[3]) < 340, numbers
