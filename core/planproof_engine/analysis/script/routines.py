"""SQL functions that a script declared: a call is the function's body over its arguments.

Source: `ResolveSQLFunctions`, `SQLFunctionExpression`, `SQLTableFunction`.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from planproof_engine import types as dt
from planproof_engine.analysis.expressions import Context, Environment, Scope
from planproof_engine.analysis.expressions.binding import bind, cast_implicitly
from planproof_engine.analysis.expressions.constants import find_row
from planproof_engine.analysis.expressions.modifiers import refuse_modifiers
from planproof_engine.analysis.expressions.named import add_named, place_named, refuse_positional
from planproof_engine.analysis.names.stars import expand_argument, is_star
from planproof_engine.expr import Call, Column, Expr, Lambda, ScalarSubquery, Variable, fresh_id
from planproof_engine.expr.function import Category, Coerce, Many, Signature
from planproof_engine.expr.traits import UNSTATED
from planproof_engine.ground import AnalysisError, Conf, evolve, record
from planproof_engine.logical.nodes import Plan, Values
from planproof_engine.sql import nodes as q
from planproof_engine.sql.commands import CreateFunction
from planproof_engine.sql.names import name_parts
from planproof_engine.types.kinds import ANY

_WITHOUT_ROUTINES = {
    "ORDER BY": "Sort",
    "SORT BY": "Sort",
    "DISTRIBUTE BY": "RepartitionByExpression",
    "CLUSTER BY": "RepartitionByExpression",
    "LIMIT": "GlobalLimit",
    "OFFSET": "Offset",
    "LATERAL VIEW": "Generate",
    "GENERATOR": "Generate",
    "TABLE FUNCTION": "SQLTableFunction",
}
"""Clauses in which Spark allows no call of a SQL function, by the name of their operator (`ResolveSQLFunctions`)."""


@record(frozen=True, slots=True)
class Routine:
    """A declared function: its name as Spark prints it, its CREATE FUNCTION node, and the text that this stands in."""

    name: str
    node: CreateFunction
    text: str

    @property
    def makes_table(self) -> bool:
        return self.node.returns_table is not None


def find(name: str, env: Environment) -> Routine | None:
    """The function that a call names: a temporary one by its name, another also by its schema's and catalog's."""
    if not env.functions:
        return None
    parts = name.lower().replace("`", "").split(".")
    if parts[0] == "system" and len(parts) == 3:
        parts = parts[1:]
    if parts[0] == "session" and len(parts) == 2:
        parts = parts[1:]
    for before in ((), (env.catalog.catalog, *env.catalog.namespace), (env.catalog.catalog,)):
        found: Routine | None = env.functions.get(".".join((*before, *parts)))
        if found is not None:
            return found
    return None


def call_scalar(routine: Routine, node: q.Call, ctx: Context) -> Call:
    """The call of a scalar SQL function. Raises `AnalysisError` as Spark does."""
    if routine.makes_table or routine.node.body is None:
        raise _make_misuse_error(routine, "NOT_A_SCALAR_FUNCTION", node, ctx)
    refuse_modifiers(_function(routine.name, dt.BOOLEAN, True), node, ctx)
    args, columns = _bind_arguments(routine, node, ctx)
    operator = "Window" if node.over is not None else _WITHOUT_ROUTINES.get(ctx.clause)
    if operator is not None:
        said = f"Using SQL function `{routine.name}` in {operator} is not supported."
        raise ctx.env.make_error("UNSUPPORTED_SQL_UDF_USAGE", said, node)
    around = not ctx.conf.before("4.2") and any(a.holds(Lambda) for a in args)
    # Spark puts the calls below the operator, where a lambda's variables are not in reach.
    within = ctx.lambdas is not None and any(a.holds(Variable) for a in args)
    if within or around:
        text = f"Lambda function with the SQL function `{routine.name}` in a higher order function."
        raise ctx.env.make_error("UNSUPPORTED_FEATURE.LAMBDA_FUNCTION_WITH_SQL_UDF", text, node)
    body = _bind_body(routine, columns, ctx)
    returns = routine.node.returns
    # A type that is not declared was derived at CREATE FUNCTION, with parameters that may be null.
    found = returns.data_type if returns is not None else _bind_body(routine, _open(columns), ctx).type
    body = cast_implicitly(body, found, ctx.env, node)
    function = _function(routine.name, body.type, body.nullable)
    known = body.evidence if body.nullable else None
    return Call(function, args, body.type, body.nullable, routine.name, known=known, span=node.span)


def _bind_body(routine: Routine, columns: tuple[Column, ...], ctx: Context) -> Expr:
    env = evolve(ctx.env, text=routine.text, ctes={})
    scope = ctx.env.make_scope(columns)
    body = routine.node.body
    assert body is not None
    if not isinstance(body, q.Query):
        return bind(body, Context(env, scope))
    plan = env.bind_query(body, env, scope)
    only = find_row(plan)
    return only[0] if only is not None else ScalarSubquery(plan, plan.output[0].type)


def call_table(routine: Routine, node: q.Call, ctx: Context) -> Values:
    """The rows of a table function, under the function's name."""
    if not routine.makes_table:
        raise _make_misuse_error(routine, "NOT_A_TABLE_FUNCTION", node, ctx)
    if ctx.lacks("SQL functions in arguments of table functions"):
        ctx = evolve(ctx, clause="TABLE FUNCTION")
    args, columns = _bind_arguments(routine, node, ctx)
    plan = _bind_rows(routine, columns, ctx)
    declared = routine.node.returns_table
    inferred = _bind_rows(routine, _open(columns), ctx).output if not declared else ()
    typed: list[tuple[str, Expr]] = [
        (c.name, cast_implicitly(c, t.type, ctx.env, node)) for c, t in zip(plan.output, inferred)
    ]
    if declared:
        if len(declared) != len(plan.output):
            text = f"`{routine.name}` declares {len(declared)} columns and returns {len(plan.output)}."
            raise ctx.env.make_error("USER_DEFINED_FUNCTIONS.RETURN_COLUMN_COUNT_MISMATCH", text, node)
        typed = [(d.name.text, cast_implicitly(c, _type_of(d), ctx.env, node)) for d, c in zip(declared, plan.output)]
    qualifier = (routine.name.split(".")[-1],)
    output = tuple(Column(fresh_id(), name, e.type, e.nullable, qualifier, _keep_evidence(e)) for name, e in typed)
    return Values(
        (), output, Call(_function(routine.name, output[0].type, True), args, output[0].type, True, routine.name)
    )


