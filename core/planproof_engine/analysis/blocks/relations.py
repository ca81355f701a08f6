"""FROM: tables, views, CTEs, subqueries, inline tables and table functions under their names.

Source: `ResolveRelations`, `ResolveInlineTables`, `ResolveFunctions`, `ResolveGenerate`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from planproof_engine import types as dt
from planproof_engine.analysis.blocks import joins
from planproof_engine.analysis.blocks.limits import add_limit
from planproof_engine.analysis.blocks.pivots import pivot
from planproof_engine.analysis.blocks.rules_first import (
    catch_error,
    find_errors,
    make_blind_context,
    raise_first,
    waits,
)
from planproof_engine.analysis.blocks.values import inline_table
from planproof_engine.analysis.expressions import Context, Environment, Scope, bind
from planproof_engine.analysis.expressions.constants import function_name, resolve_identifier
from planproof_engine.analysis.expressions.generators import bind_generator, is_outer, make_columns
from planproof_engine.analysis.expressions.modifiers import is_volatile
from planproof_engine.analysis.names.metadata import list_metadata, split_metadata
from planproof_engine.analysis.refusals.checks import refuse_outer, refuse_outer_below_joins
from planproof_engine.analysis.refusals.correlation import has_one_row, refuse_correlation
from planproof_engine.analysis.refusals.earlier import CHECKED, OF_TYPED_ROWS, is_of_typed
from planproof_engine.analysis.script import flags, routines
from planproof_engine.catalog import UNKNOWN, split_name
from planproof_engine.expr import Column, Literal, fresh_id
from planproof_engine.expr.pretty import pretty
from planproof_engine.functions.failing import is_no_value
from planproof_engine.ground import AnalysisError, evolve
from planproof_engine.logical.nodes import Generate, Limit, Named, OneRow, Plan, Project, Scan, Values
from planproof_engine.sql import nodes as q
from planproof_engine.sql.names import name_parts
from planproof_engine.types.casts import can_cast

From = tuple[Plan, Scope]


def bind_from(node: q.Node | None, env: Environment, outer: Scope | None) -> From:
    """The plan of a FROM clause, and the scope that it gives to the block."""
    if node is None:
        return OneRow(), env.make_scope(outer=outer)
    return bind_relation(node, env, outer)


def bind_relation(node: q.Node, env: Environment, outer: Scope | None) -> From:
    """Binds one relation of FROM: its plan, and what its names mean. Raises `Unknown` for a kind without a binder."""
    binder = _BINDERS.get(type(node))
    if binder is None:
        raise env.make_unknown(f"the relation {type(node).__name__}", node)
    try:
        plan, scope = binder(node, env, outer)
    except AnalysisError as error:
        if not env.probing:
            raise_first(_find_errors_beside(node, env, outer), error, CHECKED)
        raise
    env.growth.add(1, len(plan.output))
    return plan, scope


def _find_errors_beside(node: q.Node, env: Environment, outer: Scope | None) -> Iterator[AnalysisError]:
    """What is refused of the relation's right side, and of its own expressions."""
    inside = evolve(env, probing=True)
    for child in node.children:
        if isinstance(node, q.Joined) and child is node.right and not node.lateral:
            found = catch_error(lambda: bind_relation(node.right, inside, outer))
            yield from () if found is None else (found,)
        elif type(child) not in _BINDERS and isinstance(node, (q.Joined, q.LateralView, q.Pivoted, q.Unpivoted)):
            yield from find_errors(child, make_blind_context(Context(inside, env.make_scope())))


def _bind_table(node: q.Table, env: Environment, outer: Scope | None) -> From:
    parts = name_parts(node) or _resolve_identifier(node, env)
    cte = env.ctes.get(parts[0].lower()) if len(parts) == 1 else None
    if node.version is not None:
        if node.version.kind == "TIMESTAMP" and cte is None:
            _refuse_moment(node.version, env)
        _refuse_time_travel(parts, cte is not None, node, env)
    if cte is not None and cte.rejection is not None:
        raise cte.rejection
    if cte is not None:
        env.growth.add(*cte.size)
    plan = _refer_to_cte(parts[0], cte.plan) if cte is not None else _scan(parts, node, env)
    return _bind_alias(sample(plan, node.sample, env, outer), node.alias, node, env, outer)


