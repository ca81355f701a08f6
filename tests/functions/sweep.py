"""Compares every registered function with real Spark, call by call.

    python tests/functions/sweep.py [--family strings] [--function substring ...] [--texts lambdas ...] [--deep]
    python tests/functions/sweep.py --write | --names

Prints each difference in type, nested flags, nullability, output name or condition of rejection, in both ANSI modes.
`--write` writes the compact golden cases of the families swept to tests/cases/functions/, `--names` the list of Spark's
functions with the version that each is of.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any
from unittest.mock import patch

from py4j.protocol import Py4JJavaError, get_return_value

sys.path.insert(0, str(Path(__file__).parent))

import texts
from cases import SYMBOLS, Answer, Args, base, call_sql, counts, derive, is_alias, matrix, takes_lambda
from specimens import SPECIMENS, Specimen, spelled

from planproof.conf import Conf
from planproof.functions import families
from planproof.functions.signature import Category, Function

GOLDEN = Path(__file__).parents[1] / "cases" / "functions"
KNOWN = Path(__file__).parent / "known_differences.txt"
NAMES = Path(__file__).parents[1] / "cases" / "function_names.json"
VIEW = "specimens"
_NO_CALL = {
    *("getarrayitem", "getmapvalue", "percentile_cont", "percentile_disc"),
    *("window", "session_window", "window_time", "grouping", "grouping_id"),
}
"""Functions that only syntax calls, or that mean more than a call (WITHIN GROUP, a column of the block)."""
_SIZE = 120
_PATIENCE = 8

Line = tuple[str, Function]


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


def _show(answer: Answer) -> str:
    if answer.error or answer.unknown:
        return answer.error or f"unknown: {answer.unknown}"
    return "; ".join(f"{n!r} {json.dumps(t)} {'null' if nullable else 'not null'}" for n, t, nullable in answer.columns)


class Spark:
    """Real Spark's answers. `spark` is a SparkSession; the view of specimens is made in it."""

    def __init__(self, spark: Any) -> None:
        self.spark, self.asked = spark, 0
        columns = [s for s in SPECIMENS.values() if not s.is_literal]
        schema = {"type": "struct", "fields": [_field(s) for s in columns]}
        struct = spark._jvm.org.apache.spark.sql.types.DataType.fromJson(json.dumps(schema))
        rows = spark._jvm.java.util.ArrayList()
        spark._jsparkSession.createDataFrame(rows, struct).createOrReplaceTempView(VIEW)

    def ansi(self, on: bool) -> None:
        self.spark.conf.set("spark.sql.ansi.enabled", str(on).lower())

    def answers(self, calls: Sequence[tuple[str, bool, bool]]) -> list[Answer]:
        """An answer per (SQL, expected to be accepted, alone): the accepted in large SELECTs, the rest one by one."""
        found: dict[int, Answer] = {}
        many = [i for i, (_, fine, alone) in enumerate(calls) if fine and not alone]
        for start in range(0, len(many), _SIZE):
            self._together([(i, calls[i][0]) for i in many[start : start + _SIZE]], found)
        for i, (sql, _, _) in enumerate(calls):
            if i not in found:
                found[i] = self._ask([sql])[0]
        return [found[i] for i in range(len(calls))]

    def _together(self, calls: list[tuple[int, str]], found: dict[int, Answer]) -> None:
        """Asks for all at once; a few times what Spark refuses is taken out, then the rest stand alone."""
        for _ in range(_PATIENCE):
            if not calls:
                return
            answer, place = self._ask([sql for _, sql in calls])
            if answer.error is None and len(answer.columns) == len(calls):
                found.update((i, Answer((column,))) for (i, _), column in zip(calls, answer.columns))
                return
            if place is None:
                return
            index, sql = calls.pop(place)
            found[index] = self._ask([sql])[0]

    def _ask(self, expressions: list[str]) -> tuple[Answer, int | None]:
        """The answer, and which of the expressions an error is about."""
        return self.query(f"SELECT {', '.join(expressions)} FROM {VIEW}", expressions)

    def query(self, query: str, expressions: list[str]) -> tuple[Answer, int | None]:
        """The answer to a query over these expressions."""
        self.asked += 1
        # pyspark turns an error into its own at three times the cost of the query.
        with patch("py4j.java_gateway.get_return_value", get_return_value):
            try:
                form = json.loads(self.spark._jsparkSession.sql(query).schema().json())
            except Py4JJavaError as error:
                return _refused(error.java_exception, expressions)
        return Answer(tuple((f["name"], _typed(f), f["nullable"]) for f in form["fields"])), None


