"""Queries: WITH, set operations, ORDER BY and LIMIT around SELECT blocks, and the pipe syntax.

Source: `CTESubstitution`, `ResolveSetOperations`, `WidenSetOperationTypes`, `ResolveReferencesInSort`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sqlglot import exp

from planproof.analysis import grouping
from planproof.analysis.context import Context, Cte, Environment
from planproof.analysis.expressions import bind
from planproof.analysis.recursion import recursive_cte
from planproof.analysis.relations import bind_relation
from planproof.analysis.scope import Scope
from planproof.analysis.select import Block, bind_select, holds_aggregate, substituted
from planproof.analysis.setops import widened
from planproof.analysis.windows import sort_keys
from planproof.expr import Alias, Expr, Sort
from planproof.origin import AnalysisError
from planproof.plan.nodes import Limit, Named, Ordered, Plan
from planproof.sql import nodes as q
from planproof.sql.nodes import name_parts


def bind_query(node: exp.Expr, env: Environment, outer: Scope | None) -> Plan:
    """The plan of a query in any of its forms; `outer` is the scope of the query around it."""
    with_ = node.args.get("with_")
    if with_ is not None:
        env = env.with_ctes(_ctes(with_, env, outer))
    binder = _BINDERS.get(type(node))
    if binder is None:
        raise env.unknown(f"the query {type(node).__name__}", node)
    plan, block = binder(node, env, outer)
    # What a pipe orders or limits belongs to its operator.
    return plan if isinstance(node, q.Pipe) else organized(node, plan, block, env, outer)


Found = tuple[Plan, "Block | None"]


def _select(node: exp.Select, env: Environment, outer: Scope | None) -> Found:
    block = bind_select(node, env, outer)
    return block.plan, block


def _subquery(node: exp.Subquery, env: Environment, outer: Scope | None) -> Found:
    return bind_query(node.args["this"], env, outer), None


def _values(node: exp.Values, env: Environment, outer: Scope | None) -> Found:
    return bind_relation(node, env, outer)[0], None


def _table(node: q.TableQuery, env: Environment, outer: Scope | None) -> Found:
    return bind_relation(node.args["this"], env, outer)[0], None


def _set_operation(node: exp.SetOperation, env: Environment, outer: Scope | None) -> Found:
    left = bind_query(node.args["this"], env, outer)
    right = bind_query(node.args["expression"], env, outer)
    kind = {exp.Union: "union", exp.Except: "except", exp.Intersect: "intersect"}[type(node)]
    keeps = not node.args.get("distinct", True)
    return widened(kind, left, right, keeps, env, node), None


def _pipe(node: q.Pipe, env: Environment, outer: Scope | None) -> Found:
    from planproof.analysis.pipes import bind_pipe

    plan = bind_pipe(node, env, outer)
    return plan, None


_BINDERS: dict[type, Callable[[Any, Environment, Scope | None], Found]] = {
    exp.Select: _select,
    exp.Subquery: _subquery,
    exp.Values: _values,
    exp.Union: _set_operation,
    exp.Except: _set_operation,
    exp.Intersect: _set_operation,
    q.TableQuery: _table,
    q.Pipe: _pipe,
}


def _ctes(with_: exp.With, env: Environment, outer: Scope | None) -> dict[str, Cte]:
    found: dict[str, Cte] = {}
    for cte in with_.expressions:
        alias = cte.args["alias"]
        name = alias.args["this"].args["this"]
        names = [c.args["this"] for c in alias.args.get("columns") or ()]
        if name.lower() in found:
            raise env.rejected("_LEGACY_ERROR_TEMP_0038", f"CTE definition can't have duplicate names: `{name}`.", cte)
        inner = env.with_ctes(found)
        if with_.args.get("recursive") and _names_itself(cte.args["this"], name):
            plan = recursive_cte(cte, name, names, inner, outer)
        else:
            plan = renamed(bind_query(cte.args["this"], inner, outer), name, names, env, cte)
        found[name.lower()] = Cte(name, plan)
    return found


def _names_itself(query: exp.Expr, name: str) -> bool:
    return any(name_parts(t) and name_parts(t)[-1].lower() == name.lower() for t in query.find_all(exp.Table))


def renamed(plan: Plan, name: str, names: list[str], env: Environment, node: exp.Expr) -> Plan:
    """A query under a CTE's or view's column names."""
    if names and len(names) != len(plan.output):
        raise env.rejected(
            "ASSIGNMENT_ARITY_MISMATCH",
            f"The number of columns or variables assigned or aliased: {len(names)} does not match the number of source "
            f"expressions: {len(plan.output)}.",
            node,
        )
    output = tuple(replace(c, name=names[i] if names else c.name, qualifier=(name,)) for i, c in enumerate(plan.output))
    return Named((name,), plan, output)


def organized(node: exp.Expr, plan: Plan, block: Block | None, env: Environment, outer: Scope | None) -> Plan:
    """ORDER BY and its kin, then LIMIT and OFFSET."""
    for key in ("order", "sort", "cluster", "distribute"):
        clause = node.args.get(key)
        if clause is not None:
            plan = _ordered(clause.expressions, plan, block, env, outer)
    for key in ("offset", "limit"):
        clause = node.args.get(key)
        if clause is not None:
            plan = _limited(key, clause.args["expression"], plan, env)
    return plan


def _limited(key: str, node: exp.Expr, plan: Plan, env: Environment) -> Plan:
    if isinstance(node, exp.Var):
        return plan
    count = bind(node, Context(env, Scope(()), clause=key.upper()))
    from planproof.types import is_integral

    condition = "INVALID_LIMIT_LIKE_EXPRESSION"
    if not is_integral(count.type):
        raise env.rejected(
            f"{condition}.DATA_TYPE", f'The {key} expression must be integer type, but got "{count.type.sql}".', node
        )
    value = getattr(count, "value", 0)
    if value is None:
        raise env.rejected(f"{condition}.IS_NULL", f"The evaluated {key} expression must not be null.", node)
    if isinstance(value, int) and value < 0:
        raise env.rejected(
            f"{condition}.IS_NEGATIVE",
            f"The {key} expression must be equal to or greater than 0, but got {value}.",
            node,
        )
    return Limit(key, plan, (count,))


def _ordered(nodes: list[exp.Expr], plan: Plan, block: Block | None, env: Environment, outer: Scope | None) -> Plan:
    """Sort keys mean the output first, then (of a SELECT) its input."""
    keys = [_sort_key(n, plan, block, env, outer) for n in nodes if not _is_all(n, plan)]
    return Ordered(tuple(keys), plan)


def _is_all(node: exp.Expr, plan: Plan) -> bool:
    inner = node.args["this"] if isinstance(node, exp.Ordered) else node
    names = name_parts(inner)
    return names == ("ALL",) or (
        len(names) == 1 and names[0].lower() == "all" and not any(c.name == names[0] for c in plan.output)
    )


def _sort_key(node: exp.Expr, plan: Plan, block: Block | None, env: Environment, outer: Scope | None) -> Sort:
    inner = node.args["this"] if isinstance(node, exp.Ordered) else node
    if isinstance(inner, exp.Literal) and inner.args.get("kind") == "INTEGER_VALUE":
        at = int(inner.args["this"])
        if not 1 <= at <= len(plan.output):
            raise env.rejected(
                "ORDER_BY_POS_OUT_OF_RANGE",
                f"ORDER BY position {at} is not in select list (valid range is [1, {len(plan.output)}]).",
                node,
            )
        return Sort(plan.output[at - 1], True, True)
    output = Context(env, Scope(plan.output, (), outer, env.conf.case_sensitive), clause="ORDER BY")
    if block is not None:
        output = replace(output, windows=block.ctx.windows)
    try:
        key = sort_keys([node], output)[0]
        if block is None or not block.aggregated or not holds_aggregate(key):
            return key
    except AnalysisError as error:
        if block is None or not error.condition.startswith(_INPUT_MAY_KNOW):
            raise
    return _input_key(node, block, env)


_INPUT_MAY_KNOW = (
    "UNRESOLVED_COLUMN",
    "AMBIGUOUS",
    "MISSING",
    "UNSUPPORTED_GROUPING",
    "FIELD_NOT_FOUND",
    "INVALID_EXTRACT",
)


def _input_key(node: exp.Expr, block: Block, env: Environment) -> Sort:
    """A sort key over the block's input, where its items do not have the name."""
    aliases: dict[str, list[Alias]] = {}
    for item in block.items:
        if isinstance(item, Alias):
            aliases.setdefault(block.ctx.key(item.name), []).append(item)
    ctx = replace(block.ctx, clause="ORDER BY", aliases={k: v[:1] for k, v in aliases.items()}, grouping=block.groups)
    key = sort_keys([node], ctx)[0]
    if block.aggregated:
        by_id: dict[int, Expr] = {a.id: a.child for found in aliases.values() for a in found}
        grouping.check_grouped(substituted(key.child, by_id), block.groups, node, ctx)
    return key
