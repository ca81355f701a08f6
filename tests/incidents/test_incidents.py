"""What went wrong elsewhere: each incident caught where it can first be known, each control left alone.

The cases are data, in tests/cases/incidents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import stored_files
import yaml

from planproof import Contract, Guard, Model, Report, Settings, Verdict
from planproof.session.store import local

CASES = Path(__file__).parents[1] / "cases" / "incidents"


def _cases() -> list[dict[str, Any]]:
    return [case for file in sorted(CASES.glob("*.yml")) for case in yaml.safe_load(file.read_text("utf-8"))]


INCIDENTS = _cases()


def _params() -> Iterator[Any]:
    for number, case in enumerate(INCIDENTS):
        fast = case.get("quick", case["how"] == "check")
        yield pytest.param(number, id=case["id"], marks=() if fast else (pytest.mark.conformance,))


def test_there_are_many_and_each_names_its_source() -> None:
    assert len(INCIDENTS) >= 60
    assert len({case["id"] for case in INCIDENTS}) == len(INCIDENTS)
    trackers = [case for case in INCIDENTS if case["source"].startswith("https://github.com/")]
    assert len(trackers) >= 60
    assert all(case["source"].startswith("https://") and case["control"] for case in INCIDENTS)


@pytest.fixture(scope="module")
def home(spark: Any) -> Iterator[str]:
    """A database for all incidents: its name."""
    spark.sql("create database if not exists planproof_incidents")
    yield "planproof_incidents"
    spark.sql("drop database if exists planproof_incidents cascade")


@pytest.fixture
def run(spark: Any, home: str, ansi: Callable[[bool], None]) -> Callable[[dict[str, Any], str], Report]:
    """Carries a case out under a prefix of its own."""
    where = dict(tuple(r)[:2] for r in spark.sql(f"describe database {home}").collect())["Location"]

    def carry_out(case: dict[str, Any], prefix: str) -> Report:
        names = {"t": f"{home}.{prefix}", "q": prefix, "loc": f"{where}/{prefix}"}

        def told(text: str) -> str:
            return text.format(**names) if "{t}" in text or "{q}" in text or "{loc}" in text else text

        ansi(case.get("ansi", True))
        for key, value in case.get("conf", {}).items():
            spark.conf.set(key, value)
        if "files" in case:
            stored_files.write(Path(local(names["loc"]) or ""), case["files"], case.get("written_with", {}))
        for statement in case.get("setup", ()):
            spark.sql(told(statement))
        if "python" in case:
            PYTHON[case["python"]](spark)
        guard = Guard(spark, settings=Settings(keep_rejected=False))
        model = _model(case, f"{names['t']}_model", told)
        if case["how"] == "check":
            return guard.check(model)
        if case["how"] == "audit":
            assert model.contract is not None
            return guard.audit(told(case.get("path", model.name)), model.contract)
        if "first" in case:
            before = {**case, "sql": case["first"], "contract": case.get("first_contract")}
            assert guard.publish(_model(before, model.name, told)).outcome == "published"
        return guard.publish(model)

    return carry_out


def _model(case: dict[str, Any], name: str, told: Callable[[str], str]) -> Model:
    contract = None
    if case.get("contract") is not None:
        constraints = [
            {**c, "expression": told(c["expression"])} if "expression" in c else c for c in case.get("constraints", ())
        ]
        contract = Contract([tuple(column) for column in case["contract"]], constraints)
    return Model(
        name,
        told(case.get("sql", "")),
        contract=contract,
        materialized=case.get("materialized", "table"),
        partition_by=case.get("partition_by", ()),
    )


@pytest.mark.parametrize("number", _params())
def test_an_incident_is_caught(number: int, run: Any, spark: Any, home: str) -> None:
    case = INCIDENTS[number]
    expect = case["expect"]
    report = run(case, f"i{number}")
    verdict = Verdict(case.get("verdict", "violated"))
    found = [f for f in report.findings if f.verdict is verdict and f.code == expect["code"]]
    assert found, [str(f) for f in report.findings]
    if "column" in expect:
        found = [f for f in found if f.field == expect["column"]]
        assert found, [(f.field, f.message) for f in report.findings]
        assert expect["column"].split(", ")[0].split(".")[-1] in found[0].message
    [first, *_] = found
    assert first.plane == expect["plane"]
    for side in ("promised", "found"):
        assert expect.get(side) in (None, getattr(first, side))
    for word in expect.get("words", ()):
        assert word in first.message
    if case["how"] == "publish":
        assert report.outcome == case.get("outcome", "rejected")
        if case.get("materialized") != "incremental":
            assert not spark.catalog.tableExists(f"{home}.i{number}_model")


@pytest.mark.parametrize("number", _params())
def test_its_control_is_left_alone(number: int, run: Any) -> None:
    case = {**INCIDENTS[number], **INCIDENTS[number]["control"]}
    report = run(case, f"c{number}")
    assert [str(f) for f in report.of(Verdict.VIOLATED)] == []
    assert report.error is None
    assert report.outcome == {"check": "checked", "audit": "audited", "publish": "published"}[case["how"]]
    code = INCIDENTS[number]["expect"]["code"]
    assert [str(f) for f in report.of(Verdict.WARNING, Verdict.UNPROVED) if f.code == code] == []


# --- what Python hands to Spark --------------------------------------------------------------------------------------


def _fed(spark: Any, rows: list[Any]) -> None:
    from pyspark.sql.types import LongType, StructField, StructType

    schema = StructType([StructField("n", LongType(), False)])
    spark.createDataFrame(rows, schema, verifySchema=False).createOrReplaceTempView("fed")


def _none_of(spark: Any) -> None:
    from pyspark.sql.functions import udf

    spark.udf.register("none_of", udf(lambda x: None, "bigint"))


def _frames(spark: Any, values: list[Any]) -> None:
    def frames(given: Any) -> Any:
        import pandas as pd

        for _ in given:
            yield pd.DataFrame({"n": values})

    spark.range(1, numPartitions=1).mapInPandas(frames, "n bigint not null").createOrReplaceTempView("fed")


def _groups(spark: Any, columns: list[str]) -> None:
    def frame(given: Any) -> Any:
        import pandas as pd

        return pd.DataFrame([[1, 1]], columns=columns)

    spark.range(1).groupBy("id").applyInPandas(frame, "k bigint, n bigint").createOrReplaceTempView("fed")


def _table_function(spark: Any, values: list[Any]) -> None:
    from pyspark.sql.functions import udtf

    class Rows:
        def eval(self, n: int) -> Any:
            for value in values:
                yield (value,)

    spark.udtf.register("planproof_rows", udtf(Rows, returnType="n int not null"))  # type: ignore[arg-type]


PYTHON: dict[str, Callable[[Any], None]] = {
    "null_below_flag": lambda spark: _fed(spark, [(1,), (None,)]),
    "rows_that_keep_their_flags": lambda spark: _fed(spark, [(1,), (2,)]),
    "function_returning_none": _none_of,
    "pandas_none": lambda spark: _frames(spark, [1, None]),
    "pandas_numbers": lambda spark: _frames(spark, [1, 2]),
    "pandas_texts": lambda spark: _frames(spark, ["a", "b"]),
    "group_loses_a_column": lambda spark: _groups(spark, ["k", "m"]),
    "group_keeps_its_columns": lambda spark: _groups(spark, ["k", "n"]),
    "table_function_lies": lambda spark: _table_function(spark, [1, None]),
    "table_function_holds": lambda spark: _table_function(spark, [1, 2]),
}
