"""Asks the Spark that Python finds random queries, and compares what planproof derives of them.

PYTHONPATH=core python tests/engine/versions/random_on_spark.py 2000 7 [--models] [--ansi-off] [--misses FILE]

`--models` asks queries as dbt compiles them. `--golden` asks those of tests/engine/cases/versions/mended.sql, to which
random ones led, and writes this Spark's answers into mended.jsonl beside it.
"""

from __future__ import annotations

import argparse
import collections
import json
import logging
import re
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import random_grammar
import random_models
from random_queries import TABLES

from planproof import AnalysisError, Catalog, Conf, Unknown, plan
from planproof_engine.api import make_environment

Writer = Callable[[int, int, str], list[str]]
Fields = list[tuple[str | None, str, Any, bool]]
TIME_ZONE = "America/Los_Angeles"
GOLDEN = Path(__file__).parents[1] / "cases" / "versions" / "mended.jsonl"


_VIEWS = Catalog()
for _name, _columns in TABLES.items():
    _VIEWS.add(_name, _columns, kind="view")


@dataclass(frozen=True)
class Answer:
    """Fields (relation, name, type in Spark's JSON form, nullable), a condition of refusal, or what is not known."""

    fields: Fields | None = None
    refused: str = ""
    unknown: str = ""
    message: str = ""


class Spark:
    """Real Spark's answers over the tables, which are empty."""

    def __init__(self, spark: Any, ansi: bool) -> None:
        self.spark = spark
        spark.conf.set("spark.sql.session.timeZone", TIME_ZONE)
        spark.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
        for name, columns in TABLES.items():
            fields = [
                {"name": c, "type": json.loads(_json_type(spark, t)), "nullable": flag, "metadata": {}}
                for c, t, flag in columns
            ]
            schema = spark._jvm.org.apache.spark.sql.types.DataType.fromJson(
                json.dumps({"type": "struct", "fields": fields})
            )
            rows = spark._jvm.java.util.ArrayList()
            spark._jsparkSession.createDataFrame(rows, schema).createOrReplaceTempView(name)

    def answer(self, query: str) -> Answer:
        try:
            analyzed = self.spark.sql(query)._jdf.queryExecution().analyzed()
        except Exception as error:  # whatever Spark says is its answer
            return Answer(refused=condition_of(error), message=str(error)[:400])
        fields = json.loads(analyzed.schema().json())["fields"]
        output = analyzed.output()
        relations = [output.apply(at).qualifier().mkString(".") or None for at in range(len(fields))]
        return Answer([(r, f["name"], _plain(f["type"]), f["nullable"]) for r, f in zip(relations, fields)])


def condition_of(error: Exception) -> str:
    """The condition of what Spark raised; the name of the exception where it has none."""
    said = re.search(r"\[([A-Z_0-9]+(\.[A-Z_0-9]+)?)\]", str(error))
    condition = getattr(error, "getCondition", None) or getattr(error, "getErrorClass", lambda: None)
    return condition() or (said.group(1) if said else type(error).__name__)


def _json_type(spark: Any, text: str) -> str:
    return str(spark._jvm.org.apache.spark.sql.types.DataType.fromDDL(text).json())


def _plain(form: Any) -> Any:
    if isinstance(form, dict):
        return {k: _plain(v) for k, v in form.items() if k != "metadata"}
    return [_plain(v) for v in form] if isinstance(form, list) else form


