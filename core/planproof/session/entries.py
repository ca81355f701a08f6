"""Where Python data enters a classic session's query: what it holds below the NOT NULL flags that it claims.

Spark never looks below such a flag: a null comes out of the first projection as 0 or as an empty text, and no later
plane can tell. The rows themselves still can: those of a DataFrame made from Python, and those that a Python function
gives (mapInArrow, mapInPandas, applyInPandas and their like), which runs once more to be counted.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession

from planproof.session.failures import quiet, translated
from planproof.session.java import items
from planproof.session.protocol import Entries, Entry
from planproof.session.schemas import physical_schema

_ROWS = "LogicalRDD"
_FUNCTIONS = ("MapInArrow", "MapInPandas", "FlatMapGroupsIn", "FlatMapCoGroupsIn")
_TABLE = ".datasources.v2.python."


@contextmanager
def entries(spark: SparkSession, analyzed: Any) -> Iterator[Entries]:
    """The entries of an analyzed plan, each as a temporary view over the same rows with every flag loosened."""
    made: list[Entry] = []
    unread: list[str] = ["a Python data source"] if reads_python(analyzed) else []
    try:
        with translated():
            for kind, node in _claiming(analyzed):
                loose = _loosened(spark, kind, node)
                if loose is None:
                    unread.append(kind)
                    continue
                name = f"__planproof_entry_{uuid.uuid4().hex}"
                DataFrame(loose, spark).createOrReplaceTempView(name)
                made.append(Entry(f"`{name}`", physical_schema(node.schema().json())))
        yield Entries(tuple(made), tuple(unread))
    finally:
        with translated():
            for entry in made:
                spark.catalog.dropTempView(entry.relation.strip("`"))


def reads_python(analyzed: Any) -> bool:
    """Whether a table that a Python data source serves is read; subqueries included."""
    plans = [analyzed, *items(analyzed.subqueriesAll())]
    leaves = [leaf for plan in plans for leaf in items(plan.collectLeaves())]
    tables = [leaf.table() for leaf in leaves if leaf.getClass().getName().endswith(".DataSourceV2Relation")]
    return any(_TABLE in table.getClass().getName() for table in tables)


def _claiming(analyzed: Any) -> list[tuple[str, Any]]:
    """The nodes whose rows come from Python and claim NOT NULL somewhere, with their kinds; each once."""
    found: dict[str, tuple[str, Any]] = {}
    waiting = [analyzed, *items(analyzed.subqueriesAll())]
    while waiting:
        node = waiting.pop()
        kind = str(node.getClass().getSimpleName())
        if kind == _ROWS or kind.startswith(_FUNCTIONS):
            claimed = physical_schema(node.schema().json())
            if claimed != claimed.as_nullable():
                found.setdefault(str(node.canonicalized().hashCode()), (kind, node))
        waiting += items(node.children())
    return list(found.values())


def _loosened(spark: SparkSession, kind: str, node: Any) -> Any | None:
    """A Dataset over the same rows in which everything may be null; None where the node cannot be taken apart."""
    if kind == _ROWS:
        return spark._jsparkSession.internalCreateDataFrame(node.rdd(), node.schema().asNullable(), False)
    try:
        with quiet():
            datasets = getattr(spark._jvm, "org.apache.spark.sql.classic.Dataset")
            return datasets.ofRows(spark._jsparkSession, _copied(spark, node))
    except (Py4JError, TypeError):
        return None


def _copied(spark: SparkSession, node: Any) -> Any:
    """The node with its output's flags loosened: `TreeNode.makeCopy` over its own arguments."""
    output = node.output()
    loose = [a.withNullability(True).withDataType(a.dataType().asNullable()) for a in items(output)]
    given = [node.productElement(i) for i in range(node.productArity())]
    arguments = spark.sparkContext._gateway.new_array(spark._jvm.java.lang.Object, len(given))
    for at, argument in enumerate(given):
        is_output = hasattr(argument, "equals") and argument.equals(output)
        arguments[at] = spark._jvm.PythonUtils.toSeq(loose) if is_output else argument
    return node.makeCopy(arguments)
