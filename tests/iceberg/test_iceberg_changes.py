"""Incremental models on Iceberg: rows, columns and partitions change in one commit, or nothing does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from planproof import Contract, Guard, Model
from planproof.contract import ContractError
from planproof.publish.data_tests.trial import DataTest, run_tests
from planproof.report.model import Report
from planproof.settings import Settings
from planproof_engine.finding import Verdict

_COLUMNS = [("id", "bigint", False), ("day", "string", True), ("amount", "int", True)]
_FIRST = "select id, concat('d', id % 2) as day, cast(id as int) as amount from range(4)"


@pytest.fixture
def guard(iceberg: Any) -> Guard:
    return Guard(iceberg)


@pytest.fixture
def rows(iceberg: Any) -> Callable[[str], list[tuple[Any, ...]]]:
    return lambda name: sorted((tuple(r) for r in iceberg.newSession().sql(f"select * from {name}").collect()), key=str)


def model(name: str, sql: str, strategy: str = "append", columns: Any = _COLUMNS, **more: Any) -> Model:
    contract = Contract(columns, more.pop("constraints", ())) if columns else None
    return Model(
        name,
        sql,
        contract=contract,
        file_format="iceberg",
        materialized="incremental",
        incremental_strategy=strategy,
        **more,
    )


def violated(report: Report) -> set[str]:
    return {f.code for f in report.of(Verdict.VIOLATED)}


def snapshot(guard: Guard, name: str) -> str:
    return str(guard.session.registered_table(name).properties["current-snapshot-id"])


def test_append(place: str, guard: Guard, rows: Any) -> None:
    name = f"{place}.t"
    unique = [{"kind": "unique", "columns": ["id"]}, {"kind": "check", "expression": "amount < 100"}]
    assert guard.publish(model(name, _FIRST, constraints=unique)).strategy == "replace"
    more = "select 9L as id, 'd9' as day, 9 as amount"
    report = guard.publish(model(name, more, constraints=unique))
    assert (report.outcome, report.strategy, report.rows) == ("published", "change", 1), report.findings
    assert [r[0] for r in rows(name)] == [0, 1, 2, 3, 9]
    before = snapshot(guard, name)
    for broken, code in (
        ("select 9L as id, 'd' as day, 1 as amount", "PP507"),  # in the table already
        ("select 10L as id, 'd' as day, 100 as amount", "PP507"),
        ("select if(rand() < 2, null, 1L) as id, 'd' as day, 1 as amount", "PP505"),
    ):
        report = guard.publish(model(name, broken, constraints=unique))
        assert (report.outcome, violated(report)) == ("rejected", {code}), report.findings
    assert snapshot(guard, name) == before


def test_types_that_iceberg_keeps_otherwise(lake: str, guard: Guard) -> None:
    """A second run of a model with small integers and lengths is as healthy as the first."""
    columns = [("t", "tinyint", True), ("s", "struct<a:smallint>", True), ("v", "varchar(3)", True)]
    sql = "select cast(id as tinyint) t, named_struct('a', cast(1 as smallint)) s, 'abc' as v from range(2)"
    for _ in range(2):
        run = model(f"{lake}.t", sql, columns=columns, options={"on_schema_change": "fail"})
        assert guard.publish(run).outcome == "published"


def test_overwrite(lake: str, guard: Guard, rows: Any, iceberg: Any) -> None:
    name = f"{lake}.t"
    first = model(name, _FIRST, "insert_overwrite", partition_by=["day"])
    assert guard.publish(first).outcome == "published"
    report = guard.publish(
        model(name, "select 7L as id, 'd1' as day, 7 as amount", "insert_overwrite", partition_by=["day"])
    )
    assert report.outcome == "published", report.findings
    assert [r[:2] for r in rows(name)] == [(0, "d0"), (2, "d0"), (7, "d1")]
    assert iceberg.conf.get("spark.sql.sources.partitionOverwriteMode").upper() == "STATIC"
    # Where the model names no partitions, the session says what is replaced.
    assert (
        guard.publish(model(name, "select 8L as id, 'd1' as day, 8 as amount", "insert_overwrite")).outcome
        == "published"
    )
    assert [r[0] for r in rows(name)] == [8]


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_merge(lake: str, guard: Guard, rows: Any, iceberg: Any, mode: str) -> None:
    name = f"{lake}.t"
    properties = {f"write.{verb}.mode": mode for verb in ("merge", "update", "delete")}
    first = model(name, _FIRST, "merge", options={"unique_key": "id", "tblproperties": properties})
    assert guard.publish(first).outcome == "published"
    delta = "select id, 'new' as day, cast(id * 10 as int) as amount from range(3, 6)"
    report = guard.publish(model(name, delta, "merge", options={"unique_key": ["id"]}))
    assert report.outcome == "published", report.findings
    assert rows(name)[3:] == [(3, "new", 30), (4, "new", 40), (5, "new", 50)]
    before = snapshot(guard, name)
    broken = "select if(id > 3, id, null) as id, 'new' as day, 1 as amount from range(3, 6)"
    report = guard.publish(model(name, broken, "merge", options={"unique_key": "id"}))
    assert (report.outcome, violated(report)) == ("rejected", {"PP505"}), report.findings
    assert snapshot(guard, name) == before
    # An old row that breaks a newer contract is none of the delta's.
    iceberg.sql(f"alter table {name} alter column id drop not null")
    iceberg.sql(f"insert into {name} values (null, 'old', 0)")
    report = guard.publish(model(name, delta, "merge", options={"unique_key": "id"}))
    assert report.outcome == "published", report.findings
    clauses = "ON DBT_INTERNAL_SOURCE.id = DBT_INTERNAL_DEST.id WHEN MATCHED THEN DELETE"
    assert guard.publish(model(name, delta, "merge", options={"merge": clauses})).outcome == "published"
    assert len(rows(name)) == 4
    with pytest.raises(ContractError, match="cannot be merged into"):
        Model(name, delta, materialized="incremental", incremental_strategy="merge")


def test_new_columns_come_with_the_rows(lake: str, guard: Guard, iceberg: Any) -> None:
    name = f"{lake}.t"
    options = {"on_schema_change": "append_new_columns"}
    assert guard.publish(model(name, _FIRST, options=options)).outcome == "published"
    wide = "select 5L as id, 'd' as day, 5 as amount, named_struct('x', {x}) as extra"
    columns = [*_COLUMNS, ("extra", "struct<x:int>", False)]
    before = snapshot(guard, name)
    failing = guard.publish(
        model(name, wide.format(x="cast(raise_error('no') as int)"), columns=columns, options=options)
    )
    assert failing.outcome == "failed"
    null = "select 5L as id, 'd' as day, 5 as amount, if(rand() < 2, null, named_struct('x', 1)) as extra"
    assert guard.publish(model(name, null, columns=columns, options=options)).outcome == "rejected"
    assert (iceberg.table(name).columns, snapshot(guard, name)) == (["id", "day", "amount"], before)
    report = guard.publish(model(name, wide.format(x=1), columns=columns, options=options))
    assert report.outcome == "published", report.findings
    assert iceberg.table(name).columns == ["id", "day", "amount", "extra"]
    assert iceberg.table(name).where("extra is not null").count() == 1
    refused = guard.publish(model(name, "select 'x' as id", columns=None, options={"on_schema_change": "fail"}))
    assert (refused.outcome, "PP606" in violated(refused)) == ("rejected", True)


@pytest.mark.parametrize("strategy", ["append", "insert_overwrite", "merge"])
def test_data_tests_are_asked_of_the_table_as_it_will_be(lake: str, guard: Guard, strategy: str) -> None:
    """Before the commit: the rows that stay are in it, too, and one that fails keeps the commit out."""
    name = f"{lake}.t"
    twice = DataTest("unique_id", f"select id from {name} group by id having count(*) > 1", column="id")
    more = {"partition_by": ["day"], "options": {"unique_key": "id"}}
    first = guard.publish(model(name, _FIRST, strategy, **more), tests=run_tests([twice]))
    assert [(t.name, t.status) for t in first.details.tests] == [("unique_id", "pass")], first.findings
    before = snapshot(guard, name)
    # Both rows are new to the table; one of them by an id that stands in another partition.
    delta = "select * from values (0L, 'd1', 7), (9L, 'd1', 7), (9L, 'd1', 8) as v(id, day, amount)"
    report = guard.publish(model(name, delta, strategy, **more), tests=run_tests([twice]))
    assert (report.outcome, violated(report)) == ("rejected", {"PP513"}), report.findings
    assert report.details.tests[0].failures == (1 if strategy == "merge" else 2)
    assert snapshot(guard, name) == before


_OTHERS = {
    "append": "insert into {t} values (100, 'd', 1)",
    "update": "update {t} set amount = 9 where id = 1",
    "delete": "delete from {t} where id = 0",
    "column": "alter table {t} add column more int",
}


@pytest.mark.parametrize(("other", "expected"), [("append", 6), ("update", 5), ("delete", 4), ("column", 5)])
def test_another_writer_while_rows_are_staged(
    lake: str, guard: Guard, rows: Any, iceberg: Any, other: str, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both writers' rows are there: the delta is put on top of the table that the other one left."""
    name = f"{lake}.t"
    assert guard.publish(model(name, _FIRST)).outcome == "published"
    elsewhere, staged = iceberg.newSession(), []
    write = guard.session.write

    def interrupted(sql: str) -> Any:
        done = write(sql)
        staged.append(sql)
        if len(staged) == 1:
            elsewhere.sql(_OTHERS[other].format(t=name))
        return done

    monkeypatch.setattr(guard.session, "write", interrupted)
    report = guard.publish(model(name, "select 9L as id, 'd9' as day, 9 as amount", columns=None))
    held = iceberg.newSession().table(name)
    if other == "column":  # The model was compiled without it, which is not the model's fault: compile and try again.
        assert (report.outcome, held.count(), report.details.transient) == ("failed", 4, True), report.findings
        return
    assert (report.outcome, len(staged)) == ("published", 1), report
    assert held.count() == expected
    assert held.where("id = 9").count() == 1
    if other == "update":
        assert held.where("id = 1").collect()[0]["amount"] == 9


