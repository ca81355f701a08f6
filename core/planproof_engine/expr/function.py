"""What a function is: one literal line of signature, nullability and traits, and its Spark half.

A line reads like Spark's class: `inputs` are its `inputTypes`, `coerce` says how arguments meet them, `returns` is its
`dataType`, `nullable` its `nullable`, `traits` what it does when it runs (`planproof_engine.expr.traits`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from enum import Enum
from functools import lru_cache
from typing import Any

from planproof_engine import types as dt
from planproof_engine.expr.traits import UNSTATED, Evaluates, Traits
from planproof_engine.expr.tree import Expr
from planproof_engine.ground import Conf, record
from planproof_engine.types.kinds import Expected

Args = Sequence[Expr]
TypeRule = Callable[[Args, Conf], dt.DataType]
NullRule = Callable[[Args, Conf], bool]


def EITHER(args: Args, conf: Conf) -> bool:
    """Null in, null out: nullable where any argument is."""
    return any(a.nullable for a in args)


def NEVER(args: Args, conf: Conf) -> bool:
    """The result is never null."""
    return False


def ALWAYS(args: Args, conf: Conf) -> bool:
    """The result may be null whatever the arguments are."""
    return True


def EVERY(args: Args, conf: Conf) -> bool:
    """Nullable only where all arguments are, as in coalesce."""
    return all(a.nullable for a in args)


def FIRST(args: Args, conf: Conf) -> bool:
    """The result may be null where the first argument may be."""
    return args[0].nullable


def where(*places: int) -> NullRule:
    """Nullable where one of the arguments at `places` is."""
    return lambda args, conf: any(args[place].nullable for place in places)


EITHER_BRANCH = where(1, 2)
"""Nullable where one of the two values is that stand behind a condition."""


@record(frozen=True, slots=True)
class Optional:
    """An argument that may be left out. `default` then takes its place, in the output name too; with None nothing
    does."""

    expected: Expected
    default: Expr | None = None


@record(frozen=True, slots=True)
class Many:
    """The rest of the arguments: at least `least` of them, all expected to be the same."""

    expected: Expected
    least: int = 0


@record(frozen=True, slots=True)
class LambdaOf:
    """A lambda argument. `takes` lists how many parameters it may have; their types come from `Signature.variables`."""

    takes: tuple[int, ...] = (1,)
    optional: bool = False


Input = Expected | Optional | Many | LambdaOf
Variables = Callable[[Args, int], Sequence[tuple[dt.DataType, bool]]]
"""Takes the bound arguments before a lambda, and the lambda's position; gives (type, nullable) of each parameter that
the lambda may take."""


class Coerce(Enum):
    """How arguments meet `inputs`.

    IMPLICIT: cast where implicit casts allow (`ImplicitCastInputTypes`). EXPECTS: never cast, only a bare NULL takes
    the type (`ExpectsInputTypes`). NONE: arguments are taken as they are. COMMON: all are cast to their common type.
    """

    IMPLICIT = "implicit"
    EXPECTS = "expects"
    NONE = "none"
    COMMON = "common"


class Category(Enum):
    """What a function is. TABLE stands in FROM only; OPERATOR is called by the grammar, never by its name."""

    SCALAR = "scalar"
    AGGREGATE = "aggregate"
    WINDOW = "window"
    GENERATOR = "generator"
    TABLE = "table"
    OPERATOR = "operator"


@record(frozen=True, slots=True)
class Mismatch(Exception):
    """The arguments do not fit. `condition` is Spark's sub-condition of DATATYPE_MISMATCH, or a full condition.

    `whole` tells a full condition from a sub-condition of the same name.
    """

    condition: str
    message: str = ""
    whole: bool = False

    @property
    def full_condition(self) -> str:
        given = self.condition
        whole = self.whole or "." in given or given in _WHOLE or given.startswith("_LEGACY_ERROR")
        return given if whole else f"DATATYPE_MISMATCH.{given}"

    @property
    def is_of_types(self) -> bool:
        """Whether Spark finds it when it checks the types of a call. Its parser and its lookup of functions come before
        that."""
        return (
            self.full_condition.startswith("DATATYPE_MISMATCH.") or self.condition == "WRONG_NUM_ARGS.WITH_SUGGESTION"
        )


_WHOLE = {
    "WRONG_NUM_ARGS",
    "NON_FOLDABLE_ARGUMENT",
    "INVALID_PARAMETER_VALUE",
    "INVALID_EXTRACT_FIELD",
    "SECOND_FUNCTION_ARGUMENT_NOT_INTEGER",
    "SEED_EXPRESSION_IS_UNFOLDABLE",
    "INVALID_ESCAPE_CHAR",
    "INDETERMINATE_COLLATION_IN_EXPRESSION",
    "REQUIRED_PARAMETER_NOT_FOUND",
}

Check = Callable[[Args, Conf], "Mismatch | None"]
Adjust = Callable[[list[Expr], Conf], list[Expr]]
Show = Callable[[Any, Callable[[Expr], str]], str]


@record(frozen=True, slots=True)
class Signature:
    """What is known of one function: the logical half (everything but `spark`) and the Spark half.

    Types and nulls: `inputs`, `returns`, `nullable` and `traits` are what every line states.
    - `coerce`: how arguments meet their types; `coerces` runs in its place where the function has rules of its own.
    - `check`: refuses argument types.
    - `variables`: the parameters of its lambdas.
    - `evidence`: why a result is not null although the flag says nullable.
    - `flag_holds`: for which arguments Spark's NOT NULL is true, where it is not always: else the flag is no evidence.
    - `columns`: what a table function gives.

    Calls: what a query may write.
    - `names`: the parameters, for named arguments.
    - `modifiers`: what an aggregate or window function takes besides arguments: `nulls` (IGNORE NULLS), `order` (WITHIN
      GROUP), `order first` (its key is the first argument) or `order instead` (that, where none is given).
    - `needs`: a field of `Conf`; while it is off, Spark refuses each call.
    - `foldable`: Spark can compute a call over literals before it reads a row.

    Texts: how a call is printed.
    - `show`: prints a call in output names; `alias`: an alias is printed as it was written.
    - `operator`: what a query writes between its two arguments; `tries`: the operator that it is with NULL in place of
      an error; `in_words`: it is written in keywords and as no call, `x IN (..)`.
    - `plain`: in names that show Spark's `toString` (`expr/pretty.py`) it is printed as elsewhere; `parameters` stands
      there behind the arguments.

    Halves and versions:
    - `spark`: the builtin's name in Spark, or the callable that a user handed over.
    - `since`, `until`: the line stands from one version on, and before the other.
    - `changed`: the version that last changed what the line says. For an older Spark, where no older line of that name
      is given, the function is not known.
    """

    name: str
    inputs: tuple[Input, ...]
    returns: dt.DataType | TypeRule
    nullable: NullRule = EITHER
    traits: Traits = UNSTATED
    coerce: Coerce = Coerce.IMPLICIT
    category: Category = Category.SCALAR
    coerces: Adjust | None = None
    check: Check | None = None
    variables: Variables | None = None
    show: Show | None = None
    names: tuple[str, ...] = ()
    foldable: bool = True
    alias: bool = False
    operator: str = ""
    tries: str = ""
    in_words: bool = False
    plain: bool = False
    parameters: str = ""
    needs: str = ""
    modifiers: tuple[str, ...] = ()
    since: str = "1.0"
    until: str | None = None
    changed: str | None = None
    spark: str | Callable[..., Any] | None = None
    evidence: Callable[[Args], str | None] | None = None
    flag_holds: Callable[[Args], bool] | None = None
    columns: Callable[[Args, Conf], Sequence[tuple[str, dt.DataType, bool]]] | None = field(default=None)

    def __repr__(self) -> str:
        return f"Signature({self.name})"

    @property
    def null_intolerant(self) -> bool:
        """A null argument makes the result null (Spark's `NullIntolerant`): where the flag says so, or the trait."""
        if self.traits.strict is not None:
            return self.traits.strict
        return self.nullable is EITHER and self.category in (Category.SCALAR, Category.OPERATOR)

    def count_evaluated(self, count: int) -> int:
        """How many of `count` arguments, from the first, each row evaluates unless a null ends the evaluation."""
        evaluates = self.traits.evaluates
        if evaluates is Evaluates.NONE:
            return 0
        return min(count, 1) if evaluates in (Evaluates.FIRST, Evaluates.CHOOSES) else count

    def __hash__(self) -> int:
        # Hashing all fields takes longer than what a hash is for: plans compared, arities looked up.
        return hash(self.name)

    def arity(self) -> tuple[int, int | None]:
        """The least and the greatest number of arguments; None where there is no greatest."""
        return _arity(self)

    def list_inputs(self, count: int) -> tuple[Input, ...]:
        return _list_inputs(self, count)

    def list_kinds(self, count: int) -> tuple[Expected | None, ...]:
        return _list_kinds(self, count)


@lru_cache(maxsize=4096)
def _arity(function: Signature) -> tuple[int, int | None]:
    inputs = function.inputs
    least = sum(i.least if isinstance(i, Many) else not _may_be_left_out(i) for i in inputs)
    return least, None if any(isinstance(i, Many) for i in inputs) else len(inputs)


@lru_cache(maxsize=4096)
def _list_inputs(function: Signature, count: int) -> tuple[Input, ...]:
    inputs = list(function.inputs)
    if inputs and isinstance(inputs[-1], Many):
        inputs[-1:] = [inputs[-1]] * (count - len(inputs) + 1)
    return tuple(inputs[:count])


@lru_cache(maxsize=4096)
def _list_kinds(function: Signature, count: int) -> tuple[Expected | None, ...]:
    return tuple(kind_of(given) for given in _list_inputs(function, count))


def _may_be_left_out(given: Input) -> bool:
    return isinstance(given, Optional) or (isinstance(given, LambdaOf) and given.optional)


def kind_of(given: Input) -> Expected | None:
    """What the argument at this place is expected to be; None for a lambda."""
    if isinstance(given, LambdaOf):
        return None
    return given.expected if isinstance(given, (Optional, Many)) else given
