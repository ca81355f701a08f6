"""Side conditions that rules share: on what an expression depends, and what may go wrong when a rule moves it.

A rule moves an expression only where the result stays the same: the value, the errors, and which of the two comes
first. Each law answers one question about that, from the functions' traits, the free variables and the flags:

- Does it depend on the element? `free_variables`, `is_independent`.
- Is it another value the second time? `is_deterministic`.
- Can it fail? `may_raise`. And where would it fail: `may_raise_below`, `operands_below`. And would a column fail
  that a query below makes: `map_lambdas`.
- Is it always evaluated, and what comes before it? `nulls_before`, `lazy_operands`.

A rule's "Only when ..." names the laws that it needs.

*Below*: Spark does not compute the first operand of `nullif(a / b, 0)` twice. It adds a projection below the query that
computes `a / b` for each row, and the query reads the result. An `if` or a lambda around the `nullif` no longer keeps
the division from failing. `find_early_operand` says which operands these are.

How much work a call is, and how much data a type takes, only says whether a rewriting pays: no result depends on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cache

from planproof_engine import expr as x
from planproof_engine import types as dt
from planproof_engine.expr import Call, Category, Cost, Elements, Evaluates, Expr, Loop
from planproof_engine.functions.families.operators import CASTS
from planproof_engine.ground import Conf
from planproof_engine.logical import rewrite
from planproof_engine.logical.lineage import Trace
from planproof_engine.logical.nodes import Plan
from planproof_engine.optimizer.equivalence import is_alike
from planproof_engine.types.casts import can_up_cast, cannot_fail, may_overflow

# What pays


def is_costly(expr: Expr) -> bool:
    """Whether the expression does work that grows with its data: anything beyond arithmetic, tests and lookups. The
    expressions below it do not count here."""
    return isinstance(expr, Call) and expr.function.traits.cost is not Cost.FEW


def weigh_type(data_type: dt.DataType) -> int:
    """About how much of a file a value of the type takes; a number takes 1."""
    if isinstance(data_type, dt.Struct):
        return sum(weigh_type(f.type) for f in data_type.fields)
    if isinstance(data_type, (dt.Array, dt.Map)):
        return 3 * sum(weigh_type(child) for child in data_type.children)
    if isinstance(data_type, dt.Decimal):
        return 1 if data_type.precision <= 18 else 2
    return 2 if isinstance(data_type, dt.String) or data_type.simple in ("binary", "variant") else 1


_LIGHT = 4


def is_heavy(expr: Expr) -> bool:
    """Whether its value holds structs, so that one more copy of it costs as much as a rewriting around it saves."""
    return any(isinstance(t, dt.Struct) and weigh_type(t) > _LIGHT for t in dt.walk(expr.type))


# What stays the same

HASHED = (dt.BOOLEAN, dt.BYTE, dt.SHORT, dt.INT, dt.LONG, dt.STRING, dt.DATE, dt.TIMESTAMP, dt.TIMESTAMP_NTZ)
"""Types for which Spark's hash sets and `=` agree on which values are equal. In Spark 4.3 they agree for floats too;
for 4.0 to 4.2 that is not known."""


_VARYING = (x.Column, x.Outer, x.Lambda, x.Variable, x.Subquery)


def loop_of(expr: x.Expr) -> Loop | None:
    """How a call runs its lambda over the elements of arrays; None for an expression that runs no lambda."""
    return expr.function.traits.loop if isinstance(expr, x.Call) else None


def is_needed_twice(expr: x.Expr) -> bool:
    """Whether Spark replaces the call by an expression with its first operand in it twice: `nullif`, `between`."""
    return isinstance(expr, x.Call) and expr.function.traits.twice


def find_early_operand(call: x.Expr) -> x.Expr | None:
    """The operand of `nullif` or `between` that Spark computes in a projection below; None where it stays in its place.

    It stays where it is a column, a constant or a path, and where it uses a lambda's variable. A lambda around the call
    does not keep it there; a branch of an `if` does (`lazy_operands`), which the caller has to look at. Source:
    `RewriteWithExpression`, `CollapseProject.isCheap`.
    """
    if not isinstance(call, x.Call) or not is_needed_twice(call):
        return None
    operand = call.args[0]
    stays = _is_at_hand(operand) or free_variables(operand)
    return None if stays or any(x.is_aggregate(e) for e in operand.walk()) else operand


def lazy_operands(expr: x.Expr) -> tuple[x.Expr, ...]:
    """The operands that Spark does not always evaluate: in `if(c, a, b)` these are `a` and `b`. Source:
    `ConditionalExpression.alwaysEvaluatedInputs`."""
    return expr.args[1:] if isinstance(expr, x.Call) and expr.function.traits.conditional else ()


def find_early_calls(expr: x.Expr) -> Iterator[x.Call]:
    """The calls in the expression whose operand Spark computes in a projection below (`find_early_operand`)."""
    pending = [expr]
    while pending:
        found = pending.pop()
        if not isinstance(found, x.Call):
            pending += found.children
            continue
        if is_needed_twice(found) and find_early_operand(found) is not None:
            yield found
        left_out = set(map(id, lazy_operands(found)))
        pending += [c for c in found.children if id(c) not in left_out] if left_out else found.children


def _is_at_hand(expr: x.Expr) -> bool:
    """Whether it is a column, a constant or a path. A window's value counts as a column: it was computed before."""
    if isinstance(expr, (x.Column, x.Outer, x.Window)):
        return True
    if isinstance(expr, (x.GetField, x.GetFieldOfElements, x.Alias)) or is_item(expr):
        return all(map(_is_at_hand, expr.children))
    return is_deterministic(expr) and not expr.holds(*_VARYING)


