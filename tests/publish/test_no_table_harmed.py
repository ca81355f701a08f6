"""Tables that are not as planproof would have made them: a publish of one costs no row of it, and none of another."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from quick import keep_quick

from planproof import Guard, Model, Report
from planproof.publish.transaction import owner
from planproof.publish.transaction.names import Names, Refused
from planproof.session.described import MANAGED_PARTITIONS

DELTA = {"materialized": "incremental"}
OVERWRITE = {**DELTA, "incremental_strategy": "insert_overwrite", "partition_by": ["d"]}
PARTS = "create table {t} using parquet partitioned by (d) as select * from values (1, 'x'), (2, 'y') as v(id, d)"


BUCKETS = """
create table {t} using parquet clustered by (id) into 3 buckets as select cast(id as int) id from range(9)
"""


class Shop:
    """A database of one test, and a guard."""

    def __init__(self, spark: Any, database: str) -> None:
        self.spark, self.database, self.guard = spark, database, Guard(spark)
        self.t = f"{database}.t"

    def sql(self, text: str) -> None:
        self.spark.sql(text.replace("{t}", self.t))

    def publish(self, sql: str, table: str = "t", **more: Any) -> Report:
        return self.guard.publish(Model(f"{self.database}.{table}", sql, **more))

    def published(self, sql: str, **more: Any) -> Report:
        report = self.publish(sql, **more)
        assert report.outcome == "published", report.error or report.findings
        return report

    def rows(self, table: str = "t", columns: str = "*") -> list[tuple[Any, ...]]:
        found = self.spark.newSession().sql(f"select {columns} from {self.database}.{table}").collect()
        return sorted((tuple(row) for row in found), key=str)


@pytest.fixture
def shop(spark: Any, database: str) -> Shop:
    return Shop(spark, database)


@pytest.mark.conformance
def test_a_bucketed_table_becomes_one_without_buckets(shop: Shop) -> None:
    """Spark refuses files without a bucket's number where the catalog says that there are buckets."""
    shop.sql(
        "create table {t} using parquet clustered by (id) into 3 buckets as select cast(id as int) id from range(9)"
    )
    shop.published("select cast(id as int) id from range(4)")
    assert shop.rows(columns="id, count(*) over (partition by id)") == [(0, 1), (1, 1), (2, 1), (3, 1)]


def test_a_bucketed_table_gets_rows_and_stays_bucketed(shop: Shop) -> None:
    shop.sql(
        "create table {t} using parquet clustered by (id) into 3 buckets as select cast(id as int) id from range(9)"
    )
    shop.published("select cast(id as int) id from range(4)", **DELTA)
    shop.published("select cast(id as int) id from range(5)", **DELTA, incremental_strategy="insert_overwrite")
    found = shop.spark.newSession().sql(f"select count(*) from {shop.t} a join {shop.t} b on a.id = b.id").collect()
    assert found == [(5,)]


def test_partitions_that_the_catalog_never_held(shop: Shop) -> None:
    shop.spark.conf.set(MANAGED_PARTITIONS, "false")
    shop.sql(PARTS)
    shop.spark.conf.set(MANAGED_PARTITIONS, "true")
    assert shop.publish("select 3 as id, 'x' as d", **DELTA).outcome == "failed"
    assert shop.rows() == [(1, "x"), (2, "y")]
    shop.published("select 3 as id, 'x' as d", partition_by=["d"])
    shop.published("select 4 as id, 'x' as d", **DELTA)
    assert shop.rows() == [(3, "x"), (4, "x")]


def test_columns_may_be_named_as_what_spark_says_of_a_table(shop: Shop) -> None:
    names = ("Location", "Type", "Provider", "# Detailed Partition Information", "Comment")
    columns = ", ".join(f"{{0}} as `{name}`" for name in names)
    shop.published(f"select {columns.format(1)}, 'x' as d", partition_by=["d"])
    shop.published(f"select {columns.format(2)}, 'x' as d", **DELTA)
    assert shop.rows(columns="Location, Type, Comment, d") == [(1, 1, 1, "x"), (2, 2, 2, "x")]
    shop.published(f"select {columns.format(3)}, 'x' as d", **OVERWRITE)
    assert shop.rows(columns="Location, d") == [(3, "x")]


