"""Queries: WITH, set operations and SELECT blocks, and the pipe syntax.

Source: `CTESubstitution`, `WidenSetOperationTypes`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from planproof_engine import types as dt
from planproof_engine.analysis.blocks.ordering import bind_organization
from planproof_engine.analysis.blocks.pipes import bind_pipe
from planproof_engine.analysis.blocks.recursion import bind_recursive_cte, refers
from planproof_engine.analysis.blocks.relations import bind_relation, find_count_error
from planproof_engine.analysis.blocks.select import Block, bind_select
from planproof_engine.analysis.blocks.setops import build_set_operation
from planproof_engine.analysis.context import Cte, Environment
from planproof_engine.analysis.expressions import Scope
from planproof_engine.analysis.expressions.binders import BINDERS
from planproof_engine.analysis.expressions.binding import add_binders
from planproof_engine.analysis.refusals.earlier import CHECKED, bind_both, find_position_beyond, is_checked, lateness
from planproof_engine.analysis.refusals.files import refuse_many_sources
from planproof_engine.analysis.script.flags import loosen_output, open_results
from planproof_engine.expr import Column, Span, fresh_id
from planproof_engine.expr.pretty import outer_references, refuse_nameless
from planproof_engine.ground import AnalysisError, Unknown, evolve
from planproof_engine.logical.nodes import Distinct, Named, OneRow, Plan, Script, SetOperation
from planproof_engine.sql import nodes as q
from planproof_engine.sql.names import drop_parentheses, name_parts

add_binders(BINDERS)


def bind_whole(tree: q.Query, env: Environment) -> Plan:
    """The plan of a whole query. Of what is wrong with it, that is raised which Spark says: what a rule refuses, else
    what `CheckAnalysis` refuses of the lowest plan."""
    late: list[AnalysisError] = []
    try:
        plan = bind_query(tree, evolve(env, late=late), None)
    except AnalysisError as error:
        raise late[0] if late and is_checked(error) else error from None
    except Unknown:
        if not late:
            raise
    if late:
        raise late[0]
    refuse_many_sources(plan, tree, env)
    refuse_nameless(plan.output)
    return plan


def bind_query(node: q.Query, env: Environment, outer: Scope | None) -> Plan:
    """The plan of a query in any of its forms; `outer` is the scope of the query around it."""
    with_ = node.with_
    if with_ is None:
        return _bind_without_ctes(node, env, outer)
    found = _bind_ctes(with_, env, outer)
    errors = {key: error for key, cte in found.items() if (error := cte.rejection or cte.late) is not None}
    before = len(env.late or ())
    try:
        plan = _bind_without_ctes(node, env.over_ctes(found), outer)
    except AnalysisError as error:
        late = next((cte.late for cte in found.values() if cte.late is not None and is_checked(error)), error)
        raise _withhold(_find_first_error(errors, node, with_, late, env), error, env, before) from None
    if any(cte.rejection is not None for cte in found.values()):
        raise _withhold(min(errors.values(), key=_order), None, env, before)
    env.unread.extend(e for name in _list_unread(node, with_) for e in outer_references(found[name].plan))
    if errors and env.late is not None:
        named = _table_names(node, with_)
        env.late[before:before] = [errors[key] for key in sorted(errors, key=lambda key: key in named)]
    return plan


def _list_unread(node: q.Query, with_: q.With) -> list[str]:
    """The CTEs that neither the query nor a CTE that it reads reads. Spark keeps them with the query (`WithCTE`)."""
    bodies = {c.alias.name.text.lower(): c.query for c in with_.ctes}
    names, reached = list(bodies), _table_names(node, with_)
    for name in reversed(names):
        if name in reached:
            reached |= _table_names(bodies[name], with_) & set(names[: names.index(name)])
    return [name for name in names if name not in reached]


def _order(error: AnalysisError) -> tuple[bool, int]:
    """When Spark comes to an error of one query of several: by the round of its rules, then by the rule."""
    if is_checked(error):
        return True, max(CHECKED + 1, lateness(error))
    return bool(error.waited), lateness(error)


def _withhold(first: AnalysisError, error: AnalysisError | None, env: Environment, before: int) -> AnalysisError:
    """The error of a CTE, which comes before what is wrong with the query itself."""
    if first is not error and env.late is not None:
        del env.late[before:]
    return first


def _find_first_error(
    rejections: dict[str, AnalysisError], node: q.Query, with_: q.With, error: AnalysisError, env: Environment
) -> AnalysisError:
    """The error that Spark reports: one of its rules, else of `CheckAnalysis`, which looks at the CTEs that nothing
    reads first, and at the others where the query reads them."""
    if not rejections:
        return error
    if by_rule := [e for e in (*rejections.values(), error) if not is_checked(e)]:
        return min(by_rule, key=_order)
    bodies = {c.alias.name.text.lower(): c.query for c in with_.ctes}
    unread = _list_unread(node, with_)
    unknown = {n for n, r in rejections.items() if n not in unread and r.condition.startswith(_UNRESOLVED)}
    for name, rejection in rejections.items():
        if name in unread and (rejection.condition != "INTERNAL_ERROR" or error.condition == "INTERNAL_ERROR"):
            found = None if env.conf.before("4.0") else _find_dangling_error(bodies[name].walk(), unknown, env)
            return found or rejection
    if error.condition != "INTERNAL_ERROR":
        return error
    # Nothing is said of a plan that stays unresolved, but of the names over it.
    root = next((name for name, rejection in rejections.items() if rejection is error), "")
    readers = (
        *(bodies[name].walk() for name in bodies if name not in unread and name != root),
        node.walk(without=with_),
    )
    return next(filter(None, (_find_dangling_error(query, {root}, env) for query in readers)), error)


_UNRESOLVED = (
    "DATATYPE_MISMATCH",
    "INCOMPATIBLE_COLUMN_TYPE",
    "NUM_COLUMNS_MISMATCH",
    "TABLE_OR_VIEW_NOT_FOUND",
    "UNRESOLVED",
)
"""What leaves a plan unresolved, so that the names over it are not resolved either."""


def _table_names(query: q.Query, with_: q.With) -> set[str]:
    """The names that may mean a CTE, in lower case."""
    named = (name_parts(n) for n in query.walk(without=with_) if isinstance(n, q.Table))
    return {parts[0].lower() for parts in named if len(parts) == 1}


def _find_dangling_error(nodes: Iterable[q.Node], unknown: set[str], env: Environment) -> AnalysisError | None:
    """The error of a CTE that nothing reads and that reads a rejected one, which Spark does not put in its place: of
    that one, nothing is known."""
    for child in (n for n in nodes if isinstance(n, q.Select)):
        reads = child.from_ is not None and _direct_tables(child.from_.relation) & unknown
        if not reads:
            continue
        for item in (*((child.where,) if child.where is not None else ()), *child.items):
            if item.holds(q.Star) and not isinstance(drop_parentheses(item), q.Call):
                text = "Invalid usage of '*' in Project."
                return env.make_error("INVALID_USAGE_OF_STAR_OR_REGEX", text, item)
            named = next(iter(item.find_all(q.Column)), None)
            if named is not None:
                name = "`.`".join(name_parts(named))
                text = f"A column, variable, or function parameter with name `{name}` cannot be resolved."
                return env.make_error("UNRESOLVED_COLUMN.WITHOUT_SUGGESTION", text, named)
    return None


def _direct_tables(relation: q.Node) -> set[str]:
    """The names of the relation's tables, those in subqueries left out."""
    if isinstance(relation, q.Query):
        return set()
    parts = name_parts(relation) if isinstance(relation, q.Table) else ()
    return {parts[0].lower()} if len(parts) == 1 else set().union(*map(_direct_tables, relation.children))


