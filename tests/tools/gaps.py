"""What planproof does not yet know of each version of Spark, by the facts that this Spark gave.

    python tests/tools/gaps.py

rewrites gaps.json beside it. By version, `conditions`: those by which planproof refuses golden queries, and which Spark
has not; `functions`: those that this Spark lists, and of which planproof has no line for it. Both are to become fewer:
what is mended is taken out by the same command.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

sys.path.extend([str(Path(__file__).parents[1] / "engine" / "analysis"), str(Path(__file__).parents[2] / "tools")])

import golden

from planproof_engine.analysis.script.setup import apply
from planproof_engine.api import plan
from planproof_engine.conf import Conf
from planproof_engine.functions.registry import builtin
from planproof_engine.origin import AnalysisError, Unknown
from spark_upgrade import facts

KEPT = Path(__file__).parent / "gaps.json"


def raised(version: str) -> set[str]:
    """The conditions by which planproof refuses golden queries for a version of Spark, by that version's defaults."""
    relations = json.loads((golden.CASES / "relations.json").read_text())
    environment = apply(golden.tables(), relations, Conf.of(version))
    found = set()
    for query in dict.fromkeys(case["query"] for case in golden.cases()):
        try:
            plan(query, environment=replace(environment, text=query))
        except AnalysisError as error:
            found.add(error.condition)
        except Unknown:
            continue
    return found


def gaps(version: str) -> dict[str, list[str]]:
    """The conditions and functions of one version, as they are kept."""
    spark = facts.read_known()[version]
    registry = builtin(spark.minor)
    without = [n for n in spark.functions if registry.find(n) is None and n not in registry.internal]
    return {"conditions": sorted(raised(version) - spark.conditions.keys()), "functions": sorted(without)}


def main() -> None:
    KEPT.write_text(json.dumps({version: gaps(version) for version in facts.read_known()}, indent=1) + "\n")


if __name__ == "__main__":
    main()
