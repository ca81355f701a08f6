"""A query that fails at the first null below a NOT NULL flag that Python data claims, in the run that writes its rows.

To count nulls a Python function would run a second time. Here a filter stands over each entry's own plan instead. It
looks at the rows before Spark trusts the flag, and every row that is used passes it: retries, limits and speculative
tasks change nothing. Some entries cannot be watched, and are left to be counted: flags inside of nested values, entries
in subqueries, Python data sources, and every entry where the session caches plans: the changed plan would not be found
in the cache any more.

Where Python data enters a classic session's query: the rows below the NOT NULL flags that the data claims.

Spark trusts such a flag and never looks for nulls below it: a null comes out of the first projection as 0 or as an
empty text, and no later plane shows it. The rows themselves still show it. They are those of a DataFrame made from
Python, and those that a Python function gives (mapInArrow, mapInPandas, applyInPandas and their like), which then runs
once more so that its nulls can be counted.

The plan that wrote rows, as Adaptive Query Execution left it; and a way to write files that shows this plan.

INSERT gives its own execution. CREATE TABLE AS and INSERT OVERWRITE DIRECTORY run a second execution inside of their
own, which cannot be reached: Spark forgets it when it ends (`SQLExecution.executionIdToQueryExecution`), the status
store keeps a text without types, and a listener would need py4j's callback server for every statement of the session.
So the command that `DataFrameWriter.parquet` runs is made here, of an analyzed plan, and is run as a statement is.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from planproof.session import versions
from planproof.session.described import physical_schema
from planproof.session.failures import silence_pyspark, translate_errors
from planproof.session.java import items
from planproof.session.protocol import NULL_FOUND, Entries, PythonEntry, Written
from planproof_engine.quoting import quote_literal, quote_name
from planproof_engine.schema import ColumnNames, PhysicalSchema

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


_SOURCE = "org.apache.spark.sql.execution.datasources.DataSource"
_INTO_TABLES = ("AppendDataExec", "OverwriteByExpressionExec", "OverwritePartitionsDynamicExec")
"""Writes into tables of a catalog's own kind, such as Iceberg's."""


class FileWriter:
    """Writes a session's analyzed plans as Parquet files. What it needs of Spark is looked up once: each name in the
    JVM is a call or two, and each table would make a dozen of them."""

    def __init__(self, spark: SparkSession) -> None:
        jvm: Any = spark._jvm
        self._session = spark._jsparkSession
        scala = getattr(jvm, "org.apache.spark.api.python.PythonUtils")
        self._none, self._nil = getattr(jvm, "scala.Option").empty(), scala.toSeq([])
        self._map, self._source = scala.toScalaMap, getattr(jvm, _SOURCE)
        self._over = getattr(jvm, "org.apache.spark.sql.SaveMode").Overwrite
        self._run = versions.dataset_class(jvm).ofRows
        named: Any = versions.find_class(jvm, _SOURCE)
        self._takes = int(named.getConstructors()[0].getParameterCount())

    def write(self, analyzed: Any, location: str) -> Any | None:
        """The execution that wrote a plan's rows in place of what a folder holds. None, and nothing is written, where
        this version of Spark is told of it in another way. Raises `PySparkException`."""
        command = self._command(analyzed, location)
        return None if command is None else self._run(self._session, command).queryExecution()

    def _command(self, analyzed: Any, location: str) -> Any | None:
        none, nil, options = self._none, self._nil, self._map({"path": location})
        # Session, class, paths, schema, partition columns, buckets, options, table; later versions have more options.
        given = [self._session, "parquet", nil, none, nil, none, options, none]
        try:
            source = self._source(*given, *[none] * (self._takes - len(given)))
            return source.planForWriting(self._over, analyzed)
        except Py4JJavaError:
            raise
        except (Py4JError, TypeError):
            return None


def find_write_plans(execution: Any) -> Written | None:
    """The plans behind the rows that a statement's execution wrote; None where it does not tell."""
    try:
        with silence_pyspark():
            result = execution.commandExecuted()
            if result.getClass().getSimpleName() != "CommandResult":
                return None
            return _find_written(result.commandPhysicalPlan())
    except (Py4JError, PySparkException):
        return None


def _find_written(plan: Any) -> Written | None:
    """The plans whose rows a plan writes; None where this one writes none."""
    optimized, planned, writes, is_linked = None, None, False, False
    while True:
        kind = str(plan.getClass().getSimpleName())
        if kind == "AdaptiveSparkPlanExec":
            planned, plan = plan.initialPlan(), plan.executedPlan()
        elif kind == "ResultQueryStageExec":
            plan = plan.plan()
        elif kind in ("DataWritingCommandExec", "WriteFilesExec", *_INTO_TABLES):
            if kind == "DataWritingCommandExec":
                optimized = _optimized_schema(plan.cmd().query())
            plan, writes, is_linked = plan.children().apply(0), True, kind in _INTO_TABLES
        elif not writes:
            return None
        else:
            executed = physical_schema(plan.schema().json())
            if is_linked:
                top = planned or (plan.child() if kind == "WholeStageCodegenExec" else plan)
                optimized = _linked_schema(top, executed)
            return Written(optimized, executed)


def _optimized_schema(query: Any) -> PhysicalSchema:
    """A write's query as the optimizer left it, which `WriteFiles` stands over where writes are planned (V1Writes)."""
    if query.getClass().getSimpleName() == "WriteFiles":
        query = query.child()
    return physical_schema(query.schema().json())


def _linked_schema(planned: Any, executed: PhysicalSchema) -> PhysicalSchema | None:
    """The schema of the optimized plan that Spark has linked to the physical one that it made of it. A plan of other
    columns is one further down."""
    link = planned.logicalLink()
    if not link.isDefined():
        return None
    found = physical_schema(link.get().schema().json())
    return found if found.as_nullable() == executed.as_nullable() else None
