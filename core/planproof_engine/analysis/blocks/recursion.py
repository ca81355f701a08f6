"""Recursive common table expressions. Source: `ResolveWithCTE`, `UnionLoop`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from planproof_engine import types as dt
from planproof_engine.analysis.blocks.setops import build_set_operation, cast_columns
from planproof_engine.analysis.context import Cte, Environment
from planproof_engine.analysis.expressions import Scope
from planproof_engine.analysis.refusals.checks import WINDOW, Subquery, contents
from planproof_engine.expr import Column, fresh_id
from planproof_engine.ground import evolve
from planproof_engine.logical import nodes as p
from planproof_engine.sql import nodes as q
from planproof_engine.sql.names import name_parts
from planproof_engine.types.coercion import find_wider, merge_union_types

CteBinder = Callable[[q.With, Environment, "Scope | None"], "dict[str, Cte]"]


def bind_recursive_cte(
    cte: q.CTE, name: str, names: list[str], env: Environment, outer: Scope | None, inner_ctes: CteBinder
) -> p.Plan:
    """`anchor UNION ALL step`: the anchor gives names and types.

    Inside the step any column is nullable (before Spark 4.1 only where the anchor's is). Outside, a column is nullable
    where the anchor's or the step's is.
    """
    query = cte.query
    while isinstance(query, q.Subquery) and query.alias is None and not _is_arranged(query):
        query = query.query
    if not isinstance(query, q.SetOperation) or query.kind != "union":
        text = "A recursive definition must be a UNION of an anchor and a recursive step."
        raise env.make_error("INVALID_RECURSIVE_CTE", text, cte)
    if query.distinct and not env.lacks("recursion as it is"):
        text = "UNION in recursive CTE is not supported; use UNION ALL."
        raise env.make_error("UNION_NOT_SUPPORTED_IN_RECURSIVE_CTE", text, cte)
    if query.with_ is not None:
        env = env.with_ctes(inner_ctes(query.with_, env, outer))
    if _is_arranged(query):
        raise env.make_error("INVALID_RECURSIVE_CTE", "A recursive UNION takes no ORDER BY, LIMIT or OFFSET.", cte)
    if refers(query.left, name.lower()):
        raise env.make_error("INVALID_RECURSIVE_CTE", "The anchor of a recursive definition refers to itself.", cte)
    anchor = env.bind_query(query.left, env, outer)
    if names and len(names) != len(anchor.output):
        text = f"{len(names)} names for {len(anchor.output)} columns of `{name}`."
        raise env.make_error("ASSIGNMENT_ARITY_MISMATCH", text, cte)
    loose = not env.conf.before("4.1")
    output = tuple(
        Column(fresh_id(), names[i] if names else c.name, c.type, loose or c.nullable, (name,))
        for i, c in enumerate(anchor.output)
    )
    itself = p.Scan(name, output, recursive=True)
    inner = env.with_ctes({name.lower(): Cte(name, itself)})
    step = env.bind_query(query.right, inner, outer)
    types = [c.type for c in anchor.output]
    if len(step.output) == len(types):
        types = [_merge(t, c.type, cte, env) for t, c in zip(types, step.output)]
        anchor = cast_columns(anchor, _list_differing_types(anchor, types, env), env)
    _check_number(step, itself, cte, env)
    _check_places(step, itself, cte, env)
    if len(step.output) == len(types):
        step = cast_columns(step, _list_differing_types(step, types, env), env)
    elif not env.lacks("recursion as it is"):
        # `CheckAnalysis` says nothing of an UnionLoop, which then stays unresolved.
        text = "The recursive step gives another number of columns."
        raise env.make_error("INTERNAL_ERROR", text, cte, by_rule=False)
    both = build_set_operation("union", anchor, step, True, env, cte)
    made = (evolve(c, id=fresh_id(), type=b.type, nullable=b.nullable) for c, b in zip(output, both.output))
    return p.Recursion(itself, both, tuple(made))


def _is_arranged(query: q.Query) -> bool:
    return any(clause is not None for clause in (query.order, query.limit, query.offset))


def _list_differing_types(plan: p.Plan, types: Sequence[dt.DataType], env: Environment) -> list[dt.DataType | None]:
    """Of each column the type that it is to have; None where it has that type but for nested flags."""
    cased = env.conf.case_sensitive
    return [None if dt.same_type(c.type, t, cased) else t for c, t in zip(plan.output, types)]


def _merge(first: dt.DataType, then: dt.DataType, cte: q.CTE, env: Environment) -> dt.DataType:
    """The type of a column: the anchor's, which the step's may be narrower than. Spark 4.0 casts nothing, but merges
    what differs in digits or units (`StructType.unionLikeMerge`)."""
    if dt.same_type(first, then, env.conf.case_sensitive):
        return first
    strict = env.lacks("recursion as it is")
    found = merge_union_types(first, then) if strict else find_wider(first, then, env.conf)
    if found is not None and (strict or found == first):
        return found
    text = f'Failed to merge incompatible data types "{first.sql}" and "{then.sql}".'
    raise env.make_error("CANNOT_MERGE_INCOMPATIBLE_DATA_TYPE", text, cte)


def refers(query: q.Node, name: str) -> bool:
    """Whether a relation of that name (in lower case) stands in the query where no WITH inside it defines the name."""
    with_ = query.with_ if isinstance(query, q.Query) else None
    for cte in with_.ctes if with_ is not None else ():
        own = cte.alias.name.text.lower() == name
        if not (own and with_ is not None and with_.recursive) and refers(cte.query, name):
            return True
        if own:
            return False
    if isinstance(query, q.Table):
        parts = name_parts(query)
        return bool(parts) and parts[-1].lower() == name
    return any(refers(child, name) for child in query.children if child is not with_)


def _check_number(step: p.Plan, itself: p.Plan, cte: q.CTE, env: Environment) -> None:
    if env.lacks("recursion as it is") and _count_references(step, itself) > 1:
        text = "A recursive step may refer to its own CTE only once."
        raise env.make_error("INVALID_RECURSIVE_REFERENCE.NUMBER", text, cte)


def _count_references(plan: p.Plan, itself: p.Plan) -> int:
    within = (e.plan for e in plan.all_expressions() if isinstance(e, Subquery))
    return sum(n is itself for n in plan.walk()) + sum(n is itself for inner in within for n in inner.walk())


def _check_places(step: p.Plan, itself: p.Plan, cte: q.CTE, env: Environment) -> None:
    """Refuses a step that aggregates the recursive relation, since Spark 4.1 also one that sorts or numbers it, or
    reads it on the side of an outer join that may be filled with nulls."""
    lenient = env.lacks("recursion as it is")
    for node in step.walk():
        below: tuple[p.Plan, ...] = ()
        numbers = isinstance(node, p.Project) and contents(node.expressions) & WINDOW
        if isinstance(node, (p.Aggregate, p.Pivot)) or ((numbers or isinstance(node, p.Ordered)) and not lenient):
            below = node.children
        elif isinstance(node, p.Join):
            sides = {p.LEFT: (node.right,), p.RIGHT: (node.left,), p.FULL: (node.left, node.right)}
            if lenient:  # Of joins without a condition Spark 4.0 knows the comma alone; LATERAL is a subquery.
                sides[p.CROSS] = (node.right,) if node.lateral else sides[p.FULL]
                sides[p.INNER] = (node.right,) if node.lateral else ()
            below = sides.get(node.kind, (node.right,) if node.kind in (p.LEFT_SEMI, p.LEFT_ANTI) else ())
        for inner in (e.plan for root in node.expressions for e in root.walk() if isinstance(e, Subquery)):
            below += (inner,) if lenient else ()
            _check_places(inner, itself, cte, env)
        if any(n is itself for plan in below for n in plan.walk()):
            text = (
                "Recursive references cannot be used on the right side of left outer/semi/anti joins, on the left side "
                "of right outer joins, in full outer joins, in aggregates, and in subquery expressions."
            )
            raise env.make_error("INVALID_RECURSIVE_REFERENCE.PLACE", text, cte)
