"""Where Python data enters a classic session's query: the rows below the NOT NULL flags that the data claims.

Spark trusts such a flag and never looks for nulls below it: a null comes out of the first projection as 0 or as an
empty text, and no later plane shows it. The rows themselves still show it. They are those of a DataFrame made from
Python, and those that a Python function gives (mapInArrow, mapInPandas, applyInPandas and their like), which then runs
once more so that its nulls can be counted.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession

from planproof.session import versions
from planproof.session.failures import silence_pyspark, translate_errors
from planproof.session.java import items
from planproof.session.protocol import Entries, PythonEntry
from planproof.session.schemas import physical_schema

_ROWS = "LogicalRDD"
_FUNCTIONS = ("MapInArrow", "PythonMapInArrow", "MapInPandas", "FlatMapGroupsIn", "FlatMapCoGroupsIn")
"""How the classes of nodes with a Python function begin; before Spark 4.0 mapInArrow's is `PythonMapInArrow`."""
_TABLE = ".datasources.v2.python."


@contextmanager
def entries(spark: SparkSession, analyzed: Any) -> Iterator[Entries]:
    """The entries of an analyzed plan, each as a temporary view over the same rows with every flag loosened."""
    made: list[PythonEntry] = []
    unread: list[str] = ["a Python data source"] if has_python_source(analyzed) else []
    try:
        with translate_errors():
            for kind, node in _find_claiming(analyzed):
                loose = loosen(spark, kind, node)
                if loose is None:
                    unread.append(kind)
                    continue
                name = f"__planproof_entry_{uuid.uuid4().hex}"
                DataFrame(loose, spark).createOrReplaceTempView(name)
                made.append(PythonEntry(f"`{name}`", physical_schema(node.schema().json())))
        yield Entries(tuple(made), tuple(unread))
    finally:
        with translate_errors():
            for entry in made:
                spark.catalog.dropTempView(entry.relation.strip("`"))


def has_python_source(analyzed: Any) -> bool:
    """Whether a table that a Python data source serves is read; subqueries included."""
    plans = [analyzed, *items(analyzed.subqueriesAll())]
    leaves = [leaf for plan in plans for leaf in items(plan.collectLeaves())]
    tables = [leaf.table() for leaf in leaves if leaf.getClass().getName().endswith(".DataSourceV2Relation")]
    return any(_TABLE in table.getClass().getName() for table in tables)


def _find_claiming(analyzed: Any) -> list[tuple[str, Any]]:
    """The nodes whose rows come from Python and claim NOT NULL somewhere, each once and with its kind."""
    found: dict[str, tuple[str, Any]] = {}
    waiting = [analyzed, *items(analyzed.subqueriesAll())]
    while waiting:
        node = waiting.pop()
        kind = claiming_kind(node)
        if kind is not None:
            found.setdefault(str(node.canonicalized().hashCode()), (kind, node))
        waiting += items(node.children())
    return list(found.values())


def claiming_kind(node: Any) -> str | None:
    """The kind of a node whose rows come from Python and claim NOT NULL somewhere; None for any other node."""
    kind = str(node.getClass().getSimpleName())
    if kind != _ROWS and not kind.startswith(_FUNCTIONS):
        return None
    claimed = physical_schema(node.schema().json())
    return kind if claimed != claimed.as_nullable() else None


def loosen(spark: SparkSession, kind: str, node: Any) -> Any | None:
    """A Dataset over the same rows in which everything may be null; None where the node cannot be taken apart."""
    if kind == _ROWS:
        return spark._jsparkSession.internalCreateDataFrame(node.rdd(), node.schema().asNullable(), False)
    try:
        with silence_pyspark():
            return versions.dataset_class(spark._jvm).ofRows(spark._jsparkSession, _copy_loosened(spark, node))
    except (Py4JError, TypeError):
        return None


def _copy_loosened(spark: SparkSession, node: Any) -> Any:
    """The node with loosened flags in its output, and in the schema that Spark compares the function's batches with."""
    output = node.output()
    loose = [a.withNullability(True).withDataType(a.dataType().asNullable()).newInstance() for a in items(output)]
    return _copy_node(spark, node, lambda one: _loosen_argument(spark, one, output, loose))


def _loosen_argument(spark: SparkSession, argument: Any, output: Any, loose: list[Any]) -> Any:
    if not isinstance(argument, JavaObject):
        return argument
    if argument.equals(output):
        return spark._jvm.PythonUtils.toSeq(loose)
    if argument.getClass().getSimpleName() != "PythonUDF":
        return argument
    returns = argument.dataType()
    nullable = returns.asNullable()
    return _copy_node(
        spark, argument, lambda one: nullable if isinstance(one, JavaObject) and one.equals(returns) else one
    )


def _copy_node(spark: SparkSession, node: Any, changed: Callable[[Any], Any]) -> Any:
    """`TreeNode.makeCopy` over the node's own arguments, each as `changed` gives it."""
    given = [node.productElement(i) for i in range(node.productArity())]
    arguments = spark.sparkContext._gateway.new_array(spark._jvm.java.lang.Object, len(given))
    for at, argument in enumerate(given):
        arguments[at] = changed(argument)
    return node.makeCopy(arguments)
