"""Compares every registered function with real Spark, call by call.

    python tests/engine/functions/sweep.py [--family strings] [--function substring ...] [--texts lambdas ...] [--deep]
    python tests/engine/functions/sweep.py --write | --names

Prints each difference in type, nested flags, nullability, output name or condition of rejection, in both ANSI modes.
Spark's answers are kept (`asked.py`): a sweep that was stopped goes on where it was, one without news needs no Spark.
`--write` writes the compact golden cases of the families swept to tests/engine/cases/functions/, `--names` the list of
Spark's functions with the version that each is of.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import texts
from asked import Kept, Spark, parsed, view_schema
from cases import SYMBOLS, Answer, Args, base, call_sql, counts, derive, is_alias, matrix, same, takes_lambda

from planproof_engine.conf import SPARKS, Conf
from planproof_engine.expr.function import Category, Signature
from planproof_engine.functions import families
from planproof_engine.functions.registry import builtin

GOLDEN = Path(__file__).parents[1] / "cases" / "functions"
KNOWN = Path(__file__).parent / "known_differences.txt"
NAMES = Path(__file__).parents[1] / "cases" / "function_names.json"
_NO_CALL = {
    *("getarrayitem", "getmapvalue", "percentile_cont", "percentile_disc"),
    *("window", "session_window", "window_time", "grouping", "grouping_id"),
}
"""Functions that only syntax calls, or that mean more than a call (WITHIN GROUP, a column of the block)."""

Line = tuple[str, Signature]


@dataclass(frozen=True, slots=True)
class Difference:
    function: str
    call: str
    ansi: bool
    ours: Answer
    spark: Answer

    def __str__(self) -> str:
        mode = "ansi" if self.ansi else "legacy"
        return f"  {self.call}  [{mode}]\n      ours : {_show(self.ours)}\n      spark: {_show(self.spark)}"


@dataclass(slots=True)
class Compared:
    """Of a function or group of texts: how many calls, of how many planproof knows nothing, and what differs."""

    name: str
    calls: int = 0
    unknown: int = 0
    differences: list[Difference] = field(default_factory=list)

    def add(self, call: str, ansi: bool, ours: Answer, spark: Answer, agreed: bool) -> None:
        self.calls += 1
        self.unknown += ours.unknown is not None
        if not agreed:
            self.differences.append(Difference(self.name, call, ansi, ours, spark))


def _show(answer: Answer) -> str:
    if answer.error or answer.unknown:
        return answer.error or f"unknown: {answer.unknown}"
    return "; ".join(f"{n!r} {json.dumps(t)} {'null' if nullable else 'not null'}" for n, t, nullable in answer.columns)


def compared(kept: Kept, part: str, lines: Iterable[Line], *, deep: bool = False) -> Iterator[Compared]:
    """Each function of a family beside Spark."""
    found = {name: Compared(name) for name, _ in lines}
    for ansi in (True, False):
        conf = Conf(ansi=ansi, time_type=True)
        calls = [(n, f, args) for n, f in lines for args in matrix(n, f, deep=deep)]
        asked = [call_sql(*call) for call in calls]
        for (name, function, args), call, spark in zip(calls, asked, asked_of(kept, part, asked, ansi)):
            ours = derive(name, function, args, conf)
            found[name].add(call, ansi, ours, spark, agree(function, ours, spark))
    yield from found.values()


def asked_of(kept: Kept, part: str, asked: Iterable[str], ansi: bool) -> list[Answer]:
    return [parsed(answer) for answer in kept.answers(part, asked, ansi)]


def compared_texts(kept: Kept, group: str) -> Compared:
    """A group of texts beside Spark."""
    found = Compared(group)
    for ansi in (True, False):
        chosen = list(texts.TEXTS[group]())
        ours = text_derived(group, ansi, chosen)
        for text, spark in zip(chosen, text_answers(kept, group, chosen, ansi)):
            found.add(text, ansi, ours[text], spark, same(ours[text], spark))
    return found


def text_answers(kept: Kept, group: str, chosen: Iterable[str], ansi: bool) -> list[Answer]:
    asked = [f"* FROM {text}" if group == texts.IN_FROM else text for text in chosen]
    return asked_of(kept, f"texts_{group}", asked, ansi)


def text_derived(group: str, ansi: bool, chosen: Iterable[str], version: str = SPARKS[-1]) -> dict[str, Answer]:
    where, conf = texts.catalog(), replace(Conf.of(version), ansi=ansi, time_type=True)
    return {text: texts.answered(group, text, where, conf) for text in chosen}


def known() -> set[str]:
    """Functions and texts that differ for a reason, which stands behind `  #`."""
    return {line.split("  #")[0].strip() for line in KNOWN.read_text().splitlines() if not line.startswith("#")}


def golden_texts(kept: Kept, group: str) -> list[str]:
    """Each n-th text of a group as JSON lines, as real Spark answers it."""
    written = []
    for ansi in (True, False):
        ours = text_derived(group, ansi, list(texts.TEXTS[group]())[:: texts.FEW[group]])
        chosen = [text for text, mine in ours.items() if not mine.unknown and text not in known()]
        for text, answer in zip(chosen, text_answers(kept, group, chosen, ansi)):
            written.append(_case({"group": group, "text": text, "ansi": ansi}, answer))
    return written


def _case(case: dict[str, Any], answer: Answer) -> str:
    said = {"error": answer.error} if answer.error else {"columns": answer.columns}
    return json.dumps(case | said, separators=(",", ":"))


def agree(function: Signature, ours: Answer, theirs: Answer) -> bool:
    """An unknown is no difference: nothing was claimed."""
    if same(ours, theirs):
        return True
    if function.category is Category.WINDOW and not ours.error and not theirs.error:
        (name, *mine), (printed, *found) = ours.columns[0], theirs.columns[0]
        return printed.startswith(name) and mine == found
    return ours == theirs


def selected(family: Sequence[str] = (), function: Sequence[str] = ()) -> list[tuple[str, list[Line]]]:
    """The families to sweep, by name, with their lines that can be called by name and take no lambda."""
    found = []
    names = {n for table in families.FAMILIES for n, _ in table} - _NO_CALL
    for table in families.FAMILIES:
        module = next(m for m, value in vars(families).items() if getattr(value, "TABLE", None) is table)
        lines = [
            (name, line)
            for name, line in table
            if name in names
            and builtin().find(name) is line
            and (name in SYMBOLS or (name.isidentifier() and name not in builtin().internal))
            and not takes_lambda(line)
            and line.category not in (Category.OPERATOR, Category.TABLE)
            and (not function or name in function)
        ]
        if lines and (not family or module in family):
            found.append((module, lines))
    return found


def names(spark: Any) -> dict[str, str]:
    """Every function that Spark lists, with the version that its documentation gives; operators have none."""
    found = {}
    for (name,) in spark.sql("SHOW FUNCTIONS").collect():
        lines = spark.sql(f"DESCRIBE FUNCTION EXTENDED `{name}`").collect()
        since = re.search(r"Since: *([\d.]+)", "\n".join(line[0] for line in lines))
        found[name] = since[1] if since else "1.0.0"
    return found


def golden(kept: Kept, part: str, lines: Iterable[Line]) -> list[str]:
    """A few cases per function as JSON lines, as real Spark answers them; none of which planproof knows nothing."""
    written = []
    for name, function in lines:
        for ansi in (True, False):
            conf = Conf(ansi=ansi, time_type=True)
            chosen = [a for a in dict.fromkeys(few(name, function)) if not derive(name, function, a, conf).unknown]
            answers = asked_of(kept, part, [call_sql(name, function, args) for args in chosen], ansi)
            written += [
                _case({"function": name, "args": args, "ansi": ansi}, answer) for args, answer in zip(chosen, answers)
            ]
    return written


def few(name: str, function: Signature) -> Iterator[Args]:
    """The golden cases: every arity without and with nulls, and NULL or a wrong type in the first place."""
    for count in counts(function)[:4]:
        good = base(name, function, count)
        yield good
        yield tuple(a.removesuffix("_nn") for a in good)
        if good and not is_alias(name, function):
            yield ("NULL", *good[1:])
            yield ("map", *good[1:])
            yield ("string", *good[1:])


def embedded(directory: str) -> Any:
    """A SparkSession of its own, in memory."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").appName("planproof-sweep")
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.sql.session.timeZone": "America/Los_Angeles",
        "spark.sql.timeType.enabled": "true",
        "spark.sql.warehouse.dir": directory,
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={directory} -Xss8m",
    }.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def _report(kept: Kept, chosen: list[tuple[str, list[Line]]], groups: list[str], options: argparse.Namespace) -> int:
    calls = unknown = 0
    differing: Counter[str] = Counter()
    families = (c for part, lines in chosen for c in compared(kept, part, lines, deep=options.deep))
    for found in itertools.chain(families, (compared_texts(kept, group) for group in groups)):
        calls, unknown = calls + found.calls, unknown + found.unknown
        if found.differences:
            differing[found.name] = len(found.differences)
            print(f"{found.name}: {len(found.differences)} of {found.calls} calls differ")
            print(*found.differences[: options.show], sep="\n", flush=True)
    total = sum(differing.values())
    print(f"{calls} calls, {unknown} unknown, {total} differences in {len(differing)}: {' '.join(differing)}")
    return int(bool(differing))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family", nargs="*", default=[], help="modules of functions/families; all when left out")
    parser.add_argument("--function", nargs="*", default=[], help="names of functions; all when left out")
    parser.add_argument("--texts", nargs="*", default=[], choices=texts.TEXTS, help="groups of texts.py")
    parser.add_argument("--deep", action="store_true", help="pair all types in the first two places of every function")
    parser.add_argument("--show", type=int, default=6, help="differences printed per function")
    parser.add_argument("--kept", action="store_true", help="start no Spark: fail where it has not answered yet")
    parser.add_argument("--names", action="store_true", help="write the list of Spark's functions instead")
    parser.add_argument("--write", action="store_true", help="write the golden cases instead of comparing")
    return parser.parse_args()


