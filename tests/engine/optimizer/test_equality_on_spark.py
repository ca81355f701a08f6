"""Original and rewritten expressions give the same rows, schema and errors on real Spark (see `generator`)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import generator
import kept
import pytest
import rows as data
from answers import answer
from vocabulary import COLLATES

from planproof_engine.api import optimize, plan
from planproof_engine.catalog import Catalog
from planproof_engine.optimizer.rules import RULES

CASES = Path(__file__).parents[1] / "cases" / "rewrites.sql"
NAMES = {rule.__name__ for rule in RULES}
SEEDS = range(100, 120)
PAIRS = 500
"""Per seed and ANSI mode: 20,000 pairs in all seeds."""
FILES = range(200, 204)
KEPT = range(300, 304)
FAST = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""Settings under which a query of many expressions over files is not compiled first."""


@pytest.fixture
def rows(spark: Any, tmp_path: Path) -> Any:
    data.load(spark, str(tmp_path / "rows"))
    return spark


@pytest.fixture(scope="module")
def total(pytestconfig: pytest.Config) -> Iterator[generator.Tally]:
    """What all sweeps of this run found, printed at its end."""
    found = generator.Tally()
    yield found
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")
    if found.pairs:
        with capture.global_and_fixture_disabled():
            print(f"\nin all: {found}")


def test_rewritten_expressions_give_the_same_answer(rows: Any) -> None:
    tally = generator.search(rows, seed=5, count=60)
    assert tally.differences == []
    assert set(tally.fired) == NAMES
    assert tally.pairs == 120
    assert tally.raised > 0


def test_rewritten_expressions_give_the_same_answer_over_files(rows: Any) -> None:
    tally = generator.search(rows, seed=8, count=12, table="equality_files")
    assert tally.differences == []
    assert tally.pairs == 24


def test_what_differs_is_told_from_what_does_not(rows: Any) -> None:
    def differences(before: str, after: str, risky: bool = True) -> int:
        tally = generator.Tally()
        calm = generator.Pair("transform(xs, x -> x)", "transform(xs, x -> x)", (), risky)
        generator.compare(rows, [calm, generator.Pair(before, after, (), risky), calm], "equality", tally)
        assert tally.refused == []
        return len(tally.differences)

    rows.conf.set("spark.sql.ansi.enabled", "true")
    assert differences("CAST(name AS INT)", "CAST(name AS INT)") == 0
    assert differences("k + 2147483647", "2147483647 + k", risky=False) == 0
    assert differences("k + 2147483647", "try_add(k, 2147483647)") == 1
    assert differences("CAST(name AS INT)", "try_cast(name AS INT)", risky=False) == 1
    assert differences("1 div k", "CAST('1' AS INT) div k") == 0
    assert differences("1 div k", "if(k = 0, CAST('x' AS INT), 1 div k)") == 1, "another condition"
    assert differences("ds", "transform(ds, x -> x + 0D)") == 1, "-0.0 became 0.0"
    assert differences("coalesce(k, 1)", "if(k IS NULL, 1, k)") == 1, "a flag"
    assert differences("xs", "nowhere") == 1


def set_codegen(spark: Any, compiled: bool) -> None:
    for key, value in ({} if compiled else FAST).items():
        spark.conf.set(key, value)


def _taken(sql: str) -> bool:
    """Whether this Spark reads it: collations and pipes came with Spark 4.0."""
    return COLLATES or not ("collate(" in sql or "|>" in sql)


COMPILED = [pytest.param(ansi, True, 1, marks=pytest.mark.conformance) for ansi in (True, False)]


@pytest.mark.parametrize(("ansi", "compiled", "every"), [(True, False, 4), *COMPILED])
def test_whole_queries_give_the_same_answer(rows: Any, ansi: bool, compiled: bool, every: int) -> None:
    """`every`: one of how many queries that are rewritten is asked."""
    set_codegen(rows, compiled)
    rows.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
    fired, rewritten = set(), []
    for text in CASES.read_text().split(";\n"):
        sql = text.strip().replace("FROM rows", "FROM equality_files").replace("JOIN rows", "JOIN equality_files")
        if not sql or not _taken(sql):
            continue
        found = optimize(plan(sql, Catalog({"equality_files": data.STORED}), conf=data.conf(ansi)))
        assert found.findings == (), sql
        fired |= set(found.rules)
        if found.rules:
            rewritten.append((sql, found.sql))
    different = [texts for texts in rewritten[::every] if answer(rows, texts[0]) != answer(rows, texts[1])]
    assert different == []
    assert fired == NAMES


@pytest.mark.conformance
@pytest.mark.parametrize("seed", SEEDS)
def test_many_rewritten_expressions_give_the_same_answer(rows: Any, seed: int, total: generator.Tally) -> None:
    tally = generator.search(rows, seed=seed, count=PAIRS)
    total.add(tally)
    assert tally.differences == []
    assert set(tally.fired) == NAMES
    assert len(tally.refused) < PAIRS / 20


@pytest.mark.conformance
@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("seed", FILES)
def test_many_rewritten_expressions_give_the_same_answer_over_files(
    rows: Any, seed: int, compiled: bool, total: generator.Tally
) -> None:
    set_codegen(rows, compiled)
    tally = generator.search(rows, seed=seed, count=50 if compiled else 200, table="equality_files")
    total.add(tally)
    assert tally.differences == []


def test_columns_of_kept_elements_give_the_same_answer(rows: Any) -> None:
    tally = kept.search(rows, seed=1, count=10)
    assert tally.differences == []
    assert tally.pairs == 22


@pytest.mark.conformance
@pytest.mark.parametrize("seed", KEPT)
def test_many_columns_of_kept_elements_give_the_same_answer(rows: Any, seed: int, total: generator.Tally) -> None:
    tally = kept.search(rows, seed=seed, count=250)
    total.add(tally)
    assert tally.differences == []
    assert len(tally.refused) < 25
