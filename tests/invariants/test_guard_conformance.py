"""Queries that Spark accepts, run as models without a contract through `guard.check`: nothing may be violated.

The golden queries always; with ORACLE (a directory that holds queries.jsonl.gz) also those. `STRIDE=n` takes each nth.
"""

from __future__ import annotations

import gzip
import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from planproof import Guard, Model, Verdict

GOLDEN = Path(__file__).parents[1] / "engine" / "cases" / "queries"
ORACLE = Path(os.environ.get("ORACLE", "")) / "queries.jsonl.gz"
BATCH = 400
REFUSED = ("COLUMN_ALREADY_EXISTS", "UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE", "EMPTY_SCHEMA_NOT_SUPPORTED_FOR_DATASOURCE")
NO_FIELDS = "Cannot write a schema with an empty group"
UNSTORABLE = ("PP102", "PP103")
"""Spark accepts such a query, and refuses to write its result: Spark itself is asked."""


def golden() -> list[dict[str, Any]]:
    setup = [s for s in (GOLDEN / "tables.sql").read_text().rstrip().rstrip(";").split(";\n") if s.strip()]
    lines = [line for path in sorted(GOLDEN.glob("*.jsonl")) for line in path.read_text().splitlines()]
    return [{**case, "setup": setup} for case in map(json.loads, lines) if "schema" in case]


def oracle() -> list[dict[str, Any]]:
    if not os.environ.get("ORACLE") or not ORACLE.exists():
        return []
    with gzip.open(ORACLE, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines][:: int(os.environ.get("STRIDE", "1"))]


def batches() -> Iterator[Any]:
    """Cases of one setup stay together, so that it runs once."""
    for name, cases in (("golden", golden()), ("oracle", oracle())):
        cases.sort(key=lambda case: (case["setup"], case["ansi"]))
        for start in range(0, len(cases), BATCH):
            yield pytest.param(cases[start : start + BATCH], id=f"{name}-{start}")


class Place:
    """A session and a database of its own for each setup: what a setup makes is gone with it."""

    def __init__(self, spark: Any) -> None:
        self.root, self.count, self.name = spark, 0, ""
        self.key: tuple[Any, ...] | None = None
        self.guard: Guard | None = None

    def guard_for(self, case: dict[str, Any]) -> Guard | None:
        """The guard of the case's setup; None where that does not run in a database of its own."""
        key = (*case["setup"], case["ansi"])
        if key != self.key:
            self.close()
            self.key, self.guard = key, self._opened(case)
        return self.guard

    def _opened(self, case: dict[str, Any]) -> Guard | None:
        self.count += 1
        self.name = f"conformance_{os.getpid()}_{self.count}"
        spark = self.root.newSession()
        spark.conf.set("spark.sql.session.timeZone", "America/Los_Angeles")
        spark.conf.set("spark.sql.ansi.enabled", str(case["ansi"]).lower())
        spark.sql(f"create database {self.name}")
        spark.sql(f"use {self.name}")
        try:
            for statement in case["setup"]:
                spark.sql(statement)
        except Exception:
            return None
        return Guard(spark)

    def close(self) -> None:
        if self.name:
            self.root.sql(f"drop database if exists {self.name} cascade")
        self.name = ""


def _analyzes(spark: Any, query: str) -> bool:
    from pyspark.errors import AnalysisException

    try:
        spark.sql(query)
    except AnalysisException:
        return False
    return True


def _stores(spark: Any, name: str, query: str) -> bool:
    """Whether Spark makes a Parquet table of the query; no row is written."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        spark.sql(f"create table {name} using parquet as select * from (\n{query}\n) limit 0")
    except PySparkException as error:
        if error.getCondition() in REFUSED:
            return False
        raise
    except Py4JJavaError as error:
        # A struct without fields within another type is refused by the writer alone.
        if NO_FIELDS in str(error):
            return False
        raise
    spark.sql(f"drop table {name}")
    return True


@pytest.mark.conformance
@pytest.mark.parametrize("cases", batches())
def test_accepted_queries_break_nothing(spark: Any, cases: list[dict[str, Any]], record_property: Any) -> None:
    place, seen, broken = Place(spark), Counter[str](), []
    try:
        for case in cases:
            guard = place.guard_for(case)
            if guard is None:
                seen["setup does not run here"] += 1
                continue
            report = guard.check(Model(f"{place.name}.model", case["query"]))
            if report.outcome != "checked":
                seen[f"{report.outcome}: {report.findings[-1].found}"] += 1
            seen["checked"] += report.outcome == "checked"
            seen.update(f"{f.code} {f.verdict}" for f in report.findings if f.verdict is not Verdict.PROVED)
            if report.outcome == "checked":
                violated = [f for f in report.of(Verdict.VIOLATED) if f.code not in UNSTORABLE]
                if [f.code for f in violated] == ["PP110"] and not _analyzes(guard.session.spark, case["query"]):
                    seen["Spark rejects it in a database of its own"] += 1
                    continue
                broken += [(case["query"], str(f)) for f in violated]
                if len(violated) < len(report.of(Verdict.VIOLATED)):
                    spark_stores = _stores(
                        guard.session.spark, f"{place.name}.unstorable_{seen['checked']}", case["query"]
                    )
                    broken += [(case["query"], "Spark stores it")] if spark_stores else []
    finally:
        place.close()
    record_property("seen", dict(seen))
    print(dict(seen))
    assert broken == []
    assert seen["checked"] > len(cases) / 2
