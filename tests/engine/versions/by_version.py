"""Writes which golden cases of functions the Spark that Python finds answers otherwise than Spark 4.3.

    PYTHONPATH=core python tests/engine/versions/by_version.py

Asks every case in tests/engine/cases/functions/ over the types that this Spark has, and writes those that differ to
tests/engine/cases/versions/. Where both refuse, whatever the condition, they agree.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "functions"))

import texts
from asked import Spark, parsed
from cases import Answer, call_sql, derive, same
from sweep import embedded
from versions import absent, over

from planproof_engine.conf import Conf, spark_version
from planproof_engine.expr.function import Category
from planproof_engine.functions.names import SINCE, release
from planproof_engine.functions.registry import builtin

CASES = Path(__file__).parents[1] / "cases"
_WHERE = texts.catalog()


def golden(version: str) -> Iterator[dict[str, Any]]:
    """The golden cases that a version can be asked: those without columns of types that it has not."""
    missing = absent(version)
    for path in sorted((CASES / "functions").glob("*.jsonl")):
        for line in path.read_text().splitlines():
            case = json.loads(line)
            words = set(case["args"]) if "args" in case else {m for m in missing if m in case["text"]}
            if not words & missing:
                yield case


def key(case: dict[str, Any]) -> tuple[Any, ...]:
    """What is asked, apart from what was answered."""
    if "text" in case:
        return (case["group"], case["text"], case["ansi"])
    return (case["function"], *case["args"], case["ansi"])


def said(case: dict[str, Any]) -> Answer:
    return Answer(tuple(tuple(c) for c in case.get("columns", ())), case.get("error"))


def ours(case: dict[str, Any], version: str) -> Answer:
    """planproof's answer for that version."""
    conf = replace(Conf.of(version), ansi=case["ansi"], time_type=True)
    if "text" in case:
        return texts.answered(case["group"], case["text"], _WHERE, conf)
    registry, name = builtin(version), case["function"]
    function = registry.find(name)
    if function is not None:
        return derive(name, function, tuple(case["args"]), conf)
    there = release(SINCE.get(name, "1.0"))[:2] <= release(version)
    return Answer(unknown=name) if there else Answer(error="UNRESOLVED_ROUTINE")


def agree(case: dict[str, Any], mine: Answer, theirs: Answer) -> bool:
    """A window function's call is compared by type and flag: its frame is printed by others."""
    if mine.error and theirs.error:
        return True
    if "function" in case and mine.columns and theirs.columns:
        line = builtin().find(case["function"])
        if line is not None and line.category is Category.WINDOW:
            return mine.columns[0][1:] == theirs.columns[0][1:]
    return same(mine, theirs)


def written(version: str) -> Path:
    return CASES / "versions" / f"functions-{version}.jsonl"


def _sql(case: dict[str, Any]) -> str:
    if "text" in case:
        return f"* FROM {case['text']}" if case["group"] == texts.IN_FROM else str(case["text"])
    function = builtin().find(case["function"])
    assert function is not None
    return call_sql(case["function"], function, tuple(case["args"]))


def main() -> int:
    import pyspark

    version = spark_version(pyspark.__version__)
    with tempfile.TemporaryDirectory() as directory:
        session = embedded(directory)
        spark, lines = Spark(session, over(pyspark.__version__)), []
        for ansi in (True, False):
            chosen = [case for case in golden(version) if case["ansi"] is ansi]
            for case, found in zip(chosen, spark.answers([_sql(c) for c in chosen], ansi)):
                answer = parsed(found)
                if not agree(case, said(case), answer):
                    case = {k: v for k, v in case.items() if k not in ("columns", "error")}
                    lines.append(case | ({"error": answer.error} if answer.error else {"columns": answer.columns}))
        session.stop()
    written(version).write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
