"""Random calls of every function, nested in each other, over columns of all types: what planproof derives of each is
compared with the Spark that Python finds.

    PYTHONPATH=core python tests/engine/functions/random_calls.py 5000 7 [--ansi-off] [--misses FILE]

A call's arguments are chosen by what its places accept, among columns, literals and calls made before; one in thirty is
chosen at random, so that refusals are compared as well. What planproof derives of a call says where the call can stand.
"""

from __future__ import annotations

import argparse
import collections
import json
import random
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import texts
from asked import Spark, parsed
from cases import Answer, base, counts, takes_lambda
from specimens import LITERALS, SPECIMENS
from sweep import embedded
from versions import absent, over

from planproof import AnalysisError, Unknown, plan
from planproof_engine.conf import Conf, spark_version
from planproof_engine.expr.function import Category, Signature, kind_of
from planproof_engine.functions.names import SINCE, release
from planproof_engine.functions.registry import builtin
from planproof_engine.types import Array, DataType, Map
from planproof_engine.types.kinds import accepts

_LONGEST = 160
_WHERE = texts.catalog()

Made = tuple[str, DataType]
"""The text of an expression, and its type."""


class Calls:
    """Writes calls; the same ones of the same seed."""

    def __init__(self, seed: int, version: str, ansi: bool) -> None:
        self.random = random.Random(seed)  # nothing is kept secret by it
        self.conf = replace(Conf.of(version), ansi=ansi, time_type=True)
        missing, known = absent(version), builtin(version)
        self.columns = [(s.sql, s.expr.type) for s in SPECIMENS.values() if not s.is_literal and s.sql not in missing]
        self.literals: list[Made] = [(s.sql, s.expr.type) for s in LITERALS]
        self.calls: list[Made] = []
        self.functions = [
            (name, function)
            for name in known
            if name not in known.internal
            and (function := known.functions[name]).category is not Category.GENERATOR
            and not takes_lambda(function)
            and not name.endswith(("_avro", "_protobuf"))
            and release(SINCE.get(name, "1.0"))[:2] <= release(version)[:2]
        ]

    def write(self) -> str:
        """One select item."""
        if self.calls and self.random.random() < 0.15:
            text, made = self._around()
        else:
            text, made = self._call()
        if made is not None and len(text) < _LONGEST:
            self.calls.append((text, made))
        return text

    def _call(self) -> tuple[str, DataType | None]:
        name, function = self.random.choice(self.functions)
        sizes = counts(function)
        args = self._args(name, function, self.random.choice(sizes))
        text = _written(name, function, args)
        if function.category is Category.AGGREGATE:
            text = self._aggregate(text)
            return text, None
        return text, None if function.category is Category.WINDOW else self._type(text)

    def _args(self, name: str, function: Signature, count: int) -> list[str]:
        usual = base(name, function, count)
        places = function.list_inputs(count)
        args = []
        for at, given in enumerate(usual):
            constant = given not in dict(self.columns)
            if constant and self.random.random() < 0.9:
                args.append(given)
            else:
                args.append(self._fitting(kind_of(places[at]) if at < len(places) else None))
        return args

    def _fitting(self, expected: Any) -> str:
        pool = self.random.choices([self.columns, self.literals, self.calls or self.columns], (4, 1, 5))[0]
        tried = [self.random.choice(pool) for _ in range(40)]
        if expected is None or self.random.random() < 0.03:
            return tried[0][0]
        return next((text for text, of in tried if accepts(expected, of)), tried[0][0])

    def _aggregate(self, text: str) -> str:
        return self.random.choice(
            [
                text,
                text,
                f"{text} FILTER (WHERE boolean)",
                f"{text} OVER (PARTITION BY string)",
                f"{text} OVER (ORDER BY int ROWS 1 PRECEDING)",
                f"coalesce({text}, NULL)",
                f"struct({text}, 1)",
            ]
        )

    def _around(self) -> tuple[str, DataType | None]:
        """What grammar writes around a call: casts, items, lambdas, conditions."""
        text, made = self.random.choice(self.calls)
        other = self.random.choice(self.calls + self.columns)[0]
        target = self.random.choice(self.columns)[1].simple
        forms = [
            f"CAST({text} AS {target})",
            f"TRY_CAST({text} AS {target})",
            f"{text} IS NULL",
            f"{text} = {other}",
            f"{text} IN ({other}, NULL)",
            f"CASE WHEN boolean THEN {text} ELSE {other} END",
            f"coalesce({text}, {other})",
            f"array({text}, {other})",
            f"named_struct('a', {text}, 'b', {other}).a",
            f"map({text}, {other})",
            f"{text} BETWEEN {other} AND {text}",
            f"{text} + {other}",
            f"-{text}",
            f"{text} || {other}",
            f"CASE {text} WHEN {other} THEN 1 END",
        ]
        if isinstance(made, Array):
            forms += [
                f"transform({text}, x -> {self._body('x', made.element)})",
                f"filter({text}, x -> x IS NOT NULL)",
                f"aggregate({text}, {other}, (a, x) -> a)",
                f"zip_with({text}, {text}, (x, y) -> struct(x, y))",
                f"{text}[0]",
                f"exists({text}, x -> x = {other})",
                f"transform({text}, (x, i) -> struct(i, x).col2)",
                f"array_sort({text}, (l, r) -> CASE WHEN l < r THEN -1 ELSE 1 END)",
            ] * 2
        if isinstance(made, Map):
            forms += [
                f"transform_values({text}, (k, v) -> {self._body('v', made.value)})",
                f"transform_keys({text}, (k, v) -> {self._body('k', made.key)})",
                f"map_filter({text}, (k, v) -> v IS NULL)",
                f"map_zip_with({text}, {text}, (k, a, b) -> coalesce(a, b))",
                f"{text}[{other}]",
            ] * 2
        found = self.random.choice(forms)
        return found, self._type(found)

    def _body(self, variable: str, of: DataType) -> str:
        """A call over a lambda's variable: one made before, with the variable in place of a column of its type."""
        for text, _ in (self.random.choice(self.calls) for _ in range(20)):
            for column, kind in self.columns:
                if kind == of and f"({column}" in text:
                    return text.replace(f"({column}", f"({variable}", 1)
        return self.random.choice([variable, f"coalesce({variable}, NULL)", f"struct({variable})"])

    def _type(self, text: str) -> DataType | None:
        try:
            return plan(texts.query("", text), _WHERE, conf=self.conf).schema[0].type
        except (AnalysisError, Unknown):
            return None


