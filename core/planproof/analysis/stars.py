"""`*`, `t.*`, `s.*` over a struct, and `* EXCEPT (...)`. Source: `UnresolvedStar`."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from planproof.analysis.context import Context
from planproof.analysis.scope import resolve
from planproof.expr import Alias, Column, Expr, GetField, Outer, fresh_id
from planproof.sql.nodes import name_parts
from planproof.types import Struct


def expand(star: exp.Star, ctx: Context) -> list[Expr]:
    """The columns that a star stands for, in order; struct fields become aliases of their names."""
    qualifier = star.args.get("qualifier")
    found = _qualified([i.args["this"] for i in qualifier], star, ctx) if qualifier else list(ctx.scope.columns)
    excluded = star.args.get("except_")
    if excluded:
        found = _without(found, [name_parts(e) for e in excluded], star, ctx)
    if not found and not qualifier and not excluded and not ctx.scope.columns:
        raise ctx.env.rejected("INVALID_USAGE_OF_STAR_OR_REGEX", "`*` needs a FROM clause.", star)
    return found


def _qualified(parts: list[str], star: exp.Star, ctx: Context) -> list[Expr]:
    columns = ctx.scope.qualified(parts)
    if columns:
        return list(columns)
    outer = ctx.scope.outer
    while outer is not None:
        correlated = outer.qualified(parts)
        if correlated:
            return [Alias(Outer(c), c.name, fresh_id(), explicit=False) for c in correlated]
        outer = outer.outer
    found = resolve(parts, ctx.scope, ctx.conf, ctx.env.registry, ctx.env.origin(star))
    if found is not None and isinstance(found[0].type, Struct):
        return _fields(found[0], found[0].type)
    names = ", ".join(c.name for c in ctx.scope.columns)
    raise ctx.env.rejected(
        "CANNOT_RESOLVE_STAR_EXPAND",
        f"Cannot resolve {'.'.join(parts)}.* given input columns [{names}].",
        star,
    )


def _fields(struct: Expr, data_type: Struct) -> list[Expr]:
    return [
        Alias(GetField(struct, at, f.type, struct.nullable or f.nullable), f.name, fresh_id())
        for at, f in enumerate(data_type.fields)
    ]


def _without(found: list[Expr], excluded: Sequence[tuple[str, ...]], star: exp.Star, ctx: Context) -> list[Expr]:
    """Drops whole columns, and fields inside struct columns (`EXCEPT (s.a)`)."""
    whole: set[int] = set()
    nested: dict[int, list[tuple[str, ...]]] = {}
    for parts in excluded:
        resolved = resolve(parts, ctx.scope, ctx.conf, ctx.env.registry, ctx.env.origin(star))
        if resolved is None:
            from planproof.analysis.expressions import unresolved

            raise unresolved(parts, ctx, star)
        expr, column = resolved
        if isinstance(expr, Column):
            whole.add(column.id)
        else:
            nested.setdefault(column.id, []).append(_path(expr))
    kept: list[Expr] = []
    for item in found:
        at = item.id if isinstance(item, Column | Alias) else None
        if at in whole:
            continue
        if at in nested and isinstance(item, Column):
            raise ctx.env.unknown("EXCEPT of a struct's field", star)
        kept.append(item)
    return kept


def _path(expr: Expr) -> tuple[str, ...]:
    return (*_path(expr.child), expr.name) if isinstance(expr, GetField) else ()