def is_item(expr: x.Expr) -> bool:
    """`array[index]` or `map[key]`."""
    return isinstance(expr, x.Call) and expr.function.name in ("getarrayitem", "getmapvalue")


def is_path(expr: x.Expr) -> bool:
    """Whether it is a column, a variable or a field of one."""
    while isinstance(expr, (x.GetField, x.GetFieldOfElements)):
        expr = expr.child
    return isinstance(expr, (x.Column, x.Variable))


def free_variables(expr: x.Expr) -> frozenset[int]:
    """The ids of the lambda variables that the expression uses and does not bind: of `y -> x + y` the id of `x`."""
    if isinstance(expr, x.Variable):
        return frozenset((expr.id,))
    found: frozenset[int] = frozenset().union(*(free_variables(c) for c in expr.children))
    if isinstance(expr, x.Lambda):
        return found - {p.id for p in expr.parameters}
    return found


def is_independent(expr: x.Expr, variable: x.Variable) -> bool:
    """Whether the expression does not use a lambda's variable."""
    return variable.id not in free_variables(expr)


def is_deterministic(expr: x.Expr) -> bool:
    """Whether two evaluations over the same row give the same value: the expression calls no volatile function such as
    `rand`."""
    return not any(isinstance(e, x.Call) and e.function.traits.volatile for e in expr.walk())


def may_raise(expr: x.Expr, conf: Conf, filled: x.Expr | None = None) -> bool:
    """Whether evaluating the expression over some row may fail, as far as the functions' declared traits tell.

    `filled` is an array that is known to have elements: what is divided by its size does not fail.
    """
    return any(_may_raise_itself(e, conf, filled) for e in expr.walk())


def may_raise_below(expr: x.Expr, conf: Conf) -> bool:
    """Whether an operand in it may raise that Spark could compute in a projection below, outside of every lambda."""
    twice = (e for e in expr.walk() if is_needed_twice(e))
    return any(may_raise(e.children[0], conf) for e in twice)


def operands_below(expr: x.Expr, part: x.Expr, conf: Conf) -> list[x.Expr]:
    """The operands that hold `part`, that Spark computes in a projection below, and that may raise there.

    With a lambda's variable in place of `part` Spark would leave them in the lambda, and no longer raise for a row
    whose array is empty.
    """
    operands = (call.args[0] for call in find_early_calls(expr))
    return [o for o in operands if may_raise(o, conf) and any(is_alike(part, e) for e in o.walk())]