def golden_cases() -> list[dict[str, Any]]:
    """What Sparks answered: `spark`, `ansi`, `query`, and `fields` or `refused`."""
    return [json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").splitlines()]


def write_golden(spark: Any) -> None:
    """Writes the answers of this version anew."""
    version = ".".join(spark.version.split(".")[:2])
    kept = [case for case in golden_cases() if case["spark"] != version]
    lines = GOLDEN.with_suffix(".sql").read_text(encoding="utf-8").splitlines()
    for ansi in (True, False):
        real = Spark(spark, ansi)
        for query in filter(None, lines):
            answer = real.answer(query)
            said = {"refused": answer.refused} if answer.fields is None else {"fields": answer.fields}
            kept.append({"spark": version, "ansi": ansi, "query": query, **said})
    GOLDEN.write_text("".join(json.dumps(case) + "\n" for case in kept), encoding="utf-8")


def derived(query: str, conf: Conf) -> Answer:
    environment = replace(make_environment(query, _VIEWS, conf), settings={})
    try:
        schema = plan(query, environment=environment).schema
    except AnalysisError as error:
        return Answer(refused=error.condition, message=str(error)[:400])
    except Unknown as gap:
        return Answer(unknown=gap.construct)
    return Answer([(f.relation, f.name, _plain(f.type.json), f.nullable) for f in schema])


def compare(ours: Answer, real: Answer) -> str:
    """How an answer differs: `exact` where it does not. `nameless` is a query that has no answer: Spark puts the ids of
    its expressions into the name of a column, and they differ from one analysis to the next."""
    if ours.unknown:
        if real.fields is None:
            return "unknown, refused"
        return "nameless" if any(re.search(r"#\d+", name) for _, name, _, _ in real.fields) else "unknown"
    if real.fields is None:
        return _compare_refusals(ours, real)
    if ours.fields is None:
        return "mistaken"
    if [f[1:3] for f in map(_typed, ours.fields)] != [f[1:3] for f in map(_typed, real.fields)]:
        return "wrong"
    if ours.fields == real.fields:
        return "exact"
    if [f[1:] for f in ours.fields] == [f[1:] for f in real.fields]:
        return "other relation"
    return "unsound" if any(_is_stricter(a, b) for a, b in zip(ours.fields, real.fields)) else "looser"


def _compare_refusals(ours: Answer, real: Answer) -> str:
    if ours.fields is not None:
        return "not refused"
    if ours.refused == real.refused:
        return "refused"
    return "other subcondition" if ours.refused.split(".")[0] == real.refused.split(".")[0] else "other condition"


def _typed(field: tuple[str | None, str, Any, bool]) -> tuple[Any, ...]:
    return (field[0], field[1], json.dumps(_without_flags(field[2])))


def _without_flags(form: Any) -> Any:
    if isinstance(form, dict):
        return {k: _without_flags(v) for k, v in form.items() if k not in _FLAGS}
    return [_without_flags(v) for v in form] if isinstance(form, list) else form


_FLAGS = ("nullable", "containsNull", "valueContainsNull")


def _is_stricter(ours: Any, real: Any) -> bool:
    """Whether a flag says NOT NULL that Spark calls nullable."""
    if isinstance(ours, dict):
        return any(_is_stricter(v, real[k]) for k, v in ours.items())
    if isinstance(ours, (list, tuple)):
        return any(_is_stricter(a, b) for a, b in zip(ours, real))
    return isinstance(ours, bool) and real and not ours


def sweep(
    spark: Any,
    count: int,
    seed: int,
    ansi: bool,
    queries: Writer = random_grammar.queries,
) -> tuple[collections.Counter[str], list[dict[str, Any]]]:
    """How often each kind of answer came, and every query whose answer differs."""
    version = ".".join(spark.version.split(".")[:2])
    conf = replace(Conf.of(version), ansi=ansi, time_zone=TIME_ZONE)
    real = Spark(spark, ansi)
    found, misses = collections.Counter[str](), []
    for query in queries(count, seed, version):
        theirs, ours = real.answer(query), derived(query, conf)
        kind = compare(ours, theirs)
        found[kind] += 1
        if kind not in ("exact", "refused", "nameless"):
            misses.append({"kind": kind, "query": query, "ours": vars(ours), "spark": vars(theirs)})
    return found, misses


def main() -> None:
    from pyspark.sql import SparkSession

    logging.disable()  # pyspark writes each refusal
    asked = argparse.ArgumentParser()
    asked.add_argument("count", type=int, nargs="?", default=1000)
    asked.add_argument("seed", type=int, nargs="?", default=1)
    asked.add_argument("--golden", action="store_true")
    asked.add_argument("--models", action="store_true")
    asked.add_argument("--ansi-off", action="store_true")
    asked.add_argument("--misses", type=Path)
    given = asked.parse_args()
    written = random_models if given.models else random_grammar
    with tempfile.TemporaryDirectory() as place:
        spark = (
            SparkSession.builder.master("local[1]")
            .config("spark.ui.enabled", "false")
            .config("spark.sql.warehouse.dir", place)
            .getOrCreate()
        )
        spark.sparkContext.setLogLevel("OFF")
        if given.golden:
            write_golden(spark)
            return spark.stop()
        found, misses = sweep(spark, given.count, given.seed, not given.ansi_off, written.queries)
        spark.stop()
    print(json.dumps(dict(found.most_common())))
    if given.misses:
        given.misses.write_text("".join(json.dumps(miss) + "\n" for miss in misses), encoding="utf-8")


if __name__ == "__main__":
    main()
