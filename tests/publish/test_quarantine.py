"""Rows that break a term are quarantined and the others are published: counts, limits, keys, retention, and kills."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from bad_rows import BAD, CONTRACT, GOOD, QUARANTINED
from pyspark.errors import AnalysisException

from planproof import Contract, Guard, Model, Report
from planproof.arrow.footers import Undecodable
from planproof.publish.kernel import Publish
from planproof.publish.swaps import quarantine
from planproof.publish.transaction.places import database_root
from planproof.quarantine import Quarantine
from planproof.session.protocol import SparkFailure
from planproof.settings import Settings, SettingsError

DELTA = {"materialized": "incremental"}


class Shop:
    def __init__(self, spark: Any, session: Any, database: str) -> None:
        self.spark, self.session, self.database, self.t = spark, session, database, f"{database}.t"
        self.root = database_root(session, (database,)).removeprefix("file:")

    def model(self, sql: str, limits: Any = None, settings: Any = None, **more: Any) -> Model:
        given = {"on_violation": "quarantine", **({"quarantine": limits} if limits else {}), **(settings or {})}
        return Model(self.t, sql, **{"contract": CONTRACT, **more}, settings=Settings.of(given))

    def publish(self, sql: str, *given: Any, **more: Any) -> Report:
        return Guard(self.session).publish(self.model(sql, *given, **more))

    def rows(self, table: str = "t", columns: str = "*") -> list[tuple[Any, ...]] | None:
        if not self.spark.catalog.tableExists(f"{self.database}.{table}"):
            return None
        found = self.spark.newSession().sql(f"select {columns} from {self.database}.{table}").collect()
        return sorted((tuple(tuple(v) if isinstance(v, list) else v for v in row) for row in found), key=str)

    def quarantined(self, columns: str = "id, v, code, quarantine_terms") -> list[tuple[Any, ...]] | None:
        return self.rows("t__quarantine", columns)

    def leftovers(self) -> list[str]:
        tables = {r[1] for r in self.spark.sql(f"show tables in {self.database}").collect()} - {"t", "t__quarantine"}
        folder = Path(self.root)
        held = [str(p) for p in folder.glob(".planproof/*/*.json")]
        # What the catalog does not know of is no part of the quarantine.
        shown = (
            []
            if self.rows("t__quarantine") is None
            else self.spark.sql(f"show partitions {self.t}__quarantine").collect()
        )
        known = {row[0] for row in shown}
        places = {str(p.relative_to(folder / "t__quarantine")) for p in folder.glob("t__quarantine/*/*")}
        return [*tables, *held, *(p.name for p in folder.glob("__planproof_*")), *(places - known)]


@pytest.fixture
def shop(spark: Any, session: Any, database: str) -> Shop:
    return Shop(spark, session, database)


def codes(report: Report, verdict: str) -> list[str]:
    return sorted({f.code for f in report.findings if f.verdict.value == verdict})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (3, "x.quarantine: 3 is not a mapping of limit, keep"),
        ({"limits": 3}, "x.quarantine: unknown key 'limits'; known: limit, keep"),
        ({"limit": "101%"}, "x.quarantine.limit: '101%' is neither a share such as 1% nor a number of rows"),
        ({"limit": -1}, "x.quarantine.limit: -1 is neither"),
        ({"keep": 30}, "x.quarantine.keep: 30 is not a number of days such as 30d"),
        ({"keep": "0d"}, "x.quarantine.keep: '0d' is not"),
    ],
)
def test_what_cannot_be_read_is_refused(given: object, said: str) -> None:
    with pytest.raises(SettingsError, match=f"^{said}"):
        Settings.of({"quarantine": given}, "x")


def test_what_it_says_is_what_it_means() -> None:
    assert Settings.of({"quarantine": {"limit": "2.5%", "keep": "7d"}}).quarantine == Quarantine(None, 2.5, 7)
    assert Settings.of({"quarantine": {"limit": 0}}).quarantine.has_room_for(0, 1)
    assert not Settings.of({"quarantine": {"limit": 0}}).quarantine.has_room_for(1, 9)
    assert not Settings().quarantine


def test_bad_rows_are_quarantined_and_the_others_are_published(shop: Shop) -> None:
    report = shop.publish(BAD)
    assert (report.outcome, codes(report, "violated")) == ("published", []), (report.error, report.findings)
    assert shop.rows() == [(1, 1, "a")]
    assert shop.quarantined() == QUARANTINED
    found = report.details.quarantine
    assert found is not None
    assert (found.table, found.rows, found.of) == (f"{shop.t}__quarantine", 4, 5)
    assert found.terms == {"not_null(id)": 1, "check(v >= 0)": 2, "one_id: unique(id)": 2}
    assert {row[0] for row in shop.quarantined("quarantine_run") or ()} == {found.run}
    assert report.verdict.value == "proved"
    said = [f.message for f in report.findings if f.code == "PP514"]
    assert len(said) == 3
    assert said[0].startswith(f"not_null(id): 1 row of 5 quarantined in {shop.t}__quarantine (quarantine_run = '")
    assert (report.rows, Report.from_json(report.to_json()).details.quarantine) == (1, found)
    assert shop.leftovers() == []
    # The next run adds what it quarantines; one without bad rows adds nothing, and stages once.
    assert shop.publish(BAD).outcome == "published"
    assert len(shop.quarantined() or ()) == 8
    healthy = shop.publish(GOOD)
    assert (healthy.outcome, healthy.details.quarantine, codes(healthy, "warning")) == ("published", None, [])
    assert (len(shop.quarantined() or ()), shop.leftovers()) == (8, [])


@pytest.mark.parametrize("at", ["stage", "audit", "commit"])
def test_what_stops_a_quarantine_from_outside_is_no_violation(
    shop: Shop, at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its rows were to be quarantined: who runs it again publishes the others. Airflow tries no violation again."""
    assert shop.publish(GOOD).outcome == "published"
    held, plain = shop.rows(), getattr(Publish, f"_{at}")

    def fail(self: Any) -> Any:
        if self.job.after_quarantine:
            raise SparkFailure("the metastore does not answer", outside=True)
        return plain(self)

    with monkeypatch.context() as patch:
        patch.setattr(Publish, f"_{at}", fail)
        report = shop.publish(BAD)
    assert (report.outcome, report.details.transient, codes(report, "violated")) == ("failed", True, []), (
        report.findings
    )
    assert "PP505" in codes(report, "warning")
    assert (shop.rows(), shop.quarantined() or []) == (held, [])
    assert shop.publish(BAD).outcome == "published"
    assert shop.quarantined() == QUARANTINED


