"""UNION, INTERSECT and EXCEPT: common types, names and nullability of their columns.

Source: `WidenSetOperationTypes`, `Union.output` (`StructType.unionLikeMerge`), `Intersect.output`, `Except.output`.
"""

from __future__ import annotations

from collections.abc import Sequence

from planproof_engine import types as dt
from planproof_engine.analysis.expressions import Environment
from planproof_engine.analysis.refusals.orderable import refuse_rows
from planproof_engine.expr import Alias, Column, Expr, fresh_id
from planproof_engine.functions.bind import cast
from planproof_engine.ground import evolve
from planproof_engine.logical.nodes import Distinct, Plan, Project, SetOperation
from planproof_engine.sql import nodes as q
from planproof_engine.types.coercion import find_wider, merge_union_types


def build_set_operation(kind: str, left: Plan, right: Plan, keeps_all: bool, env: Environment, node: q.Node) -> Plan:
    """The set operation over both sides cast to common types."""
    if len(left.output) != len(right.output):
        text = (
            f"{kind.upper()} can only be performed on inputs with the same number of columns, but the first input has "
            f"{len(left.output)} columns and the second input has {len(right.output)} columns."
        )
        raise env.make_error("NUM_COLUMNS_MISMATCH", text, node)
    pairs = list(zip(left.output, right.output))
    # Where the types of some column differ, the rule casts all columns, so that equal ones may get looser nested flags.
    differ = any(not dt.same_type(a.type, b.type, env.conf.case_sensitive) for a, b in pairs)
    targets = [_find_target(a, b, kind, i, env, node) if differ else None for i, (a, b) in enumerate(pairs)]
    plan = combine(kind, cast_columns(left, targets, env), cast_columns(right, targets, env), keeps_all)
    if kind != "union" or not keeps_all:
        refuse_rows(plan.output, node, env)
    return plan


def _find_target(left: Column, right: Column, kind: str, at: int, env: Environment, node: q.Node) -> dt.DataType | None:
    found = find_wider(left.type, right.type, env.conf)
    # In a union the names of struct fields may differ. Such types need no cast.
    if found is None and kind == "union" and merge_union_types(left.type, right.type) is not None:
        return None
    if found is None:
        text = (
            f"{kind.upper()} can only be performed on tables with compatible column types. The column {at + 1} "
            f"(`{left.name}`) of "
            f'the second table is "{right.type.sql}" type which is not compatible with "{left.type.sql}" at the same '
            "column of the first table."
        )
        raise env.make_error("INCOMPATIBLE_COLUMN_TYPE", text, node)
    return found


def cast_columns(plan: Plan, targets: Sequence[dt.DataType | None], env: Environment) -> Plan:
    """The plan under a projection that casts its columns; the plan itself where nothing changes."""
    if all(t is None or c.type == t for c, t in zip(plan.output, targets)):
        return plan
    items: list[Expr] = []
    for column, target in zip(plan.output, targets):
        if target is None or column.type == target:
            items.append(column)
        else:
            items.append(Alias(cast(column, target, env.conf), column.name, fresh_id(), explicit=False))
    return Project(tuple(items), plan)


def combine(kind: str, left: Plan, right: Plan, keeps_all: bool) -> Plan:
    """The operation itself. A union keeps the first input's names and relations, and merges the flags of both."""
    pairs = list(zip(left.output, right.output))
    if kind == "union":
        output = _union_output(pairs)
        plan = SetOperation(kind, (left, right), True, output)
        return plan if keeps_all else Distinct(plan)
    if kind == "intersect":
        output = tuple(_intersect_columns(a, b) for a, b in pairs)
        return SetOperation(kind, (left, right), keeps_all, output)
    return SetOperation(kind, (left, right), keeps_all, left.output)


def _union_output(pairs: list[tuple[Column, Column]]) -> tuple[Column, ...]:
    """The columns of a union. A column that both inputs give out twice is one column in the union too.

    Spark computes a repeated column of the first input anew, so that it has no relation.
    """
    ids: dict[tuple[int, int], int] = {}
    seen: set[int] = set()
    output = []
    for a, b in pairs:
        column = union_column(a, b)
        column = evolve(column, id=ids.setdefault((a.id, b.id), column.id))
        output.append(evolve(column, qualifier=()) if a.id in seen else column)
        seen.add(a.id)
    return tuple(output)


def union_column(a: Column, b: Column) -> Column:
    """The column that a union makes of one column of each side."""
    data_type = merge_union_types(a.type, b.type) or a.type
    known = "both sides of the union" if a.evidence and b.evidence else None
    nullable = a.nullable or b.nullable
    return evolve(a, id=fresh_id(), type=data_type, nullable=nullable, known=known if nullable else None)


def _intersect_columns(a: Column, b: Column) -> Column:
    """A row of an intersection is in both inputs, so either side's evidence holds for it."""
    known = a.evidence or b.evidence
    nullable = a.nullable and b.nullable
    return evolve(a, nullable=nullable, known=known if nullable else None)
