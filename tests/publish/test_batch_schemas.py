"""Arrow batches of Python functions against the schema that the function declares."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from planproof import Guard, Model, Verdict
from planproof.publish.audit.batch_schemas import FitsByPlace, find_mismatch
from planproof.session.protocol import SparkFailure
from planproof.session.versions import settings_in_force

NOON = datetime.datetime(2024, 3, 10, 12)
LONGS = {"a": pa.array([1], pa.int64()), "b": pa.array([2], pa.int64())}


def fed(spark: Any, declared: str, columns: dict[str, Any]) -> None:
    """The temporary view `fed` over what a function gives that declares `declared`."""

    def batches(given: Any) -> Any:
        import pyarrow

        for _ in given:
            yield pyarrow.RecordBatch.from_pydict(columns)

    spark.range(1).coalesce(1).mapInArrow(batches, declared).createOrReplaceTempView("fed")


COMPARED = pytest.mark.needs_spark("4.1", "the comparison of Arrow batches with what a function declares")


def test_a_spark_that_cannot_compare_is_said_to_be_one(spark: Any, database: str, monkeypatch: Any) -> None:
    monkeypatch.setattr("planproof.session.versions.settings_in_force", _without_comparison)
    fed(spark, "a long, b long", LONGS)
    report = Guard(spark).publish(Model(f"{database}.t", "select a, b from fed"))
    [finding] = report.of(Verdict.UNPROVED)
    assert (report.outcome, finding.code, finding.plane) == ("published", "PP301", "batches")
    assert "takes their columns by place" in finding.message
    report = Guard(spark).publish(Model(f"{database}.t", "select id a, id b from range(3)"))
    assert (report.outcome, report.of(Verdict.UNPROVED)) == ("published", [])


def _without_comparison(spark: Any, keys: Any) -> dict[str, str]:
    return settings_in_force(spark, [key for key in keys if "validateSchema" not in key])


@COMPARED
@pytest.mark.parametrize(
    ("declared", "columns", "field", "held"),
    [
        ("a long, b long", {"b": LONGS["b"], "a": LONGS["a"]}, "a", "b long"),
        ("a long", {"a": pa.array([1], pa.int32())}, "a", "a integer"),
        ("t timestamp", {"t": pa.array([NOON], pa.timestamp("us"))}, "t", "t timestampntz"),
        ("d decimal(10,2)", {"d": pa.array([Decimal("1.234")], pa.decimal128(10, 3))}, "d", "d decimal(10,3)"),
        ("a long", LONGS, "b", "b long"),
        ("a long, b long, c long", LONGS, "c", None),
    ],
    ids=["swapped", "narrower", "without zone", "scale", "one more", "one less"],
)
def test_other_columns_are_refused(
    spark: Any, database: str, declared: str, columns: dict[str, Any], field: str, held: str | None
) -> None:
    fed(spark, declared, columns)
    items = ", ".join(column.split(" ")[0] for column in declared.split(", "))
    report = Guard(spark).publish(Model(f"{database}.t", f"select {items} from fed"))
    [finding] = report.of(Verdict.VIOLATED)
    assert (report.outcome, finding.code, finding.plane, finding.field) == ("rejected", "PP301", "batches", field), (
        finding
    )
    assert finding.found == held
    assert not spark.catalog.tableExists(f"{database}.t")


@COMPARED
@pytest.mark.parametrize(
    ("columns", "called"),
    [
        (dict(zip("xy", LONGS.values())), "x long, y long"),
        (dict(zip("Ab", LONGS.values())), "A long, b long"),
        ({"a": LONGS["a"], "b": pa.nulls(1)}, "a long, b null"),
    ],
    ids=["other names", "case", "no value"],
)
def test_what_comes_to_the_same_goes_by_its_place(
    spark: Any, database: str, columns: dict[str, Any], called: str
) -> None:
    fed(spark, "a long, b long", columns)
    report = Guard(spark).publish(Model(f"{database}.t", "select a, b from fed"))
    assert report.outcome == "published", report.findings
    [remark] = [f for f in report.of(Verdict.WARNING) if f.code == "PP301"]
    assert f"of {called}, and declares a long, b long" in remark.message
    values = tuple(array[0].as_py() for array in columns.values())
    assert [tuple(r) for r in spark.table(f"{database}.t").collect()] == [values]


DECIMAL = "StructType(StructField(d,DecimalType({}),true))"
NESTED = "StructType(StructField(s,StructType(StructField({},LongType,true),StructField({},LongType,true)),true))"


@pytest.mark.parametrize(
    ("declared", "found", "fits"),
    [
        (DECIMAL.format("10,2"), DECIMAL.format("3,2"), True),
        (DECIMAL.format("10,2"), DECIMAL.format("12,2"), False),
        (DECIMAL.format("10,2"), DECIMAL.format("10,3"), False),
        (NESTED.format("x", "y"), NESTED.format("q", "r"), True),
        (NESTED.format("x", "y"), NESTED.format("y", "x"), False),
        (NESTED.format("x", "y"), "StructType(StructField(s,NullType,true))", True),
        ("StructType(StructField(l,ArrayType(LongType,true),true))", "StructType(StructField(l,LongType,true))", False),
    ],
)
def test_which_differences_come_to_the_same(declared: str, found: str, fits: bool) -> None:
    said = f"Invalid schema from SQL_MAP_ARROW_ITER_UDF: expected {declared}, got {found}."
    failure = SparkFailure(f"Job aborted. {said} Its cause: SparkException: [ARROW_TYPE_MISMATCH] {said}")
    if fits:
        with pytest.raises(FitsByPlace):
            find_mismatch(failure)
    else:
        assert find_mismatch(failure) is not None


def test_another_failure_is_none_of_batches() -> None:
    assert find_mismatch(SparkFailure("Job aborted due to stage failure: division by zero")) is None


@COMPARED
def test_what_is_declared_is_published(spark: Any, database: str) -> None:
    fed(spark, "a long, b long", LONGS)
    report = Guard(spark).publish(Model(f"{database}.t", "select a, b from fed"))
    assert (report.outcome, report.verdict, report.of(Verdict.WARNING)) == ("published", "proved", [])
    assert spark.conf.get("spark.sql.execution.arrow.pyspark.validateSchema.enabled") == "false"


@pytest.mark.parametrize(
    ("said", "field", "promised"),
    [
        ("[RESULT_COLUMN_NAMES_MISMATCH] Column names do not match. Missing: n. Unexpected: m.", "n", None),
        ("[RESULT_COLUMN_TYPES_MISMATCH] Mismatch: column 'n' (expected int64, actual string).", "n", None),
        (
            "Cannot convert the output value of the column 'n' with type 'object' to 'int64'. Please",
            "n",
            None,
        ),
        (
            "[UDTF_EXEC_ERROR] Column 0 had a value of None, but is non-nullable; mend it",
            None,
            "NOT NULL",
        ),
    ],
)
def test_what_the_worker_refuses_is_the_functions_fault(said: str, field: str | None, promised: str | None) -> None:
    found = find_mismatch(
        SparkFailure(f"An exception was thrown: Traceback\n  File x\nPySparkRuntimeError: {said}\n at y")
    )
    assert found is not None
    assert (found.code, found.field, found.promised) == ("PP301", field, promised)
    assert find_mismatch(SparkFailure("[UDTF_EXEC_ERROR] the function's own error")) is None


@pytest.mark.parametrize(("returns", "value"), [("int", "x"), ("array<int>", ["x"]), ("date", "2020")])
@pytest.mark.needs_spark("4.1", "plain functions whose results travel as Arrow arrays by default")
def test_a_plain_functions_value_of_another_type_is_its_fault(
    returns: str, value: Any, spark: Any, database: str
) -> None:
    from pyspark.sql.functions import udf

    spark.udf.register("given", udf(lambda _: value, returns, useArrow=True))
    report = Guard(spark).publish(Model(f"{database}.t", "select given(id) as v from range(2)"))
    found = [(f.code, f.verdict, f.plane) for f in report.findings if f.verdict is not Verdict.WARNING]
    assert (report.outcome, found) == ("rejected", [("PP301", Verdict.VIOLATED, "batches")])
    assert not spark.catalog.tableExists(f"{database}.t")


def test_what_a_plain_function_raises_itself_is_no_violation(spark: Any, database: str) -> None:
    from pyspark.sql.functions import udf

    def given(_: int) -> int:
        import pyarrow

        return int(pyarrow.array(["x"]).cast("int32")[0])

    spark.udf.register("given", udf(given, "int"))
    report = Guard(spark).publish(Model(f"{database}.t", "select given(id) as v from range(2)"))
    assert report.outcome == "failed"
    assert "PP302" in {f.code for f in report.findings}


def test_flags_alone_are_not_worth_a_word() -> None:
    declared, given = (f"StructType(StructField(n,LongType,{flag}))" for flag in ("false", "true"))
    with pytest.raises(FitsByPlace) as found:
        find_mismatch(SparkFailure(f"Invalid schema from x: expected {declared}, got {given}"))
    assert found.value.remarks == []
