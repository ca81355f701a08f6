"""Where Python data enters a classic session's query: what it holds below the NOT NULL flags that it claims.

Spark never looks below such a flag: a null comes out of the first projection as 0 or as an empty text, and no later
plane can tell. The rows themselves still can: those of a DataFrame made from Python, and those that a Python function
gives (mapInArrow, mapInPandas, applyInPandas and their like), which runs once more to be counted.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError

from planproof.session.failures import quiet, translated
from planproof.session.protocol import Entries, Entry
from planproof.session.schemas import physical_schema

if TYPE_CHECKING:
    from planproof.session.classic import ClassicSession

_ROWS = "LogicalRDD"
_FUNCTIONS = ("MapInArrow", "MapInPandas", "FlatMapGroupsIn", "FlatMapCoGroupsIn")


@contextmanager
def entries(session: ClassicSession, analyzed: Any) -> Iterator[Entries]:
    """The entries of an analyzed plan, each as a temporary view over the same rows with every flag loosened."""
    from pyspark.sql import DataFrame

    made: list[Entry] = []
    unread: list[str] = ["a Python data source"] if session._reads_python(analyzed) else []
    try:
        with translated():
            for kind, node in _claiming(analyzed):
                loose = _loosened(session, kind, node)
                if loose is None:
                    unread.append(kind)
                    continue
                name = f"__planproof_entry_{uuid.uuid4().hex}"
                DataFrame(loose, session.spark).createOrReplaceTempView(name)
                made.append(Entry(f"`{name}`", physical_schema(node.schema().json())))
        yield Entries(tuple(made), tuple(unread))
    finally:
        with translated():
            for entry in made:
                session.spark.catalog.dropTempView(entry.relation.strip("`"))


def _claiming(analyzed: Any) -> list[tuple[str, Any]]:
    """The nodes whose rows come from Python and claim NOT NULL somewhere, with their kinds; each once."""
    found: dict[str, tuple[str, Any]] = {}
    waiting = [analyzed, *_items(analyzed.subqueriesAll())]
    while waiting:
        node = waiting.pop()
        kind = str(node.getClass().getSimpleName())
        if kind == _ROWS or kind.startswith(_FUNCTIONS):
            claimed = physical_schema(node.schema().json())
            if claimed != claimed.as_nullable():
                found.setdefault(str(node.canonicalized().hashCode()), (kind, node))
        waiting += _items(node.children())
    return list(found.values())


def _loosened(session: ClassicSession, kind: str, node: Any) -> Any | None:
    """A Dataset over the same rows in which everything may be null; None where the node cannot be taken apart."""
    if kind == _ROWS:
        return session._java.internalCreateDataFrame(node.rdd(), node.schema().asNullable(), False)
    try:
        with quiet():
            datasets = getattr(session._jvm, "org.apache.spark.sql.classic.Dataset")
            return datasets.ofRows(session._java, _copied(session, node))
    except (Py4JError, TypeError):
        return None


def _copied(session: ClassicSession, node: Any) -> Any:
    """The node with its output's flags loosened: `TreeNode.makeCopy` over its own arguments."""
    output = node.output()
    loose = [a.withNullability(True).withDataType(a.dataType().asNullable()) for a in _items(output)]
    given = [node.productElement(i) for i in range(node.productArity())]
    arguments = session._gateway.new_array(session._jvm.java.lang.Object, len(given))
    for at, argument in enumerate(given):
        is_output = hasattr(argument, "equals") and argument.equals(output)
        arguments[at] = session._jvm.PythonUtils.toSeq(loose) if is_output else argument
    return node.makeCopy(arguments)


def _items(sequence: Any) -> list[Any]:
    return [sequence.apply(i) for i in range(sequence.size())]
