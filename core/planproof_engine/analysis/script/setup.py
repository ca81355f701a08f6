"""What a script leaves behind: settings, namespace, variables, views and tables, without running anything.

Statements that change neither schemas nor names are passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from planproof_engine import types as dt
from planproof_engine.analysis.blocks.queries import bind_query
from planproof_engine.analysis.expressions import Context, Environment, Scope, bind
from planproof_engine.analysis.expressions.constants import find_row, make_unknown_variable, make_variable, text_of
from planproof_engine.analysis.refusals.files import count_sources
from planproof_engine.analysis.script import tables
from planproof_engine.analysis.script.immediate import execute
from planproof_engine.analysis.script.routines import declare
from planproof_engine.analysis.script.views import View, find_broken
from planproof_engine.catalog import UNKNOWN, Catalog, Relation, join_name, split_name
from planproof_engine.expr import Expr, Literal
from planproof_engine.expr.pretty import refuse_nameless
from planproof_engine.functions.registry import Registry, functions_of
from planproof_engine.ground import AnalysisError, Conf, Unknown, evolve
from planproof_engine.logical.nodes import Plan, Scan
from planproof_engine.schema import LogicalField, LogicalSchema
from planproof_engine.sql import commands as c
from planproof_engine.sql import nodes as q
from planproof_engine.sql.edits import substitute
from planproof_engine.sql.names import name_parts
from planproof_engine.sql.parse import parse_statement
from planproof_engine.types.ddl import from_json


def apply(
    setup: Iterable[str], relations: Mapping[str, tables.Columns], conf: Conf, registry: Registry | None = None
) -> Environment:
    """The environment after the statements of `setup`.

    `relations` is what a live catalog reports after them: `{name: [(column, type, nullable), ...]}`. It has the last
    word about names, types and top-level flags. Nested flags come from the statements where a type is a text,
    which does not carry them, and from the type where it is Spark's JSON form.
    """
    env = Environment("", Catalog(), conf, registry or functions_of(conf), bind_query, settings={})
    statements = list(setup)
    # The report on a relation that was made twice, or under another name, is about the second one.
    again = any(word in text.lower() for text in statements for word in ("drop", "rename"))
    known = {} if again else {name.lower(): columns for name, columns in relations.items()}
    for text in statements:
        env = _run(text, env, known)
    for name, columns in relations.items():
        _report(name, columns, env)
    changed = again or any(word in text.lower() for text in statements for word in ("alter", "replace"))
    return evolve(env, broken=find_broken(env.views.values(), env)) if changed and env.views else env


def _run(statement: str, env: Environment, known: tables.Known) -> Environment:
    text = substitute(statement, env.settings)
    try:
        tree = parse_statement(text, env.conf)
        binder = _STATEMENTS.get(type(tree))
        return binder(tree, evolve(env, text=text), known) if binder is not None else env
    except AnalysisError:
        return env  # Spark refuses it: all stays as it is.
    except Unknown:
        return tables.forget_made(text, env)  # `relations` says what it made; else a query that uses that is `Unknown`.


def _report(name: str, columns: tables.Columns, env: Environment) -> None:
    """Takes over what the live catalog reports of a relation."""
    stood = env.catalog.find(split_name(name))
    kind = stood.kind if stood is not None and stood.kind != UNKNOWN else "table"
    inferred = {f.name: f.type for f in stood.schema} if stood is not None else {}
    try:
        typed = [(str(n), _take_flags(t, inferred.get(n)), bool(flag)) for n, t, flag in columns]
    except dt.TypeSyntaxError as error:
        raise Unknown(f"the schema of {name}: {error}") from error
    env.catalog.add(stood.name if stood is not None else tables.full_name(split_name(name), env), typed, kind=kind)


def _take_flags(form: Any, inferred: dt.DataType | None) -> dt.DataType:
    """The reported type, with the nested flags of the inferred one where they are the same type.

    Spark's JSON form of a nested type, an object, says its flags itself.
    """
    if isinstance(form, Mapping):
        return from_json(form)
    reported = dt.parse_type(str(form))
    if inferred is not None and dt.as_nullable(inferred) == dt.as_nullable(reported):
        return inferred
    return reported


def _set_conf(node: c.SetConf, env: Environment, known: tables.Known) -> Environment:
    if not node.key or node.value is None:
        return env
    settings = {**(env.settings or {}), node.key: node.value}
    return evolve(env, conf=env.conf.with_setting(node.key, node.value), settings=settings)


def _reset_conf(node: c.ResetConf, env: Environment, known: tables.Known) -> Environment:
    if node.key is None:
        return evolve(env, settings={}, conf=evolve(Conf.of(env.conf.spark), databricks=env.conf.databricks))
    settings = {k: v for k, v in (env.settings or {}).items() if k != node.key}
    return evolve(env, settings=settings, conf=env.conf.reset(node.key))


def _set_time_zone(node: c.SetTimeZone, env: Environment, known: tables.Known) -> Environment:
    if isinstance(node.zone, q.Literal):
        return evolve(env, conf=env.conf.with_setting("spark.sql.session.timeZone", node.zone.text))
    raise Unknown("SET TIME ZONE by an interval")


def _use(node: c.Use, env: Environment, known: tables.Known) -> Environment:
    if not node.catalog:
        env.catalog.namespace = tuple(p.lower() for p in tables.resolve_name(node.name, env))
    return env


def _declare(node: c.DeclareVariable, env: Environment, known: tables.Known) -> Environment:
    ctx = Context(env, Scope(()))
    value = bind(node.default, ctx) if node.default is not None else Literal(None, dt.VOID, "NULL")
    target = node.type.data_type if node.type is not None else value.type
    variables = dict(env.variables)
    for name in node.names:
        parts = name_parts(name)
        if not parts:
            raise Unknown("a variable whose name only a run tells")
        spelled = parts[-1].lower()
        if spelled in env.variables and not node.replace:
            return env  # Spark refuses it.
        variables[spelled] = make_variable(spelled, value, target, ctx)
    return evolve(env, variables=variables)


def _set_variable(node: c.SetVariable, env: Environment, known: tables.Known) -> Environment:
    for assignment in node.assignments:
        env = _assign([assignment.left], env, partial(_bind_one, assignment.right))
    query = node.query
    return env if query is None else _assign(node.names, env, lambda env: find_row(bind_query(query, env, None)))


def _bind_one(value: q.Node, env: Environment) -> tuple[Expr, ...]:
    return (bind(value, Context(env, Scope(()))),)


def _execute(node: c.ExecuteImmediate, env: Environment, known: tables.Known) -> Environment:
    if not (node.into or node.arguments):
        return _run(text_of(node.text, Context(env, Scope(())), "EXECUTE IMMEDIATE of a computed text"), env, known)

    def values(env: Environment) -> tuple[Expr, ...] | None:
        inner, tree = execute(node, env)
        return find_row(bind_query(tree, inner, None))

    return _assign(node.into, env, values)


Values = Callable[[Environment], "tuple[Expr, ...] | None"]


def _assign(targets: Sequence[q.Node], env: Environment, values: Values) -> Environment:
    """The environment with these variables set. Where only a run can tell a value, the variable's value is unknown."""
    keys = [key for key in (name_parts(target)[-1].lower() for target in targets) if key in env.variables]
    try:
        found = values(env) if keys else None
    except (AnalysisError, Unknown):
        found = None
    ctx = Context(env, Scope(()))
    variables = dict(env.variables)
    for at, key in enumerate(keys):
        old = env.variables[key]
        variables[key] = (
            make_variable(key, found[at], old.type, ctx)
            if found and at < len(found)
            else make_unknown_variable(key, old)
        )
    return evolve(env, variables=variables)


