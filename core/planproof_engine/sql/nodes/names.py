"""Names and literals."""

from __future__ import annotations

from collections.abc import Sequence

from planproof_engine import types as dt
from planproof_engine.sql.tree import Node, node

# Names


@node
class Identifier(Node):
    """One part of a name: its text without quotes."""

    text: str
    quoted: bool = False


@node
class Column(Node):
    """`a`, `a.b`: the parts of a name, outermost first. Whether one is a relation or a field is for the binder."""

    parts: Sequence[Identifier]


@node
class Dot(Node):
    """`expr.f`, where `expr` is no name."""

    operand: Node
    field: Identifier


@node
class Star(Node):
    """`*`, `t.* EXCEPT (a)`."""

    qualifier: Sequence[Identifier] = ()
    except_: Sequence[Column] = ()


@node
class IdentifierClause(Node):
    """`IDENTIFIER(expr)`: as a name, one whose text is not known from literals alone."""

    operand: Node


@node
class Alias(Node):
    """`operand AS alias`."""

    operand: Node
    alias: Identifier


@node
class Aliases(Node):
    """`operand AS (a, b)`."""

    operand: Node
    names: Sequence[Identifier]


@node
class TableAlias(Node):
    """`AS t(a, b)`."""

    name: Identifier
    columns: Sequence[Identifier] = ()


@node
class Var(Node):
    """A word that stands for itself: ALL of LIMIT, UNKNOWN, LOCAL."""

    word: str


# Literals


@node
class Literal(Node):
    """A number as it is written, or a string's value; of a number, `kind` is its token's."""

    text: str
    is_string: bool
    kind: str | None = None


@node
class TypedLiteral(Node):
    """`DATE '2020-01-01'`, `X'1F'`, `INTERVAL '1 day'`: the unescaped text, `kind` the word in upper case."""

    text: str
    kind: str


@node
class IntervalPart(Node):
    """One value and unit of an interval: `negative` for a minus before it, `unit` in upper case."""

    value: Literal
    unit: str
    negative: bool = False


@node
class IntervalLiteral(Node):
    """`INTERVAL 1 DAY 2 HOURS`, `INTERVAL '1-2' YEAR TO MONTH`: `to` is a unit."""

    parts: Sequence[IntervalPart]
    to: str | None = None


@node
class Null(Node):
    """`NULL`."""


@node
class Boolean(Node):
    """`TRUE`, `FALSE`."""

    value: bool


@node
class Placeholder(Node):
    """`:name`; without a name `?`."""

    name: str | None = None


@node
class TypeName(Node):
    """A data type, as it is written and as planproof reads it."""

    text: str
    data_type: dt.DataType
