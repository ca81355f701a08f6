"""The node classes of a text's tree.

The shapes, construct by construct, are listed in the docstring of `planproof.sql`.
"""

from __future__ import annotations

from planproof.sql.tree import Node as Node


class Binary(Node):
    """Two operands, `this` and `expression`."""


class Query(Node):
    """What gives rows. Its modifiers (ORDER BY, LIMIT, WITH, ..) are arguments too: see `planproof.sql`."""


# Names


class Identifier(Node):
    """One part of a name: `this` its text without quotes, `quoted`."""


class Column(Node):
    """`a`, `a.b`: `this`, `table`, `db` and `catalog` are Identifiers."""


class Dot(Binary):
    """`expr.f`: `expression` is an Identifier."""


class Star(Node):
    """`*`, `t.* EXCEPT (a)`: `qualifier` Identifiers, `except_` Columns."""


class IdentifierClause(Node):
    """`IDENTIFIER(expr)` whose text is not known from literals alone."""


class Alias(Node):
    """`this AS alias`: an Identifier."""


class Aliases(Node):
    """`this AS (a, b)`: `expressions` are Identifiers."""


class TableAlias(Node):
    """`AS t(a, b)`: `this` an Identifier, `columns` Identifiers."""


class Var(Node):
    """A word that stands for itself: `this` its text."""


# Literals


class Literal(Node):
    """A number or a string: `this` its text, `is_string`, of a number `kind` its token."""


class TypedLiteral(Node):
    """`DATE '2020-01-01'`, `X'1F'`, `INTERVAL '1 day'`: `this` the unescaped text, `kind` the word in upper case."""


class IntervalLiteral(Node):
    """`INTERVAL 1 DAY 2 HOURS`, `INTERVAL '1-2' YEAR TO MONTH`: its `IntervalPart`s, `to` a unit or None."""


class IntervalPart(Node):
    """One value and unit of an interval: `this` a Literal, `negative` for a minus before it, `unit` in upper case."""


class Null(Node):
    """`NULL`."""


class Boolean(Node):
    """`TRUE`, `FALSE`: `this` is a bool."""


class Placeholder(Node):
    """`:name`, `?`: `this` is the name or missing."""


class TypeName(Node):
    """A data type: `this` its text, `data_type` the `planproof.types.DataType`."""


# Operators


class Add(Binary):
    """`a + b`."""


class Sub(Binary):
    """`a - b`."""


class Mul(Binary):
    """`a * b`."""


class Div(Binary):
    """`a / b`."""


class Mod(Binary):
    """`a % b`."""


class IntDiv(Binary):
    """`a DIV b`."""


class DPipe(Binary):
    """`a || b`."""


class BitwiseAnd(Binary):
    """`a & b`."""


class BitwiseOr(Binary):
    """`a | b`."""


class BitwiseXor(Binary):
    """`a ^ b`."""


class BitwiseLeftShift(Binary):
    """`a << b`."""


class BitwiseRightShift(Binary):
    """`a >> b`."""


class UnsignedRightShift(Binary):
    """`a >>> b`."""


class EQ(Binary):
    """`a = b`."""


class NEQ(Binary):
    """`a <> b`."""


class NullSafeEQ(Binary):
    """`a <=> b`."""


class NullSafeNEQ(Binary):
    """`a IS DISTINCT FROM b`."""


class LT(Binary):
    """`a < b`."""


class LTE(Binary):
    """`a <= b`."""


class GT(Binary):
    """`a > b`."""


class GTE(Binary):
    """`a >= b`."""


class And(Binary):
    """`a AND b`."""


class Or(Binary):
    """`a OR b`."""


class Like(Binary):
    """`a LIKE b`; `escape` is a Literal."""


class ILike(Binary):
    """`a ILIKE b`; `escape` is a Literal."""


class RegexpLike(Binary):
    """`a RLIKE b`."""


class QuantifiedLike(Node):
    """`a [NOT] LIKE ANY (b, c)`: `kind` LIKE or ILIKE, `quantifier` ANY (also for SOME) or ALL, `negated`."""


class Is(Binary):
    """`a IS [NOT] NULL|TRUE|FALSE|UNKNOWN`: `expression` a Null, Boolean or Var, `negate`."""


class Between(Node):
    """`this BETWEEN low AND high`."""


class In(Node):
    """`this IN (expressions)`, or `query` in place of them."""


class Exists(Node):
    """`EXISTS (this)`."""


class Collate(Binary):
    """`this COLLATE c`: `expression` is a Column."""


class Not(Node):
    """`NOT this`; `inner` where it stands within a predicate (`a NOT IN ..`)."""


class Neg(Node):
    """Unary minus."""


class Pos(Node):
    """Unary plus."""


class BitwiseNot(Node):
    """`~this`."""


class Paren(Node):
    """`(this)`."""


class Tuple(Node):
    """`(a, b)`: `expressions`."""


class Bracket(Node):
    """`this[i]`: `expressions` of the one index."""


class VariantPath(Node):
    """`a:b.c[0]`: `path` is the text after the colon."""


class Case(Node):
    """`CASE this ifs ELSE default END`."""


