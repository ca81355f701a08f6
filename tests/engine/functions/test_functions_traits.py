"""What the traits say holds over edge values, in both ANSI modes: real Spark is asked (`traits.py`)."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
import traits
from asked import Kept, in_mode
from cases import base, call_sql
from edges import EDGES

from planproof_engine.expr.function import Category
from planproof_engine.expr.traits import Frame
from planproof_engine.functions.registry import builtin

KNOWN = Path(__file__).parent / "known_traits.txt"
FEW = "+ / and if nanvl coalesce element_at size round elt levenshtein rlike rand typeof transform exists not"


def known() -> set[str]:
    """Questions of which a row says otherwise for a reason, which stands behind `  #`."""
    lines = KNOWN.read_text().splitlines()
    return {line.split("  #")[0].strip() for line in lines if not line.startswith("#")}


def test_a_few_traits(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of each kind; the rest is behind `make conformance`."""
    monkeypatch.setattr("asked._FOLDER", tmp_path)
    chosen = list(traits.claims(FEW.split()))
    counter = traits.Counter(spark, ("int", "string", "double", "float", "boolean", "dec", "ints", "ints_full"))
    found = traits.swept(Kept(spark.version, EDGES, lambda: counter), chosen, True)
    assert not set(found.broken) - known()
    assert {c.trait for c in chosen} >= {"volatile", "evaluates", "strict", "hands_on", "loop", "elements", "wraps"}
    assert found.ran > found.asked * 0.8


@pytest.mark.conformance
def test_every_trait(spark: Any) -> None:
    kept = Kept(spark.version, EDGES, cache(lambda: traits.Counter(spark)))
    chosen, broken = list(traits.claims()), set()
    for ansi in (True, False):
        found = traits.swept(kept, chosen, ansi)
        broken.update(found.broken)
        assert found.ran > found.asked * 0.75
    assert broken == known()


@pytest.mark.conformance
def test_an_aggregate_function_is_null_over_nothing_alone(spark: Any) -> None:
    in_mode(spark, True)
    rows = " UNION ALL ".join(
        "SELECT " + ", ".join(f"CAST({v[row % len(v)]} AS {traits.type_of(k)}) AS `{k}_nn`" for k, v in EDGES.items())
        for row in range(2)
    )
    asked = {}
    for name, function in builtin().functions.items():
        if function.category is Category.AGGREGATE and function.traits.null_over_nothing:
            asked[name] = call_sql(name, function, base(name, function, function.arity()[0]))
    texts = ", ".join(f"{sql} IS NULL" for sql in asked.values())
    some = spark.sql(f"WITH v AS ({rows}) SELECT {texts} FROM v").collect()[0]
    none = spark.sql(f"WITH v AS ({rows}) SELECT {texts} FROM v WHERE int_nn IS NULL").collect()[0]
    assert len(asked) > 15
    assert [name for name, null in zip(asked, some) if null] == []
    assert [name for name, null in zip(asked, none) if not null] == []


@pytest.mark.conformance
def test_a_window_function_takes_the_frame_that_it_declares(spark: Any) -> None:
    windows = {name: f for name, f in builtin().functions.items() if f.category is Category.WINDOW}
    framed = {name: f for name, f in windows.items() if f.traits.frame not in (None, Frame.OFFSET)}
    assert framed
    for name, function in framed.items():
        call = f"{name}({'int_nn' if function.arity()[0] else ''}) OVER (ORDER BY int_nn)"
        printed = spark.sql(f"SELECT {call} FROM VALUES (1) AS t(int_nn)").columns[0]
        assert function.traits.frame.value in printed, printed