def _refused(error: Any, expressions: list[str]) -> tuple[Answer, int | None]:
    kind = str(error.getClass().getSimpleName())
    condition = error.getCondition() if hasattr(error, "getCondition") and "Exception" in kind else None
    answer = Answer(error=condition or f"{kind}: {str(error.getMessage()).splitlines()[0][:200]}")
    try:
        start = error.getQueryContext()[0].startIndex() - len("SELECT ")
    except Exception:
        return answer, None
    ends = list(accumulate(len(e) + 2 for e in expressions))
    place = bisect_right(ends, start)
    return answer, place if start >= 0 and place < len(expressions) else None


def _field(specimen: Specimen) -> dict[str, Any]:
    return {
        "name": specimen.sql,
        "type": spelled(specimen.expr.type),
        "nullable": specimen.expr.nullable,
        "metadata": {},
    }


def _typed(field: dict[str, Any]) -> Any:
    """The field's type JSON without metadata, with the collations that Spark keeps in the metadata written out."""
    return _collated(field["type"], field["metadata"].get("__COLLATIONS", {}), field["name"])


def _collated(form: Any, collations: dict[str, str], path: str) -> Any:
    if form == "string" and path in collations:
        return f"string collate {collations[path].split('.')[-1]}"
    if not isinstance(form, dict):
        return form
    if form["type"] == "struct":
        return {"type": "struct", "fields": [_member(f) for f in form["fields"]]}
    parts = {"elementType": "element", "keyType": "key", "valueType": "value"}
    return {k: _collated(v, collations, f"{path}.{parts[k]}") if k in parts else v for k, v in form.items()}


def _member(field: dict[str, Any]) -> dict[str, Any]:
    return {"name": field["name"], "type": _typed(field), "nullable": field["nullable"], "metadata": {}}


def compared(spark: Spark, lines: Iterable[Line], *, deep: bool = False) -> Iterator[tuple[str, int, list[Difference]]]:
    """Of each function: its name, how many calls were compared, and where Spark answers otherwise."""
    for name, function in lines:
        differences: list[Difference] = []
        total = 0
        for ansi in (True, False):
            spark.ansi(ansi)
            conf = Conf(ansi=ansi, time_type=True)
            ours = {args: derive(name, function, args, conf) for args in matrix(name, function, deep=deep)}
            answers = answered(spark, name, function, ours)
            total += len(ours)
            differences += [
                Difference(name, call_sql(name, function, args), ansi, mine, theirs)
                for (args, mine), theirs in zip(ours.items(), answers)
                if not agree(function, mine, theirs)
            ]
        yield name, total, differences


def text_answers(spark: Spark, group: str, ours: Mapping[str, Answer]) -> list[Answer]:
    """Spark's answers to a group of texts."""
    if group == texts.IN_FROM:
        return [spark.query(texts.query(group, text), [text])[0] for text in ours]
    return spark.answers([(text, not mine.error, False) for text, mine in ours.items()])


def compared_texts(spark: Spark, group: str) -> tuple[int, list[Difference]]:
    """How many texts of a group were compared, and where Spark answers otherwise."""
    differences, total = [], 0
    for ansi in (True, False):
        spark.ansi(ansi)
        ours = text_derived(group, ansi, texts.TEXTS[group]())
        total += len(ours)
        pairs = zip(ours.items(), text_answers(spark, group, ours))
        differences += [
            Difference(group, text, ansi, mine, theirs)
            for (text, mine), theirs in pairs
            if not (mine.unknown or (theirs.error == "INTERNAL_ERROR" and mine.error) or mine == theirs)
        ]
    return total, differences


def text_derived(group: str, ansi: bool, chosen: Iterable[str]) -> dict[str, Answer]:
    where, conf = texts.catalog(), Conf(ansi=ansi, time_type=True)
    return {text: texts.answered(group, text, where, conf) for text in chosen}


def golden_texts(spark: Spark, group: str) -> list[str]:
    """Each n-th text of a group as JSON lines, as real Spark answers it."""
    written = []
    for ansi in (True, False):
        spark.ansi(ansi)
        ours = text_derived(group, ansi, list(texts.TEXTS[group]())[:: texts.FEW[group]])
        known = {text: mine for text, mine in ours.items() if not mine.unknown}
        for text, answer in zip(known, text_answers(spark, group, known)):
            case: dict[str, Any] = {"group": group, "text": text, "ansi": ansi}
            case |= {"error": answer.error} if answer.error else {"columns": answer.columns}
            written.append(json.dumps(case, separators=(",", ":")))
    return written