def _written(name: str, function: Signature, args: list[str]) -> str:
    if function.operator and len(args) == 2 and not name.isidentifier():
        return f"({args[0]} {name} {args[1]})"
    text = f"{name if name.isidentifier() else f'`{name}`'}({', '.join(args)})"
    return f"{text} OVER (ORDER BY int_nn)" if function.category is Category.WINDOW else text


def compare(ours: Answer, theirs: Answer) -> str:
    """How an answer differs: `exact` and `refused` where it does not."""
    if theirs.error:
        if ours.unknown or ours.columns:
            return "unknown, refused" if ours.unknown else "not refused"
        return "refused" if ours.error == theirs.error else "other condition"
    if ours.unknown:
        return "unknown"
    if ours.error:
        return "mistaken"
    return "exact" if ours == theirs else "wrong"


def sweep(spark: Any, count: int, seed: int, ansi: bool) -> tuple[collections.Counter[str], list[dict[str, Any]]]:
    """How often each kind of answer came, and every text whose answer differs."""
    version = spark_version(spark.version)
    writer, asked = Calls(seed, version, ansi), Spark(spark, over(version))
    written = list(dict.fromkeys(writer.write() for _ in range(count)))
    found, misses = collections.Counter[str](), []
    for text, theirs in _answers(asked, written, ansi):
        ours = texts.answered("", text, _WHERE, writer.conf)
        kind = compare(ours, theirs)
        found[kind] += 1
        if kind not in ("exact", "refused"):
            misses.append({"kind": kind, "text": text, "ours": str(ours), "spark": str(theirs)})
    return found, misses


def _answers(asked: Spark, written: list[str], ansi: bool) -> Iterator[tuple[str, Answer]]:
    for at in range(0, len(written), 500):
        batch = written[at : at + 500]
        yield from ((text, parsed(answer)) for text, answer in zip(batch, asked.answers(batch, ansi)))


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("count", type=int)
    options.add_argument("seed", type=int)
    options.add_argument("--ansi-off", action="store_true")
    options.add_argument("--misses", type=Path)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as place:
        spark = embedded(place)
        found, misses = sweep(spark, given.count, given.seed, not given.ansi_off)
        spark.stop()
    print(json.dumps(dict(found.most_common())))
    if given.misses:
        given.misses.write_text("".join(json.dumps(miss) + "\n" for miss in misses), encoding="utf-8")


if __name__ == "__main__":
    main()
