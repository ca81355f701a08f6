"""Generators: `explode` and its kin in SELECT, in LATERAL VIEW and in FROM.

Source: `ExtractGenerator`, `ResolveGenerate`, `ResolveFunctions`.
"""

from __future__ import annotations

from collections.abc import Sequence

from planproof_engine import types as dt
from planproof_engine.analysis.expressions import Context, bind
from planproof_engine.analysis.expressions.calls import bind_call, bind_plain_call
from planproof_engine.analysis.expressions.constants import function_name
from planproof_engine.analysis.refusals.checks import holds_aggregate, refuse_nested_generator, why_refused
from planproof_engine.analysis.refusals.routines import drop_schema
from planproof_engine.expr import Call, Category, Column, Expr, fresh_id
from planproof_engine.ground import evolve, record
from planproof_engine.logical.nodes import Generate, Plan
from planproof_engine.sql import nodes as q
from planproof_engine.sql.names import drop_parentheses

Outputs = list[tuple[str, dt.DataType, bool]]


@record(frozen=True, slots=True)
class Generated:
    """A generator among the items of a SELECT, and the columns that it makes."""

    call: Call
    columns: tuple[Column, ...]

    @property
    def outer(self) -> bool:
        return is_outer(self.call)

    def over(self, child: Plan) -> Plan:
        return Generate(self.call, self.outer, self.columns, child)


def is_outer(call: Call) -> bool:
    """Whether it is called by its `_outer` name, which gives a row of nulls for an empty array."""
    return call.shown.endswith("_outer")


def bind_generator(node: q.Call, ctx: Context, *, in_from: bool = False, grouped: bool = False) -> tuple[Call, Outputs]:
    """A generator's call, and the name, type and nullability of each column that it makes.

    `in_from`: the call stands in FROM, where functions are allowed that are no expressions (`range`). `grouped`: an
    Aggregate below computes its arguments, subqueries in them too.
    """
    name = drop_schema(function_name(node, ctx), ctx.env)
    function = ctx.env.registry.find(name)
    if in_from or ctx.clause == "LATERAL VIEW":
        _bind_arguments(node, ctx)
    if function is None:
        if name.lower() in ctx.env.registry.known:
            raise ctx.env.make_unknown(f"the function {name.lower()}", node)
        condition = "UNRESOLVABLE_TABLE_VALUED_FUNCTION" if in_from else "ROUTINE_NOT_FOUND"
        raise ctx.env.make_error(condition, f"Could not resolve `{name}` to a table-valued function.", node)
    table = in_from and function.category is Category.TABLE
    if function.category is Category.TABLE and not in_from:
        raise ctx.env.make_error("ROUTINE_NOT_FOUND", f"The routine `{name}` cannot be found: it stands in FROM.", node)
    if not table and (function.category is not Category.GENERATOR or function.columns is None):
        if not in_from:
            bind_call(node, ctx)
        raise _make_no_table_error(name, node, ctx, in_from=in_from)
    _refuse_nested(node, ctx)
    bound = bind_plain_call(node, ctx) if table else bind_call(node, ctx)
    if not isinstance(bound, Call):
        refuse_nested_generator(bound, node, ctx.env)
    assert isinstance(bound, Call)
    for argument in bound.args:
        refuse_nested_generator(argument, node, ctx.env)
        if not grouped and not (ctx.clause == "GENERATOR" and holds_aggregate(argument)):
            for e in argument.walk():
                _refuse_subquery(e, node, ctx)
    assert function.columns is not None
    return bound, list(function.columns(bound.args, ctx.conf))


def _refuse_subquery(e: Expr, node: q.Node, ctx: Context) -> None:
    """IN, EXISTS and correlated subqueries stand in filters, joins and SELECT lists, not in what makes rows."""
    if (refused := why_refused(e)) is not None:
        text = "Unsupported subquery expression: a generator takes no IN, no EXISTS and no correlated subquery."
        raise ctx.env.make_error(f"UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.{refused[0]}", text, node)


def _bind_arguments(node: q.Call, ctx: Context) -> None:
    """Raises what is wrong with the arguments. Spark looks a table function up when it knows their types."""
    for argument in node.arguments:
        if isinstance(argument, q.Star):
            text = "Invalid usage of '*' in a table function."
            raise ctx.env.make_error("INVALID_USAGE_OF_STAR_OR_REGEX", text, argument, by_rule=False)
        if not isinstance(argument, (q.Lambda, q.Kwarg)):
            bind(argument, ctx)


def _make_no_table_error(name: str, node: q.Call, ctx: Context, *, in_from: bool) -> Exception:
    """The error for a function that gives one value, not rows. FROM and LATERAL VIEW have different errors for it."""
    if in_from:
        text = f"`{name}` makes a value, not rows: it stands in an expression, not in FROM."
        return ctx.env.make_error("NOT_A_TABLE_FUNCTION", text, node)
    return ctx.env.make_error("UNSUPPORTED_GENERATOR.NOT_GENERATOR", f"`{name}` is expected to be a generator.", node)


def _refuse_nested(node: q.Call, ctx: Context) -> None:
    """Refuses a generator inside a generator: Spark does so before it looks at types."""
    for argument in node.arguments:
        if any(find_call(inner, ctx) is not None for inner in argument.find_all(q.Call, outside=(q.Query,))):
            text = "A generator cannot stand inside another one."
            raise ctx.env.make_error("UNSUPPORTED_GENERATOR.NESTED_IN_EXPRESSIONS", text, node)


def find_call(node: q.Node, ctx: Context) -> q.Call | None:
    """The generator's call that a select item is, perhaps under a name."""
    inner = drop_parentheses(node.operand if isinstance(node, (q.Alias, q.Aliases)) else node)
    if not isinstance(inner, q.Call) or inner.over is not None:
        return None
    function = ctx.env.registry.find(function_name(inner, ctx))
    return inner if function is not None and function.category is Category.GENERATOR else None


def bind_in_select(node: q.Node, call: q.Call, ctx: Context, grouped: bool = False) -> Generated:
    """The generator that a select item is, with the names that the item gives to its columns."""
    bound, outputs = bind_generator(call, evolve(ctx, clause="GENERATOR"), grouped=grouped)
    if isinstance(node, q.Alias):
        given = [node.alias.text]
    elif isinstance(node, q.Aliases):
        given = [i.text for i in node.names]
    else:
        given = [name for name, _, _ in outputs]
    return Generated(bound, make_columns(outputs, given, (), is_outer(bound), node, ctx))


def make_columns(
    outputs: Outputs,
    names: Sequence[str],
    qualifier: tuple[str, ...],
    outer: bool,
    node: q.Node,
    ctx: Context,
) -> tuple[Column, ...]:
    """The columns of a generator under these names, as many as it makes; those of an outer one are nullable."""
    if len(names) != len(outputs):
        text = (
            f"The number of aliases supplied in the AS clause does not match the number of columns output by the UDTF: "
            f"expected {len(outputs)} aliases, but got {len(names)}."
        )
        raise ctx.env.make_error("UDTF_ALIAS_NUMBER_MISMATCH", text, node)
    return tuple(
        Column(fresh_id(), name, data_type, nullable or outer, qualifier)
        for name, (_, data_type, nullable) in zip(names, outputs)
    )