def _create_view(node: c.CreateView, env: Environment, known: tables.Known) -> Environment:
    parts = tables.resolve_name(node.name, env)
    names = [i.text for i in node.columns]
    if node.global_:
        parts = ("global_temp", *parts[-1:])
    kind = "temporary view" if node.temporary and not node.global_ else "view"
    name = _view_name(parts, kind, env)
    if _is_kept(name, node, env):
        return env
    try:
        plan = bind_query(node.query, env, None)
        refuse_nameless(plan.output)
    except (AnalysisError, Unknown) as error:
        reported = known.get(parts[-1].lower())
        if reported is not None:
            tables.add(name, reported, kind, env)
        elif isinstance(error, Unknown):
            return tables.forget(name, env)
        return env
    if names and len(names) != len(plan.output):
        return env
    reads = frozenset(p.relation for p in plan.walk_everywhere() if isinstance(p, Scan) and not p.recursive)
    lasting = kind == "view" and not node.global_ and parts[-1].lower() not in known
    if lasting and any(env.is_of_kind(relation, "temporary view") for relation in reads):
        return env  # Spark refuses a view that outlives what it reads.
    reads = reads.union(*(env.views[r].reads for r in reads if r in env.views))
    if name in reads:
        return env  # Spark refuses a view over itself.
    _register(name, plan, names, kind, env)
    columns = tuple((c.name, c.type) for c in plan.output)
    # `spark.sql.legacy.viewSchemaCompensation` is on unless set.
    binding = node.schema_binding or ("BINDING" if "temporary" in kind else "COMPENSATION")
    sources = count_sources(plan, env)
    view = View(name, node.query, env.text, columns, env.catalog.namespace, binding, reads, sources)
    return evolve(env, views={**env.views, name: view})