def _refuse_time_travel(parts: tuple[str, ...], is_cte: bool, node: q.Node, env: Environment) -> None:
    """Time travel: views, CTEs and Spark's own tables of files have no past; whether another table has one depends on
    its format, which is not known."""
    relation = None if is_cte else env.catalog.find(parts)
    if not is_cte and relation is None:
        return
    stored = None if relation is None else env.tables.get(relation.name)
    of_files = stored is not None and stored.is_of_files and stored.written
    if relation is not None and "view" not in relation.kind and not of_files:
        raise env.make_unknown("time travel", node)
    text = f"Time travel on the relation `{'.'.join(parts)}` is not supported."
    raise env.make_error("UNSUPPORTED_FEATURE.TIME_TRAVEL", text, node)


def _refuse_moment(version: q.Version, env: Environment) -> None:
    """Refuses what is no moment, before the table is looked for (`TimeTravelSpec.resolveTimestampExpression`)."""
    if version.holds(q.Query, q.Column):
        return
    moment = bind(version.at, Context(env, env.make_scope()))
    unreadable = isinstance(moment, Literal) and (moment.value is None or is_no_value(str(moment.value)))
    reason = ""
    if unreadable or not can_cast(moment.type, dt.TIMESTAMP, ansi=True):
        reason = "INPUT"
    elif is_volatile(moment):
        reason = "NON_DETERMINISTIC"
    if reason:
        text = f'The time travel timestamp expression "{pretty(moment)}" is invalid.'
        raise env.make_error(f"INVALID_TIME_TRAVEL_TIMESTAMP_EXPR.{reason}", text, version)


def _resolve_identifier(node: q.Table, env: Environment) -> tuple[str, ...]:
    """The name that `IDENTIFIER(expr)` spells."""
    if node.computed is None:
        raise env.make_unknown("a relation without a plain name", node)
    try:
        return split_name(resolve_identifier(node.computed, Context(env, env.make_scope())))
    except AnalysisError as error:
        if env.conf.before("4.1") or not error.condition.startswith("UNRESOLVED_COLUMN"):
            raise
        text = "The expression of IDENTIFIER must be a constant STRING which is NOT NULL."
        raise env.make_error("NOT_A_CONSTANT_STRING.NOT_CONSTANT", text, node) from None


def _refer_to_cte(name: str, plan: Plan) -> Plan:
    """Each reference to a CTE has new column ids. A column that the CTE gives out twice has one id there too."""
    renewed: dict[int, Column] = {}
    for column in plan.output:
        renewed.setdefault(column.id, _renew(column, (name,)))
    columns = ((renewed[c.id], c.name) for c in plan.output)
    return Named((name,), plan, tuple(c if c.name == shown else evolve(c, name=shown) for c, shown in columns))


def _renew(column: Column, qualifier: tuple[str, ...]) -> Column:
    return evolve(column, id=fresh_id(), qualifier=qualifier, known=column.evidence if column.nullable else None)


_MANY = 500
"""Among more relations than these no similar name is looked for."""


def _suggest_names(parts: tuple[str, ...], env: Environment) -> str:
    """The relations whose names are most like it, for the message."""
    known = (*env.catalog.names, *(cte.name for cte in env.ctes.values()))
    if len(known) > _MANY:
        return ""
    names = [".".join(split_name(name)[-len(parts) :]) for name in known]
    close = difflib.get_close_matches(".".join(parts).lower(), names, n=3, cutoff=0.75)
    return f" Did you mean one of the following? [{', '.join(close)}]." if close else ""


_FILES = frozenset(("parquet", "orc", "csv", "json", "text", "xml", "avro", "binaryfile", "delta", "iceberg", "hudi"))
_PATH = re.compile(r"[/\\\\*$:]|^$")