def map_lambdas(plan: Plan, conf: Conf, change: rewrite.Rewriting) -> Plan:
    """The plan with `change` applied to each expression that holds a lambda, but where a column that may raise would
    then be computed in more cases: outside of a lambda or a branch that it stood in."""
    raising = cache(lambda: find_raising_columns(plan, conf))

    def change_safely(expr: Expr) -> Expr:
        made = change(expr)
        if made is expr or not raising():
            return made
        before, after = _measure_depths(expr), _measure_depths(made)
        return expr if any(after.get(c, depth) < depth for c, depth in before.items() if c in raising()) else made

    return rewrite.map_lambdas(plan, change_safely)


def find_raising_columns(plan: Plan, conf: Conf) -> frozenset[int]:
    """The ids of the columns that the plan makes, and whose computation may fail.

    Spark may compute such a column where it is read: in a lambda or a branch it is then not computed for every row.
    Source: `CollapseProject`, `PushPredicateThroughNonJoin`.
    """
    found: set[int] = set()
    for column, made_of in Trace.of(plan).made.items():  # What is read comes before what reads it.
        if any(may_raise(e, conf) or not found.isdisjoint(_measure_depths(e)) for e in made_of):
            found.add(column)
    return frozenset(found)


def _measure_depths(expr: Expr) -> dict[int, int]:
    """By the id of each column that the expression reads, in how many lambdas and branches it stands at the least."""
    found: dict[int, int] = {}
    pending = [(expr, 0)]
    while pending:
        at, depth = pending.pop()
        column = at.column if isinstance(at, x.Outer) else at
        if isinstance(column, x.Column):
            found[column.id] = min(depth, found.get(column.id, depth))
        branches = lazy_operands(at)
        pending += [(c, depth + (isinstance(at, x.Lambda) or any(c is b for b in branches))) for c in at.children]
    return found


def _may_raise_itself(expr: x.Expr, conf: Conf, filled: x.Expr | None) -> bool:
    if isinstance(expr, x.Cast):
        return _may_cast_raise(expr.child.type, expr.type, expr.mode)
    if not isinstance(expr, x.Call) or _is_total(expr, filled):
        return False
    if expr.function.name in CASTS:
        return _may_cast_raise(expr.args[0].type, expr.type, "ansi" if conf.ansi else "legacy")
    if expr.function.name == "negative" and isinstance(expr.type, dt.Decimal):
        return True
    raises = expr.function.traits.raises
    return raises == "always" or (raises == "ansi" and conf.ansi)


def _may_cast_raise(source: dt.DataType, target: dt.DataType, mode: str) -> bool:
    """Whether a cast may fail. Without ANSI a value that does not fit becomes NULL or wraps; from and to variants and
    intervals it still fails."""
    if mode == "try" or cannot_fail(source, target):
        return False
    if may_overflow(source, target):
        return True
    return mode == "ansi" or any(
        isinstance(t, dt.Interval) or t == dt.VARIANT for t in (*dt.walk(source), *dt.walk(target))
    )


def _is_total(call: x.Call, filled: x.Expr | None) -> bool:
    """Whether the call never raises although its trait says that it may: arithmetic of floats, a division by a number
    that cannot be zero, a LIKE with a pattern without escapes."""
    name = call.function.name
    if name in ("like", "ilike"):
        pattern = call.args[1]
        return len(call.args) == 2 and isinstance(pattern, x.Literal) and "\\" not in str(pattern.value)
    if call.type not in (dt.FLOAT, dt.DOUBLE) and name != "div":
        return False
    traits = call.function.traits
    if traits.total_over_floats:
        return call.type in (dt.FLOAT, dt.DOUBLE)
    return traits.evaluates is Evaluates.LAST_FIRST and _is_not_zero(call.args[-1], filled)


def _is_not_zero(divisor: x.Expr, filled: x.Expr | None) -> bool:
    while isinstance(divisor, x.Cast) and can_up_cast(divisor.child.type, divisor.type):
        divisor = divisor.child
    if isinstance(divisor, x.Literal):
        return isinstance(divisor.value, (int, float, Fraction)) and divisor.value > 0
    counts = isinstance(divisor, x.Call) and divisor.function.traits.elements is Elements.COUNT
    return filled is not None and counts and divisor.children[0] == filled