@pytest.mark.parametrize("kind", ["table", "incremental"])
def test_another_writer_before_a_table_that_reads_itself_is_staged(
    place: str, guard: Guard, rows: Any, iceberg: Any, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The session has looked at the table already, and its catalog remembers what it saw."""
    name, tables, elsewhere = f"{place}.t", guard.session.transactions(), iceberg.newSession()
    assert guard.publish(model(name, _FIRST)).outcome == "published"
    opens, opened = ("replace" if kind == "table" else "change"), []
    plain = getattr(tables, opens)

    def late(*given: Any) -> Any:
        if not opened:
            elsewhere.sql(f"insert into {name} values (100, 'd0', 1)")
        opened.append(given)
        return plain(*given)

    monkeypatch.setattr(tables, opens, late)
    own = model(name, f"select id, day, amount from {name} where id >= 0", "insert_overwrite")
    report = guard.publish(own, full_refresh=kind == "table")
    assert report.outcome == "published", report
    assert [r[0] for r in rows(name)] == [0, 1, 100, 2, 3]


def flags(iceberg: Any, name: str) -> list[bool]:
    iceberg.catalog.refreshTable(name)
    return [f.nullable for f in iceberg.table(name).schema]


def test_proved_not_null_is_the_tables_own(place: str, guard: Guard, rows: Any, iceberg: Any) -> None:
    """It is committed with the rows that prove it; a change's nulls are told by the audit, not by a failing write."""
    name = f"{place}.t"
    assert guard.publish(model(name, _FIRST)).strategy == "replace"
    assert flags(iceberg, name) == [False, True, True]
    before = snapshot(guard, name)
    nulls = "select if(id = 7, id, null) as id, 'd' as day, cast(id as int) as amount from range(7, 9)"
    for strategy in ("append", "insert_overwrite", "merge"):
        report = guard.publish(model(name, nulls, strategy, options={"unique_key": "amount"}))
        assert (report.outcome, violated(report)) == ("rejected", {"PP505"}), report
        assert (snapshot(guard, name), flags(iceberg, name)) == (before, [False, True, True])
    healthy = "select 7L as id, 'd' as day, 1 as amount"
    for strategy in ("append", "merge", "insert_overwrite"):
        report = guard.publish(model(name, healthy, strategy, options={"unique_key": "id"}))
        assert report.outcome == "published", report.findings
        assert flags(iceberg, name) == [False, True, True], strategy

    # A clause may write what its source does not hold.
    clause = "on DBT_INTERNAL_SOURCE.id = DBT_INTERNAL_DEST.id when matched then update set id = null"
    report = guard.publish(model(name, healthy, "merge", options={"merge": clause}))
    assert report.outcome == "failed"
    assert "says NOT NULL of id in its own schema" in str(report.error)
    assert flags(iceberg, name) == [False, True, True]
    assert rows(name) == [(7, "d", 1)]

    # A promise that is taken back goes with the rows that need it so.
    bare = [("id", "bigint", True), *_COLUMNS[1:]]
    assert guard.publish(model(name, nulls, columns=bare)).outcome == "published"
    assert flags(iceberg, name) == [True, True, True]
    assert guard.publish(model(name, _FIRST), full_refresh=True).outcome == "published"
    assert flags(iceberg, name) == [False, True, True]
    assert guard.publish(model(name, nulls, columns=None), full_refresh=True).outcome == "published"
    assert flags(iceberg, name) == [True, True, True]


def test_not_null_of_the_table_and_those_who_come_after(lake: str, guard: Guard, rows: Any, iceberg: Any) -> None:
    name = f"{lake}.t"
    assert guard.publish(model(name, _FIRST)).outcome == "published"
    assert iceberg.sql(f"show tblproperties {name} ('planproof-not-null')").first()[1] == '["id"]'
    # Another writer's rows come in as ever, but for a null, at which that writer fails; no row is lost.
    iceberg.sql(f"insert into {name} select if(rand() < 2, 9L, null), 'd', 1")
    with pytest.raises(Exception, match=r"NOT_NULL_ASSERT_VIOLATION|[Nn]ull"):
        iceberg.sql(f"insert into {name} select if(rand() < 2, null, 9L), 'd', 1")
    assert [r[0] for r in rows(name)] == [0, 1, 2, 3, 9]
    audited = guard.audit(name, Contract(_COLUMNS))
    assert audited.verdict == "proved", audited.findings
    # A column that the settings let be null is nullable again.
    nulls = "select if(rand() < 2, null, 1L) as id, 'd' as day, 1 as amount"
    allowed = guard.publish(model(name, nulls, settings=Settings(allow=("PP505",))))
    assert (allowed.outcome, flags(iceberg, name)) == ("published", [True, True, True]), allowed


def test_not_null_that_others_have_set_stays(lake: str, guard: Guard, rows: Any, iceberg: Any) -> None:
    name = f"{lake}.t"
    iceberg.sql(f"create table {name} (id bigint not null, day string not null, amount int) using iceberg")
    healthy = "select 7L as id, 'd' as day, 1 as amount"
    for settings in (Settings(), Settings(enforce=("types",))):
        assert guard.publish(model(name, healthy, settings=settings)).outcome == "published"
        assert flags(iceberg, name) == [False, False, True]
    nulls = "select if(rand() < 2, null, 1L) as id, 'd' as day, 1 as amount"
    report = guard.publish(model(name, nulls, settings=Settings(allow=("PP505",))))
    assert (report.outcome, len(rows(name))) == ("failed", 2)
    assert "DROP NOT NULL" in str(report.error)


def test_identifier_fields_stay_not_null(lake: str, guard: Guard, rows: Any, iceberg: Any) -> None:
    """Iceberg makes none of them nullable, so that a null in one fails the write itself."""
    name, columns = f"{lake}.t", [("id", "int", False), ("s", "struct<a:int not null>", False), ("n", "int", False)]
    iceberg.sql(f"create table {name} (id int not null, s struct<a:int not null> not null, n int) using iceberg")
    iceberg.sql(f"alter table {name} set identifier fields id, s.a")
    sql = "select {id} as id, named_struct('a', {a}) as s, {n} as n"
    for number, strategy in enumerate(("append", "merge", "insert_overwrite")):
        healthy = sql.format(id=number, a=1, n=2)
        report = guard.publish(model(name, healthy, strategy, columns, options={"unique_key": "id"}))
        assert report.outcome == "published", (strategy, report.error, report.findings)
        assert flags(iceberg, name) == [False, False, True]
    before, null = snapshot(guard, name), "if(length(uuid()) > 1, null, 1)"
    for id, a, field in ((null, 1, "id"), (1, null, "s.a")):
        for strategy in ("append", "insert_overwrite"):
            report = guard.publish(model(name, sql.format(id=id, a=a, n=2), strategy, columns))
            (found,) = report.of(Verdict.VIOLATED)
            assert (report.outcome, found.code, found.field) == ("rejected", "PP505", field), report
    source = "select cast(nullif(id, 7) as int) as id, named_struct('a', 1) as s, 2 as n from range(6, 8)"
    report = guard.publish(model(name, source, "merge", columns, options={"unique_key": "id"}))
    assert (report.outcome, violated(report)) == ("rejected", {"PP505"}), report
    # Of other columns nulls are counted, as ever; and what the contract does not promise is the table's own to refuse.
    report = guard.publish(model(name, sql.format(id=5, a=1, n=null), "append", columns))
    assert (report.outcome, violated(report)) == ("rejected", {"PP505"}), report
    report = guard.publish(model(name, sql.format(id=null, a=1, n=2), columns=[("id", "int", True), *columns[1:]]))
    assert report.outcome == "failed", report
    assert "first DROP IDENTIFIER FIELDS, then ALTER TABLE" in str(report.error)
    assert snapshot(guard, name) == before
    assert guard.session.registered_table(name).properties["identifier-fields"] in ("[id,s.a]", "[s.a,id]")
    assert rows(name) == [(2, (1,), 2)]


def test_rows_of_many_files_are_told_from_older_ones(
    lake: str, guard: Guard, iceberg: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the table places its files by hashes."""
    monkeypatch.setattr("planproof.publish.iceberg.publication.LISTED", 2)
    for placed in ("true", "false"):
        name = f"{lake}.t_{placed}"
        iceberg.sql(
            f"create table {name} (id bigint, day string, amount int) using iceberg "
            f"tblproperties ('write.object-storage.enabled'='{placed}', 'write.format.default'='avro')"
        )
        iceberg.sql(f"insert into {name} values (null, 'old', 1)")
        many = "select /*+ repartition(5) */ nullif(id, -1) as id, 'd' as day, 2 as amount from range(20)"
        report = guard.publish(model(name, many))
        assert report.outcome == "published", (placed, report.findings)
        assert iceberg.sql(f"select 1 from {name}.files").count() == 6
        report = guard.publish(model(name, many.replace("-1", "19")))
        assert [f.found for f in report.of(Verdict.VIOLATED)] == ["1 null"], (placed, report.findings)


def test_the_files_of_a_publish_are_found_under_its_folder(place: str, guard: Guard, iceberg: Any) -> None:
    """A recovery deletes what no snapshot names: were these files not found, it would delete rows of the table. The
    catalogs say file:///, and Iceberg names files by file:/."""
    name, tables = f"{place}.t", guard.session.transactions()
    iceberg.sql(f"create table {name} (id bigint) using iceberg")
    change = tables.change(name)
    folder = change.place_files("planproof_one")
    guard.session.write(f"insert into {change.staged} values (1)")
    assert tables.has_files_in(name, folder, ()) is False
    change.commit()
    change.close()
    assert tables.has_files_in(name, folder, ()) is True
    assert tables.has_files_in(name, f"{folder}_2", ()) is False


@pytest.mark.parametrize(
    "properties",
    [
        {"planproof-not-null": "off"},
        {"write.metadata.metrics.default": "none"},
        {"write.format.default": "avro"},
    ],
)
def test_not_null_stays_out_of_a_table(lake: str, guard: Guard, iceberg: Any, properties: dict[str, str]) -> None:
    """Where its owner says so, and where manifests count no null: an audit could not tell of any afterwards."""
    name = f"{lake}.t"
    report = guard.publish(model(name, _FIRST, options={"tblproperties": properties}))
    assert (report.outcome, flags(iceberg, name)) == ("published", [True, True, True]), report.findings
    assert guard.publish(model(name, "select 9L as id, 'd' as day, 1 as amount")).outcome == "published"
    assert guard.audit(name, Contract(_COLUMNS)).verdict == "proved"
