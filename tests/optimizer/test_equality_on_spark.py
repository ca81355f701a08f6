"""Original and rewritten expressions give the same rows, schema and errors on real Spark (see `generator`)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException

from planproof.api import optimize, plan
from planproof.catalog import Catalog
from planproof.conf import Conf
from planproof.optimizer.rules import RULES

sys.path.insert(0, str(Path(__file__).parent))
import generator

CASES = Path(__file__).parents[1] / "cases" / "rewrites.sql"
NAMES = {rule.__name__ for rule in RULES}


@pytest.fixture
def rows(spark: Any, tmp_path: Path) -> Any:
    generator.load(spark, str(tmp_path / "rows"))
    return spark


def summary(tally: generator.Tally) -> str:
    fired = ", ".join(f"{rule} {count}" for rule, count in tally.fired.most_common())
    return f"{tally.pairs} pairs of {tally.made} expressions; fired: {fired}; {len(tally.differences)} differences"


def test_rewritten_expressions_give_the_same_answer(rows: Any) -> None:
    tally = generator.search(rows, seed=7, count=60)
    assert tally.differences == []
    assert set(tally.fired) == NAMES


def test_rewritten_expressions_give_the_same_answer_over_files(rows: Any) -> None:
    tally = generator.search(rows, seed=8, count=20, table="equality_files")
    assert tally.differences == []


def answer(spark: Any, sql: str) -> tuple[str, list[str]] | str:
    try:
        frame = spark.sql(sql)
        return frame.schema.json(), sorted(repr(row) for row in frame.collect())
    except PySparkException as error:
        return str(error.getCondition())


@pytest.mark.parametrize("ansi", [True, pytest.param(False, marks=pytest.mark.conformance)])
def test_whole_queries_give_the_same_answer(rows: Any, ansi: bool) -> None:
    rows.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
    fired, different = set(), []
    for text in CASES.read_text().split(";\n"):
        sql = text.strip().replace("FROM rows", "FROM equality_files").replace("JOIN rows", "JOIN equality_files")
        if not sql:
            continue
        found = optimize(plan(sql, Catalog({"equality_files": generator.STORED}), conf=Conf(ansi=ansi)))
        assert found.findings == (), sql
        fired |= set(found.rules)
        if found.rules and answer(rows, sql) != answer(rows, found.sql):
            different.append((sql, found.sql))
    assert different == []
    assert fired == NAMES


@pytest.mark.conformance
@pytest.mark.parametrize("seed", range(100, 120))
def test_many_rewritten_expressions_give_the_same_answer(
    rows: Any, seed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    tally = generator.search(rows, seed=seed, count=500)
    with capsys.disabled():
        print(f"\nseed {seed}: {summary(tally)}")
    assert tally.differences == []


@pytest.mark.conformance
def test_many_rewritten_expressions_give_the_same_answer_over_files(rows: Any) -> None:
    tally = generator.search(rows, seed=200, count=400, table="equality_files")
    assert tally.differences == []