def test_a_partitioned_table_that_steps_aside_takes_no_partition_of_the_new_one_along(shop: Shop) -> None:
    """Spark's in-memory catalog renames the table and leaves its partitions where they were: at the new table's."""
    shop.sql(PARTS)
    shop.spark.sql("set spark.sql.sources.partitionOverwriteMode = STATIC")
    shop.published("select 3 as id, 'y' as d", **DELTA, incremental_strategy="insert_overwrite")
    assert shop.rows() == [(3, "y")]
    shop.published("select 4L as id, 'y' as d union all select 5L, 'z'", partition_by=["d"])
    assert shop.rows() == [(4, "y"), (5, "z")]


def test_a_partition_whose_directory_is_gone_takes_none_of_the_new_table_along(shop: Shop) -> None:
    """It named a directory that is the new table's after the swap; DROP TABLE of the old one deletes what it names."""
    shop.sql(PARTS)
    (file,) = {row[0] for row in shop.rows(columns="_metadata.file_path") if "/d=y/" in row[0]}
    shutil.rmtree(Path(unquote(urlsplit(file).path)).parent)
    shop.published("select 4L as id, 'y' as d union all select 5L, 'z'", partition_by=["d"])
    assert shop.rows() == [(4, "y"), (5, "z")]


def test_a_partition_in_the_folder_of_another_one_stays(shop: Shop, tmp_path: Path) -> None:
    shop.sql(f"create table {{t}} (id int, d string) using parquet partitioned by (d) location '{tmp_path}/t'")
    shop.sql("insert into {t} values (1, 'x'), (2, 'y')")
    shop.sql(f"alter table {{t}} add partition (d = 'same') location '{tmp_path}/t/d=x'")
    shop.sql(f"alter table {{t}} add partition (d = 'below') location '{tmp_path}/t/d=x/below'")
    shop.sql("insert into {t} partition (d = 'below') values (9)")
    shop.published("select 5 as id, 'x' as d", **OVERWRITE)
    assert shop.rows() == [(1, "same"), (2, "y"), (5, "x"), (9, "below")]


def test_a_folder_that_two_tables_read_stays(shop: Shop, tmp_path: Path) -> None:
    for name in ("t", "other"):
        shop.sql(
            f"create table {shop.database}.{name} (id int, d string) using parquet partitioned by (d) "
            f"location '{tmp_path}/t'"
        )
    shop.sql("insert into {t} values (1, 'x'), (2, 'y')")
    shop.sql(f"msck repair table {shop.database}.other")
    shop.published("select 5 as id, 'x' as d", **OVERWRITE)
    shop.published("select 6 as id, 'z' as d", **DELTA)
    assert shop.rows() == [(2, "y"), (5, "x"), (6, "z")]
    shop.published("select 7 as id, 'q' as d", partition_by=["d"])
    assert (shop.rows(), shop.rows("other")) == ([(7, "q")], [(1, "x"), (2, "y")])


def test_foreign_files_in_an_external_tables_folder_stay(shop: Shop, tmp_path: Path) -> None:
    folder = tmp_path / "t"
    shop.sql(f"create table {{t}} using parquet location '{folder}' as select 1 as id")
    (folder / "_theirs").mkdir()
    (folder / "_theirs" / "README").write_text("ours")
    before = sorted(p.name for p in folder.iterdir())
    for sql, more in (("select 2 as id", {}), ("select 3L as id", {}), ("select 4L as id", DELTA)):
        shop.published(sql, **more)
    shop.published("select 5 as id", materialized="view")
    assert shop.rows() == [(5,)]
    # The note by which rows are told that arrive there later.
    assert sorted(p.name for p in folder.iterdir()) == sorted([*before, "_planproof.json"])
    assert (folder / "_theirs" / "README").read_text() == "ours"


@pytest.mark.conformance
def test_a_cached_relation_shows_the_new_rows(shop: Shop) -> None:
    for sql, more, expected in (
        ("select 2 as id", {}, [(2,)]),
        ("select 3L as id", {}, [(3,)]),
        ("select 4L as id", DELTA, [(3,), (4,)]),
        ("select 5 as id", {"materialized": "view"}, [(5,)]),
        ("select 6 as id", {"materialized": "view"}, [(6,)]),
    ):
        if expected == [(2,)]:
            shop.sql("create table {t} using parquet as select 1 as id")
        shop.sql("cache table {t}")
        shop.published(sql, **more)
        assert sorted(shop.spark.table(shop.t).collect()) == expected


