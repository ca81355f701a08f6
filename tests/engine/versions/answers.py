"""Asks the Spark that Python finds the queries of tests/engine/cases/answers_of_sparks.json, and writes its answers.

PYTHONPATH=core python tests/engine/versions/answers.py

A query's answer is that of each Spark in `ASKED`, or stands by version: a new query has null for each that is to be
asked, and each fills in its own.
"""

from __future__ import annotations

import json
import logging
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from random_on_spark import TIME_ZONE, condition_of

ANSWERS = Path(__file__).parents[1] / "cases" / "answers_of_sparks.json"
ASKED = ("3.5", "4.0", "4.3")


def answer(spark: Any, query: str) -> str:
    """The columns of the analyzed plan, or the condition by which Spark refuses the query."""
    try:
        analyzed = spark.sql(query)._jdf.queryExecution().analyzed()
    except Exception as error:  # whatever Spark says is its answer
        return condition_of(error)
    output = [analyzed.output().apply(at) for at in range(analyzed.output().size())]
    return ", ".join(f"{a.name()}: {a.dataType().simpleString()}{'' if a.nullable() else ' NOT NULL'}" for a in output)


def main() -> None:
    from pyspark.sql import SparkSession

    logging.disable()  # pyspark writes each refusal
    told = json.loads(ANSWERS.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as place:
        spark = (
            SparkSession.builder.master("local[1]")
            .config("spark.ui.enabled", "false")
            .config("spark.sql.warehouse.dir", place)
            .config("spark.sql.catalogImplementation", "in-memory")
            .config("spark.sql.ansi.enabled", "true")
            .config("spark.sql.session.timeZone", TIME_ZONE)
            .getOrCreate()
        )
        spark.sparkContext.setLogLevel("OFF")
        version = ".".join(spark.version.split(".")[:2])
        for statement in [*told["setup"], *(told["setup_since_4.0"] if version != "3.5" else ())]:
            spark.sql(statement)
        for query, known in told["answers"].items():
            by_version = dict.fromkeys(ASKED, known) if isinstance(known, str) else dict(known)
            if version in by_version:
                by_version[version] = answer(spark, query)
            told["answers"][query] = _fold(by_version)
        spark.stop()
    ANSWERS.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _fold(by_version: dict[str, str | None]) -> Any:
    """One answer where all Sparks that are asked agree."""
    several = set(by_version.values())
    return several.pop() if len(several) == 1 and by_version.keys() == set(ASKED) else dict(sorted(by_version.items()))


if __name__ == "__main__":
    main()
