"""Python functions that a user hands over, with what they declare."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from planproof_engine import types as dt
from planproof_engine.expr import Call, Expr, Traits, function
from planproof_engine.expr.function import Coerce, Many
from planproof_engine.types.kinds import ANY

KINDS = ("arrow", "pandas", "python")


class DeclarationError(ValueError):
    """A Python function whose declaration cannot be read."""


@dataclass(frozen=True, slots=True)
class Function:
    """A Python function with its declared type, nullability and kind.

    `kind` says what `call` takes and gives: `arrow` pyarrow arrays, `pandas` Series, `python` one value of each. All of
    them give one value per element. `returns` is a DDL string, nested NOT NULL included, or a `DataType`. `nullable`:
    whether the function may give null. Inside a lambda planproof checks both on every batch. Raises `DeclarationError`.
    """

    call: Callable[..., Any]
    returns: str | dt.DataType
    nullable: bool = True
    kind: str = "arrow"
    deterministic: bool = True
    type: dt.DataType = field(init=False)

    def __post_init__(self) -> None:
        if not callable(self.call):
            raise DeclarationError(f"{self.call!r} is no function")
        if self.kind not in KINDS:
            raise DeclarationError(f"kind {self.kind!r} is not one of {', '.join(KINDS)}")
        try:
            found = dt.parse_type(self.returns) if isinstance(self.returns, str) else self.returns
        except dt.TypeSyntaxError as error:
            raise DeclarationError(f"returns {self.returns!r}: {error}") from error
        object.__setattr__(self, "type", found)

    def signature(self, name: str) -> function.Signature:
        """The logical half: any arguments, the declared type and flag, and traits of which nothing is known."""
        nullable = self.nullable
        return function.Signature(
            name,
            (Many(ANY),),
            self.type,
            lambda args, conf: nullable,
            Traits("always", not self.deterministic),
            Coerce.NONE,
            foldable=False,
            spark=self.call,
        )


def is_declared(function: function.Signature) -> bool:
    """Whether the function is Python that a user handed over."""
    return callable(function.spark)


def calls_declared(expr: Expr) -> bool:
    """Whether a Python function is called anywhere in the expression."""
    return any(isinstance(e, Call) and is_declared(e.function) for e in expr.walk())
