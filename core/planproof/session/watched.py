"""A query that fails at the first null below a NOT NULL flag that Python data claims, in the run that writes its rows.

To count nulls a Python function would run a second time. Here a filter stands over each entry's own plan instead. It
looks at the rows before Spark trusts the flag, and every row that is used passes it: retries, limits and speculative
tasks change nothing. Some entries cannot be watched, and are left to be counted: flags inside of nested values, entries
in subqueries, Python data sources, and every entry where the session caches plans: the changed plan would not be found
in the cache any more.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from planproof.session import versions
from planproof.session.entries import claiming_kind, has_python_source, loosen
from planproof.session.failures import silence_pyspark, translate_errors
from planproof.session.java import items
from planproof.session.protocol import NULL_FOUND
from planproof.session.schemas import physical_schema
from planproof_engine.quoting import quote_literal, quote_name
from planproof_engine.schema import ColumnNames, PhysicalSchema

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