def _refuse_elsewhere(parts: tuple[str, ...], shown: str, node: q.Node, env: Environment) -> None:
    """Relations that no catalog lists: files under a path, which alone know their schema, and namespaces of several
    parts. Databricks has more catalogs than one, such as `system` and `samples`."""
    source = parts[0].lower()
    if len(parts) == 2 and (source in _FILES or source.startswith("org.apache.")) and _PATH.search(parts[1]):
        if not parts[1]:
            text = "The location name cannot be empty string, but `` was given."
            raise env.make_error("INVALID_EMPTY_LOCATION", text, node)
        raise env.make_unknown(f"the files of {shown}", node)
    catalog = env.catalog.catalog.lower()
    own = parts[0].lower() == catalog
    if catalog == "spark_catalog" and len(parts) > (3 if own else 2) and not env.conf.databricks:
        end = "." if own else f"; no catalog `{parts[0]}` is known."
        text = f"{catalog} requires a single-part namespace, but got identifier {shown}{end}"
        raise env.make_error("REQUIRES_SINGLE_PART_NAMESPACE", text, node)


def _scan(parts: tuple[str, ...], node: q.Table, env: Environment) -> Plan:
    lower = [p.lower() for p in parts]
    of_session = lower[-2:-1] == ["session"] and lower[:-2] in ([], ["system"])
    relation = env.catalog.find(parts[-2:] if of_session else parts)
    if of_session and relation is not None and relation.kind == "temporary view":
        relation = None if env.lacks("a schema of temporary views") else relation
    if relation is None:
        shown = ".".join(f"`{p}`" for p in parts)
        _refuse_elsewhere(parts, shown, node, env)
        text = f"The table or view {shown} cannot be found.{_suggest_names(parts, env)}"
        raise env.make_error("TABLE_OR_VIEW_NOT_FOUND", text, node)
    if relation.kind == UNKNOWN:
        raise env.make_unknown(f"the columns of {relation.name}", node)
    if relation.name in env.broken:
        raise env.make_error(*env.broken[relation.name], node)
    qualifier = env.catalog.qualifier(relation)
    output: list[Column] = []
    for f in relation.schema:
        given = f.type if env.conf.preserve_char_varchar else dt.drop_lengths(f.type)
        known = f.evidence if f.nullable and not node.is_stream else None
        output.append(Column(fresh_id(), f.name, given, f.nullable or node.is_stream, qualifier, known))
    padded = {f.name: f.type.length for f in relation.schema if isinstance(f.type, dt.Char)}
    metadata = list_metadata(relation.name, output, env)
    return Scan(relation.name, (*output, *metadata), padded=padded, metadata=bool(metadata))


def sample(plan: Plan, sample: q.TableSample | None, env: Environment, outer: Scope | None) -> Plan:
    """A sample of the plan's rows; the plan itself where `sample` is None. Raises `AnalysisError` for a wrong count."""
    if sample is None:
        return plan
    if sample.rows is not None:
        add_limit("limit", sample.rows, plan, env, outer)
    return Limit("sample", plan)


def _bind_alias(
    plan: Plan, alias: q.TableAlias | q.Identifier | None, node: q.Node, env: Environment, outer: Scope | None
) -> From:
    named = plan if alias is None else apply_alias(plan, alias, env, node)
    columns, hidden = split_metadata(named)
    return named, env.make_scope(columns, outer, hidden)


_MISCOUNTED: dict[type, str] = {
    q.Values: "INVALID_INLINE_TABLE.NUM_COLUMNS_MISMATCH",
    q.TableFunction: "NUM_TABLE_VALUE_ALIASES_MISMATCH",
}


_FILTERS = ("WHERE", "HAVING", "QUALIFY", "LIMIT", "OFFSET")


