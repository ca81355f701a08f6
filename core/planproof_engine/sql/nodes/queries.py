"""Queries, their clauses, the expressions that hold queries, relations (what stands in FROM), and pipe operators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY

from planproof_engine.sql.nodes.expressions import (
    Binary,
    Call,
    Column,
    Identifier,
    IdentifierClause,
    Literal,
    Ordered,
    Predicate,
    TableAlias,
    TypeName,
    Window,
)
from planproof_engine.sql.tree import Node, node

# Clauses


@node
class Ordering(Node):
    """ORDER BY, SORT BY, CLUSTER BY or DISTRIBUTE BY: the keys of the first two are Ordereds."""

    keys: Sequence[Node]


@node
class Limit(Node):
    """`LIMIT count`: ALL is a Var."""

    count: Node


@node
class Offset(Node):
    """`OFFSET count`."""

    count: Node


@node
class From(Node):
    """`FROM relation`."""

    relation: Node


@node
class Where(Node):
    """`WHERE condition`."""

    condition: Node


@node
class Having(Node):
    """`HAVING condition`."""

    condition: Node


@node
class Qualify(Node):
    """`QUALIFY condition`."""

    condition: Node


@node
class GroupingAnalytics(Node):
    """`kind (sets)`, of ROLLUP, CUBE or GROUPING SETS, among whose sets may be analytics too.

    Each of `sets` is an expression, a Paren, or a Tuple (of none: the grand total).
    """

    kind: str
    sets: Sequence[Node]


@node
class Group(Node):
    """`GROUP BY keys`: `is_all` for GROUP BY ALL, whose word is the one key too.

    `with_kind` is ROLLUP or CUBE for `GROUP BY a WITH ROLLUP`, or GROUPING SETS for `GROUP BY a GROUPING SETS (..)`,
    whose sets are `sets`.
    """

    keys: Sequence[Node]
    with_kind: str | None = None
    sets: Sequence[Node] = ()
    is_all: bool = False


@node
class Hint(Node):
    """`/*+ calls */`."""

    calls: Sequence[Call]


@node
class NamedWindow(Node):
    """`name AS (..)`, in WINDOW."""

    name: Identifier
    window: Window


# Queries


@node
class Query(Node):
    """What gives rows. What orders or limits a query stands in its outermost node, whatever that is."""

    _: KW_ONLY
    windows: Sequence[NamedWindow] = ()
    order: Ordering | None = None
    cluster: Ordering | None = None
    distribute: Ordering | None = None
    sort: Ordering | None = None
    limit: Limit | None = None
    offset: Offset | None = None
    with_: With | None = None


@node
class CTE(Node):
    """`alias AS (query)`."""

    alias: TableAlias
    max_recursion: Literal | None
    query: Query


@node
class With(Node):
    """`WITH [RECURSIVE] ctes`."""

    ctes: Sequence[CTE]
    recursive: bool = False


@node
class Block(Query):
    """What SELECT and TRANSFORM share. `from_first`: FROM stands before it. `distinct` is False for ALL."""

    hint: Hint | None = None
    distinct: bool | None = None
    items: Sequence[Node] = ()
    from_: From | None = None
    where: Where | None = None
    group: Group | None = None
    having: Having | None = None
    qualify: Qualify | None = None
    from_first: bool = False


@node
class Select(Block):
    """`SELECT items FROM ..`; `from_only`: a bare `FROM t`, whose only item is a star."""

    from_only: bool = False


@node
class ColumnDef(Node):
    """`name type NOT NULL DEFAULT default`."""

    name: Identifier
    type: TypeName | None
    default: Node | None = None
    not_null: bool = False


@node
class Transform(Block):
    """`SELECT TRANSFORM (items) USING script AS columns`.

    `columns` are None without AS, and have no type where only names stand; `row_format`: a ROW FORMAT stands.
    """

    script: str = ""
    columns: Sequence[ColumnDef] | None = None
    row_format: bool = False


@node
class TableSample(Node):
    """`TABLESAMPLE (..)`: it changes no schema, so only its size and seed are kept."""

    method: str | None = None
    bucket_numerator: Node | None = None
    bucket_denominator: Node | None = None
    bucket_field: Node | None = None
    percent: Node | None = None
    rows: Node | None = None
    size: Node | None = None
    seed: Node | None = None


@node
class Subquery(Query):
    """`(query)`, as a query, an expression or a relation; as the last, `AS alias`."""

    query: Query
    sample: TableSample | None = None
    alias: TableAlias | None = None


@node
class SetOperation(Query):
    """Two queries; `distinct` unless ALL. `kind` is union, except or intersect, as in `logical.nodes`."""

    kind: str
    left: Query
    right: Query
    distinct: bool = True


@node
class Values(Query):
    """`VALUES (1, 2), (3, 4) AS t(a, b)`, as a query or a relation: a row is a Tuple, a Paren or any expression."""

    rows: Sequence[Node]
    alias: TableAlias | None = None


# Expressions that hold queries


@node
class In(Predicate):
    """`operand IN (members)`, or IN (query)."""

    members: Sequence[Node] = ()
    query: Subquery | None = None


@node
class Exists(Node):
    """`EXISTS (query)`."""

    query: Query


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


# Pipe operators: each is a query over the query before it


@node
class Pipe(Query):
    """`before |> ..`."""

    before: Query


@node
class PipeSelect(Pipe):
    """`|> SELECT DISTINCT items GROUP BY ..`."""

    hint: Hint | None = None
    distinct: bool | None = None
    items: Sequence[Node] = ()
    group: Group | None = None


@node
class PipeExtend(Pipe):
    """`|> EXTEND items`."""

    items: Sequence[Node]


@node
class PipeSet(Pipe):
    """`|> SET a = 1`: the left side of each assignment is a Column."""

    assignments: Sequence[Binary]


@node
class PipeDrop(Pipe):
    """`|> DROP columns`."""

    columns: Sequence[Column]


@node
class PipeAs(Pipe):
    """`|> AS alias`."""

    alias: Identifier


@node
class PipeWhere(Pipe):
    """`|> WHERE ..`."""

    where: Where


@node
class PipeAggregate(Pipe):
    """`|> AGGREGATE items GROUP BY ..`, whose keys may be Aliases."""

    items: Sequence[Node]
    group: Group | None = None


@node
class PipeSetOperation(Pipe):
    """`|> UNION ALL other`: `kind` is that of the same operation between two queries."""

    kind: str
    other: Query
    distinct: bool = True


@node
class PipeJoin(Pipe):
    """`|> JOIN ..`."""

    joined: Joined


@node
class PipePivot(Pipe):
    """`|> PIVOT (..)`."""

    pivoted: Pivoted


@node
class PipeUnpivot(Pipe):
    """`|> UNPIVOT (..)`."""

    pivoted: Unpivoted


@node
class PipeSample(Pipe):
    """`|> TABLESAMPLE (..)`."""

    sample: TableSample


@node
class PipeOrganize(Pipe):
    """`|> ORDER BY ..`, `|> LIMIT ..` and their kin."""