def test_without_the_setting_nothing_is_published(shop: Shop) -> None:
    assert shop.publish(GOOD, settings={"on_violation": "stop"}).outcome == "published"
    report = shop.publish(BAD, settings={"on_violation": "stop"})
    assert (report.outcome, shop.rows(), shop.quarantined()) == ("rejected", [(1, 1, "a"), (2, None, "b")], None)


@pytest.mark.parametrize(
    ("quarantine", "said"),
    [
        ({"limit": 3}, "4 of 5 rows break a term, and quarantine.limit is at most 3 rows"),
        pytest.param(
            {"limit": "79%"},
            "4 of 5 rows break a term, and quarantine.limit is at most 79 % of the rows",
            marks=pytest.mark.conformance,
        ),
    ],
)
def test_above_the_limit_nothing_is_published(shop: Shop, quarantine: Any, said: str) -> None:
    report = shop.publish(BAD, quarantine)
    assert (report.outcome, "PP515" in codes(report, "violated")) == ("rejected", True)
    assert f"no row was quarantined, and nothing is published: {said}" in [f.message for f in report.findings]
    assert (shop.rows(), shop.quarantined() or [], shop.leftovers()) == (None, [], [])
    assert shop.publish(BAD, {"limit": "80%"}).outcome == "published"


