"""Names and literals, and what is made of operands: operators, calls and lambdas."""

from __future__ import annotations

from collections.abc import Sequence

from planproof_engine import types as dt
from planproof_engine.sql.tree import Node, node

# Names and literals

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


# Operators, calls and lambdas


@node
class Binary(Node):
    """An operator between two operands, in capitals where it is a word: `+`, `||`, `DIV`, `<=>`, `OR`.

    `a IS NOT DISTINCT FROM b` is `<=>`, and `a IS DISTINCT FROM b` that operator's negation, `<!>`.
    """

    operator: str
    left: Node
    right: Node


@node
class Unary(Node):
    """A sign before one operand: `-`, `+` or `~`."""

    operator: str
    operand: Node


@node
class Not(Node):
    """`NOT a`; `inner` where it stands within a predicate (`a NOT IN ..`)."""

    operand: Node
    inner: bool = False


@node
class Predicate(Node):
    """A test of one operand, told behind it."""

    operand: Node


@node
class Like(Predicate):
    """`a LIKE pattern ESCAPE escape`; `kind` is LIKE, ILIKE, or RLIKE, which has no escape."""

    pattern: Node
    kind: str
    escape: Literal | None = None


@node
class QuantifiedLike(Predicate):
    """`a [NOT] LIKE ANY (b, c)`: `kind` LIKE or ILIKE, `quantifier` ANY (also for SOME) or ALL."""

    patterns: Sequence[Node]
    kind: str
    quantifier: str
    negated: bool


@node
class Is(Predicate):
    """`a IS [NOT] NULL|TRUE|FALSE|UNKNOWN`: UNKNOWN is a Var."""

    test: Null | Boolean | Var
    negated: bool


@node
class Between(Predicate):
    """`a BETWEEN low AND high`."""

    low: Node
    high: Node


@node
class Collate(Node):
    """`a COLLATE c`."""

    operand: Node
    collation: Column


@node
class Paren(Node):
    """`(a)`."""

    operand: Node


@node
class Tuple(Node):
    """`(a, b AS c)`."""

    members: Sequence[Node]


@node
class Bracket(Node):
    """`a[i]`."""

    operand: Node
    index: Node


@node
class VariantPath(Node):
    """`a:b.c[0]`: `path` is the text after the colon."""

    operand: Node
    path: str


@node
class When(Node):
    """`WHEN condition THEN value`, of a CASE; of a CASE with an operand, `condition` is what that is compared with."""

    condition: Node
    value: Node


@node
class Case(Node):
    """`CASE operand branches ELSE default END`."""

    operand: Node | None
    branches: Sequence[When]
    default: Node | None


@node
class Cast(Node):
    """`CAST(operand AS target)`; `colons` where it is written `operand::target`."""

    operand: Node
    target: TypeName
    colons: bool = False


@node
class TryCast(Cast):
    """`TRY_CAST(operand AS target)`."""


@node
class Ordered(Node):
    """`key [DESC] [NULLS FIRST]`: `nulls_first` is None where nothing is said."""

    key: Node
    desc: bool = False
    nulls_first: bool | None = None


@node
class WindowFrame(Node):
    """A window's frame: `kind` is ROWS or RANGE.

    A bound is UNBOUNDED, CURRENT ROW or an expression; its side is PRECEDING, FOLLOWING, or None of CURRENT ROW.
    """

    kind: str
    start: Node | str
    start_side: str | None
    end: Node | str | None = None
    end_side: str | None = None


@node
class Window(Node):
    """`OVER (PARTITION BY .. ORDER BY .. frame)`, or `OVER reference`; `cluster` for CLUSTER BY."""

    partition_by: Sequence[Node] = ()
    order: Sequence[Ordered] = ()
    frame: WindowFrame | None = None
    reference: Identifier | None = None
    cluster: bool = False


@node
class Call(Node):
    """`f(arguments)`, with all that may follow its parentheses.

    `name` is as written, with the dots of a name of several `parts`; these are given for such a name and a quoted one.
    `distinct` is True for DISTINCT, False for ALL; `nulls` is IGNORE or RESPECT.
    """

    name: str | IdentifierClause
    arguments: Sequence[Node] = ()
    parts: tuple[str, ...] | None = None
    distinct: bool | None = None
    within_group: Sequence[Ordered] = ()
    filter: Node | None = None
    nulls: str | None = None
    over: Window | None = None


@node
class SpecialCall(Call):
    """A call with a syntax of its own, which `form` names: see the table in `planproof_engine.sql`.

    `side` is that of TRIM; `unit` a unit of time in upper case, and `written` that in the text.
    """

    form: str = ""
    side: str | None = None
    unit: str = ""
    written: str = ""


@node
class Lambda(Node):
    """`parameters -> body`."""

    parameters: Sequence[Identifier]
    body: Node


@node
class Kwarg(Node):
    """`name => value`, in a call."""

    name: Identifier
    value: Node
