"""Binds lambdas: which types their parameters have, and what they stand for in the body.

Source: `ResolveLambdaVariables` and `HigherOrderFunction`.
"""

from __future__ import annotations

from collections.abc import Sequence

from planproof_engine import types as dt
from planproof_engine.analysis.expressions import Context, bind
from planproof_engine.analysis.expressions.modifiers import Argument
from planproof_engine.analysis.names.scope import LambdaScope
from planproof_engine.expr import Expr, Lambda, LambdaOf, Literal, Signature, Variable, fresh_id
from planproof_engine.functions.bind import check_kinds, coerce_arguments, makes_rows
from planproof_engine.functions.families.lambdas import takes_condition
from planproof_engine.ground import evolve
from planproof_engine.sql import nodes as q


def cast_before_lambdas(
    function: Signature, bound: list[Expr], arguments: Sequence[Argument], ctx: Context
) -> list[Expr]:
    """The arguments that give the types of a lambda's parameters, with their implicit casts.

    Spark gives a NULL its type only when everything in the call is resolved. A lambda with parameters, and one that is
    left out, stay unresolved until these arguments are checked (`HigherOrderFunction.checkArgumentDataTypes`).
    """
    left_out = len(arguments) < len(function.inputs)
    if left_out or any(isinstance(a, q.Lambda) for a in arguments):
        check_kinds(function, bound)
    return coerce_arguments(function, bound, ctx.conf)


def add_identity(function: Signature, bound: list[Expr]) -> list[Expr]:
    """A left-out last lambda that Spark fills with the identity (the finish of `aggregate`)."""
    last = function.inputs[-1] if function.inputs else None
    left_out = isinstance(last, LambdaOf) and last.optional and len(bound) == len(function.inputs) - 1
    if left_out:
        check_kinds(function, bound)
    if not left_out or function.variables is None or not isinstance(function.inputs[-2], LambdaOf):
        return bound
    (data_type, nullable), *_ = function.variables(bound, len(bound))
    variable = Variable(fresh_id(), "id", data_type, nullable)
    return [*bound, Lambda((variable,), variable)]


def bind_lambda(function: Signature, node: q.Node, at: int, bound: list[Expr], ctx: Context) -> Lambda:
    """Source: `ResolveLambdaVariables`; the parameters' types are those of `HigherOrderFunction.bind`."""
    place = function.inputs[at]
    assert isinstance(place, LambdaOf)
    assert function.variables is not None
    types = function.variables(bound, at)
    if not isinstance(node, q.Lambda):
        # Spark takes a plain expression for a lambda without parameters, whose body ignores the elements.
        hidden = tuple(Variable(fresh_id(), f"col{i}", t, n) for i, (t, n) in enumerate(types[: place.takes[0]]))
        return Lambda(hidden, _fit_body(function, bind(node, ctx)))
    names = [p.text for p in node.parameters]
    keys = [ctx.key(n) for n in names]
    if len(set(keys)) != len(keys):
        text = f"The lambda function has duplicate arguments: {', '.join(names)}."
        raise ctx.env.make_error("INVALID_LAMBDA_FUNCTION_CALL.DUPLICATE_ARG_NAMES", text, node)
    if len(names) not in place.takes:
        text = f"A higher order function expects {max(place.takes)} arguments, but got {len(names)}."
        raise ctx.env.make_error("INVALID_LAMBDA_FUNCTION_CALL.NUM_ARGS_MISMATCH", text, node)
    variables = tuple(Variable(fresh_id(), n, t, nullable) for n, (t, nullable) in zip(names, types))
    # Spark reads a parameter's name as a dotted one, so that no name in the body means a parameter with a dot.
    named = {key: variable for key, variable in zip(keys, variables) if "." not in key}
    inner = evolve(ctx, lambdas=LambdaScope(named, ctx.lambdas))
    return Lambda(variables, _fit_body(function, bind(node.body, inner)), node.span)


def _fit_body(function: Signature, body: Expr) -> Expr:
    """The body of a lambda. One of type void becomes NULL where a function asks for a condition: `ImplicitTypeCasts`
    looks at `ExpectsInputTypes` alone. A generator has a type of its own, and is refused where it stands."""
    is_null = takes_condition(function) and body.type == dt.VOID and not makes_rows(body)
    return Literal(None, dt.BOOLEAN, "NULL") if is_null else body