class If(Node):
    """`WHEN this THEN true`, of a CASE."""


class Cast(Node):
    """`CAST(this AS to)`; `colons` where it is written `this::to`."""


class TryCast(Cast):
    """`TRY_CAST(this AS to)`."""


# Calls


class Call(Node):
    """`f(expressions)`, with all that may follow its parentheses: see `planproof.sql`."""


class Lambda(Node):
    """`expressions -> this`: `expressions` are Identifiers."""


class Kwarg(Binary):
    """`this => expression`, in a call."""


class Window(Node):
    """`OVER (..)`: `partition_by`, `order`, `spec`, or `alias` of a named one."""


class WindowSpec(Node):
    """A window's frame: `kind`, `start`, `start_side`, `end`, `end_side`."""


class Ordered(Node):
    """`this [DESC] [NULLS FIRST]`: `desc`, `nulls_first` True, False or None."""


# Queries


class Select(Query):
    """`SELECT expressions FROM ..`."""


class Subquery(Query):
    """`(this) AS alias`."""


class SetOperation(Query):
    """Two queries, `this` and `expression`; `distinct` unless ALL."""


class Union(SetOperation):
    """`UNION`."""


class Except(SetOperation):
    """`EXCEPT`, `MINUS`."""


class Intersect(SetOperation):
    """`INTERSECT`."""


class TableQuery(Query):
    """`TABLE t` as a query: `this` a Table."""


class Transform(Query):
    """`SELECT TRANSFORM (expressions) USING script AS columns`; Select's other arguments are as there.

    `columns` are ColumnDefs (whose `kind` is None where only a name stands), or missing without AS; `row_format` says
    that a ROW FORMAT stands.
    """


class Pipe(Query):
    """`this |> kind ...`: `this` is the query before the pipe; see the table in `planproof.sql` for each kind."""


class Values(Node):
    """`VALUES (1, 2), (3, 4) AS t(a, b)`: `expressions`, `alias`."""


class With(Node):
    """`WITH [RECURSIVE] expressions`: CTEs."""


class CTE(Node):
    """`alias AS (this)`; `max_recursion`."""


class From(Node):
    """`FROM this`."""


class Where(Node):
    """`WHERE this`."""


class Group(Node):
    """`GROUP BY expressions`; `all`, `with_kind`, `sets`."""


class Rollup(Node):
    """`ROLLUP (expressions)`."""


class Cube(Node):
    """`CUBE (expressions)`."""


class GroupingSets(Node):
    """`GROUPING SETS (expressions)`."""


class Having(Node):
    """`HAVING this`."""


class Qualify(Node):
    """`QUALIFY this`."""


class Hint(Node):
    """`/*+ .. */`."""


class Order(Node):
    """`ORDER BY expressions`: Ordereds."""


class Sort(Node):
    """`SORT BY expressions`: Ordereds."""


class Cluster(Node):
    """`CLUSTER BY expressions`."""


class Distribute(Node):
    """`DISTRIBUTE BY expressions`."""


class Limit(Node):
    """`LIMIT expression`: ALL is a Var."""


class Offset(Node):
    """`OFFSET expression`."""


# Relations


class Table(Node):
    """`catalog.db.this AS alias`; `sample`, `version`, `options`."""


class TableSample(Node):
    """`TABLESAMPLE (..)`."""


class Version(Node):
    """`VERSION|TIMESTAMP AS OF expression`: `this` the word, `kind` AS OF."""


class Unnest(Node):
    """`UNNEST(expressions) [WITH ORDINALITY] AS alias`: `offset` for the latter."""


class ColumnDef(Node):
    """`this kind`: a column's name and TypeName; `not_null`, `default`."""


class Joined(Node):
    """Two relations side by side: left `this`, right `expression`.

    `kind` is INNER, CROSS, LEFT, RIGHT, FULL, LEFT SEMI or LEFT ANTI; `comma`, `natural` and `lateral` (of the right
    side) are flags; `on` is a condition, `using` a list of identifiers.
    """


class Grouped(Node):
    """A relation in parentheses, perhaps with an alias."""


class TableFunction(Node):
    """A function in FROM: `this` the Call, its arguments perhaps `TableArgument`s."""


class TableArgument(Node):
    """`TABLE(t) PARTITION BY a ORDER BY b`, an argument: `this` a Table or query, `partition_by`, `order`, `single`."""


class LateralView(Node):
    """`this LATERAL VIEW [OUTER] call alias`; `this` is None where there is no FROM. `alias` is a TableAlias."""


class Pivoted(Node):
    """`this PIVOT (aggregates FOR columns IN (values)) alias`.

    `aggregates` are expressions or aliases, `columns` identifiers, `values` expressions or aliases.
    """


class Unpivoted(Node):
    """`this UNPIVOT (values FOR name IN (columns)) alias`.

    `values` are identifiers, `name` one identifier, `columns` `UnpivotSet`s, `multi` the multi-column form,
    `include_nulls`.
    """


class UnpivotSet(Node):
    """One entry of UNPIVOT's IN list: `expressions` are columns, `alias` an identifier or None."""
