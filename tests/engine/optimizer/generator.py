"""Random lambda expressions before and after the rules, and whether real Spark answers both alike.

Each expression is planned and rewritten alone, so that what other expressions read does not matter; many pairs then
share a query. A pair differs where a type, a flag, a value of any row, a failure of any row, or an error does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from random import Random
from typing import Any

from answers import Answer, answers, fails, row_by_row
from grammar import Grammar
from rows import COLUMNS, STORED, conf
from vocabulary import ROOTS

from planproof_engine.api import Rewriting, optimize, plan
from planproof_engine.catalog import Catalog
from planproof_engine.origin import AnalysisError, Unknown

WIDTH = 40
"""How many expressions one query asks."""
CATALOG = Catalog({"equality": COLUMNS, "equality_files": STORED})
_BEFORE, _AFTER = "SELECT id, ", " AS e FROM "


@dataclass(frozen=True, slots=True)
class Pair:
    """An expression before and after; `rules` made the difference."""

    before: str
    after: str
    rules: tuple[str, ...]
    risky: bool


@dataclass
class Tally:
    """What was tried: expressions made, those that do not bind, pairs that rules made, how often each rule fired, the
    pairs that raised alike, those that Spark refused alike, and what differed."""

    made: int = 0
    unbound: int = 0
    pairs: int = 0
    fired: Counter[str] = field(default_factory=Counter)
    raised: int = 0
    refused: list[tuple[str, str]] = field(default_factory=list)
    differences: list[tuple[str, str, str]] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        self.made += other.made
        self.unbound += other.unbound
        self.pairs += other.pairs
        self.fired += other.fired
        self.raised += other.raised
        self.refused += other.refused
        self.differences += other.differences

    def __str__(self) -> str:
        fired = ", ".join(f"{rule} {count}" for rule, count in self.fired.most_common())
        return (
            f"{self.pairs} pairs of {self.made} expressions ({self.raised} raised alike, {self.unbound} do not bind, "
            f"{len(self.refused)} refused by Spark); fired: {fired}; {len(self.differences)} differences"
        )


def expressions(seed: int, ansi: bool, tally: Tally) -> Iterator[tuple[str, bool]]:
    """Random expressions without end, and whether each may raise."""
    chance = Random(f"{seed} {ansi}")
    while True:
        grammar = Grammar(chance)
        text = grammar.value(chance.choice(ROOTS), chance.choice((1, 1, 2, 3)))
        tally.made += 1
        yield text, grammar.risky and ansi


def rewriting(text: str, ansi: bool, table: str = "equality") -> Rewriting | None:
    """The expression alone in a query over the table, optimized; None where it does not bind."""
    try:
        return optimize(plan(f"{_BEFORE}{text}{_AFTER}{table}", CATALOG, conf=conf(ansi)))
    except (AnalysisError, Unknown):
        return None


def pairs(seed: int, ansi: bool, count: int, tally: Tally, table: str) -> Iterator[Pair]:
    """`count` rewritten expressions. A rewriting that was made and then dropped is a difference."""
    for text, risky in expressions(seed, ansi, tally):
        found = rewriting(text, ansi, table)
        if found is None:
            tally.unbound += 1
            continue
        pair = _pair(text, found, risky, tally)
        if pair is not None:
            tally.pairs += 1
            tally.fired.update(found.rules)
            yield pair
            count -= 1
            if not count:
                return


def _outcome(found: Rewriting) -> tuple[object, ...]:
    return found.sql, found.dropped, [f.message for f in found.findings]


def _pair(text: str, found: Rewriting, risky: bool, tally: Tally) -> Pair | None:
    if found.findings or found.dropped:
        tally.differences.append((text, "", found.dropped or found.findings[0].message))
    if not found.rules:
        return None
    after, _, _ = found.sql.removeprefix(_BEFORE).rpartition(_AFTER)
    return Pair(text, after, found.rules, risky)


def changed(
    seed: int, ansi: bool, count: int, tally: Tally, mutated: Callable[[], AbstractContextManager[None]]
) -> Iterator[Pair]:
    """Of `count` expressions those that `mutated` rules rewrite otherwise; what they make of them is the pair."""
    for text, risky in expressions(seed, ansi, tally):
        sound = rewriting(text, ansi)
        with mutated():
            found = None if sound is None else rewriting(text, ansi)
        if sound is not None and found is not None and _outcome(found) != _outcome(sound):
            pair = _pair(text, found, risky, tally)
            if pair is not None:
                tally.pairs += 1
                yield pair
        count -= 1
        if not count:
            return


def compare(spark: Any, found: Sequence[Pair], table: str, tally: Tally) -> None:
    """Adds what Spark says of the pairs to the tally."""
    for risky in (False, True):
        part = [p for p in found if p.risky is risky]
        if part:
            _compare(spark, part, table, risky, tally)


def _compare(spark: Any, found: Sequence[Pair], table: str, risky: bool, tally: Tally) -> None:
    before = answers(spark, [p.before for p in found], table, risky)
    after = answers(spark, [p.after for p in found], table, risky)
    if isinstance(before, list) and isinstance(after, list):
        for pair, one, other in zip(found, before, after):
            _judge(spark, pair, one, other, table, tally)
    elif len(found) == 1:
        if before == after:
            tally.refused.append((found[0].before, str(before)))
        elif risky and _raises_alike(spark, found[0], table):
            tally.raised += 1
        else:
            tally.differences.append((found[0].before, found[0].after, f"{before} / {after}"[:2000]))
    else:
        middle = len(found) // 2
        _compare(spark, found[:middle], table, risky, tally)
        _compare(spark, found[middle:], table, risky, tally)


def _raises_alike(spark: Any, pair: Pair, table: str) -> bool:
    """Whether the same rows fail in the same way, where one of the pair fails outside of its guard: in a projection of
    Spark's own. Which row's error the whole query shows is open there: that projection goes over all rows first."""
    fail = [fails(spark, text, table) is not None for text in (pair.before, pair.after)]
    one, other = (row_by_row(spark, text, table, why=True) for text in (pair.before, pair.after))
    return all(fail) and one == other


def _judge(spark: Any, pair: Pair, before: Answer, after: Answer, table: str, tally: Tally) -> None:
    if before != after and not _alike_by_row(spark, pair, before, after, table):
        tally.differences.append((pair.before, pair.after, f"{before} / {after}"[:2000]))
    elif before.raised:
        tally.raised += 1
        one, other = fails(spark, pair.before, table), fails(spark, pair.after, table)
        if one != other:
            tally.differences.append((pair.before, pair.after, f"{one} / {other}"))


def _alike_by_row(spark: Any, pair: Pair, before: Answer, after: Answer, table: str) -> bool:
    """Whether values that differed where some raised are alike where no row knows of another's error."""
    guarded = before.type == after.type and (before.raised or after.raised)
    return guarded and row_by_row(spark, pair.before, table) == row_by_row(spark, pair.after, table)


def search(
    spark: Any,
    seed: int,
    count: int,
    table: str = "equality",
    until: int | None = None,
    mutated: Callable[[], AbstractContextManager[None]] | None = None,
) -> Tally:
    """Compares `count` pairs in either ANSI mode (or those of `count` expressions that `mutated` rules change).

    `until` stops at that many differences.
    """
    tally = Tally()
    for ansi in (True, False):
        spark.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
        source = (
            pairs(seed, ansi, count, tally, table) if mutated is None else changed(seed, ansi, count, tally, mutated)
        )
        batches: dict[bool, list[Pair]] = {False: [], True: []}
        for pair in source:
            batch = batches[pair.risky]
            batch.append(pair)
            if len(batch) == (WIDTH if mutated is None else WIDTH // 4):
                compare(spark, batch, table, tally)
                batch.clear()
            if until is not None and len(tally.differences) >= until:
                return tally
        for batch in batches.values():
            compare(spark, batch, table, tally)
        if until is not None and len(tally.differences) >= until:
            return tally
    return tally