@pytest.mark.parametrize(
    "parts", keep_quick([{}, {"partition_by": ["d"]}], {"partition_by": ["d"]}), ids=["plain", "parts"]
)
def test_what_is_cached_over_a_table_follows_every_publish(shop: Shop, parts: dict[str, Any]) -> None:
    stories = (({}, [1]), (DELTA, [1, 2]), (DELTA, [1, 2, 3]), (OVERWRITE, [4]), (OVERWRITE, [5]), ({}, [6]), ({}, [7]))
    try:
        for number, (more, expected) in enumerate(stories, 1):
            shop.published(f"select {number} as id, 'x' as d", **{**more, "partition_by": [], **parts})
            if number == 1:
                shop.sql("create view {t}_seen as select * from {t}")
                shop.sql("cache table {t}_seen")
                shop.sql("cache table {t}")
            for name in (shop.t, f"{shop.t}_seen"):
                assert sorted(row.id for row in shop.spark.table(name).collect()) == expected
    finally:
        # With anything cached, other tests' functions are counted in a run of their own.
        shop.spark.catalog.clearCache()


def test_tables_views_and_back_again(shop: Shop, session: Any) -> None:
    from planproof.publish.transaction.places import database_root

    view, bucketed = {"materialized": "view"}, {"options": {"clustered_by": "id", "buckets": 2}}
    stories = [view, {}, view, {"partition_by": ["d"]}, view, bucketed, {}, view]
    for number, more in enumerate(stories):
        columns = "id, 'x' as d" if "partition_by" in more else "id"
        # The name's case is not part of it.
        shop.published(f"select {number} as {columns}", table="T" if number % 2 else "t", **more)
        assert shop.rows(columns="max(id)") == [(number,)]
        assert [row[1] for row in shop.spark.sql(f"show tables in {shop.database}").collect()] == ["t"]
    root = Path(database_root(session, (shop.database,)).removeprefix("file:"))
    assert [p.name for p in root.glob("__planproof_*")] == []


def test_a_model_may_read_the_table_that_it_replaces(shop: Shop) -> None:
    shop.published("select 1 as id")
    for sql, more in (
        ("select id + 1 as id from {t}", {}),
        ("select cast(id + 1 as bigint) as id from {t}", {}),
        ("select id + 10 as id from {t}", DELTA),
        ("select id + 100 as id from {t}", {**DELTA, "incremental_strategy": "insert_overwrite"}),
    ):
        shop.published(sql.replace("{t}", shop.t), **more)
    assert shop.rows() == [(103,), (113,)]


def test_rows_for_a_table_that_was_missing_when_they_were_compiled_are_refused(
    shop: Shop, session: Any, dying: Any, killed: Any
) -> None:
    """Between the two renames of a full refresh there is no table: an incremental model then compiles to all rows."""
    shop.published("select 1 as id", **DELTA)
    delta, at = Model(shop.t, "select 2L as id", **DELTA), 0
    while shop.spark.catalog.tableExists(shop.t):
        shop.guard.recover()
        with pytest.raises(killed):
            Guard(dying(at)[0]).publish(delta, full_refresh=True)
        at += 1
    report = shop.publish("select cast(id as int) as id from range(9)", **DELTA)
    assert (report.outcome, report.findings[-1].code) == ("failed", "PP601"), report
    assert "Compile and run the model again" in (report.error or "")
    assert shop.rows() == [(1,)]
    shop.published("select 2 as id", **DELTA)
    assert shop.rows() == [(1,), (2,)]


def test_the_current_catalog_must_be_sparks_own() -> None:
    """A name of two parts is looked up in the current catalog, wherever the model says that it stands."""
    with pytest.raises(Refused, match="current catalog is other"):
        Names.of("spark_catalog.shop.orders", ("other", "shop"), "r", 1)