def _write(kept: Kept, chosen: list[tuple[str, list[Line]]], groups: list[str]) -> int:
    GOLDEN.mkdir(parents=True, exist_ok=True)
    for part, lines in chosen:
        (GOLDEN / f"{part}.jsonl").write_text("\n".join(golden(kept, part, lines)) + "\n")
    for group in groups:
        (GOLDEN / f"texts_{group}.jsonl").write_text("\n".join(golden_texts(kept, group)) + "\n")
    return 0


def main() -> int:
    import pyspark

    options = _options()
    named = options.family or options.function
    chosen = selected(options.family, options.function) if named or not options.texts else []
    missed = set(options.function) - {name for _, lines in chosen for name, _ in lines}
    if missed:
        raise SystemExit(
            f"not swept: {', '.join(sorted(missed))}; a line in a table and a name in names.py are missing"
        )
    groups = list(texts.TEXTS) if not named and not options.texts else options.texts
    start = time.monotonic()
    with ExitStack() as stack:

        @cache
        def session() -> Any:
            if options.kept:
                raise SystemExit("Spark has not been asked all of this yet: leave --kept out")
            made = embedded(stack.enter_context(tempfile.TemporaryDirectory()))
            stack.callback(made.stop)
            return made

        kept = Kept(pyspark.__version__, view_schema(), cache(lambda: Spark(session())))
        if options.names:
            NAMES.write_text(json.dumps(names(session()), indent=0) + "\n")
            return 0
        found = _write(kept, chosen, groups) if options.write else _report(kept, chosen, groups, options)
        print(f"{time.monotonic() - start:.0f} s", file=sys.stderr)
        return found


if __name__ == "__main__":
    sys.exit(main())
