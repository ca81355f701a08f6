"""What a Spark says about itself. Run by a Python that finds that Spark's pyspark; writes one JSON object.

    PYTHON tools/spark_upgrade/asking.py OUT.json

The object: `version`; `functions` (name to the lines of DESCRIBE FUNCTION EXTENDED); `grammar` (rule to its text, put
together again from the parser's transition network); `tokens` (the lexer's); `settings` (key to default value and
version); `conditions` (the error file of Spark); `types` (`classes` by name, `names`: what DDL takes for a type,
and the type that this is).
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_PARSER = "org.apache.spark.sql.catalyst.parser.SqlBaseParser"
_CONDITIONS = ("error/error-conditions.json", "error/error-classes.json")
"""The file of error conditions: since Spark 4.0, which keeps other things under the second name, and before."""

# Kinds of state and of transition as ANTLR numbers them (ATNState, Transition).
_BLOCK, _PLUS_BLOCK, _STOP, _STAR_ENTRY, _LOOP_END = 3, 4, 7, 10, 12
_RANGE, _RULE, _PREDICATE, _ATOM, _SET, _NOT_SET, _WILDCARD, _PRECEDENCE = 2, 3, 4, 5, 7, 8, 9, 10


class Network:
    """The transition network of Spark's parser, read as the grammar that it was made from."""

    def __init__(self, spark: Any) -> None:
        from py4j.java_gateway import get_field

        self._field = get_field
        parser = getattr(spark._jvm, _PARSER)
        self.rules = list(parser.ruleNames)
        vocabulary, network = parser.VOCABULARY, parser._ATN
        self._starts = list(get_field(network, "ruleToStartState"))
        self.tokens = {
            i: _token(vocabulary.getDisplayName(i)) for i in (-1, *range(1, vocabulary.getMaxTokenType() + 1))
        }

    def texts(self) -> dict[str, str]:
        """Each rule as text: what follows each other, `(a | b)`, `?`, `*`, `+`, `{a condition}?`."""
        return {name: self._from(start, None) for name, start in zip(self.rules, self._starts)}

    def _from(self, state: Any, end: int | None) -> str:
        """What is read from a state to the one of the number `end`, or to the end of the rule."""
        parts = []
        while state is not None and state.getStateType() != _STOP and self._number(state) != end:
            text, state = self._step(state)
            parts.append(text)
        return " ".join(part for part in parts if part)

    def _step(self, state: Any) -> tuple[str, Any]:
        """What a state reads, and the state after that."""
        kind = state.getStateType()
        if kind == _BLOCK:
            end = self._field(state, "endState")
            return self._block(state, end, "?"), end
        if kind == _PLUS_BLOCK:
            back = self._field(state, "loopBackState")
            text = self._block(state, self._field(state, "endState"), "*")
            return f"({text})+", self._loop_end(back)
        if kind == _STAR_ENTRY:
            block = next(t for t in self._targets(state) if t.getStateType() != _LOOP_END)
            return f"({self._block(block, self._field(block, 'endState'), '')})*", self._loop_end(state)
        transition = state.transition(0)
        return self._read(transition), self._after(transition)

    def _block(self, state: Any, end: Any, empty: str) -> str:
        number = self._number(end)
        found = [self._from(target, number) for target in self._targets(state)]
        some = [text for text in found if text]
        text = f"({' | '.join(some)})" if len(some) > 1 else "".join(some)
        return f"({text}){empty}" if len(some) < len(found) else text

    def _read(self, transition: Any) -> str:
        kind = transition.getSerializationType()
        if kind == _RULE:
            precedence = self._field(transition, "precedence")
            name = self.rules[self._field(transition, "ruleIndex")]
            return f"{name}[{precedence}]" if precedence else str(name)
        if kind in (_ATOM, _SET, _NOT_SET, _RANGE):
            names = sorted(self.tokens[i] for i in transition.label().toList())
            text = f"({' | '.join(names)})" if len(names) > 1 else names[0]
            return f"~{text}" if kind == _NOT_SET else text
        if kind == _PREDICATE:
            return "{a condition}?"
        if kind == _PRECEDENCE:
            return f"{{from {self._field(transition, 'precedence')}}}?"
        return "." if kind == _WILDCARD else ""

    def _after(self, transition: Any) -> Any:
        if transition.getSerializationType() == _RULE:
            return self._field(transition, "followState")
        return self._field(transition, "target")

    def _targets(self, state: Any) -> Iterator[Any]:
        for i in range(state.getNumberOfTransitions()):
            yield self._field(state.transition(i), "target")

    def _loop_end(self, state: Any) -> Any:
        return next(t for t in self._targets(state) if t.getStateType() == _LOOP_END)

    def _number(self, state: Any) -> int:
        return int(self._field(state, "stateNumber"))


