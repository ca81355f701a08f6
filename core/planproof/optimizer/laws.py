"""Side conditions that rules share: what an expression depends on, and what may go wrong when it is moved.

Each law is a predicate over effects, free variables and flags. A rule's "Only when ..." names the laws that it needs.
"""

from __future__ import annotations

from fractions import Fraction

from planproof.conf import Conf
from planproof.expr import (
    Call,
    Cast,
    Column,
    Exists,
    Expr,
    GetField,
    InSubquery,
    Lambda,
    Literal,
    Outer,
    ScalarSubquery,
    Variable,
    Window,
)
from planproof.functions.signature import Category
from planproof.types import (
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
)
from planproof.types.casts import can_up_cast

HASHED_ALIKE = (BOOLEAN, BYTE, SHORT, INT, LONG, STRING, DATE, TIMESTAMP, TIMESTAMP_NTZ)
"""Types on which `=`, `array_contains` and hash sets agree; of floats they differ about NaN and -0.0."""


def free_variables(expr: Expr) -> frozenset[int]:
    """The ids of the lambda variables that the expression uses and does not bind itself."""
    if isinstance(expr, Variable):
        return frozenset((expr.id,))
    found: frozenset[int] = frozenset().union(*(free_variables(c) for c in expr.children))
    if isinstance(expr, Lambda):
        return found - {p.id for p in expr.parameters}
    return found


def columns(expr: Expr) -> frozenset[int]:
    """The ids of the columns that the expression reads, outer ones included; never a lambda variable's."""
    found = {e.id for e in expr.walk() if isinstance(e, Column)}
    return frozenset(found | {e.column.id for e in expr.walk() if isinstance(e, Outer)})


def deterministic(expr: Expr) -> bool:
    """Two evaluations over the same row give the same value."""
    return not any(isinstance(e, Call) and e.function.effects.volatile for e in expr.walk())


def may_raise(expr: Expr, conf: Conf, filled: Expr | None = None) -> bool:
    """Whether evaluating the expression over some row may fail, as far as the functions' declared effects tell.

    `filled` is an array that is known to have elements: what is divided by its size does not fail.
    """
    return any(_raises(e, conf, filled) for e in expr.walk())


def _raises(expr: Expr, conf: Conf, filled: Expr | None) -> bool:
    if isinstance(expr, Cast):
        return expr.mode == "ansi" and not can_up_cast(expr.child.type, expr.type)
    if not isinstance(expr, Call) or _total(expr, filled):
        return False
    raises = expr.function.effects.raises
    return raises == "always" or (raises == "ansi" and conf.ansi)


def _total(call: Call, filled: Expr | None) -> bool:
    """Arithmetic that has a value for all operands: of floats, or a division by what is not zero."""
    name = call.function.name
    if call.type not in (FLOAT, DOUBLE) and name != "div":
        return False
    if name in ("+", "-", "*", "negative", "positive", "abs"):
        return True
    return name in ("/", "%", "div") and _not_zero(call.args[-1], filled)


def _not_zero(divisor: Expr, filled: Expr | None) -> bool:
    while isinstance(divisor, Cast) and can_up_cast(divisor.child.type, divisor.type):
        divisor = divisor.child
    if isinstance(divisor, Literal):
        return isinstance(divisor.value, int | float | Fraction) and divisor.value > 0
    counts = isinstance(divisor, Call) and divisor.function.name in ("size", "cardinality", "array_size")
    return filled is not None and counts and divisor.children[0] == filled


_RIGHT_FIRST = frozenset(("/", "%", "div", "mod", "pmod"))
_COMPARED = "= < <= > >= <=> not isnull isnotnull"
_MADE = "+ - * negative positive concat struct named_struct getmapvalue getarrayitem element_at"
_STRICT = frozenset(f"{_COMPARED} {_MADE}".split())


def nulls_before(body: Expr, part: Expr, conf: Conf) -> list[Expr] | None:
    """The operands that each evaluation of `body` evaluates before `part`, and whose null ends it before.

    None where it may not get there at all, or where something may raise before. Spark evaluates operands from the left,
    divisors first, and stops at a null operand.
    """
    if body == part:
        return []
    if isinstance(body, Cast | GetField):
        return nulls_before(body.child, part, conf)
    if not isinstance(body, Call) or body.function.name not in _STRICT | _RIGHT_FIRST:
        return None
    before: list[Expr] = []
    for operand in body.args[::-1] if body.function.name in _RIGHT_FIRST else body.args:
        found = nulls_before(operand, part, conf)
        if found is not None:
            return before + found
        if may_raise(operand, conf):
            return None
        before += [operand] if operand.nullable else []
    return None


_OF_ROWS = (Category.SCALAR, Category.OPERATOR)


def row_local(expr: Expr) -> bool:
    """The expression needs one row and nothing else: no aggregate, window, generator or subquery in it.

    A Python function's call is none either: Spark refuses it in the lambda that a rule would put it into.
    """
    return not any(
        isinstance(e, Window | ScalarSubquery | Exists | InSubquery)
        or (isinstance(e, Call) and (e.function.category not in _OF_ROWS or callable(e.function.spark)))
        for e in expr.walk()
    )


_OPERATORS = "+ - * / % div = <=> < <= > >= and or not & | ^ ~ negative positive isnull isnotnull if when in"
_LOOKUPS = "getarrayitem getmapvalue coalesce size array_size length abs map_keys map_values struct named_struct array"
_CHEAP = frozenset(f"{_OPERATORS} {_LOOKUPS}".split())
"""Functions whose work is a few instructions: computing them again costs less than binding their value."""


def costly(expr: Expr) -> bool:
    """Whether the expression does work that grows with its data: anything beyond arithmetic, tests and lookups."""
    return any(isinstance(e, Call) and e.function.name not in _CHEAP for e in expr.walk())
