"""Flags within types that Spark gives too early: where what reads an item is bound before Spark looks into the SQL
functions that the item calls. It corrects a column's own flag later, but no flag within the column's type.

Source: `ResolveSQLFunctions`, `SQLFunctionExpression.nullable`, `UpdateAttributeNullability`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import is_

from planproof_engine import types as dt
from planproof_engine.analysis.blocks.aggregated import Keys
from planproof_engine.analysis.blocks.rounds import count_rounds
from planproof_engine.analysis.expressions import Environment
from planproof_engine.expr import Alias, Call, Cast, Column, Expr, GetField, Lambda, Window, is_aggregate, is_coerced
from planproof_engine.expr.parts import replace_parts
from planproof_engine.expr.tree import transform_up
from planproof_engine.functions.replaced import is_made_anew
from planproof_engine.ground import Unknown, evolve
from planproof_engine.logical.nodes import Aggregate, Filter, Named, PassThrough, Plan, Project


def is_of_routine(expr: Expr, env: Environment) -> bool:
    """Whether the expression is the call of a SQL function."""
    return isinstance(expr, Call) and expr.function.name.lower() in env.functions


def loosen_block(items: list[Expr], env: Environment, *, windows: bool, lateral: bool) -> list[Expr]:
    """The items of a block without GROUP BY: beside `windows`, below which Spark computes them, or where one names
    another (`lateral`)."""
    if not env.functions:
        return items
    if windows:
        return [_loosen(i, env, lambda e: e.late if isinstance(e, Column) else is_of_routine(e, env)) for i in items]
    return [i for item in items for i in (loosen_late([item], env) if lateral or item.holds(Lambda) else [item])]


def loosen_grouped(items: list[Expr], keys: Keys, env: Environment) -> list[Expr]:
    """The items of an Aggregate, which computes aggregate functions and keys before what is around them."""
    if not env.functions:
        return items

    def found(e: Expr) -> bool:
        return (is_aggregate(e) or e in keys) and any(is_of_routine(part, env) for part in e.walk())

    def is_early(e: Expr) -> bool:
        return is_of_routine(e, env) or (e in keys and found(e))

    return [_loosen(i, env, is_early) if any(map(found, i.walk())) else i for i in items]


def list_late_keys(groups: Iterable[Expr], env: Environment) -> list[int]:
    """The places of the keys that call SQL functions: grouping sets are made before Spark looks into these."""
    keys = enumerate(groups) if env.functions else ()
    return [at for at, key in keys if any(is_of_routine(e, env) for e in key.walk())]


def loosen_late(items: Iterable[Expr], env: Environment) -> list[Expr]:
    """Items that are read before the table functions are looked into whose columns they use."""
    return [_loosen(i, env, lambda e: isinstance(e, Column) and e.late) for i in items]


def loosen_output(plan: Plan, env: Environment) -> Plan:
    """The plan of a query whose items are read by what is around it."""
    node = _find_block(plan)
    if not env.functions or not isinstance(node, (Aggregate, Project)):
        return plan
    above = _is_split(node) or _waits(node)
    items = tuple(
        _loosen(i, env, lambda e: e.late if isinstance(e, Column) else above and is_of_routine(e, env))
        for i in node.items
    )
    return plan if all(map(is_, items, node.items)) else _replace(plan, node, evolve(node, items=items))


def _find_block(plan: Plan) -> Plan:
    """The plan below what filters, sorts or cuts its rows."""
    while isinstance(plan, (PassThrough, Filter)):
        plan = plan.child
    return plan


def _is_split(node: Aggregate | Project) -> bool:
    """Whether Spark makes several operators of the block, one after the other."""
    return isinstance(node, Aggregate) or any(i.holds(Window) for i in node.items)


def open_results(named: Plan, query: Plan, env: Environment) -> Plan:
    """The plan of a CTE, `query` under its name. Where Spark makes several operators of it, the CTE's columns are taken
    over before they are corrected, too."""
    node = _find_block(query)
    if not isinstance(named, Named):
        return named
    windows = _list_session_windows(query) if "session_window" in env.text.lower() else set[int]()
    if windows:
        named = evolve(named, output=tuple(evolve(c, nullable=c.nullable or c.id in windows) for c in named.output))
    if not env.functions:
        return named
    late = isinstance(node, (Aggregate, Project)) and (_is_split(node) or _waits(node))
    items = [i for i in node.expressions if isinstance(i, Alias) and any(is_of_routine(e, env) for e in i.walk())]
    opened = {i.id: _open_calls(i.child, lambda e: is_of_routine(e, env), env) for i in items if late}
    loose = {id for id, found in opened.items() if found.nullable}
    output = (
        evolve(c, nullable=c.nullable or c.late or c.id in loose, late=False, type=opened.get(c.id, c).type)
        for c in named.output
    )
    return evolve(named, output=tuple(output))


def _waits(node: Aggregate | Project) -> bool:
    """Whether a rule resolves part of the items that Spark runs after it looks into the calls of SQL functions, which
    it does not do before all items are resolved."""
    named = all(isinstance(i, Column) or (isinstance(i, Alias) and i.explicit) for i in node.items)
    if not named or any(map(_takes_rounds, node.items)):
        return True
    reads_columns = any(isinstance(e, Column) for i in node.items for e in i.walk())
    below = [] if reads_columns else [e for n in node.child.walk() for e in n.expressions]
    return any(map(_takes_rounds, below))


def _takes_rounds(expr: Expr) -> bool:
    """Whether the first round of rules does not resolve the expression."""
    if any(is_coerced(e) or (isinstance(e, Call) and is_made_anew(e)) for e in expr.walk()):
        return True
    try:
        return count_rounds(expr, {}) > 0
    except Unknown:
        return True


def _list_session_windows(plan: Plan) -> set[int]:
    """The columns that are a session window, which `SessionWindowing` makes nullable."""
    aliases = [e for node in plan.walk() for e in node.expressions if isinstance(e, Alias)]
    found = {a.id for a in aliases if isinstance(a.child, Call) and a.child.function.name == "session_window"}
    return found | {a.id for a in aliases if isinstance(a.child, Column) and a.child.id in found}


def _replace(plan: Plan, old: Plan, new: Plan) -> Plan:
    if plan is old:
        return new
    return replace_parts(plan, Plan, lambda child: _replace(child, old, new))


def _loosen(item: Expr, env: Environment, is_early: Callable[[Expr], bool]) -> Expr:
    """The item with the flags within its type that it has where `is_early` is true of what may be null for now."""
    if not isinstance(item, Alias) or not isinstance(item.type, dt.Nested) or not any(map(is_early, item.child.walk())):
        return item

    found = _keep_flag(_open_calls(item.child, is_early, env), item.child.nullable)
    return item if found.type == item.type else evolve(item, child=found)


def _open_calls(expr: Expr, is_early: Callable[[Expr], bool], env: Environment) -> Expr:
    """The expression where what `is_early` is true of may be null."""

    def mark(e: Expr) -> Expr:
        return evolve(e, nullable=True, known=None) if isinstance(e, (Call, Column)) and is_early(e) else e

    return _recompute(transform_up(expr, mark), env)


def _recompute(expr: Expr, env: Environment) -> Expr:
    def change(e: Expr) -> Expr:
        if isinstance(e, (Cast, GetField)):
            return evolve(e, nullable=e.nullable or e.child.nullable)
        if not isinstance(e, Call):
            return e
        nullable = e.nullable or e.function.nullable(e.args, env.conf)
        found = e.type
        if isinstance(found, dt.Nested) and any(isinstance(a, Lambda) for a in e.args):
            found = dt.as_nullable(found)
        elif isinstance(found, dt.Nested) and callable(e.function.returns):
            found = dt.loosen(found, e.function.returns(e.args, env.conf))
        return evolve(e, nullable=nullable, type=found)

    return transform_up(expr, change)


def _keep_flag(expr: Expr, nullable: bool) -> Expr:
    if isinstance(expr, Window):
        return evolve(expr, call=_keep_flag(expr.call, nullable))
    return evolve(expr, nullable=nullable) if isinstance(expr, (Call, Cast, GetField)) else expr
