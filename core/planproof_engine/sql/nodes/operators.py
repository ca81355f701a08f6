"""Operators, and what else is made of operands alone."""

from __future__ import annotations

from collections.abc import Sequence

from planproof_engine.sql.nodes.names import Boolean, Column, Literal, Null, TypeName, Var
from planproof_engine.sql.tree import Node, node


@node
class Binary(Node):
    """An operator between two operands."""

    left: Node
    right: Node


@node
class Unary(Node):
    """An operator before one operand."""

    operand: Node


@node
class Add(Binary):
    """`a + b`."""


@node
class Sub(Binary):
    """`a - b`."""


@node
class Mul(Binary):
    """`a * b`."""


@node
class Div(Binary):
    """`a / b`."""


@node
class Mod(Binary):
    """`a % b`."""


@node
class IntDiv(Binary):
    """`a DIV b`."""


@node
class DPipe(Binary):
    """`a || b`."""


@node
class BitwiseAnd(Binary):
    """`a & b`."""


@node
class BitwiseOr(Binary):
    """`a | b`."""


@node
class BitwiseXor(Binary):
    """`a ^ b`."""


@node
class BitwiseLeftShift(Binary):
    """`a << b`."""


@node
class BitwiseRightShift(Binary):
    """`a >> b`."""


@node
class UnsignedRightShift(Binary):
    """`a >>> b`."""


@node
class EQ(Binary):
    """`a = b`."""


@node
class NEQ(Binary):
    """`a <> b`."""


@node
class NullSafeEQ(Binary):
    """`a <=> b`."""


@node
class NullSafeNEQ(Binary):
    """`a IS DISTINCT FROM b`."""


@node
class LT(Binary):
    """`a < b`."""


@node
class LTE(Binary):
    """`a <= b`."""


@node
class GT(Binary):
    """`a > b`."""


@node
class GTE(Binary):
    """`a >= b`."""


@node
class And(Binary):
    """`a AND b`."""


@node
class Or(Binary):
    """`a OR b`."""


@node
class Not(Unary):
    """`NOT a`; `inner` where it stands within a predicate (`a NOT IN ..`)."""

    inner: bool = False


@node
class Neg(Unary):
    """Unary minus."""


@node
class Pos(Unary):
    """Unary plus."""


@node
class BitwiseNot(Unary):
    """`~a`."""


@node
class Predicate(Node):
    """A test of one operand, told behind it."""

    operand: Node


@node
class LikeBinary(Predicate):
    """A test of the operand against one pattern."""

    pattern: Node


@node
class Like(LikeBinary):
    """`a LIKE pattern ESCAPE escape`."""

    escape: Literal | None = None


@node
class ILike(Like):
    """`a ILIKE pattern ESCAPE escape`."""


@node
class RegexpLike(LikeBinary):
    """`a RLIKE pattern`."""


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