def _bind_rows(routine: Routine, columns: tuple[Column, ...], ctx: Context) -> Plan:
    env = evolve(ctx.env, text=routine.text, ctes={})
    body = routine.node.body
    assert isinstance(body, q.Query)
    return env.bind_query(body, env, ctx.env.make_scope(columns))


def _open(columns: tuple[Column, ...]) -> tuple[Column, ...]:
    """Parameters as the function's declaration sees them: each may be null."""
    return tuple(evolve(c, nullable=True) for c in columns)


def _keep_evidence(expr: Expr) -> str | None:
    return expr.evidence if expr.nullable else None


def _make_misuse_error(routine: Routine, condition: str, node: q.Node, ctx: Context) -> AnalysisError:
    kind = "table" if condition == "NOT_A_TABLE_FUNCTION" else "scalar"
    error = ctx.env.make_error(condition, f"`{routine.name}` appears as a {kind} function here, but is none.", node)
    error.settled = not routine.node.temporary  # A temporary one is looked for among Spark's own.
    return error


def _bind_arguments(routine: Routine, node: q.Call, ctx: Context) -> tuple[tuple[Expr, ...], tuple[Column, ...]]:
    """The given arguments, and the parameters as columns that hold them."""
    parameters = [(ctx.key(p.name.text), _bind_default(p, routine, ctx)) for p in routine.node.parameters]
    given: list[Expr] = []
    named: dict[str, Expr] = {}
    for argument in node.arguments:
        if isinstance(argument, q.Kwarg):
            add_named(named, ctx.key(argument.name.text), bind(argument.value, ctx), routine.name, node, ctx)
            continue
        refuse_positional(named, routine.name, node, ctx)
        given += expand_argument(argument, ctx) if is_star(argument, ctx) else [bind(argument, ctx)]
    if named:
        given = place_named(routine.name, parameters, given, named, node, ctx, whole=True)
    values = [*given, *(default for _, default in parameters[len(given) :] if default is not None)]
    if len(values) != len(parameters):
        raise _make_count_error(routine, len(given), node, ctx)
    qualifier = (routine.name.split(".")[-1],)
    columns = []
    for parameter, value in zip(routine.node.parameters, values):
        held = cast_implicitly(value, _type_of(parameter), ctx.env, node)
        name = parameter.name.text
        columns.append(Column(fresh_id(), name, held.type, held.nullable, qualifier, _keep_evidence(held)))
    return tuple(given), tuple(columns)


