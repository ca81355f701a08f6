"""Golden queries by version: which of them each Spark refuses, and with which condition.

    PYTHONPATH=/where/pyspark-3.5.9 python tests/engine/analysis/versions.py

asks the Spark that Python finds, and writes its answers beside those of the others in
tests/engine/cases/versions/*.json, from the .sql files there. Review the change as a diff.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TIME_ZONE = "America/Los_Angeles"
"""Of the sessions that are asked."""
CASES = Path(__file__).parents[1] / "cases" / "versions"
RELATIONS = ("t", "u", "v")


def statements(name: str) -> list[str]:
    """The statements of a file, which a semicolon at the end of a line separates."""
    text = (CASES / f"{name}.sql").read_text().strip().rstrip(";")
    return [s.strip() for s in re.split(r";\s*\n", text) if s.strip()]


def files() -> list[str]:
    return sorted(p.stem for p in CASES.glob("*.sql") if p.stem != "tables")


def kept(name: str) -> dict[str, dict[str, dict[str, str]]]:
    """A file's answers: query -> `ansi` or `legacy` -> version -> the condition, empty where Spark accepts."""
    path = CASES / f"{name}.json"
    found: dict[str, dict[str, dict[str, str]]] = json.loads(path.read_text()) if path.exists() else {}
    return found


def cases() -> Iterator[tuple[str, str, bool, str]]:
    """Query, version, ANSI mode and condition of every answer that stands."""
    for name in files():
        for query, modes in kept(name).items():
            for mode, answers in modes.items():
                for version, condition in answers.items():
                    yield query, version, mode == "ansi", condition


def main() -> None:
    import pyspark
    from pyspark.sql import SparkSession

    version = ".".join(pyspark.__version__.split(".")[:2])
    with tempfile.TemporaryDirectory() as place:
        spark = (
            SparkSession.builder.master("local[1]")
            .config("spark.ui.enabled", "false")
            .config("spark.sql.session.timeZone", TIME_ZONE)
            .config("spark.sql.warehouse.dir", place)
            .getOrCreate()
        )
        for statement in statements("tables"):
            spark.sql(statement)
        fields = {t: spark.table(t).schema for t in RELATIONS}
        relations = {t: [[f.name, f.dataType.simpleString(), f.nullable] for f in s] for t, s in fields.items()}
        (CASES / "relations.json").write_text(json.dumps(relations, indent=1) + "\n")
        for name in files():
            known = kept(name)
            answers = {}
            for query in statements(name):
                modes = known.get(query, {"ansi": {}, "legacy": {}})
                for mode, by_version in modes.items():
                    spark.conf.set("spark.sql.ansi.enabled", str(mode == "ansi").lower())
                    by_version[version] = _condition(spark, query)
                answers[query] = {m: dict(sorted(found.items())) for m, found in modes.items()}
            (CASES / f"{name}.json").write_text(json.dumps(answers, indent=1, ensure_ascii=False) + "\n")
        spark.stop()


def _condition(spark: Any, query: str) -> str:
    """The condition with which Spark refuses the query; empty where it does not."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        spark.sql(query)
    except PySparkException as error:
        return str(error.getErrorClass())  # The name that this has in every version.
    except Py4JJavaError as error:  # An exception of Spark for which PySpark has no class.
        return str(error.java_exception.getErrorClass())
    return ""


if __name__ == "__main__":
    main()
