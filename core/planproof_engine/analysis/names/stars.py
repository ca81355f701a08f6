"""`*`, `t.*`, `s.*` over a struct, and `* EXCEPT (...)`. Source: `UnresolvedStar`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from planproof_engine import types as dt
from planproof_engine.analysis.expressions import Context, is_position, make_ambiguous_error
from planproof_engine.analysis.expressions.binding import call, is_of_files, make_unresolved_error
from planproof_engine.expr import UNNUMBERED, Alias, Expr, GetField, Literal, Outer, column_of, drop_alias, fresh_id
from planproof_engine.ground import AnalysisError, Unknown, evolve
from planproof_engine.sql import nodes as q
from planproof_engine.sql.names import drop_parentheses, name_parts


def expand(star: q.Node, ctx: Context) -> list[Expr]:
    """The columns that a star stands for, in order; struct fields become aliases of their names."""
    star = drop_parentheses(star)
    pattern = _find_pattern(star) if ctx.conf.regex_column_names else None
    if pattern is not None:
        return _find_matching(star, pattern, ctx)
    assert isinstance(star, q.Star)
    found = (
        _find_qualified([i.text for i in star.qualifier], star, ctx)
        if star.qualifier
        else list[Expr](ctx.scope.columns)
    )
    ctx.env.growth.add(0, len(found))
    return drop_excluded(found, [name_parts(e) for e in star.except_], star, ctx) if star.except_ else found


def expand_within(star: q.Node, ctx: Context) -> list[Expr]:
    """The same inside an expression, which is printed with the name that Spark gives to a struct's part before it
    lists the fields of that."""
    return [_name_parts_of(item) for item in expand(star, ctx)]


def _name_parts_of(item: Expr) -> Expr:
    if not (isinstance(item, Alias) and isinstance(item.child, GetField) and isinstance(item.child.child, GetField)):
        return item
    struct = item.child.child
    return evolve(item, child=evolve(item.child, child=Alias(struct, struct.name, UNNUMBERED, explicit=False)))


NO_STARS = (
    *("FROM", "JOIN", "LATERAL VIEW", "PIVOT", "VALUES"),
    *("HAVING", "ORDER BY", "SORT BY", "CLUSTER BY", "DISTRIBUTE BY"),
)
"""The clauses in which no rule expands a star."""


def refuse_star(star: q.Node, ctx: Context) -> None:
    """Refuses a star in a clause that takes none, and where only newer versions of Spark take one."""
    if ctx.clause in NO_STARS or ctx.lacks("stars outside of a SELECT list"):
        by_rule = False if ctx.clause in NO_STARS else None
        raise ctx.env.make_error("INVALID_USAGE_OF_STAR_OR_REGEX", "Invalid usage of '*' here.", star, by_rule)


def expand_argument(star: q.Node, ctx: Context) -> list[Expr]:
    """The arguments that a star stands for; some versions of Spark take none outside of a SELECT list."""
    if ctx.clause == "WHERE" or ctx.clause in NO_STARS:
        refuse_star(star, ctx)
    return expand_within(star, ctx)


def refuse_named_star(node: q.Node, ctx: Context) -> None:
    """Refuses `* AS x`. Spark parses it, and refuses it before it looks at the items beside it."""
    if isinstance(node, (q.Alias, q.Aliases)) and isinstance(drop_parentheses(node.operand), q.Star):
        text = "Invalid usage of '*' in expression `alias`: a star takes no name."
        raise ctx.env.make_error("INVALID_USAGE_OF_STAR_OR_REGEX", text, node)


def refuse_counted_star(node: q.Block | q.PipeSelect, ctx: Context) -> None:
    """What a position counts, a star would shift; Spark looks for one within expressions, too."""
    group = node.group
    members = [m for m in group.keys if is_position(m)] if group is not None and group.with_kind is None else []
    if members and ctx.conf.group_by_ordinal and any(_holds_star(i, ctx) for i in node.items):
        text = "Star (*) is not allowed in a select list when GROUP BY an ordinal position is used."
        raise ctx.env.make_error("STAR_GROUP_BY_POS", text, members[0])


def _holds_star(node: q.Node, ctx: Context) -> bool:
    if isinstance(node, q.Call) and str(node.name).lower() == "count" and [type(a) for a in node.arguments] == [q.Star]:
        return bool(node.distinct)  # `count(*)` is `count(1)` by then.
    return is_star(node, ctx) or (not isinstance(node, q.Query) and any(_holds_star(c, ctx) for c in node.children))


def is_star(node: q.Node, ctx: Context) -> bool:
    """A star, or under `spark.sql.parser.quotedRegexColumnNames` a column whose quoted name is a pattern."""
    node = drop_parentheses(node)
    if isinstance(node, q.Star):
        return True
    return ctx.conf.regex_column_names and _find_pattern(node) is not None


def _find_pattern(node: q.Node) -> str | None:
    if not isinstance(node, q.Column) or not node.parts[-1].quoted:
        return None
    text = node.parts[-1].text
    return text if re.search(r"[^\w ]", text) else None


def _find_matching(node: q.Node, pattern: str, ctx: Context) -> list[Expr]:
    """The columns whose whole name matches the pattern. It is Java's; most patterns mean the same in Python."""
    try:
        compiled = re.compile(pattern, 0 if ctx.conf.case_sensitive else re.IGNORECASE)
    except (re.error, OverflowError):
        raise Unknown(f"the pattern {pattern}") from None
    table = name_parts(node)[:-1]
    columns = ctx.scope.find_qualified(table) if table else ctx.scope.columns
    if _may_backtrack(pattern) or any(len(c.name) > _LONG for c in columns):
        raise Unknown(f"what the pattern {pattern} matches")
    return [c for c in columns if compiled.fullmatch(c.name)]