def _bind_default(parameter: q.ColumnDef, routine: Routine, ctx: Context) -> Expr | None:
    env = evolve(ctx.env, text=routine.text)
    return None if parameter.default is None else bind(parameter.default, Context(env, Scope(())))


def _type_of(column: q.ColumnDef) -> dt.DataType:
    assert column.type is not None
    return column.type.data_type


def _make_count_error(routine: Routine, given: int, node: q.Call, ctx: Context) -> AnalysisError:
    wanted = len(routine.node.parameters)
    text = f"The `{routine.name}` requires {wanted} parameters but the actual number is {given}."
    return ctx.env.make_error("WRONG_NUM_ARGS.WITHOUT_SUGGESTION", text, node)


@cache
def _function(name: str, returns: dt.DataType, nullable: bool) -> Signature:
    """A stand-in for the function, one for equal calls: nothing is promised of what it may do when it runs."""
    rule: Callable[[Sequence[Any], Conf], bool] = lambda args, conf: nullable or any(a.nullable for a in args)  # noqa: E731
    return Signature(name, (Many(ANY),), returns, rule, UNSTATED, Coerce.NONE, Category.SCALAR)


def declare(node: CreateFunction, text: str, env: Environment) -> dict[str, Routine]:
    """The environment's functions with the one that CREATE FUNCTION declares. Raises `AnalysisError` for parameters
    that Spark does not take (`UserDefinedFunction`)."""
    _refuse_repeated(node.parameters, "DUPLICATE_ROUTINE_PARAMETER_NAMES", env)
    _refuse_repeated(node.returns_table or (), "DUPLICATE_ROUTINE_RETURNS_COLUMNS", env)
    for one, following in itertools.pairwise(node.parameters):
        if one.default is not None and following.default is None:
            said = f"The parameter `{one.name.text}` with DEFAULT must not be followed by one without."
            raise env.make_error("USER_DEFINED_FUNCTIONS.NOT_A_VALID_DEFAULT_PARAMETER_POSITION", said, one)
    parts = [p.lower() for p in name_parts(node.name)]
    if not node.temporary:
        missing = 3 - len(parts)
        parts = [*(env.catalog.catalog, *env.catalog.namespace)[:missing], *parts] if missing > 0 else parts
    name = ".".join(parts)
    if name in env.functions and not node.replace:
        return env.functions  # Spark passes over it, or refuses it.
    return {**env.functions, name: Routine(name, node, text)}


def _refuse_repeated(columns: Sequence[q.ColumnDef], condition: str, env: Environment) -> None:
    count = Counter(c.name.text if env.conf.case_sensitive else c.name.text.lower() for c in columns)
    if repeated := sorted(name for name, n in count.items() if n > 1):
        raise env.make_error(condition, f"The name `{repeated[0]}` is given twice.", columns[0])