def _token(display: str) -> str:
    """A word without the quotes that mark it as a literal; signs keep them."""
    return display[1:-1] if re.fullmatch(r"'\w+'", display) else display


def functions(spark: Any) -> dict[str, list[str]]:
    """Every name that SHOW FUNCTIONS lists, with what DESCRIBE FUNCTION EXTENDED says of it."""
    names = [row[0] for row in spark.sql("SHOW FUNCTIONS").collect()]
    return {n: [r[0] for r in spark.sql(f"DESCRIBE FUNCTION EXTENDED `{n}`").collect()] for n in names}


def settings(spark: Any) -> dict[str, list[str]]:
    """Every `spark.sql.*` setting, internal ones too: its default as text, and the version that it is of."""
    packaged = spark._jvm.org.apache.spark.sql.internal
    conf, _ = (getattr(getattr(packaged, name), "MODULE$") for name in ("SQLConf$", "StaticSQLConf$"))
    found = {}
    for entry in conf.getConfigEntries().toArray():
        if entry.key().startswith("spark.sql."):
            found[entry.key()] = [entry.defaultValueString(), entry.version()]
    return found


def conditions(jars: Path) -> dict[str, Any]:
    """Spark's error conditions as its own resource says them."""
    for name in _CONDITIONS:
        for jar in sorted(jars.glob("spark-*.jar")):
            with zipfile.ZipFile(jar) as opened:
                if name in opened.namelist():
                    found: dict[str, Any] = json.loads(opened.read(name))
                    return found
    raise FileNotFoundError(f"no jar in {jars} has {' or '.join(_CONDITIONS)}")


def type_classes(jars: Path) -> list[str]:
    found = set()
    for jar in jars.glob("spark-*.jar"):
        with zipfile.ZipFile(jar) as opened:
            for name in opened.namelist():
                matched = re.fullmatch(r"org/apache/spark/sql/types/(\w+Type)\.class", name)
                found.update([matched[1]] if matched else [])
    return sorted(found)


def type_names(spark: Any, words: set[str]) -> dict[str, str]:
    """Of some words those that name a type by themselves, each with the type's catalog string."""
    from pyspark.errors import PySparkException

    parser, found = spark._jvm.org.apache.spark.sql.types.DataType, {}
    for word in sorted(words):
        try:
            found[word] = parser.fromDDL(f"c {word}").apply(0).dataType().catalogString()
        except PySparkException:
            continue
    return found


def _session(directory: str) -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").appName("spark-upgrade")
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.warehouse.dir": directory,
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={directory} -Xss8m",
    }.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def main() -> int:
    import pyspark

    jars = Path(pyspark.__file__).parent / "jars"
    if not jars.is_dir():  # A distribution keeps its Python beside its jars.
        jars = Path(pyspark.__file__).parents[2] / "jars"
    with tempfile.TemporaryDirectory() as directory:
        spark = _session(directory)
        network = Network(spark)
        classes = type_classes(jars)
        words = {t.lower() for t in network.tokens.values() if t.isidentifier()}
        words |= {name.removesuffix("Type").lower() for name in classes}
        found = {
            "version": pyspark.__version__,
            "functions": functions(spark),
            "grammar": network.texts(),
            "tokens": sorted(set(network.tokens.values()) - {"EOF"}),
            "settings": settings(spark),
            "conditions": conditions(jars),
            "types": {"classes": classes, "names": type_names(spark, words)},
        }
        Path(sys.argv[1]).write_text(json.dumps(found))
        spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
