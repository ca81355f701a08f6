"""What the traits of the functions say, as questions to Spark: each an expression, and what its rows must come to.

Every question runs over all pairs of edge values (`edges.py`), on the driver of a real Spark. An argument that raises
tells whether it is evaluated; one that is null beside it tells the order.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass

from asked import Kept, in_mode
from cases import Args, base, call_sql, counts, derive, matrix, takes_lambda
from edges import UNBOUNDED, Evaluator
from specimens import SPECIMENS

from planproof_engine.conf import Conf
from planproof_engine.expr.function import Category, LambdaOf, Signature
from planproof_engine.expr.traits import Elements, Evaluates
from planproof_engine.functions.registry import builtin
from planproof_engine.types import VOID


@dataclass(frozen=True, slots=True)
class Counts:
    """Of the rows of an expression: whether two evaluations give the same, how many there are, fail, are null, true."""

    deterministic: bool
    rows: int
    failed: int
    nulls: int
    trues: int

    @staticmethod
    def of(answer: str) -> Counts | None:
        if answer.startswith("!"):
            return None
        deterministic, *numbers = answer.split()
        return Counts(deterministic == "true", *map(int, numbers))


Holds = Callable[[Counts], bool]


@dataclass(frozen=True, slots=True)
class Claim:
    """What a trait says of a function, and how its rows show that."""

    function: str
    trait: str
    sql: str
    holds: Holds


class Counter(Evaluator):
    """Counts the rows of expressions over the edge values."""

    def answers(self, calls: list[str], ansi: bool) -> list[str]:
        in_mode(self.spark, ansi)
        # What stands twice in a call is a thing of the optimizer's alone, else, and no row can be asked.
        self.spark.conf.set("spark.sql.alwaysInlineCommonExpr", "true")
        return list(self._evaluations.counts("\n".join(calls)).split("\n"))


def all_fail(found: Counts) -> bool:
    return found.failed == found.rows


def none_fails(found: Counts) -> bool:
    return found.failed == 0


def some_pass(found: Counts) -> bool:
    return found.failed < found.rows


def some_fail(found: Counts) -> bool:
    return found.failed > 0


def all_null(found: Counts) -> bool:
    return found.nulls + found.failed == found.rows


def all_true(found: Counts) -> bool:
    return found.trues + found.failed == found.rows


def is_deterministic(found: Counts) -> bool:
    return found.deterministic


def differs(found: Counts) -> bool:
    return not found.deterministic


def claims(names: Container[str] | None = None) -> Iterator[Claim]:
    """What is declared of each builtin function, or of some, that rows can show."""
    registry = builtin()
    for name, function in registry.functions.items():
        if names is not None and name not in names:
            continue
        if function.category is Category.SCALAR and name not in registry.internal and name not in _ASKED_BY_NOBODY:
            if takes_lambda(function):
                yield from _loops(name, function)
                continue
            for count in counts(function):
                yield from _of_call(name, function, good(name, function, count))
    yield from (text for text in _TEXTS if names is None or text.function in names)


_ASKED_BY_NOBODY = ("python_worker_logs", "raise_error", "assert_true")

_TEXTS = (
    *(
        Claim(call.split("(")[0], "raises", call.format(f"{key}_nn", divisor), none_fails)
        for call in ("mod({}, {})", "pmod({}, {})", "try_mod({}, {})")
        for key, divisor in (("double", "2.5D"), ("float", "2F"))
    ),
    *(
        Claim("like any", "raises", f"string_nn {negated}LIKE {which} ('a', r'\\a')", some_fail)
        for negated in ("", "NOT ")
        for which in ("ANY", "ALL")
    ),
    Claim("not", "strict", "NOT rlike(CAST(NULL AS STRING), 'a')", all_null),
    Claim("not", "strict", "NOT like(string_nn, CAST(NULL AS STRING))", all_null),
)
"""What is known of calls that the table does not name alone: a divisor that is not zero, patterns of several."""


def good(name: str, function: Signature, count: int) -> Args:
    """Arguments that planproof takes: the base ones, or else the first list of the matrix."""
    valid = _VALID.get(name, ())[:count]
    given = (*valid, *base(name, function, count)[len(valid) :])
    if name in UNBOUNDED:
        return tuple("2" if arg in ("int_nn", "bigint_nn") else arg for arg in given)
    tried = (given, *(args for args in matrix(name, function) if len(args) == count and "NULL" not in args))
    return next((args for args in tried if derive(name, function, args, _CONF).error is None), given)


_CONF = Conf(ansi=True, time_type=True)
_VALID = {
    "trunc": ("date_nn", "'year'"),
    "date_trunc": ("'year'", "ts_nn"),
    **dict.fromkeys(("hour", "minute", "second"), ("ts_nn",)),
    **dict.fromkeys(("and", "or"), ("boolean_nn", "boolean_nn")),
}
"""Where no edge value of a string is one that the function takes."""


def _of_call(name: str, function: Signature, args: Args) -> Iterator[Claim]:
    traits = function.traits
    call = call_sql(name, function, args)
    yield Claim(name, "volatile", call, differs if traits.volatile else is_deterministic)
    yield from _evaluated(name, function, args)
    if function.null_intolerant:
        for place, arg in enumerate(args):
            yield Claim(name, "strict", call_sql(name, function, _with(args, place, _null(arg))), all_null)
    handed = traits.hands_on(len(args)) if name not in ("array", "map") else ()
    if handed:
        apart = [f"{arg}__2" if place % 2 and arg.endswith("_nn") else arg for place, arg in enumerate(args)]
        chosen = call_sql(name, function, tuple(apart))
        same = " OR ".join(f"{chosen} <=> {apart[place]}" for place in handed)
        yield Claim(name, "hands_on", f"{same} OR {chosen} IS NULL", all_true)
    yield from _values(name, function, args)


def _evaluated(name: str, function: Signature, args: Args) -> Iterator[Claim]:
    """Which arguments are evaluated, and in which order."""
    how, sure = function.traits.evaluates, function.count_evaluated(len(args))
    for place, arg in enumerate(args):
        raising = _with(args, place, _raising(arg))
        if how is Evaluates.NONE:
            yield Claim(name, "evaluates", call_sql(name, function, raising), none_fails)
        elif how is Evaluates.UNSAID:
            if not name.startswith("try_"):  # It may take the error of an argument for one of its own.
                yield Claim(name, "evaluates", call_sql(name, function, raising), some_fail)
        elif place < sure:
            yield from _surely(name, function, raising, place)
        elif function.traits.conditional or place == len(args) - 1:
            left_out = _with(raising, 0, _nullable(args[0]))
            yield Claim(name, "evaluates", call_sql(name, function, left_out), some_pass)


def _surely(name: str, function: Signature, args: Args, place: int) -> Iterator[Claim]:
    """The argument at the place raises, in each row but where another one is null before it."""
    how = function.traits.evaluates
    last_first = how is Evaluates.LAST_FIRST
    divided = _with(args, len(args) - 1, "5") if last_first and place == 0 < len(args) - 1 else args
    yield Claim(name, "evaluates", call_sql(name, function, divided), all_fail)
    for other in range(len(args)) if how in (Evaluates.TO_NULL, Evaluates.LAST_FIRST, Evaluates.ALL) else ():
        if other != place:
            before = other > place if last_first else other < place
            asked = call_sql(name, function, _with(args, other, _null(args[other])))
            yield Claim(name, "evaluates", asked, none_fails if before and how is not Evaluates.ALL else all_fail)


def _values(name: str, function: Signature, args: Args) -> Iterator[Claim]:
    traits = function.traits
    if traits.commutative:
        types = ("boolean_nn", "boolean_nn__2") if name in ("and", "or") else ("int_nn", "int_nn__2")
        one, other = (call_sql(name, function, a) for a in (types, types[::-1]))
        yield Claim(name, "commutative", f"({one}) <=> ({other})", all_true)
    if traits.total_over_floats:
        for key in ("double", "float"):
            given = tuple(f"{key}_nn{'__2' if place else ''}" for place in range(len(args)))
            if function.inputs and len(args) == function.arity()[0]:
                yield Claim(name, "total_over_floats", call_sql(name, function, given), none_fails)
    if traits.wraps:
        asked = call_sql(name, function, ("int_nn", "int_nn__2"))
        wide = call_sql(name, function, ("bigint(int_nn)", "bigint(int_nn__2)"))
        yield Claim(name, "wraps", f"bigint({asked}) <> {wide}", lambda found: found.trues + found.failed > 0)
    if traits.elements is Elements.COUNT:
        call = call_sql(name, function, ("ints_full_nn",))
        yield Claim(name, "elements", f"{call} = aggregate(ints_full_nn, 0, (a, x) -> a + 1)", all_true)
    if traits.elements is Elements.KEEPS:
        call = call_sql(name, function, ("ints_full_nn", *("1" for _ in args[1:])))
        yield Claim(name, "elements", f"forall({call}, x -> array_contains(ints_full_nn, x))", all_true)
    if traits.elements is Elements.ITEM and name.isidentifier():
        first = {"get": "0"}.get(name, "1")
        call = call_sql(name, function, ("array(int_nn, int_nn)", first))
        yield Claim(name, "elements", f"{call} <=> int_nn", all_true)


def _loops(name: str, function: Signature) -> Iterator[Claim]:
    """The lambda sees the first element, none of an empty array, and the last one unless an answer stops the loop."""
    loop = function.traits.loop
    if loop is None:
        return
    for argument, place, parameter in loop.elements:
        for answer in ("true", "false"):
            for at, array, holds in (
                (1, "array(1, 2, 3)", all_fail),
                (1, "CAST(array() AS ARRAY<INT>)", none_fails),
                (3, "array(1, 2, 3)", some_pass if loop.stops and answer == _STOPS[name] else all_fail),
            ):
                yield Claim(name, "loop", _loop(name, function, (argument, place, parameter), array, at, answer), holds)


_STOPS = {"exists": "true", "forall": "false"}


def _loop(name: str, function: Signature, element: tuple[int, int, int], array: str, at: int, answer: str) -> str:
    argument, place, parameter = element
    texts = []
    for position, given in enumerate(function.list_inputs(place + 1)):
        if isinstance(given, LambdaOf):
            parameters = [f"p{number}" for number in range(given.takes[0])]
            body = f"IF(p{parameter} = {at}, CAST(raise_error('x') AS BOOLEAN), {answer})"
            head = parameters[0] if len(parameters) == 1 else f"({', '.join(parameters)})"
            texts.append(f"{head} -> {body}")
        else:
            other = "true" if function.traits.loop is not None and not function.traits.loop.alone else array
            texts.append(array if position == argument else other)
    return f"{name}({', '.join(texts)})"


def _with(args: Args, place: int, text: str) -> Args:
    return (*args[:place], text, *args[place + 1 :])


def type_of(arg: str) -> str:
    """The type of a column of edge values, in SQL."""
    found = SPECIMENS[arg].expr.type if arg in SPECIMENS else VOID
    return "INT" if found == VOID else found.sql


def _nullable(arg: str) -> str:
    """The column of the argument's type that is null in some rows."""
    return arg.removesuffix("_nn") if arg.endswith("_nn") else f"IF(boolean, {arg}, NULL)"


def _null(arg: str) -> str:
    return f"CAST(NULL AS {type_of(arg)})"


def _raising(arg: str) -> str:
    return f"CAST(raise_error('x') AS {type_of(arg)})"


@dataclass(frozen=True, slots=True)
class Swept:
    asked: int
    ran: int
    broken: list[str]


def swept(kept: Kept, chosen: list[Claim], ansi: bool) -> Swept:
    """Asks Spark each claim. What Spark does not run (a constant that must be one, a type) says nothing."""
    ran, broken = 0, []
    for claim, answer in zip(chosen, kept.answers("traits", (c.sql for c in chosen), ansi)):
        found = Counts.of(answer)
        if found is not None:
            ran += 1
            if not claim.holds(found):
                broken.append(f"{claim.trait}: {claim.sql} [{answer}]")
    return Swept(len(chosen), ran, broken)