def test_what_another_table_has_in_a_managed_tables_folder_stays(shop: Shop) -> None:
    """Spark deletes such a folder with all that lies in it, when its table is dropped or overwritten."""
    shop.sql("create table {t} (id int, d string) using parquet partitioned by (d)")
    shop.sql("insert into {t} values (1, 'x')")
    shop.sql(f"create table {shop.database}.plain using parquet as select 1 as id")
    places = [
        row[1]
        for name in ("t", "plain")
        for row in shop.spark.sql(f"describe extended {shop.database}.{name}").collect()
        if row[0] == "Location"
    ]
    shop.sql(f"create table {shop.database}.inner using parquet location '{places[1]}/inner' as select 9 as id")
    shop.sql(f"create table {shop.database}.parts (id int, p int) using parquet partitioned by (p)")
    shop.sql(f"alter table {shop.database}.parts add partition (p = 1) location '{places[0]}/d=x/p'")
    shop.sql(f"insert into {shop.database}.parts values (5, 1)")
    shop.published("select 2 as id", table="plain")
    shop.published("select 2 as id, 'x' as d", **OVERWRITE)
    for table, sql, more in (
        ("plain", "select 3L as id", {}),
        ("t", "select 3 as id, 'x' as d", {"partition_by": ["d"]}),
        ("t", "select 4 as id", {"materialized": "view"}),
    ):
        report = shop.publish(sql, table=table, **more)
        if report.outcome == "failed":
            assert "holds data of" in str(report.error) or "belong to no table of that name" in str(report.error)
    assert (shop.rows("inner"), shop.rows("parts")) == ([(9,)], [(5, 1)])


def test_what_a_managed_table_shares_elsewhere_stays(shop: Shop, tmp_path: Path) -> None:
    """DROP TABLE deletes a managed table's folder, and those of its partitions, wherever they lie."""
    for name in ("whole", "part"):
        place = f"{tmp_path}/{name}"
        shop.sql(f"create table {shop.database}.of_{name} using parquet location '{place}' as select 7 as id")
    shop.sql(PARTS)
    shop.sql(f"alter table {{t}} add partition (d = 'z') location '{tmp_path}/part'")
    shop.sql(f"create table {shop.database}.u (id int) using parquet")
    shop.sql(f"alter table {shop.database}.u set location '{tmp_path}/whole'")
    for table, sql, more in (
        ("t", "select 3 as id, 'x' as d", {"partition_by": ["d"]}),
        ("t", "select 3 as id", {"materialized": "view"}),
        ("u", "select 3L as id", {}),
    ):
        report = shop.publish(sql, table=table, **more)
        assert "holds data of" in str(report.error)
    assert (shop.rows("of_whole"), shop.rows("of_part")) == ([(7,)], [(7,)])
    shop.sql("alter table {t} drop partition (d = 'z')")
    shop.published("select 3 as id, 'x' as d", partition_by=["d"])


def test_a_schema_that_changes_again_and_again_leaves_no_old_folder(shop: Shop) -> None:
    """Each time a managed table steps aside whose rows lie in a version: Spark's own catalog moves its files along."""
    shop.sql("create table {t} using parquet as select 1 as id")
    for sql in ("select 2 as id", "select 3L as id", "select 4L as id", "select 5L as id, 'x' as s"):
        shop.published(sql)
    home = unquote(urlsplit(shop.spark.catalog.getDatabase(shop.database).locationUri).path)
    assert shop.rows() == [(5, "x")]
    assert [path.name for path in Path(home).iterdir() if path.name.startswith("__planproof_")] == []
    assert {path.parent.name for path in Path(home).rglob("*.parquet")} == {"t"}


@pytest.mark.parametrize("at", keep_quick([8, 11, 14, 17], 11))
def test_a_killed_publish_of_a_table_in_the_folder_of_another_one_is_settled(
    shop: Shop, tmp_path: Path, at: int, dying: Any, killed: type[BaseException]
) -> None:
    around, lake = f"{shop.database}.around", f"location '{tmp_path}/lake'"
    shop.sql(f"create table {around} using parquet partitioned by (p) {lake} as select 9 as id, 1 as p")
    place = f"{tmp_path}/lake/in/t"
    shop.sql(f"create table {{t}} using parquet partitioned by (d) location '{place}' as select 1 as id, 'x' as d")
    frail, _ = dying(at)
    with pytest.raises(killed):
        Guard(frail).publish(Model(shop.t, "select 2L as id, 'x' as d", partition_by=["d"]))
    owner._running.clear()
    (report,) = Guard(shop.spark).recover()
    assert report.outcome in ("published", "rejected"), report.error
    assert shop.rows() == ([(2, "x")] if report.outcome == "published" else [(1, "x")]), report.findings
    assert shop.rows("around") == [(9, 1)]
    shop.published("select 3L as id, 'x' as d", partition_by=["d"])
