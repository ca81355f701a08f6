"""Joins: conditions, USING and NATURAL with the columns that they merge and hide.

Source: `ResolveNaturalAndUsingJoin`, `NaturalAndUsingJoinResolution`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from planproof_engine import types as dt
from planproof_engine.analysis.blocks.rules_first import find_errors, find_misplaced_generators, raise_first
from planproof_engine.analysis.expressions import Context, Environment
from planproof_engine.analysis.expressions.binding import bind, cast_implicitly
from planproof_engine.analysis.expressions.modifiers import is_volatile
from planproof_engine.analysis.names.scope import METADATA, Scope
from planproof_engine.analysis.refusals import checks
from planproof_engine.analysis.refusals.earlier import CHECKED
from planproof_engine.expr import Alias, Call, Column, Expr, Mismatch, ScalarSubquery, column_of, fresh_id
from planproof_engine.expr.pretty import pretty
from planproof_engine.functions.bind import apply
from planproof_engine.ground import AnalysisError, evolve
from planproof_engine.logical import nodes as p
from planproof_engine.sql import nodes as q

Side = tuple[p.Plan, Scope]


def join(node: q.Joined, left: Side, right: Side, env: Environment, outer: Scope | None) -> Side:
    """The join of two sides, and the scope over it."""
    kind = node.kind.lower()
    using = [i.text for i in node.using]
    if node.natural:
        # Only since 4.2 does Spark compare these names as it compares all others.
        key = str if env.conf.before("4.2") else left[1].key
        using = _list_common_names([c.name for c in left[1].columns], [c.name for c in right[1].columns], key)
    if using or node.natural:
        return _join_using(node, kind, using, left, right, env, outer)
    return _join_on(node, kind, left, right, env, outer)


def _list_common_names(left: list[str], right: list[str], key: Callable[[str], str]) -> list[str]:
    """The names of the left side that the right side has too. A name counts twice only where both sides have it twice
    (`canonicalizedIntersect`, before 4.2 `Seq.intersect`)."""
    there = Counter(map(key, right))
    found = []
    for name in left:
        if there[key(name)] > 0:
            there[key(name)] -= 1
            found.append(name)
    return found


def _join_on(node: q.Joined, kind: str, left: Side, right: Side, env: Environment, outer: Scope | None) -> Side:
    on = node.on
    hidden = left[1].hidden + right[1].hidden
    condition = None
    if on is not None:
        both = env.make_scope(left[1].columns + right[1].columns, outer, hidden)
        bound = _bind_on(on, Context(env, both, clause="JOIN"))
        checks.refuse_generator(checks.content(bound), "JOIN", on, env)
        condition = _require_boolean(bound, on, env)
        _check(condition, node, env)
    plan = p.Join(left[0], right[0], kind, condition, lateral=node.lateral)
    if kind in (p.LEFT_SEMI, p.LEFT_ANTI):
        hidden = left[1].hidden
    by_id = {c.id: c for c in plan.output}
    hidden = tuple(by_id.get(c.id, c) for c in hidden)
    return plan, env.make_scope(_refresh_columns(left, right, plan), outer, hidden)


def _bind_on(on: q.Node, ctx: Context) -> Expr:
    """The condition. What a rule refuses in it comes before a name that it does not know, or a type."""
    try:
        return bind(on, ctx)
    except AnalysisError as error:
        raise_first((*find_errors(on, ctx), *find_misplaced_generators(on, ctx)), error, CHECKED)
        raise


def _check(condition: Expr, node: q.Joined, env: Environment) -> None:
    """Refuses generators, random functions and correlated values in a join (`CheckAnalysis`)."""
    found = checks.content(condition)
    checks.refuse_generator(found, "JOIN", node, env)
    if is_volatile(condition):
        text = "The operator expects a deterministic expression, but a join's condition is not."
        raise env.make_error_at("INVALID_NON_DETERMINISTIC_EXPRESSIONS", text, find_keyword(node, env), node)
    if found & checks.SUBQUERY and any(
        isinstance(e, ScalarSubquery) and checks.is_correlated(e) for e in condition.walk()
    ):
        raise env.make_error_at(
            "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.UNSUPPORTED_CORRELATED_SCALAR_SUBQUERY",
            "Correlated scalar subqueries can only be used in filters, aggregations, projections, and UPDATE/MERGE/"
            "DELETE commands.",
            find_keyword(node, env),
            node,
        )


def refuse_aggregates(plan: p.Plan, node: q.Node, env: Environment) -> None:
    """Refuses aggregates and windows in the conditions of joins, in LATERAL VIEW and in table functions beside them.
    Spark does so after all names are resolved.

    `plan` is what a FROM or a pipe operator gave: joins, and the projections that USING puts over them.
    """
    while isinstance(plan, p.Generate):
        _refuse_computed("LATERAL VIEW", plan.call, plan.call.args, node, env)
        plan = plan.child
    if isinstance(plan, p.Project) and isinstance(plan.child, p.Join):
        plan = plan.child
    if not isinstance(plan, p.Join):
        return
    refuse_aggregates(plan.left, node, env)
    refuse_aggregates(plan.right, node, env)
    made = plan.right.child if isinstance(plan.right, p.Named) else plan.right
    if isinstance(made, p.Values) and made.call is not None:
        _refuse_computed("A table function", made.call, made.call.args, node, env)
    if plan.condition is not None:
        _refuse_computed("A join's condition", plan.condition, (plan.condition,), node, env)


def _refuse_computed(what: str, shown: Expr, exprs: Iterable[Expr], node: q.Node, env: Environment) -> None:
    if checks.contents(exprs) & (checks.AGGREGATE | checks.WINDOW):
        text = f"{what} takes no aggregate and no window function: {pretty(shown)}."
        env.refuse_late("UNSUPPORTED_EXPR_FOR_OPERATOR", text, node)


def find_keyword(node: q.Joined, env: Environment) -> tuple[int, int] | None:
    """Where the text of the join itself starts, after its left side."""
    left, (start, stop) = node.left, node.span
    if left is None or start < 0:
        return None
    at = left.span[1]
    while at < stop and env.text[at].isspace():
        at += 1
    return at, stop


def _refresh_columns(left: Side, right: Side, plan: p.Join) -> tuple[Column, ...]:
    """The scope's columns with the nullability and evidence that the join gives them."""
    by_id = {c.id: c for c in plan.output}
    wanted = left[1].columns if plan.kind in (p.LEFT_SEMI, p.LEFT_ANTI) else left[1].columns + right[1].columns
    return tuple(by_id.get(c.id, c) for c in wanted)