def alone(function: Function) -> bool:
    """Whether a call must stand alone in its SELECT."""
    return function.category is Category.GENERATOR


def agree(function: Function, ours: Answer, theirs: Answer) -> bool:
    """An unknown is no difference: nothing was claimed. Where Spark breaks down inside, any refusal agrees."""
    if ours.unknown or (theirs.error == "INTERNAL_ERROR" and ours.error):
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
            and (name.isidentifier() or name in SYMBOLS)
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


def golden(spark: Spark, lines: Iterable[Line]) -> list[str]:
    """A few cases per function as JSON lines, as real Spark answers them; none of which planproof knows nothing."""
    written = []
    for name, function in lines:
        for ansi in (True, False):
            spark.ansi(ansi)
            ours = {args: derive(name, function, args, Conf(ansi=ansi, time_type=True)) for args in few(name, function)}
            ours = {args: mine for args, mine in ours.items() if not mine.unknown}
            for args, answer in zip(ours, answered(spark, name, function, ours)):
                case: dict[str, Any] = {"function": name, "args": args, "ansi": ansi}
                case |= {"error": answer.error} if answer.error else {"columns": answer.columns}
                written.append(json.dumps(case, separators=(",", ":")))
    return written


def answered(spark: Spark, name: str, function: Function, ours: Mapping[Args, Answer]) -> list[Answer]:
    """Spark's answers to the calls that planproof has answered: what it accepts is asked for together."""
    single = alone(function)
    return spark.answers([(call_sql(name, function, args), not mine.error, single) for args, mine in ours.items()])


def few(name: str, function: Function) -> Iterator[Args]:
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


def _report(spark: Spark, chosen: list[tuple[str, list[Line]]], groups: list[str], options: argparse.Namespace) -> int:
    found: Counter[str] = Counter()
    calls = 0
    for module, lines in chosen:
        for name, total, differences in compared(spark, lines, deep=options.deep):
            calls += total
            if differences:
                found[name] = len(differences)
                print(f"{module}.{name}: {len(differences)} of {total} calls differ")
                print(*differences[: options.show], sep="\n")
                sys.stdout.flush()
    for group in groups:
        total, differences = compared_texts(spark, group)
        calls += total
        if differences:
            found[group] = len(differences)
            print(f"{group}: {len(differences)} of {total} texts differ")
            print(*differences[: options.show * 5], sep="\n")
    print(f"{calls} calls, {sum(found.values())} differences in {len(found)} functions: {' '.join(found)}")
    return int(bool(found))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family", nargs="*", default=[], help="modules of functions/families; all when left out")
    parser.add_argument("--function", nargs="*", default=[], help="names of functions; all when left out")
    parser.add_argument("--texts", nargs="*", default=[], choices=texts.TEXTS, help="groups of texts.py")
    parser.add_argument("--deep", action="store_true", help="pair all types in the first two places of every function")
    parser.add_argument("--show", type=int, default=6, help="differences printed per function")
    parser.add_argument("--names", action="store_true", help="write the list of Spark's functions instead")
    parser.add_argument("--write", action="store_true", help="write the golden cases instead of comparing")
    options = parser.parse_args()
    named = options.family or options.function
    chosen = selected(options.family, options.function) if named or not options.texts else []
    groups = list(texts.TEXTS) if not named and not options.texts else options.texts
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as directory:
        session = embedded(directory)
        try:
            if options.names:
                NAMES.write_text(json.dumps(names(session), indent=0) + "\n")
                return 0
            spark = Spark(session)
            if not options.write:
                return _report(spark, chosen, groups, options)
            GOLDEN.mkdir(parents=True, exist_ok=True)
            for module, lines in chosen:
                (GOLDEN / f"{module}.jsonl").write_text("\n".join(golden(spark, lines)) + "\n")
            for group in groups:
                (GOLDEN / f"texts_{group}.jsonl").write_text("\n".join(golden_texts(spark, group)) + "\n")
            return 0
        finally:
            print(f"{time.monotonic() - start:.0f} s", file=sys.stderr)
            session.stop()


if __name__ == "__main__":
    sys.exit(main())
