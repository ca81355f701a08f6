"""NOT NULL that Python data claims: counted where the data enters, or left unproved."""

from __future__ import annotations

from typing import Any

import pytest

from planproof import Contract, Guard, Model, Verdict

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


@pytest.mark.parametrize("how", ["mapInArrow", "mapInPandas", "applyInPandas"])
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