def nulls_before(body: x.Expr, part: x.Expr, conf: Conf) -> list[x.Expr] | None:
    """The operands of `body` whose null keeps Spark from evaluating `part`; `[]` where it is always evaluated first.

    Spark evaluates operands from the left, and a divisor before its dividend. It stops at the first null operand. So of
    the part `p` in `x + p` it is `[x]`: a null `x` ends the evaluation before `p`.

    None where that cannot be said: `p` may not be evaluated for another reason (it stands in a branch, or something
    before it may raise), or evaluation may go on after a null.
    """
    if body == part:
        return []
    if isinstance(body, (x.Cast, x.Alias)) or (isinstance(body, x.GetField) and x.struct_values(body.child) is None):
        return nulls_before(body.child, part, conf)
    if not isinstance(body, x.Call) or _may_be_folded(body):
        return None
    if body.function.traits.evaluates is Evaluates.CHOOSES:
        found = nulls_before(body.args[0], part, conf)
        return None if found and _is_in_branch(part, body.args[1:]) else found
    before: list[x.Expr] = []
    operands, stops = _order_operands(body, conf)
    for operand in operands:
        found = nulls_before(operand, part, conf)
        if found is not None:
            return before + found if stops or not found else None
        if may_raise(operand, conf) or (operand.nullable and _depends_on_codegen(body)):
            return None
        before += [operand] if stops and operand.nullable else []
    return None


def _may_be_folded(call: x.Call) -> bool:
    """Whether Spark's optimizer may remove the operand that is evaluated first: `isnull(a)` becomes false where `a` is
    never null, and an `if` with equal branches becomes the branch."""
    if call.function.name in ("isnull", "isnotnull"):
        return not call.args[0].nullable
    if call.function.name not in ("if", "when"):
        return False
    last = call.args[-1] if len(call.args) % 2 else x.Literal(None, call.type, "NULL")
    return all(is_alike(value, last) for value in call.args[1::2])


def _is_in_branch(part: x.Expr, branches: Sequence[x.Expr]) -> bool:
    return any(is_alike(part, e) for branch in branches for e in branch.walk())


def _order_operands(call: x.Call, conf: Conf) -> tuple[tuple[x.Expr, ...], bool]:
    """The operands in the order of evaluation, as far as they are always evaluated, and whether a null among them ends
    the evaluation."""
    evaluates = call.function.traits.evaluates
    if evaluates is Evaluates.LAST_FIRST:
        if not dt.is_numeric(call.type):
            return (), True
        # With ANSI off a divisor of zero ends it, too.
        return call.args[::-1] if conf.ansi or _is_not_zero(call.args[-1], None) else call.args[-1:], True
    if evaluates is Evaluates.ALL:
        return call.args, False
    return (call.args, True) if evaluates is Evaluates.TO_NULL else ((), True)


def _depends_on_codegen(call: x.Call) -> bool:
    """Whether a null ends the evaluation in generated code, and not in interpreted code: `concat`, but of arrays."""
    return call.function.name == "concat" and not isinstance(call.type, dt.Array)


def has_plain_strings(expressions: Iterable[x.Expr]) -> bool:
    """Whether none of a plan's expressions computes with a string, or a struct of strings, that has a collation of its
    own.

    Where two collations meet, which one wins depends on how the operands are written: a column gives way to an
    expression.
    """
    computed = (e for e in expressions if isinstance(e, (x.Call, x.Cast)))
    types = {id(t): t for e in computed for t in (e.type, *(c.type for c in e.children))}
    return not any(map(_is_collated, types.values()))


def _is_collated(data_type: dt.DataType) -> bool:
    if isinstance(data_type, dt.String):
        return data_type.collation is not None
    return any(_is_collated(child) for child in data_type.children)


_OF_ROWS = (Category.SCALAR, Category.OPERATOR)


def is_row_local(expr: x.Expr) -> bool:
    """Whether the expression is computed from one row alone: it holds no aggregate, window, generator or subquery.

    A call of a Python function does not count as row-local: Spark refuses it in the lambda that a rule would make.
    """
    return not any(
        isinstance(e, (x.Window, x.Subquery))
        or (isinstance(e, x.Call) and (e.function.category not in _OF_ROWS or callable(e.function.spark)))
        for e in expr.walk()
    )
