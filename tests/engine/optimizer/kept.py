"""Random queries that give the elements of an array which they keep a name of their own, and read them by it.

`SELECT e FROM (SELECT *, filter(items, ..) AS li FROM equality)`, and the same over `explode(filter(items, ..)) AS li`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

from answers import answer, answers
from generator import CATALOG, WIDTH, Tally
from grammar import Grammar, words
from rows import conf
from vocabulary import ROOTS

from planproof_engine.api import optimize, plan
from planproof_engine.origin import AnalysisError, Unknown

_KEPT, _TABLE = " AS e FROM (SELECT *, ", " AS li FROM equality)"
_ARRAY, _ELEMENT = re.compile(r"(?<!\.)\bitems\b"), re.compile(r"\bli\b")


@dataclass(frozen=True, slots=True)
class Query:
    """An expression over `li`, and what `li` is."""

    text: str
    kept: str

    @property
    def sql(self) -> str:
        return f"SELECT id, {self.text}{_KEPT}{self.kept}{_TABLE}"

    @staticmethod
    def of(sql: str) -> Query:
        text, kept = sql.removeprefix("SELECT id, ").removesuffix(_TABLE).split(_KEPT)
        return Query(text, kept)


def queries(seed: int, ansi: bool, count: int, tally: Tally, each: bool) -> Iterator[tuple[Query, Query]]:
    """`count` queries that the rules rewrite, before and after; none of them may raise."""
    chance = Random(f"kept {seed} {ansi} {each}")
    while count:
        query = _made(chance, ansi, each)
        if query is None:
            continue
        tally.made += 1
        try:
            found = optimize(plan(query.sql, CATALOG, conf=conf(ansi)))
        except (AnalysisError, Unknown):
            tally.unbound += 1
            continue
        if found.findings or found.dropped:
            tally.differences.append((query.sql, "", found.dropped or found.findings[0].message))
        after = Query.of(found.sql)
        if "prune_fields" in found.rules and after.kept != query.kept:
            tally.pairs += 1
            tally.fired.update(found.rules)
            count -= 1
            yield query, after


def _made(chance: Random, ansi: bool, each: bool) -> Query | None:
    """A query, where the expression that comes by chance reads the kept elements and cannot raise."""
    definition, reader = Grammar(chance), Grammar(chance)
    kept = definition._filtered("items", chance.choice((1, 1, 2)))
    if each and chance.random() < 0.3:
        kept = chance.choice(("items", "box.items"))
    if each:
        reader = reader.within(("li", "item"))
    text = reader.value(chance.choice(ROOTS), chance.choice((1, 2, 3)))
    text = text if each else _ARRAY.sub("li", text)
    # A slice from 0 fails with ANSI off, too.
    if "li" not in words(text) or definition.risky or (ansi and reader.risky):
        return None
    return Query(text, f"explode({kept})" if each else kept)


def search(spark: Any, seed: int, count: int) -> Tally:
    """Compares `count` queries over kept arrays and a tenth of that over exploded ones, in either ANSI mode."""
    tally = Tally()
    for ansi in (True, False):
        spark.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
        found = list(queries(seed, ansi, count, tally, each=False))
        for start in range(0, count, WIDTH):
            _compare(spark, found[start : start + WIDTH], tally)
        for before, after in queries(seed, ansi, count // 10, tally, each=True):
            one, other = answer(spark, before.sql), answer(spark, after.sql)
            if one != other:
                tally.differences.append((before.sql, after.sql, f"{one} / {other}"[:2000]))
    return tally


def _compare(spark: Any, found: list[tuple[Query, Query]], tally: Tally) -> None:
    """Adds what Spark says of all of them in one query before and one after, each with all columns of kept elements."""
    said = []
    for at in (0, 1):
        columns = ", ".join(f"{pair[at].kept} AS li{n}" for n, pair in enumerate(found))
        spark.sql(f"CREATE OR REPLACE TEMP VIEW kept AS SELECT *, {columns} FROM equality")
        said.append(answers(spark, [_ELEMENT.sub(f"li{n}", pair[at].text) for n, pair in enumerate(found)], "kept"))
    if isinstance(said[0], str) or isinstance(said[1], str):
        if len(found) > 1:
            middle = len(found) // 2
            _compare(spark, found[:middle], tally)
            _compare(spark, found[middle:], tally)
        elif said[0] != said[1]:
            tally.differences.append((found[0][0].sql, found[0][1].sql, f"{said[0]} / {said[1]}"[:2000]))
        else:
            tally.refused.append((found[0][0].sql, str(said[0])))
        return
    for (before, after), one, other in zip(found, *said):
        if one != other:
            tally.differences.append((before.sql, after.sql, f"{one} / {other}"[:2000]))
