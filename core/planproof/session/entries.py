"""Where Python data enters a classic session's query: what it holds below the NOT NULL flags that it claims.

Spark never looks below such a flag: a null comes out of the first projection as 0 or as an empty text, and no later
plane can tell. The rows themselves still can.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from planproof.session.failures import translated
from planproof.session.protocol import Entries, Entry
from planproof.session.schemas import physical_schema

if TYPE_CHECKING:
    from planproof.session.classic import ClassicSession

_ROWS = ".execution.LogicalRDD"
_FUNCTIONS = ("MapInArrow", "MapInPandas", "FlatMapGroupsIn", "FlatMapCoGroupsIn")


@contextmanager
def entries(session: ClassicSession, analyzed: Any) -> Iterator[Entries]:
    """The entries of an analyzed plan, each as a temporary view over the same rows with every flag loosened."""
    from pyspark.sql import DataFrame

    made: list[Entry] = []
    try:
        with translated():
            for leaf in _leaves(analyzed):
                claimed = physical_schema(leaf.schema().json())
                if leaf.getClass().getName().endswith(_ROWS) and claimed != claimed.as_nullable():
                    loose = session._java.internalCreateDataFrame(leaf.rdd(), leaf.schema().asNullable(), False)
                    name = f"__planproof_entry_{uuid.uuid4().hex}"
                    DataFrame(loose, session.spark).createOrReplaceTempView(name)
                    made.append(Entry(f"`{name}`", claimed))
            unread = _unread(session, analyzed)
        yield Entries(tuple(made), unread)
    finally:
        with translated():
            for entry in made:
                session.spark.catalog.dropTempView(entry.relation.strip("`"))


def _leaves(analyzed: Any) -> list[Any]:
    """The leaves of the plan and of its subqueries, each relation once."""
    subqueries = analyzed.subqueriesAll()
    plans = [analyzed, *(subqueries.apply(i) for i in range(subqueries.size()))]
    found: dict[str, Any] = {}
    for plan in plans:
        leaves = plan.collectLeaves()
        for i in range(leaves.size()):
            leaf = leaves.apply(i)
            found.setdefault(str(leaf.canonicalized().hashCode()), leaf)
    return list(found.values())


def _unread(session: ClassicSession, analyzed: Any) -> tuple[str, ...]:
    text = analyzed.toString()
    named = [name for name in _FUNCTIONS if name in text]
    return (*named, *(["a Python data source"] if session._reads_python(analyzed) else ()))