def test_not_all_rows_are_quarantined(shop: Shop) -> None:
    report = shop.publish("select cast(null as int) as id, 1 as v, 'a' as code")
    assert (report.outcome, shop.rows(), shop.quarantined() or []) == ("rejected", None, [])
    assert any("no row would be left" in f.message for f in report.findings)


@pytest.mark.conformance
def test_what_no_row_breaks_stops_the_publish(shop: Shop) -> None:
    """A limit of the table and a term of its columns are no row's; what is quarantined is not, either, then."""
    typed = shop.publish(
        BAD.replace("'a'", "7").replace("'b'", "7").replace("'c'", "7").replace("'d'", "7").replace("'e'", "7")
    )
    assert (typed.outcome, "PP504" in codes(typed, "violated"), shop.quarantined()) == ("rejected", True, None)
    few = shop.publish(BAD, settings={"limits": {"rows": {"min": 2}}})
    assert (few.outcome, codes(few, "violated")) == ("rejected", ["PP505", "PP510"]), few.findings
    assert (shop.rows(), shop.quarantined() or [], few.details.quarantine, shop.leftovers()) == (None, [], None, [])
    strict = shop.publish(BAD, settings={"fail_on": "warning"})
    assert (strict.outcome, shop.rows(), shop.quarantined() or [], shop.leftovers()) == ("rejected", None, [], [])
    kept = shop.publish(BAD, settings={"fail_on": "warning", "keep_rejected": True})
    assert len(shop.spark.table(kept.details.rejected).collect()) == 5


def test_deltas_and_the_keys_that_stay(shop: Shop) -> None:
    """A key that is published already sends the new row aside; the stored one stays."""
    assert shop.publish(GOOD, **DELTA).outcome == "published"
    sql = "select * from values (1, 5, 'x'), (6, 6, 'f'), (null, 7, 'g') as t(id, v, code)"
    report = shop.publish(sql, **DELTA)
    assert report.outcome == "published", report.findings
    assert shop.rows() == [(1, 1, "a"), (2, None, "b"), (6, 6, "f")]
    assert shop.quarantined() == [(1, 5, "x", ("one_id: unique(id)",)), (None, 7, "g", ("not_null(id)",))]
    shop.spark.sql(f"insert into {shop.t} values (2, 0, 'twice')")
    broken = shop.publish("select * from values (7, 7, 'h'), (null, 7, 'g') as t(id, v, code)", **DELTA)
    assert (broken.outcome, len(shop.quarantined() or ())) == ("rejected", 2), "what stands there breaks the key"


@pytest.mark.conformance
def test_partitions_and_a_column_that_comes_later(shop: Shop) -> None:
    parts = {"partition_by": ["code"], **DELTA, "incremental_strategy": "insert_overwrite"}
    assert shop.publish(GOOD, **parts).outcome == "published"
    assert (
        shop.publish(
            "select * from values (5, 5, 'a'), (null, 6, 'a'), (null, 7, 'b') as t(id, v, code)", **parts
        ).outcome
        == "published"
    )
    # A partition of which every row is bad keeps what it held.
    assert shop.rows(columns="id, v, code") == [(2, None, "b"), (5, 5, "a")]
    assert shop.quarantined("id, v, code") == [(None, 6, "a"), (None, 7, "b")]
    wide = Contract([*((f.name, f.type, f.nullable) for f in CONTRACT.schema), ("n", "bigint", True)])
    sql = "select *, 9L as n from values (8, 8, 'h'), (null, 7, 'b') as t(id, v, code)"
    assert shop.publish(sql, contract=wide).outcome == "published"
    assert shop.quarantined("id, code, n") == [(None, "a", None), (None, "b", 9), (None, "b", None)]
    retyped = Contract([("id", "int", False), ("v", "string", True), ("code", "string", True)])
    report = shop.publish("select * from values (8, '8', 'h'), (null, '7', 'b') as t(id, v, code)", contract=retyped)
    assert report.outcome == "rejected"
    assert any("has v as int, the model gives string; rename or drop it" in f.message for f in report.findings)


