"""Which functions an older Spark answers otherwise than planproof says: data for `since`, `until` and `changed`.

    PYTHONPATH=core:/where/pyspark-3.5.6 python tests/engine/functions/versions.py [--show 3] [--list] [--family NAME]

Asks the Spark that Python finds those calls of the sweep that planproof accepts, over the types and functions that it
has. Conditions are not compared: what both refuse, they agree on.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import texts
from asked import Kept, Spark, view_schema
from cases import Answer, call_sql, derive, matrix, same
from sweep import agree, asked_of, embedded, few, selected, text_answers, text_derived

from planproof_engine.conf import Conf
from planproof_engine.functions.names import SINCE, release
from planproof_engine.functions.registry import builtin

_TYPES_SINCE = {"variant": "4.0", "lcase": "4.0", "time": "4.1"}
"""Columns whose types are younger than 3.5."""


_GROUPS = ("lambdas", "windows", "modifiers", "casts", "operators", "decimals")
"""The groups of texts that every version can read."""


def absent(version: str) -> frozenset[str]:
    """The columns of specimens that this Spark has no type for."""
    names = [n for n, since in _TYPES_SINCE.items() if release(version) < release(since)]
    return frozenset([*names, *(f"{n}_nn" for n in names)])


def over(version: str) -> dict[str, Any]:
    schema, missing = view_schema(), absent(version)
    return schema | {"fields": [f for f in schema["fields"] if f["name"] not in missing]}


def _alike(ours: Answer, spark: Answer) -> bool:
    return same(ours, spark) or bool(ours.error and spark.error)


def _lines(kept: Kept, version: str, families: Sequence[str]) -> Iterator[tuple[str, str, bool, Answer, Answer, bool]]:
    missing, older = absent(version), builtin(version)
    for part, lines in selected(families):
        there = [(n, older.find(n) or f) for n, f in lines if release(SINCE.get(n, "1.0"))[:2] <= release(version)[:2]]
        for ansi in (True, False):
            conf = replace(Conf.of(version), ansi=ansi, time_type=True)
            derived = [
                (n, f, a, derive(n, f, a, conf)) for n, f in there for a in dict.fromkeys((*few(n, f), *matrix(n, f)))
            ]
            chosen = [
                (name, function, call_sql(name, function, args), ours)
                for name, function, args, ours in derived
                if not missing.intersection(args) and (ours.columns or args in set(few(name, function)))
            ]
            answers = asked_of(kept, part, (sql for _, _, sql, _ in chosen), ansi)
            for (name, function, sql, ours), spark in zip(chosen, answers):
                yield name, sql, ansi, ours, spark, agree(function, ours, spark) or _alike(ours, spark)


def _texts(kept: Kept, version: str) -> Iterator[tuple[str, str, bool, Answer, Answer, bool]]:
    missing = absent(version)
    for group in _GROUPS:
        known = [t for t in texts.TEXTS[group]() if not any(m in t for m in missing)]
        for ansi in (True, False):
            ours = text_derived(group, ansi, known, version)
            chosen = [text for text in known if ours[text].columns]
            for text, spark in zip(chosen, text_answers(kept, group, chosen, ansi)):
                name = _called(group, text)
                yield name, text, ansi, ours[text], spark, _alike(ours[text], spark)


def _called(group: str, text: str) -> str:
    """The function that a text calls; the group's name where that is not plain."""
    if group == "operators":
        return text.split(" ")[1]
    return group if group == "decimals" else text.split("(")[0]


def main() -> int:
    import pyspark

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--show", type=int, default=3, help="differences printed per function")
    parser.add_argument("--list", action="store_true", help="print the names only")
    parser.add_argument("--family", nargs="*", default=[], help="families only, and no texts; all when left out")
    options = parser.parse_args()
    version = pyspark.__version__
    differing: dict[str, list[str]] = {}
    calls = 0
    with ExitStack() as stack:

        @cache
        def asker() -> Spark:
            session = embedded(stack.enter_context(tempfile.TemporaryDirectory()))
            stack.callback(session.stop)
            return Spark(session, over(version))

        kept = Kept(version, over(version), asker)
        told = () if options.family else _texts(kept, version)
        asked = itertools.chain(_lines(kept, version, options.family), told)
        for name, text, ansi, ours, spark, alike in asked:
            calls += 1
            if not alike:
                mode = "ansi" if ansi else "legacy"
                differing.setdefault(name, []).append(f"  {text} [{mode}]\n      ours : {ours}\n      spark: {spark}")
    if options.list:
        print(" ".join(sorted(differing)))
        return 0
    for name, found in differing.items():
        print(f"{name}: {len(found)}", *found[: options.show], sep="\n")
    print(f"{calls} calls on Spark {version}, {sum(map(len, differing.values()))} differences in {len(differing)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