def _bind_without_ctes(node: q.Query, env: Environment, outer: Scope | None) -> Plan:
    if isinstance(node, q.Pipe):
        return bind_pipe(node, env, outer)
    binder = _BINDERS.get(type(node))
    if binder is None:
        raise env.make_unknown(f"the query {type(node).__name__}", node)
    try:
        plan, block = binder(node, env, outer)
    except AnalysisError as error:
        raise find_position_beyond(node, error, env) or error from None
    env.growth.add(1, len(plan.output))
    return bind_organization(node, plan, block, env, outer)


Found = tuple[Plan, "Block | None"]


def _select(node: q.Select, env: Environment, outer: Scope | None) -> Found:
    block = bind_select(node, env, outer)
    return block.plan, block


def _transform(node: q.Transform, env: Environment, outer: Scope | None) -> Found:
    """SELECT TRANSFORM: the script gives text, except for columns to which AS gives a type."""
    child = bind_select(node, env, outer).plan
    if node.columns is None:
        typed: list[tuple[str, dt.DataType]] = [("key", dt.STRING), ("value", dt.STRING)]
    else:
        typed = [(d.name.text, _declared_type(d, env)) for d in node.columns]
    output = tuple(Column(fresh_id(), name, data_type, True) for name, data_type in typed)
    return Script(node.script, child, output), None


