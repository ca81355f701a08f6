"""Real Spark's answers to many calls: asked for in large batches, and kept, so that a sweep continues where it stopped.

The answers lie in `.sweep/` (git-ignored), by the version of Spark and the specimens that they were given over. A sweep
after a mended line asks Spark only what it has never been asked, and needs no Spark where that is nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from cases import Answer
from specimens import SPECIMENS, Specimen, spelled

VIEW = "specimens"
_FOLDER = Path(__file__).parents[3] / ".sweep"
_BATCH = 500


def view_schema() -> dict[str, Any]:
    """The view of specimens: a column of every type, as Spark's JSON."""
    return {"type": "struct", "fields": [_field(s) for s in SPECIMENS.values() if not s.is_literal]}


class Asker(Protocol):
    """Whatever answers texts in one ANSI mode."""

    def answers(self, texts: list[str], ansi: bool) -> list[str]: ...


class Spark:
    """Real Spark's analyzer. `spark` is a classic SparkSession; the view of specimens is made in it."""

    def __init__(self, spark: Any, schema: dict[str, Any] | None = None) -> None:
        self.spark = spark
        in_mode(spark, True)
        jvm, session = spark._jvm, spark._jsparkSession
        struct = jvm.org.apache.spark.sql.types.DataType.fromJson(json.dumps(schema or view_schema()))
        session.createDataFrame(jvm.java.util.ArrayList(), struct).createOrReplaceTempView(VIEW)
        relation = session.table(VIEW).queryExecution().analyzed()
        self._analyses = compiled(spark, "Analyses")(*state(spark), relation)

    def answers(self, texts: list[str], ansi: bool) -> list[str]:
        """Of each select list its schema as JSON, or `!` and the condition by which Spark refuses it."""
        in_mode(self.spark, ansi)
        return list(self._analyses.answers("\n".join(texts)).split("\n"))


def in_mode(spark: Any, ansi: bool) -> None:
    """The settings under which the sweeps ask. A test's end puts back what it found, so each question sets them."""
    spark.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
    spark.conf.set("spark.sql.timeType.enabled", "true")


def state(spark: Any) -> list[Any]:
    """The session's parser and analyzer, and a tracker for them."""
    session = spark._jsparkSession.sessionState()
    return [
        session.sqlParser(),
        session.analyzer(),
        spark._jvm.org.apache.spark.sql.catalyst.QueryPlanningTracker(spark._jvm.scala.Option.empty()),
    ]


def compiled(spark: Any, name: str) -> Callable[..., Any]:
    """The constructor of a Java class that lies beside this file, by the compiler that Spark brings along."""
    return _compiled(spark._jvm, name)


@cache  # py4j knows a class by its name: a second one of that name would be called by the methods of the first.
def _compiled(jvm: Any, name: str) -> Callable[..., Any]:
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
    compiler.cook((Path(__file__).parent / f"{name}.java").read_text())
    constructor = compiler.getClassLoader().loadClass(name).getConstructors()[0]

    def made(*args: Any) -> Any:
        listed = jvm.java.util.ArrayList()
        for arg in args:
            listed.add(arg)
        return constructor.newInstance(listed.toArray())

    return made


class Kept:
    """Answers by text, of one part of a sweep in one ANSI mode. `ask` opens Spark, and only where one is missing.

    `version` is Spark's; `over` is what the answers depend on beside it.
    """

    def __init__(self, version: str, over: Any, ask: Callable[[], Asker]) -> None:
        digest = hashlib.sha256(json.dumps(over).encode()).hexdigest()[:8]
        self.folder, self._ask = _FOLDER / f"{version}-{digest}", ask

    def answers(self, part: str, texts: Iterable[str], ansi: bool) -> list[str]:
        wanted = list(texts)
        path = self.folder / f"{part}.{'ansi' if ansi else 'legacy'}.jsonl"
        known = _read(path) if path.exists() else {}
        missing = [t for t in dict.fromkeys(wanted) if t not in known]
        for at in range(0, len(missing), _BATCH):
            batch = missing[at : at + _BATCH]
            found = self._ask().answers(batch, ansi)
            assert len(found) == len(batch)
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a") as file:
                file.writelines(json.dumps(pair) + "\n" for pair in zip(batch, found))
            known.update(zip(batch, found))
        return [known[t] for t in wanted]


def _read(path: Path) -> dict[str, str]:
    """The kept answers; a last line that a kill cut short is none."""
    lines = path.read_text().splitlines(keepends=True)
    return dict(json.loads(line) for line in lines if line.endswith("\n"))


def parsed(answer: str) -> Answer:
    if answer.startswith("!"):
        return Answer(error=answer[1:])
    fields = json.loads(answer)["fields"]
    return Answer(tuple((f["name"], _typed(f), f["nullable"]) for f in fields))


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
