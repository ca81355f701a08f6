"""Golden queries: what real Spark's analyzer answers, in both ANSI modes.

    python tests/engine/analysis/golden.py

asks real Spark and rewrites tests/engine/cases/queries/*.jsonl from the .sql files beside them. Review the change as a
diff.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CASES = Path(__file__).parents[1] / "cases" / "queries"
TIME_ZONE = "America/Los_Angeles"
"""Of the session that is asked."""
RELATIONS = ("customers", "orders", "numbers", "sure", "maybe", "t", "u", "w")


def statements(path: Path) -> list[str]:
    """The statements of a file, which a semicolon at the end of a line separates."""
    return [s.strip() for s in re.split(r";\s*\n", path.read_text().strip().rstrip(";")) if s.strip()]


def tables() -> list[str]:
    return statements(CASES / "tables.sql")


def files() -> list[Path]:
    return sorted(p for p in CASES.glob("*.sql") if p.stem != "tables")


def cases() -> Iterator[dict[str, Any]]:
    """The golden cases that stand: query, ansi, and Spark's `schema` or `error`."""
    for path in files():
        for line in path.with_suffix(".jsonl").read_text().splitlines():
            yield {"file": path.stem, **json.loads(line)}


def main() -> None:
    import tempfile

    from pyspark.sql import SparkSession

    with tempfile.TemporaryDirectory() as place:
        spark = (
            SparkSession.builder.master("local[1]")
            .config("spark.ui.enabled", "false")
            .config("spark.sql.session.timeZone", TIME_ZONE)
            .config("spark.sql.warehouse.dir", place)
            .getOrCreate()
        )
        for statement in tables():
            spark.sql(statement)
        relations = {t: _fields(spark.table(t).schema) for t in RELATIONS}
        (CASES / "relations.json").write_text(json.dumps(relations, indent=1) + "\n")
        for path in files():
            lines = [json.dumps(_answer(spark, q, ansi)) for q in statements(path) for ansi in (True, False)]
            path.with_suffix(".jsonl").write_text("\n".join(lines) + "\n")
        spark.stop()


def _fields(schema: Any) -> list[list[Any]]:
    return [[f.name, f.dataType.simpleString(), f.nullable] for f in schema]


def _answer(spark: Any, query: str, ansi: bool) -> dict[str, Any]:
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import AnalysisException, IllegalArgumentException, ParseException

    spark.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
    answer: dict[str, Any] = {"query": query, "ansi": ansi}
    try:
        frame = spark.sql(query)
    except (AnalysisException, IllegalArgumentException, ParseException) as error:
        return {**answer, "error": error.getCondition()}
    except Py4JJavaError as error:  # An exception of Spark for which PySpark has no class.
        return {**answer, "error": error.java_exception.getCondition()}
    output = frame._jdf.queryExecution().analyzed().output()
    attributes = [output.apply(i) for i in range(output.size())]
    qualifiers = [[a.qualifier().apply(i) for i in range(a.qualifier().size())] for a in attributes]
    schema = [
        {
            "name": f.name,
            "type": _without_metadata(json.loads(f.dataType.json())),
            "nullable": f.nullable,
            "relation": ".".join(q) or None,
        }
        for f, q in zip(frame.schema, qualifiers)
    ]
    return {**answer, "schema": schema}


def _without_metadata(form: Any) -> Any:
    if isinstance(form, dict):
        return {k: _without_metadata(v) for k, v in form.items() if k != "metadata"}
    return [_without_metadata(v) for v in form] if isinstance(form, list) else form


if __name__ == "__main__":
    main()