def _declared_type(column: q.ColumnDef, env: Environment) -> dt.DataType:
    found = column.type.data_type if column.type is not None else dt.STRING
    return dt.STRING if isinstance(found, (dt.Char, dt.Varchar)) and not env.conf.preserve_char_varchar else found


def _bind_set_operation(node: q.SetOperation, env: Environment, outer: Scope | None) -> Found:
    left, right = bind_both(lambda: bind_query(node.left, env, outer), lambda: bind_query(node.right, env, outer))
    plan = build_set_operation(node.kind, left, right, not node.distinct, env, node)
    return _place(plan, (node.left.span, node.right.span)), None


def _place(plan: Plan, spans: tuple[Span, Span]) -> Plan:
    if isinstance(plan, SetOperation):
        return evolve(plan, spans=spans)
    return evolve(plan, child=_place(plan.child, spans)) if isinstance(plan, Distinct) else plan


_BINDERS: dict[type, Callable[[Any, Environment, Scope | None], Found]] = {
    q.Select: _select,
    q.Subquery: lambda node, env, outer: (bind_query(node.query, env, outer), None),
    q.Values: lambda node, env, outer: (bind_relation(node, env, outer)[0], None),
    q.SetOperation: _bind_set_operation,
    q.TableQuery: lambda node, env, outer: (bind_relation(node.table, env, outer)[0], None),
    q.Transform: _transform,
}


def _bind_ctes(with_: q.With, env: Environment, outer: Scope | None) -> dict[str, Cte]:
    found: dict[str, Cte] = {}
    for cte in with_.ctes:
        name = cte.alias.name.text
        names = [c.text for c in cte.alias.columns]
        if name.lower() in found and (found[name.lower()].name == name or not env.conf.before("4.2")):
            raise env.make_error("DUPLICATED_CTE_NAMES", f"CTE definition can't have duplicate names: `{name}`.", cte)
        _refuse_hidden(found.get(name.lower()))
        if name.lower() in env.taken:
            text = f"Name `{name}` is ambiguous in nested CTE: spark.sql.legacy.ctePrecedencePolicy is EXCEPTION."
            raise env.make_error("AMBIGUOUS_ALIAS_IN_NESTED_CTE", text, cte)
        late: list[AnalysisError] | None = None if env.late is None else []
        inner = evolve(env.within_cte(found), late=late)
        before = env.growth.begin()
        try:
            if with_.recursive and refers(cte.query, name.lower()):
                plan = bind_recursive_cte(cte, name, names, inner, outer, _bind_ctes)
            else:
                query = loosen_output(bind_query(cte.query, inner, outer), env)
                plan = open_results(rename_columns(query, name, names, env, cte), query, env)
            found[name.lower()] = Cte(name, plan, late=late[0] if late else None, size=env.growth.end(before))
        except AnalysisError as error:
            error = late[0] if late and is_checked(error) else error
            error = find_count_error(cte.alias.columns, cte.query, error, cte, env) or error
            found[name.lower()] = Cte(name, OneRow(), rejection=error)
    return found


def _refuse_hidden(cte: Cte | None) -> None:
    """Raises what a rule refuses of a CTE that a later one hides, whose name is spelled otherwise."""
    if cte is not None and cte.rejection is not None and not is_checked(cte.rejection):
        raise cte.rejection


def rename_columns(plan: Plan, name: str, names: list[str], env: Environment, node: q.Node) -> Plan:
    """A query under a CTE's or view's column names."""
    if names and len(names) != len(plan.output):
        text = (
            f"The number of columns or variables assigned or aliased: {len(names)} does not match the number of source "
            f"expressions: {len(plan.output)}."
        )
        raise env.make_error("ASSIGNMENT_ARITY_MISMATCH", text, node)
    output = tuple(evolve(c, name=names[i] if names else c.name, qualifier=(name,)) for i, c in enumerate(plan.output))
    return Named((name,), plan, output)
