"""Pipe operators: each is a query over the query before it."""

from __future__ import annotations

from collections.abc import Sequence

from planproof_engine.sql.nodes.names import Column, Identifier
from planproof_engine.sql.nodes.operators import Binary
from planproof_engine.sql.nodes.queries import (
    Group,
    Hint,
    Joined,
    Pivoted,
    Query,
    TableSample,
    Unpivoted,
    Where,
)
from planproof_engine.sql.tree import Node, node


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

    unpivoted: Unpivoted


@node
class PipeSample(Pipe):
    """`|> TABLESAMPLE (..)`."""

    sample: TableSample


@node
class PipeOrganize(Pipe):
    """`|> ORDER BY ..`, `|> LIMIT ..` and their kin."""
