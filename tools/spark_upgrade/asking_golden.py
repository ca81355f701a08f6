"""Asks a Spark the golden cases of tests/cases. Run by a Python that finds that Spark's pyspark.

    cd tests/engine
    PYTHONPATH=../../core:functions:analysis:../../tools PYTHON ../../tools/spark_upgrade/asking_golden.py OUT.json

Writes the number of cases, and of those that this Spark answers otherwise: what was asked, its function or file, the
mode, the golden answer and this Spark's.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import golden
import texts
from asked import Spark, parsed
from cases import Answer, call_sql
from sweep import GOLDEN, embedded
from versions import absent, over

from planproof_engine.functions.registry import builtin

_BATCH = 500


@dataclass(frozen=True, slots=True)
class Case:
    """One golden case of a call: the select list, whose case it is, the mode, and what Spark answered."""

    text: str
    name: str
    ansi: bool
    answer: Answer


def calls(version: str) -> Iterator[Case]:
    """The golden calls and texts over columns whose types this Spark has."""
    missing = absent(version)
    for path in sorted(GOLDEN.glob("*.jsonl")):
        for line in path.read_text().splitlines():
            case = json.loads(line)
            text, name = _make_query(case)
            if text is not None and not any(column in text for column in missing):
                columns = tuple((n, t, nullable) for n, t, nullable in case.get("columns", ()))
                yield Case(text, name, case["ansi"], Answer(columns, case.get("error")))


def _make_query(case: dict[str, Any]) -> tuple[str | None, str]:
    if "text" in case:
        in_from = case["group"] == texts.IN_FROM
        return (f"* FROM {case['text']}" if in_from else case["text"]), case["group"]
    name = case["function"]
    function = builtin().find(name)
    return (call_sql(name, function, tuple(case["args"])) if function else None), name


def find_other_calls(asker: Spark, cases: Iterable[Case]) -> Iterator[dict[str, Any]]:
    """The golden calls that Spark now answers otherwise."""
    listed = list(cases)
    for ansi in (True, False):
        chosen = [case for case in listed if case.ansi is ansi]
        for at in range(0, len(chosen), _BATCH):
            batch = chosen[at : at + _BATCH]
            for case, answer in zip(batch, asker.answers([c.text for c in batch], ansi)):
                found = parsed(answer)
                if found != case.answer:
                    then, now = (_columns(a.error, a.columns) for a in (case.answer, found))
                    yield _describe_difference(case.name, case.text, ansi, then, now)


def find_other_queries(spark: Any) -> Iterator[dict[str, Any]]:
    """The golden queries that Spark now answers otherwise."""
    for statement in golden.tables():
        spark.sql(statement)
    for case in golden.cases():
        found = golden._answer(spark, case["query"], case["ansi"])
        wanted = {key: value for key, value in case.items() if key != "file"}
        if found != wanted:
            then, now = (_columns(a.get("error"), [f.values() for f in a.get("schema", ())]) for a in (wanted, found))
            yield _describe_difference(case["file"], case["query"], case["ansi"], then, now)


def _columns(error: str | None, columns: Iterable[Iterable[Any]]) -> list[str]:
    """The columns of an answer, each as one text; the condition where Spark refuses."""
    return [error] if error else [json.dumps(list(column))[1:-1] for column in columns]


def _describe_difference(name: str, text: str, ansi: bool, then: list[str], now: list[str]) -> dict[str, Any]:
    """Of two answers of the same length only the columns that differ are told."""
    if len(then) == len(now):
        pairs = [(a, b) for a, b in zip(then, now) if a != b]
        then, now = ([pair[side] for pair in pairs] for side in (0, 1))
    return {"name": name, "text": text, "ansi": ansi, "golden": "; ".join(then), "spark": "; ".join(now)}


def main() -> int:
    import pyspark

    version = pyspark.__version__
    with tempfile.TemporaryDirectory() as directory:
        spark = embedded(directory)
        known = list(calls(version))
        found = [*find_other_calls(Spark(spark, over(version)), known), *find_other_queries(spark)]
        asked = len(known) + sum(1 for _ in golden.cases())
        spark.stop()
    Path(sys.argv[1]).write_text(json.dumps({"version": version, "asked": asked, "other": found}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
