"""Relations: what stands in FROM."""

from __future__ import annotations

from collections.abc import Sequence

from planproof_engine.sql.nodes.calls import Call, Ordered
from planproof_engine.sql.nodes.names import Column, Identifier, IdentifierClause, TableAlias
from planproof_engine.sql.nodes.queries import Query, TableSample
from planproof_engine.sql.tree import Node, node


@node
class Version(Node):
    """`VERSION|TIMESTAMP AS OF at`: `kind` is the word."""

    kind: str
    at: Node


@node
class Table(Node):
    """`catalog.db.t AS alias`: the parts of its name, outermost first; none where the name is `computed`.

    `options` is the text of `WITH (key = value)`. `is_stream`: it is read as Databricks' `STREAM t`.
    """

    parts: Sequence[Identifier]
    computed: IdentifierClause | None = None
    version: Version | None = None
    options: str | None = None
    sample: TableSample | None = None
    alias: TableAlias | None = None
    is_stream: bool = False


@node
class TableQuery(Query):
    """`TABLE t` as a query."""

    table: Table


@node
class Unnest(Node):
    """`UNNEST(arguments) [WITH ORDINALITY] AS alias`."""

    arguments: Sequence[Node]
    ordinality: bool = False
    alias: TableAlias | None = None


@node
class Joined(Node):
    """Two relations side by side.

    `kind` is INNER, CROSS, LEFT, RIGHT, FULL, LEFT SEMI or LEFT ANTI. `left` is None of `FROM LATERAL x`, and of a
    pipe's JOIN, where the query before it stands there.
    """

    left: Node | None
    right: Node
    kind: str
    on: Node | None = None
    using: Sequence[Identifier] = ()
    comma: bool = False
    natural: bool = False
    lateral: bool = False


@node
class Grouped(Node):
    """A relation in parentheses, perhaps with an alias."""

    relation: Node
    sample: TableSample | None = None
    alias: TableAlias | None = None


@node
class TableArgument(Node):
    """`TABLE(t) PARTITION BY a ORDER BY b`, an argument of a table function; `single`: WITH SINGLE PARTITION."""

    relation: Table | Query
    partition_by: Sequence[Node] = ()
    order: Sequence[Ordered] = ()
    single: bool = False


@node
class TableFunction(Node):
    """A function in FROM: the call's arguments are perhaps `TableArgument`s."""

    call: Call
    alias: TableAlias | None = None


@node
class LateralView(Node):
    """`relation LATERAL VIEW [OUTER] call alias`; `relation` is None where there is no FROM."""

    relation: Node | None
    call: Call
    alias: TableAlias
    outer: bool = False


@node
class Pivoted(Node):
    """`relation PIVOT (aggregates FOR columns IN (values)) alias`; `relation` is None in a pipe.

    `aggregates` and `values` are expressions or aliases.
    """

    relation: Node | None
    aggregates: Sequence[Node]
    columns: Sequence[Identifier]
    values: Sequence[Node]
    alias: Identifier | None = None


@node
class UnpivotSet(Node):
    """One entry of UNPIVOT's IN list."""

    columns: Sequence[Column]
    alias: Identifier | None = None


@node
class Unpivoted(Node):
    """`relation UNPIVOT (values FOR name IN (columns)) alias`; `relation` is None in a pipe.

    `filters`: what the values' names mean in the filter that drops rows of nulls; there is none under INCLUDE NULLS.
    """

    relation: Node | None
    values: Sequence[Identifier]
    name: Identifier
    columns: Sequence[UnpivotSet]
    filters: Sequence[tuple[str, ...]]
    alias: Identifier | None = None