def _explain_alias(alias: q.TableAlias | q.Identifier) -> str:
    """What to do about `FROM t WHERE (a)`, where Spark takes the word for an alias."""
    name = alias.name if isinstance(alias, q.TableAlias) else alias
    if name.quoted or name.text.upper() not in _FILTERS:
        return ""
    return f" Before names in parentheses, {name.text} is an alias to Spark: write them without parentheses."


def apply_alias(plan: Plan, alias: q.TableAlias | q.Identifier, env: Environment, node: q.Node) -> Plan:
    """The plan of `node` under a name, and its columns under the names that the alias gives them."""
    if isinstance(alias, q.Identifier):
        name, names = alias.text, []
    else:
        name, names = alias.name.text, [c.text for c in alias.columns]
    output, hidden = split_metadata(plan)
    if names and len(names) != len(output):
        error = env.make_error(
            _MISCOUNTED.get(type(node), "ASSIGNMENT_ARITY_MISMATCH"),
            f"The number of columns or variables assigned or aliased: {len(names)} does not match the number of source "
            f"expressions: {len(output)}.{_explain_alias(alias)}",
            node,
        )
        error.waited = waits(plan, env)
        raise error
    late = bool(names) and isinstance(plan, Values) and plan.call is not None and flags.is_of_routine(plan.call, env)
    renamed = tuple(
        evolve(c, name=names[i] if names else c.name, qualifier=(name,), late=late or c.late)
        for i, c in enumerate(output)
    )
    if hidden and names and env.lacks("metadata of files over projections"):
        plan, hidden = Project(output, plan), ()
    return Named((name,), plan, (*renamed, *(evolve(c, qualifier=(name,)) for c in hidden)))


def _bind_subquery(node: q.Subquery, env: Environment, outer: Scope | None) -> From:
    try:
        plan = flags.loosen_output(env.bind_query(node.query, env, outer), env)
    except AnalysisError as error:
        names = node.alias.columns if node.alias is not None else ()
        raise find_count_error(names, node.query, error, node, env) or error from None
    if node.alias is None:
        # A subquery without an alias hides the relations inside it (`__auto_generated_subquery_name`).
        plan = Named((_NAMELESS,), plan, tuple(evolve(c, qualifier=(_NAMELESS,)) for c in plan.output))
    return _bind_alias(sample(plan, node.sample, env, outer), node.alias, node, env, outer)


def find_count_error(
    names: Sequence[q.Identifier], query: q.Node, error: AnalysisError, node: q.Node, env: Environment
) -> AnalysisError | None:
    """The error for a number of column names that is not the subquery's, which a rule raises where all in the subquery
    has its type: `CheckAnalysis` looks at it later."""
    while isinstance(query, q.SetOperation):
        query = query.left
    if not names or not (is_of_typed(error) or error.condition in OF_TYPED_ROWS) or not isinstance(query, q.Select):
        return None
    items = query.items
    if len(items) == len(names) or any(item.holds(q.Star) for item in items):
        return None
    text = f"{len(names)} names for {len(items)} columns."
    return env.make_error("ASSIGNMENT_ARITY_MISMATCH", text, node)


_NAMELESS = "__auto_generated_subquery_name"


def _bind_group(node: q.Grouped, env: Environment, outer: Scope | None) -> From:
    plan, scope = bind_relation(node.relation, env, outer)
    if node.alias is None:
        return sample(plan, node.sample, env, outer), scope
    if plan.output != scope.columns:
        plan = Project(scope.columns, plan)
    return _bind_alias(sample(plan, node.sample, env, outer), node.alias, node, env, outer)


def _bind_values(node: q.Values, env: Environment, outer: Scope | None) -> From:
    return _bind_alias(inline_table(node, env, outer), node.alias, node, env, outer)


def _bind_function(node: q.TableFunction, env: Environment, outer: Scope | None) -> From:
    plan = bind_table_function(node.call, env, env.make_scope(outer=outer))
    return _bind_alias(plan, node.alias, node, env, outer)