@pytest.mark.conformance
def test_a_table_of_that_name_stays(shop: Shop) -> None:
    shop.spark.sql(f"create table {shop.t}__quarantine using parquet as select 7 as mine")
    report = shop.publish(BAD)
    assert (report.outcome, shop.rows(), shop.rows("t__quarantine")) == ("rejected", None, [(7,)])
    assert any("exists and is no quarantine; rename it" in f.message for f in report.findings)


def test_old_rows_are_dropped(shop: Shop) -> None:
    assert shop.publish(BAD).outcome == "published"
    place = Path(shop.root) / "t__quarantine"
    old = (datetime.now(timezone.utc) - timedelta(days=9)).date().isoformat()
    shop.spark.sql(
        f"insert into {shop.t}__quarantine (id, quarantine_date, quarantine_run) values (99, date'{old}', 'r_1')"
    )
    assert len(shop.quarantined() or ()) == 5
    assert shop.publish(GOOD, {"keep": "10d"}).outcome == "published"
    assert len(shop.quarantined() or ()) == 5
    assert shop.publish(GOOD, {"keep": "8d"}).outcome == "published"
    assert (shop.quarantined(), list(place.glob(f"*={old}/*"))) == (QUARANTINED, [])


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"materialized": "view"}, "a view stores no rows. Set `on_violation: stop` on "),
        (
            {"file_format": "iceberg", **DELTA, "incremental_strategy": "merge"},
            "with merge rows are not told apart before they are stored",
        ),
        ({"file_format": "orc"}, "it is stored as orc"),
    ],
)
def test_where_it_cannot_be_kept_it_is_refused(shop: Shop, more: dict[str, Any], said: str) -> None:
    report = shop.publish(GOOD, **more)
    assert (report.outcome, shop.rows()) == ("failed", None)
    assert said in (report.error or "")