_LONG = 255


def _may_backtrack(pattern: str) -> bool:
    """Whether a name could be tried for hours: no budget ends a match in a thread of its own."""
    many = len(re.findall(r"[*+{]", pattern)) > 3 or pattern.count("?") > 8
    return many or re.search(r"\)[*+{]", pattern) is not None


def _find_qualified(parts: list[str], star: q.Node, ctx: Context) -> list[Expr]:
    if columns := ctx.scope.find_qualified(parts):
        return list(columns)
    outer = ctx.scope.outer
    while outer is not None:
        correlated = outer.find_qualified(parts)
        if correlated and not outer.filters:  # A star of the query around is one of its SELECT list.
            return [Alias(Outer(c), c.name, fresh_id(), explicit=False) for c in correlated]
        outer = outer.outer
    found = ctx.env.fields.resolve(parts, ctx.scope, ctx.env.origin(star))
    if found is not None and found[0] in ctx.time_windows.values():
        found = None  # A star is expanded before `TimeWindowing` makes the column.
    if found is not None and isinstance(found[0].type, dt.Struct):
        return _list_fields(found[0], found[0].type)
    if found is not None:
        said = f"Can only star expand struct data types. Attribute: `{'.'.join(parts)}`."
        raise ctx.env.make_error("_LEGACY_ERROR_TEMP_1050", said, star)
    if is_of_files(parts, ctx):
        raise make_unresolved_error(tuple(parts), ctx, star)
    names = ", ".join(c.name for c in ctx.scope.columns)
    text = f"Cannot resolve {'.'.join(parts)}.* given input columns [{names}]."
    raise ctx.env.make_error("CANNOT_RESOLVE_STAR_EXPAND", text, star)


def _list_fields(struct: Expr, data_type: dt.Struct) -> list[Expr]:
    return [
        Alias(GetField(struct, at, f.type, struct.nullable or f.nullable), f.name, fresh_id())
        for at, f in enumerate(data_type.fields)
    ]


def drop_excluded(found: list[Expr], excluded: Sequence[tuple[str, ...]], star: q.Node, ctx: Context) -> list[Expr]:
    """Drops whole columns, and fields inside struct columns (`EXCEPT (s.a)`)."""
    shown = ctx.over([column_of(i) for i in found])
    dropped: dict[int, dict[str, list[tuple[str, ...]]]] = {}
    for parts in excluded:
        columns, rest = shown.scope.find_matches(parts)
        if not columns:
            error = make_unresolved_error(parts, shown, star)
            if isinstance(error, AnalysisError):
                error.by_rule = True
            raise error
        if len(columns) > 1:
            raise make_ambiguous_error(parts, columns, ctx.env.origin(star))
        spelt = parts[len(parts) - len(rest) - 1]
        dropped.setdefault(columns[0].id, {}).setdefault(spelt, []).append(rest)
    kept: list[Expr] = []
    for item in found:
        spellings = dropped.get(column_of(item).id)
        if spellings is None:
            kept.append(item)
            continue
        paths = _choose_spelling(spellings, star, ctx)
        if not _is_whole(paths, star, ctx):
            inner = drop_alias(item)
            kept.append(Alias(_prune(inner, paths, star, ctx), column_of(item).name, fresh_id(), explicit=False))
    return kept


def _choose_spelling(spellings: dict[str, list[tuple[str, ...]]], star: q.Node, ctx: Context) -> list[tuple[str, ...]]:
    """What is dropped of a column that is listed as `a` and as `A`: they are two attributes to `UnresolvedStarExcept`
    (its `groupBy`), and one of them, by a hash, to its `AttributeMap`. `EXCEPT (a, A)` drops `a`."""
    first = next(iter(spellings.values()))
    if len({tuple(tuple(p.lower() for p in path) for path in paths) for paths in spellings.values()}) > 1:
        raise ctx.env.make_unknown("fields that EXCEPT drops of a column in two spellings", star)
    return first


def _is_whole(paths: list[tuple[str, ...]], star: q.Node, ctx: Context) -> bool:
    """Whether all of a column or field is dropped; it cannot be dropped twice, or wholly and in part."""
    if () not in paths:
        return False
    if len(paths) > 1:
        raise ctx.env.make_error("EXCEPT_OVERLAPPING_COLUMNS", "Columns in an EXCEPT list must be distinct.", star)
    return True


def _prune(struct: Expr, paths: list[tuple[str, ...]], star: q.Node, ctx: Context) -> Expr:
    """The struct built anew from the fields that are left."""
    data_type = struct.type
    if not isinstance(data_type, dt.Struct):
        text = f'Can\'t extract a field from "{data_type.sql}".'
        raise ctx.env.make_error("INVALID_EXTRACT_BASE_FIELD_TYPE", text, star)
    by_field: dict[int, list[tuple[str, ...]]] = {}
    for name, *rest in paths:
        by_field.setdefault(ctx.env.fields.ordinal(data_type, name, ctx.env.origin(star)), []).append(tuple(rest))
    members: list[Expr] = []
    for at, field in enumerate(data_type.fields):
        value: Expr = GetField(struct, at, field.type, struct.nullable or field.nullable)
        value = Alias(value, field.name, fresh_id())
        if at in by_field:
            if _is_whole(by_field[at], star, ctx):
                continue
            value = Alias(_prune(value, by_field[at], star, ctx), field.name, fresh_id())
        members += [Literal(field.name, dt.STRING, field.name), value]
    return call("named_struct", members, ctx, star)
