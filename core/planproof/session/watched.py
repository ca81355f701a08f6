"""Where Python data enters a classic session's query, and the query changed so that it fails at the first null below a
NOT NULL flag that these data claim, in the run that writes its rows.

Spark trusts such a flag and never looks for nulls below it: a null comes out of the first projection as 0 or as an
empty text, and no later plane shows it. The rows themselves still show it. They are those of a DataFrame made from
Python, and those that a Python function gives (mapInArrow, mapInPandas, applyInPandas and their like).

To count nulls a Python function would run a second time. Here a filter stands over each entry's own plan instead. It
looks at the rows before Spark trusts the flag, and every row that is used passes it: retries, limits and speculative
tasks change nothing. Some entries cannot be watched, and are left to be counted: flags inside of nested values, entries
in subqueries, Python data sources, and every entry where the session caches plans: the changed plan would not be found
in the cache any more.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from planproof.session import versions
from planproof.session.described import physical_schema
from planproof.session.failures import silence_pyspark, translate_errors
from planproof.session.java import items
from planproof.session.protocol import NULL_FOUND, Entries, PythonEntry
from planproof_engine import ColumnNames, PhysicalSchema, quote_literal, quote_name

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
            return _dataset(spark, _copy_loosened(spark, node))
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


_PLANS = "org.apache.spark.sql.catalyst.plans.logical"
_EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions"


class _Elsewhere(Exception):
    """An entry that cannot be watched."""


@contextmanager
def watch_query(spark: SparkSession, sql: str, analyzed: Any) -> Iterator[str | None]:
    """The text to run in the query's place, as long as the block lasts; None where entries have to be counted."""
    try:
        with silence_pyspark():
            name = _make_view(spark, analyzed)
    except (_Elsewhere, Py4JError, PySparkException, TypeError):
        yield None
        return
    if name is None:
        yield sql
        return
    try:
        yield f"SELECT * FROM `{name}`"
    finally:
        with translate_errors():
            spark.catalog.dropTempView(name)


def _make_view(spark: SparkSession, analyzed: Any) -> str | None:
    """The name of a temporary view over the watched plan; None where nothing claims anything. Raises `_Elsewhere`."""
    if not bool(spark._jsparkSession.sharedState().cacheManager().isEmpty()) or has_python_source(analyzed):
        raise _Elsewhere
    if any(_has_claims(plan) for plan in items(analyzed.subqueriesAll())):
        raise _Elsewhere
    plan = _filter_entries(spark, analyzed)
    if plan is analyzed:
        return None
    name = f"__planproof_watched_{uuid.uuid4().hex}"
    DataFrame(_dataset(spark, plan), spark).createOrReplaceTempView(name)
    return name


def _has_claims(plan: Any) -> bool:
    return claiming_kind(plan) is not None or any(map(_has_claims, items(plan.children())))


def _filter_entries(spark: SparkSession, node: Any) -> Any:
    """The plan with a filter over each entry, also over one that feeds another; the same object where there is none."""
    children = items(node.children())
    watched = [_filter_entries(spark, child) for child in children]
    if any(new is not old for new, old in zip(watched, children)):
        node = node.withNewChildren(spark._jvm.PythonUtils.toSeq(watched))
    kind = claiming_kind(node)
    return node if kind is None else _filter_entry(spark, kind, node)


def _filter_entry(spark: SparkSession, kind: str, node: Any) -> Any:
    """The entry with loosened flags, the filter over it, and over that the promised flags, under the entry's own
    ids."""
    claimed = physical_schema(node.schema().json())
    if not _is_flat(claimed):
        raise _Elsewhere
    loose = loosen(spark, kind, node)
    if loose is None:
        raise _Elsewhere
    filtered = DataFrame(loose, spark).filter(_condition(claimed))._jdf.queryExecution().analyzed()
    jvm, keys = spark._jvm, spark._jvm.PythonUtils.toSeq([])
    alias, known = getattr(jvm, f"{_EXPRESSIONS}.Alias"), getattr(jvm, f"{_EXPRESSIONS}.KnownNotNull")
    some = jvm.scala.Option.apply
    promised = []
    for old, new in zip(items(node.output()), items(filtered.output())):
        value = new if old.nullable() else known(new)
        promised.append(alias(value, old.name(), old.exprId(), old.qualifier(), some(old.metadata()), keys))
    return getattr(jvm, f"{_PLANS}.Project")(jvm.PythonUtils.toSeq(promised), filtered)


def _is_flat(claimed: PhysicalSchema) -> bool:
    """Whether only whole columns claim NOT NULL, each under a name of its own: the flags of items cannot be
    restored."""
    names = ColumnNames(claimed.names)
    nested_as_nullable = all(f.type == g.type for f, g in zip(claimed, claimed.as_nullable()))
    return nested_as_nullable and len(names) == len(claimed)


def _condition(claimed: PhysicalSchema) -> str:
    """A condition that fails at a null, and is true otherwise. Its counter is never negative: it only keeps Spark's
    optimizer from moving conditions past this one. A condition that drops nulls would hide them."""
    before, behind = NULL_FOUND
    cases = []
    for f in claimed:
        if not f.nullable:
            fails = f"raise_error({quote_literal(f'{before} {f.name} {behind}')})"
            cases.append(f"WHEN {quote_name(f.name)} IS NULL THEN CAST({fails} AS BOOLEAN)")
    return f"CASE {' '.join(cases)} ELSE monotonically_increasing_id() >= 0 END"


def _dataset(spark: SparkSession, plan: Any) -> Any:
    return versions.dataset_class(spark._jvm).ofRows(spark._jsparkSession, plan)