def test_a_check_that_never_says_the_same_publishes_nothing(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    dice = Contract([("id", "int", False)], [{"kind": "check", "expression": "rand() < 0.5"}])
    report = shop.publish("select cast(id as int) as id from range(2000)", contract=dice)
    assert (report.outcome, shop.rows(), shop.quarantined() or [], shop.leftovers()) == ("rejected", None, [], [])
    monkeypatch.setattr(quarantine, "_count_rows_below", lambda *_: 3)
    report = shop.publish(BAD)
    assert (report.outcome, shop.rows(), shop.quarantined("id"), shop.leftovers()) == ("failed", None, [], [])
    assert "of 5 staged rows 1 keep the contract and 3 do not" in (report.error or "")
    assert (codes(report, "violated"), report.details.quarantine) == (["PP505"], None)


@pytest.mark.conformance
def test_rows_whose_footers_nobody_reads_are_counted(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    def undecodable(*_: Any, **__: Any) -> Any:
        raise Undecodable("footers of a later writer")

    monkeypatch.setattr(quarantine.files, "read", undecodable)
    report = shop.publish(BAD)
    assert (report.outcome, shop.rows(), shop.quarantined(), shop.leftovers()) == (
        "published",
        [(1, 1, "a")],
        QUARANTINED,
        [],
    )
    counts = iter((4, 2))
    monkeypatch.setattr(quarantine, "_count_rows", lambda *_: next(counts))
    report = shop.publish(BAD)
    assert (report.outcome, shop.rows(), shop.quarantined(), shop.leftovers()) == (
        "failed",
        [(1, 1, "a")],
        QUARANTINED,
        [],
    )
    assert "of 5 staged rows 2 keep the contract and 4 do not" in (report.error or "")


CASES: dict[str, tuple[str | None, dict[str, Any], list[Any], list[Any]]] = {
    "changed": ("select 7 as id", {}, [(7,)], [(1, 1, "a")]),
    "same": (GOOD, {}, [(1, 1, "a"), (2, None, "b")], [(1, 1, "a")]),
    "append": ("select 9 as id, 9 as v, 'z' as code", DELTA, [(9, 9, "z")], [(1, 1, "a"), (9, 9, "z")]),
    "partitions": (
        "select 9 as id, 9 as v, 'z' as code",
        {**DELTA, "partition_by": ["code"], "incremental_strategy": "insert_overwrite"},
        [(9, 9, "z")],
        [(1, 1, "a"), (9, 9, "z")],
    ),
}
SLOW = pytest.mark.conformance


@pytest.mark.parametrize(("name", "every"), [("same", 15), *(pytest.param(name, 1, marks=SLOW) for name in CASES)])
def test_a_publish_that_dies_anywhere_quarantines_rows_once_or_not_at_all(
    name: str, every: int, shop: Shop, dying: Any, killed: Any
) -> None:
    """At each `every`th of the calls that change something: the kill of a healthy publish has a test of its own."""
    before, more, old, new = CASES[name]
    at = every - 1
    outcomes: list[bool] = []
    fresh = True
    while True:
        if fresh:
            for table in ("t", "t__quarantine"):
                shop.spark.sql(f"drop table if exists {shop.database}.{table}")
            parts = f"partitioned by ({more['partition_by'][0]})" if "partition_by" in more else ""
            shop.spark.sql(f"create table {shop.t} using parquet {parts} as {before}")
        frail, _ = dying(at)
        try:
            report = Guard(frail).publish(shop.model(BAD, **more))
        except killed:
            pass
        else:
            assert report.outcome == "published"
            break
        reports = [r.outcome for r in Guard(shop.session, root=shop.root).recover()]
        assert "failed" not in reports, f"died at call {at}"
        rows, quarantined = shop.rows(), shop.quarantined() or []
        assert (rows, quarantined) in ((old, []), (new, QUARANTINED)), f"died at call {at}: {rows}, {quarantined}"
        assert shop.leftovers() == [], f"died at call {at}"
        outcomes.append(rows == new)
        fresh = rows == new
        at += every
    assert at >= 12
    assert {True, False} == set(outcomes)


def renames_timestamps(shop: Shop) -> bool:
    """Whether a table can be renamed while TIMESTAMP means one without a zone. Spark 3.5 and 4.0 read the types of
    Hive's table as such, and Hive knows no `timestamp_ntz`."""
    made, renamed = f"{shop.database}.made", f"{shop.database}.renamed"
    with shop.session.change_settings({"spark.sql.timestampType": "TIMESTAMP_NTZ"}):
        shop.spark.sql(f"create table {made} (at timestamp_ltz) using parquet")
        try:
            shop.spark.sql(f"alter table {made} rename to {renamed}")
        except AnalysisException:
            renamed = made
        shop.spark.sql(f"drop table {renamed}")
    return renamed != made


def test_a_timestamp_stays_one_where_a_bare_type_means_another(shop: Shop) -> None:
    """`spark.sql.timestampType` decides what TIMESTAMP means in a statement, and not what `now()` gives."""
    if not renames_timestamps(shop):
        pytest.skip("this Spark and this catalog cannot rename a table with timestamps under that setting")
    contract = Contract([("id", "int", False), ("at", "timestamp_ltz", True)])
    sql = "select id, timestamp_ltz'2026-01-01 10:00:00' as at from values (1), (null) as t(id)"
    with shop.session.change_settings({"spark.sql.timestampType": "TIMESTAMP_NTZ"}):
        for _ in range(2):
            report = shop.publish(sql, contract=contract)
            assert report.outcome == "published", [f.message for f in report.findings]
    kept = {name: dict(shop.spark.table(f"{shop.database}.{name}").dtypes)["at"] for name in ("t", "t__quarantine")}
    assert kept == {"t": "timestamp", "t__quarantine": "timestamp"}