def bind_table_function(node: q.Call, env: Environment, scope: Scope) -> Plan:
    """A table-valued function, or a generator."""
    ctx = Context(env, scope, clause="FROM")
    name = function_name(node, ctx).lower()
    if (routine := routines.find(name, env)) is not None:
        return routines.call_table(routine, node, ctx)
    call, outputs = bind_generator(node, ctx, in_from=True)
    columns = tuple(Column(fresh_id(), n, t, nullable or is_outer(call)) for n, t, nullable in outputs)
    return Values((), columns, call)


def _bind_lateral_view(node: q.LateralView, env: Environment, outer: Scope | None) -> From:
    child, scope = bind_from(node.relation, env, outer)
    ctx = Context(env, scope, clause="LATERAL VIEW")
    call, outputs = bind_generator(node.call, ctx)
    if outer is not None and node.relation is not None:  # Spark takes it over the one row of a SELECT without FROM.
        refuse_outer((call,), "the generator", node, env)
    outer_view = node.outer or is_outer(call)
    # Spark turns this name into lower case (`AstBuilder.withGenerate`).
    qualifier = (node.alias.name.text.lower(),)
    names = [c.text for c in node.alias.columns] or [n for n, _, _ in outputs]
    generated = make_columns(outputs, names, qualifier, outer_view, node, ctx)
    # Below a join by USING the plan holds columns that the scope hides.
    shown = (*scope.columns, *generated)
    return Generate(call, outer_view, generated, child), env.make_scope(shown, outer, scope.hidden)


def _bind_join(node: q.Joined, env: Environment, outer: Scope | None) -> From:
    left, left_scope = bind_from(node.left, env, outer)
    if node.lateral and node.kind not in ("INNER", "CROSS", "LEFT"):
        text = (
            f"The {node.kind} JOIN with LATERAL correlation is not allowed: a lateral subquery must see the "
            "other side's rows."
        )
        raise env.make_error_at("INVALID_LATERAL_JOIN_TYPE", text, joins.find_keyword(node, env), node)
    beside = node.lateral and not (node.left is None and isinstance(node.right, q.TableFunction))
    right_outer = left_scope if beside else outer
    if node.lateral:
        left_scope.outer = outer
    right, right_scope = bind_relation(node.right, env, right_outer)
    if node.lateral:
        right_scope = env.make_scope(right.output, outer, right_scope.hidden)
        _refuse_random(left, right, node, env)
        refuse_outer_below_joins(right, node, env)
        refuse_correlation(right, node, env, united=True)
    if node.left is None:
        return right, right_scope
    return joins.join(node, (left, left_scope), (right, right_scope), env, outer)


def _refuse_random(left: Plan, right: Plan, node: q.Joined, env: Environment) -> None:
    """A lateral subquery that is random must not run for several rows of the other side."""
    if has_one_row(left):
        return
    if any(is_volatile(e) for n in right.walk() for e in n.expressions):
        raise env.make_error_at(
            "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.NON_DETERMINISTIC_LATERAL_SUBQUERIES",
            "Non-deterministic lateral subqueries are not supported when joining with outer relations that produce "
            "more than one row.",
            joins.find_keyword(node, env),
            node,
        )


def _bind_pivot(node: q.Pivoted | q.Unpivoted, env: Environment, outer: Scope | None) -> From:
    plan, scope = bind_from(node.relation, env, outer)
    return _bind_alias(pivot(node, plan, scope, env), node.alias, node, env, outer)


def _refuse_unnest(node: q.Unnest, env: Environment, outer: Scope | None) -> From:
    raise env.make_unknown("UNNEST", node)


_BINDERS: dict[type, Callable[[Any, Environment, Scope | None], From]] = {
    q.Table: _bind_table,
    q.Subquery: _bind_subquery,
    q.Grouped: _bind_group,
    q.Values: _bind_values,
    q.TableFunction: _bind_function,
    q.LateralView: _bind_lateral_view,
    q.Joined: _bind_join,
    q.Pivoted: _bind_pivot,
    q.Unpivoted: _bind_pivot,
    q.Unnest: _refuse_unnest,
}
