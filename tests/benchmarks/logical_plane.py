"""The logical plane's time per query beside sqlglot's parse, qualify and annotate_types, in one run.

    python tests/benchmarks/logical_plane.py [--repeat 5] [CASES.jsonl]

CASES are cases as `planproof derive` reads them; without them, the golden queries are timed. Both sides get the true
schemas of the tables; both sides skip the queries that the other cannot parse. They take turns, query by query, and the
figure is the ratio of their total times. Same parser build: plain Python on both sides.
"""

from __future__ import annotations

import argparse
import json
import logging
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlglot import parse_one
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.annotate_types import annotate_types
from sqlglot.optimizer.qualify import qualify
from sqlglot.schema import MappingSchema

from planproof_engine.analysis.context import Environment
from planproof_engine.analysis.script.setup import apply
from planproof_engine.api import plan
from planproof_engine.conf import Conf
from planproof_engine.origin import AnalysisError, Unknown

QUERIES = Path(__file__).parents[1] / "engine" / "cases" / "queries"


def golden() -> Iterator[dict[str, Any]]:
    relations = json.loads((QUERIES / "relations.json").read_text())
    setup = (QUERIES / "tables.sql").read_text().rstrip().rstrip(";").split(";\n")
    for path in sorted(QUERIES.glob("*.jsonl")):
        for line in path.read_text().splitlines():
            case = json.loads(line)
            if "schema" in case:
                yield {"query": case["query"], "ansi": case["ansi"], "setup": setup, "relations": relations}


def peer_schema(relations: dict[str, Any]) -> MappingSchema:
    columns = {name.split(".")[-1]: {c: t for c, t, _ in fields} for name, fields in relations.items()}
    return MappingSchema(columns, dialect="spark")


def ours(query: str, env: Environment) -> None:
    plan(query, environment=env)


def peers(query: str, schema: MappingSchema) -> None:
    annotate_types(qualify(parse_one(query, read="spark"), schema=schema, dialect="spark"), schema=schema)


def seconds(work: Callable[[], None]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def ready(cases: Iterator[dict[str, Any]]) -> list[tuple[str, Environment, MappingSchema]]:
    """The queries that both sides answer, each with what both sides know of its tables."""
    found = []
    environments: dict[str, tuple[Environment, MappingSchema]] = {}
    for case in cases:
        key = json.dumps([case["setup"], case["relations"], case["ansi"]])
        try:
            if key not in environments:
                environments[key] = (
                    apply(case["setup"], case["relations"], Conf(ansi=case["ansi"])),
                    peer_schema(case["relations"]),
                )
            shared, schema = environments[key]
            env = replace(shared, text=case["query"])
            ours(case["query"], env)
            peers(case["query"], schema)
        except (AnalysisError, Unknown, SqlglotError):
            continue
        except Exception as error:  # sqlglot fails on some queries in ways of its own.
            print(f"skipped: {type(error).__name__}", file=sys.stderr)
            continue
        found.append((case["query"], env, schema))
    return found


def main() -> None:
    logging.getLogger("sqlglot").setLevel(logging.ERROR)
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("cases", nargs="?", type=Path)
    parser.add_argument("--repeat", type=int, default=5)
    given = parser.parse_args()
    lines = given.cases.read_text().splitlines() if given.cases else None
    queries = ready(iter([json.loads(line) for line in lines]) if lines is not None else golden())
    ratios, mine, theirs = [], 0.0, 0.0
    for _ in range(given.repeat):
        a = b = 0.0
        for query, env, schema in queries:
            a += seconds(lambda q=query, e=env: ours(q, e))  # type: ignore[misc]
            b += seconds(lambda q=query, s=schema: peers(q, s))  # type: ignore[misc]
        ratios.append(a / b)
        mine, theirs = mine + a, theirs + b
    count = len(queries) * given.repeat
    print(f"{len(queries)} queries, {given.repeat} runs")
    print(f"planproof  {1000 * mine / count:6.3f} ms per query: names, types, nullability, relations, evidence")
    print(f"sqlglot    {1000 * theirs / count:6.3f} ms per query: parse, qualify, annotate_types")
    print(f"ratio      {statistics.median(ratios):6.3f} (median; {min(ratios):.3f} to {max(ratios):.3f})")


if __name__ == "__main__":
    main()