def _require_boolean(condition: Expr, node: q.Node, env: Environment) -> Expr:
    """A join's condition, which must be boolean: a bare NULL is not."""
    if condition.type == dt.BOOLEAN:
        return condition
    text = f'The join condition has the invalid type "{condition.type.sql}", expected "BOOLEAN".'
    raise env.make_error("JOIN_CONDITION_IS_NOT_BOOLEAN_TYPE", text, node)


def refuse_no_boolean(condition: Expr, node: q.Node, env: Environment) -> None:
    """Refuses a WHERE that is not boolean. Unlike a join's, its plan counts as resolved."""
    if condition.type != dt.BOOLEAN:
        text = f'The filter has the invalid type "{condition.type.sql}", expected "BOOLEAN".'
        env.refuse_late("DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN", text, node)


def cast_condition(condition: Expr, node: q.Node, env: Environment) -> Expr:
    """A condition of HAVING or QUALIFY, which Spark's parser casts where it is no predicate."""
    return cast_implicitly(condition, dt.BOOLEAN, env, node)


def _join_using(
    node: q.Joined, kind: str, names: list[str], left: Side, right: Side, env: Environment, outer: Scope | None
) -> Side:
    pairs = [(_find_key(n, left, "left", node, env), _find_key(n, right, "right", node, env)) for n in names]
    condition = _make_condition(pairs, env, node)
    natural = tuple(names) if node.natural else None
    kind_ = p.CROSS if kind == p.INNER and condition is None else kind
    joined = p.Join(left[0], right[0], kind_, condition, natural, node.lateral)
    by_id = {c.id: c for c in joined.output}
    left_keys = [by_id.get(a.id, a) for a, _ in pairs]
    right_keys = [by_id.get(b.id, b) for _, b in pairs]
    of_left, of_right = {k.id for k in left_keys}, {k.id for k in right_keys}
    rest_left = [by_id.get(c.id, c) for c in left[1].columns if c.id not in of_left]
    rest_right = [by_id.get(c.id, c) for c in right[1].columns if c.id not in of_right]
    carried = [by_id.get(c.id, c) for c in left[1].hidden + right[1].hidden if c.name != METADATA]
    merged: list[Expr] = [*left_keys]
    hidden = right_keys
    if kind in (p.LEFT_SEMI, p.LEFT_ANTI):
        rest_right, hidden = [], []
        carried = [c for c in left[1].hidden if c.name != METADATA]
    elif kind == p.RIGHT:
        merged, hidden = [*right_keys], left_keys
    elif kind == p.FULL:
        hidden = [*left_keys, *right_keys]
        merged = [
            _coalesce(padded_left, padded_right, bool(a.evidence and b.evidence), env)
            for padded_left, padded_right, (a, b) in zip(left_keys, right_keys, pairs)
        ]
    # The hidden columns stay below the merged ones, reached by a qualified name only.
    items = (*merged, *rest_left, *rest_right)
    shown = [*map(column_of, items)]
    ids = {c.id for c in shown}
    kept = tuple(c for c in (*carried, *hidden) if c.id not in ids)
    return p.Project((*items, *kept), joined), env.make_scope(shown, outer, kept)


def _find_key(name: str, side: Side, which: str, node: q.Node, env: Environment) -> Column:
    if (found := side[1].find_first(name)) is not None:
        return found
    columns = ", ".join(f"`{c.name}`" for c in side[1].columns)
    text = (
        f"USING column `{name}` cannot be resolved on the {which} side of the join. "
        f"The {which}-side columns: [{columns}]."
    )
    raise env.make_error("UNRESOLVED_USING_COLUMN_FOR_JOIN", text, node)


def _make_condition(pairs: list[tuple[Column, Column]], env: Environment, node: q.Node) -> Expr | None:
    condition: Expr | None = None
    for left, right in pairs:
        try:
            equal = _call("=", [left, right], env)
        except Mismatch as mismatch:
            raise env.make_mismatch_error(mismatch, node) from None
        condition = equal if condition is None else _call("and", [condition, equal], env)
    return condition


def _call(name: str, args: list[Expr], env: Environment) -> Call:
    function = env.registry.find(name)
    assert function is not None, name
    return apply(function, args, env.conf)


def _coalesce(left: Column, right: Column, proved: bool, env: Environment) -> Expr:
    """A FULL join's merged key: the value of whichever side has one. Each row comes from one side at least, so that the
    key may be known not to be null although Spark's flag says that it may be.

    `proved`: neither side's own key holds a null.
    """
    merged = _call("coalesce", [left, right], env)
    if proved and merged.nullable:
        merged = evolve(merged, known="the keys of both sides")
    return Alias(merged, left.name, fresh_id())
