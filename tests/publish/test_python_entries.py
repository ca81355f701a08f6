"""NOT NULL that Python data claims: counted where the data enters, or left unproved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from planproof import Contract, Guard, Model, Verdict

SLOW = pytest.mark.conformance
CONTRACT = Contract([("n", "bigint", False), ("s", "struct<a:string NOT NULL>", True)])


@pytest.fixture
def feed(spark: Any) -> Any:
    """Makes the temporary view `fed` of rows whose schema claims NOT NULL, without looking at them."""
    from pyspark.sql.types import LongType, StringType, StructField, StructType

    inner = StructType([StructField("a", StringType(), False)])
    schema = StructType([StructField("n", LongType(), False), StructField("s", inner, True)])

    def make(rows: list[Any]) -> None:
        spark.createDataFrame(rows, schema, verifySchema=False).createOrReplaceTempView("fed")

    return make


def test_a_null_below_a_claimed_flag_is_found_where_it_enters(spark: Any, database: str, feed: Any) -> None:
    feed([(1, ("x",)), (None, ("y",)), (3, None)])
    report = Guard(spark).publish(Model(f"{database}.t", "select n, s from fed", contract=CONTRACT))
    [finding] = report.of(Verdict.VIOLATED)
    assert (report.outcome, finding.code, finding.plane, finding.field) == ("rejected", "PP301", "batches", "n")
    assert (finding.promised, finding.found) == ("NOT NULL", "1 null")


def test_no_setting_lets_such_rows_through(spark: Any, database: str, feed: Any) -> None:
    feed([(1, (None,))])
    model = Model(f"{database}.t", "select count(*) as n from (select s.a from fed where n > 0)")
    assert Guard(spark).publish(model).outcome == "rejected"


def test_healthy_python_rows_are_published_and_proved(spark: Any, database: str, feed: Any) -> None:
    feed([(1, ("x",)), (2, None)])
    report = Guard(spark).publish(Model(f"{database}.t", "select n, s from fed", contract=CONTRACT))
    assert (report.outcome, report.verdict) == ("published", "proved"), report.findings


def given(how: str) -> Any:
    """A function that gives `[1, null, 3]`, or without the null, and claims that it gives none."""

    def arrow(values: list[Any]) -> Any:
        def batches(given: Any) -> Any:
            import pyarrow as pa

            for _ in given:
                yield pa.RecordBatch.from_pydict({"n": pa.array(values, pa.int64())})

        return batches

    def pandas(values: list[Any]) -> Any:
        def frames(given: Any) -> Any:
            import pandas as pd

            for _ in given:
                yield pd.DataFrame({"n": pd.array(values, dtype="Int64")})

        return frames

    def groups(values: list[Any]) -> Any:
        def frame(given: Any) -> Any:
            import pandas as pd

            return pd.DataFrame({"n": pd.array(values, dtype="Int64")})

        return frame

    return {"mapInArrow": arrow, "mapInPandas": pandas, "applyInPandas": groups}[how]


@pytest.mark.parametrize(
    "how", ["mapInArrow", *(pytest.param(how, marks=SLOW) for how in ("applyInPandas", "mapInPandas"))]
)
def test_what_a_python_function_claims_is_counted(spark: Any, database: str, how: str) -> None:
    one = spark.range(1, numPartitions=1)
    source = one.groupBy("id") if how == "applyInPandas" else one
    for values, outcome in (([1, None, 3], "rejected"), ([1, 2, 3], "published")):
        frame = getattr(source, how)(given(how)(values), "n bigint not null")
        frame.createOrReplaceTempView("made")
        contract = Contract([("n", "bigint", False)])
        report = Guard(spark).publish(Model(f"{database}.t", "select n from made", contract=contract))
        assert report.outcome == outcome, (report.error, [str(f) for f in report.findings])
        found = [(f.code, f.plane, f.field, f.promised, f.found) for f in report.of(Verdict.VIOLATED)]
        assert found == ([] if None not in values else [("PP301", "batches", "n", "NOT NULL", "1 null")])
    assert spark.table(f"{database}.t").count() == 3


def calls(spark: Any, log: Path, values: list[Any]) -> Any:
    """A frame of a function that gives the values, claims that none is null, and notes each of its runs in the log."""

    def batches(given: Any) -> Any:
        import pyarrow as pa

        with log.open("a") as notes:
            notes.write("ran\n")
        for _ in given:
            yield pa.RecordBatch.from_pydict({"n": pa.array(values, pa.int64()), "k": pa.array(values, pa.int64())})

    return spark.range(1, numPartitions=1).mapInArrow(batches, "n bigint not null, k bigint")


def published(spark: Any, name: str, sql: str) -> Any:
    return Guard(spark).publish(Model(name, sql, contract=Contract([("n", "bigint", False)])))


@pytest.mark.parametrize(
    "sql",
    [
        pytest.param("select n from made", marks=SLOW),
        "select a.n from made a join made b on a.n = b.n",
        "with m as (select n from made where n is not null) select n from m union all select n from m where n > 5",
        pytest.param("select max(n) over (partition by k) as n from made order by n limit 2", marks=SLOW),
    ],
)
def test_a_function_is_watched_in_the_run_that_writes(spark: Any, database: str, tmp_path: Path, sql: str) -> None:
    calls(spark, tmp_path / "log", [1, 2, 3]).createOrReplaceTempView("made")
    spark.sql(sql).write.format("noop").mode("append").save()
    runs = len((tmp_path / "log").read_text())
    report = published(spark, f"{database}.t", sql)
    assert report.outcome == "published", report.findings
    # Before 4.1 Spark cannot be asked to compare batches with what the function declares, and that is all that is open.
    unproved = [f.message for f in report.of(Verdict.UNPROVED)]
    assert [("takes their columns by place" in m) for m in unproved] == ([True] if spark.version < "4.1" else [])
    assert len((tmp_path / "log").read_text()) <= runs * 2
    assert report.executed_sql.endswith(sql)
    assert not [t.name for t in spark.catalog.listTables() if "planproof" in t.name]


@pytest.mark.parametrize(
    "sql",
    [
        "select k as n from made where n is not null and k is not null",
        pytest.param("select n from made where n > 1", marks=SLOW),
    ],
)
def test_no_condition_hides_a_null_from_the_watch(spark: Any, database: str, tmp_path: Path, sql: str) -> None:
    calls(spark, tmp_path / "log", [1, None, 3]).createOrReplaceTempView("made")
    [finding] = published(spark, f"{database}.t", sql).of(Verdict.VIOLATED)
    assert (finding.code, finding.field, finding.found) == ("PP301", "n", "1 null")


@pytest.mark.conformance
def test_rows_that_feed_a_function_are_watched_too(spark: Any, database: str, feed: Any, tmp_path: Path) -> None:
    from pyspark.sql.types import LongType, StructField, StructType

    schema = StructType([StructField("n", LongType(), False)])
    rows = spark.createDataFrame([(1,), (None,)], schema, verifySchema=False)
    rows.mapInPandas(lambda frames: frames, "n bigint not null").createOrReplaceTempView("made")
    [finding] = published(spark, f"{database}.t", "select n from made").of(Verdict.VIOLATED)
    assert (finding.code, finding.field, finding.found) == ("PP301", "n", "1 null")


@pytest.mark.parametrize(
    "sql", [pytest.param("select n from made", marks=SLOW), "select n from made where n in (select n from made)"]
)
def test_what_cannot_be_watched_is_counted(spark: Any, database: str, tmp_path: Path, sql: str) -> None:
    frame = calls(spark, tmp_path / "log", [1, None, 3])
    frame = frame if "in (" in sql else frame.cache()
    frame.createOrReplaceTempView("made")
    try:
        [finding] = published(spark, f"{database}.t", sql).of(Verdict.VIOLATED)
    finally:
        frame.unpersist()
    assert (finding.code, finding.field, finding.found) == ("PP301", "n", "1 null")


def test_a_null_that_comes_once_is_told_as_it_was_seen(spark: Any, database: str, tmp_path: Path) -> None:
    once = tmp_path / "once"

    def batches(given: Any) -> Any:
        import pyarrow as pa

        value, _ = (1 if once.exists() else None), once.touch()
        for _ in given:
            yield pa.RecordBatch.from_pydict({"n`d": pa.array([value], pa.int64())})

    spark.range(1, numPartitions=1).mapInArrow(batches, "`n``d` bigint not null").createOrReplaceTempView("made")
    report = published(spark, f"{database}.t", "select `n``d` as n from made")
    [finding] = report.of(Verdict.VIOLATED)
    assert (report.outcome, finding.code, finding.field, finding.found) == ("rejected", "PP301", "`n``d`", "a null")


@pytest.mark.needs_spark("4.0", "data sources in Python")
def test_what_nobody_can_count_stays_unproved(spark: Any, database: str) -> None:
    from pyspark.sql.datasource import DataSource, DataSourceReader

    class Reader(DataSourceReader):
        def read(self, partition: Any) -> Any:
            yield (1,)

    class Claims(DataSource):
        @classmethod
        def name(cls) -> str:
            return "planproof_claims"

        def schema(self) -> Any:
            from pyspark.sql.types import LongType, StructField, StructType

            return StructType([StructField("n", LongType(), False)])

        def reader(self, schema: Any) -> Reader:
            return Reader()

    spark.dataSource.register(Claims)
    spark.read.format("planproof_claims").load().createOrReplaceTempView("claims")
    model = Model(f"{database}.t", "select n from claims", contract=Contract([("n", "bigint", False)]))
    report = Guard(spark).publish(model)
    if report.outcome == "failed":
        pytest.skip(f"Python data sources do not run here: {report.error}")
    assert [(f.code, f.verdict.value) for f in report.findings if f.field == "n"] == [("PP506", "unproved")]
    assert report.outcome == "published"


def test_a_view_is_made_of_its_own_text(spark: Any, database: str) -> None:
    from pyspark.sql.types import LongType, StructField, StructType

    rows = spark.createDataFrame([(1,)], StructType([StructField("n", LongType(), False)]))
    rows.createOrReplaceTempView("flat_fed")
    report = Guard(spark).publish(Model(f"{database}.v", "select n from flat_fed", materialized="view"))
    said = "; ".join(f.message for f in report.findings)
    assert (report.outcome, "flat_fed" in said, "planproof_watched" in said) == ("rejected", True, False), said