def _is_kept(name: str, node: c.CreateView, env: Environment) -> bool:
    """Whether Spark refuses the statement or passes over it because of what stands under that name."""
    if node.temporary and node.exists:
        return True
    found = env.catalog.find(split_name(name)) if env.catalog.holds(name) else None
    return found is not None and (not node.replace or found.kind == "table")


def _alter_view(node: c.AlterView, env: Environment, known: tables.Known) -> Environment:
    found = env.catalog.find(tables.resolve_name(node.name, env))
    if found is None or found.kind == "table":
        return env
    view = env.views.get(found.name)
    if node.query is None:
        bound = evolve(view, binding=node.schema_binding) if view is not None else None
        return evolve(env, views={**env.views, found.name: bound}) if bound is not None else env
    name = q.Table([q.Identifier(part) for part in found.parts])
    temporary = found.kind == "temporary view"
    return _create_view(c.CreateView(name, node.query, replace=True, temporary=temporary), env, known)


def _create_view_using(node: c.CreateViewUsing, env: Environment, known: tables.Known) -> Environment:
    """A temporary view of files: its columns are those that it declares, or those that are reported."""
    parts = tables.resolve_name(node.name, env)
    kind = "view" if node.global_ else "temporary view"
    declared = [(d.name.text, d.type.data_type.simple, True) for d in node.columns if d.type is not None]
    columns = known.get(parts[-1].lower(), declared)
    if columns:
        tables.add(_view_name(("global_temp", *parts[-1:]) if node.global_ else parts, kind, env), columns, kind, env)
    return env


def _view_name(parts: tuple[str, ...], kind: str, env: Environment) -> str:
    if kind == "temporary view" or parts[0] == "global_temp":
        return join_name(p.lower() for p in parts)
    return tables.full_name(parts, env)


def _register(name: str, plan: Plan, names: list[str], kind: str, env: Environment) -> None:
    fields = tuple(
        LogicalField(name, names[i] if names else f.name, f.type, f.nullable, f.evidence if f.nullable else None)
        for i, f in enumerate(plan.schema)
    )
    env.catalog.put(Relation(name, LogicalSchema(fields), kind))


def _drop(node: c.Drop, env: Environment, known: tables.Known) -> Environment:
    if node.kind in ("TABLE", "VIEW"):
        parts = tables.resolve_name(node.name, env)
        names = (join_name(p.lower() for p in parts), tables.full_name(parts, env))
        return _drop_relations([name for name in names if env.catalog.holds(name)][:1], env)
    if node.kind == "SCHEMA":
        schema = split_name(tables.full_name((*tables.resolve_name(node.name, env), ""), env))[:-1]
        inside = [name for name in env.catalog.names if split_name(name)[:-1] == schema]
        return _drop_relations(inside, env) if node.cascade else env
    if node.kind == "FUNCTION":
        name = ".".join(tables.resolve_name(node.name, env)).lower()
        return evolve(
            env, functions={k: v for k, v in env.functions.items() if k.split(".")[-1] != name.split(".")[-1]}
        )
    if node.kind == "VARIABLE":
        name = tables.resolve_name(node.name, env)[-1].lower()
        return evolve(env, variables={k: v for k, v in env.variables.items() if k != name})
    return env


def _drop_relations(names: Sequence[str], env: Environment) -> Environment:
    for name in names:
        env.catalog.drop(name)
    return evolve(env, views={k: v for k, v in env.views.items() if k not in names})


def _create_function(node: c.CreateFunction, env: Environment, known: tables.Known) -> Environment:
    return evolve(env, functions=declare(node, env.text, env))


_STATEMENTS: dict[type, Callable[[Any, Environment, tables.Known], Environment]] = {
    c.SetConf: _set_conf,
    c.ResetConf: _reset_conf,
    c.SetTimeZone: _set_time_zone,
    c.Use: _use,
    c.DeclareVariable: _declare,
    c.SetVariable: _set_variable,
    c.ExecuteImmediate: _execute,
    c.CreateView: _create_view,
    c.CreateViewUsing: _create_view_using,
    c.AlterView: _alter_view,
    c.CreateTable: tables.create_table,
    c.CreateTableLike: tables.create_like,
    c.ChangeColumns: tables.change_columns,
    c.Rename: tables.rename,
    c.Drop: _drop,
    c.CreateFunction: _create_function,
}
