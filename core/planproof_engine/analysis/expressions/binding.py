"""Binding an expression: from a node of the SQL tree, by its class, to a typed expression.

Binders call each other (a call binds its arguments). They find each other in one table, which `add_binders` fills.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from planproof_engine import types as dt
from planproof_engine.analysis.context import Context, Environment
from planproof_engine.analysis.names.scope import METADATA
from planproof_engine.analysis.refusals.checks import is_correlated
from planproof_engine.expr import UNPRINTED, Alias, Call, Expr, Mismatch, fresh_id
from planproof_engine.functions.bind import apply, cast_unless_equal, check_cast
from planproof_engine.functions.families.constructors import given_name
from planproof_engine.ground import AnalysisError, Unknown, evolve
from planproof_engine.sql import nodes as q
from planproof_engine.sql.names import drop_parentheses, name_parts

Binder = Callable[[Any, Context], Expr]

_BINDERS: dict[type, Binder] = {}
_NO_VALUES = {
    q.Star: ("INVALID_USAGE_OF_STAR_OR_REGEX", "Invalid usage of '*' here: it is no single value."),
    q.Lambda: ("INTERNAL_ERROR", "A lambda stands only among the arguments of a function."),
}
"""Nodes that the call or list around them binds. Spark refuses them anywhere else."""


def add_binders(table: Mapping[type, Binder]) -> None:
    """Adds the binders of a family of nodes."""
    _BINDERS.update(table)


class GeneratorMismatch(AnalysisError):
    """The arguments of a generator's call do not fit.

    Inside an expression Spark refuses the generator because of its place, before it looks at types: `bind` raises that
    error instead.
    """

    def __init__(self, error: AnalysisError, call: q.Call) -> None:
        super().__init__(error.condition, error.message, error.origin)
        self.call = call


def bind(node: q.Node, ctx: Context) -> Expr:
    """The typed expression that `node` means. Raises `AnalysisError` where Spark rejects it, else `Unknown`.

    An error that was raised without a place gets the place of the innermost expression around it.
    """
    binder = _BINDERS.get(type(node))
    if type(node) in _NO_VALUES:
        raise ctx.env.make_error(*_NO_VALUES[type(node)], node)
    if binder is None:
        raise ctx.env.make_unknown(f"the expression {type(node).__name__}", node)
    try:
        return binder(node, ctx)
    except (AnalysisError, Unknown) as error:
        if isinstance(error, GeneratorMismatch) and ctx.clause != "FROM":
            _refuse_place(error, node, ctx)
        if (misplaced := find_misplaced_subquery(error, node, ctx)) is not None:
            raise misplaced from None
        if error.origin is not None:
            raise
        raise error.at(ctx.env.error_origin(node)) from None
    except Mismatch as mismatch:
        raise ctx.env.make_mismatch_error(mismatch, node) from None


_WITHOUT_ITEMS = ("WHERE", "HAVING", "ORDER BY", "SORT BY", "CLUSTER BY", "DISTRIBUTE BY", "JOIN")


def _refuse_place(error: GeneratorMismatch, node: q.Node, ctx: Context) -> None:
    """Refuses the generator because of its place, if that is wrong (`ExtractGenerator`)."""
    place = "OUTSIDE_SELECT" if ctx.clause in _WITHOUT_ITEMS else "NESTED_IN_EXPRESSIONS"
    if place == "OUTSIDE_SELECT" or (error.call is not node and not isinstance(node, q.Paren)):
        text = "A generator stands in the SELECT list, and not inside of an expression."
        raise ctx.env.make_error(f"UNSUPPORTED_GENERATOR.{place}", text, node) from None


_SORTS = ("ORDER BY", "SORT BY", "CLUSTER BY", "DISTRIBUTE BY")
_WITHOUT_PREDICATES = ("HAVING", "LATERAL VIEW", "FROM", *_SORTS)
_WITHOUT_CORRELATED = ("JOIN", *_WITHOUT_PREDICATES)


_OF_CORRELATION = tuple(
    f"UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.{reason}"
    for reason in (
        "ACCESSING_OUTER_QUERY_COLUMN_IS_NOT_ALLOWED",
        "CORRELATED_COLUMN_IS_NOT_ALLOWED_IN_PREDICATE",
        "CORRELATED_REFERENCE",
    )
)
"""How a subquery uses the query around it, which `CheckAnalysis` looks at after the subquery's place."""


def find_misplaced_subquery(error: Exception, node: q.Node, ctx: Context) -> AnalysisError | None:
    """The error for a subquery that may not stand in a plan of this kind, where one stands before what has a wrong
    type, or inside of it, or one uses the query around it otherwise than it may: `CheckAnalysis` looks at expressions
    from the left and from the inside, and at a subquery's place before its use of the query around.

    A HAVING is none of the plans that may have one as long as its types are wrong (`UnresolvedHaving`).
    Source: `CheckAnalysis.checkSubqueryExpression`.
    """
    if not isinstance(error, AnalysisError) or ctx.clause not in (*_WITHOUT_CORRELATED, "GENERATOR"):
        return None
    by_use = error.condition in _OF_CORRELATION and ctx.clause != "HAVING" and not ctx.env.probing
    if ctx.clause == "GENERATOR" and not by_use:
        return None
    if not (by_use or error.condition.startswith("DATATYPE_MISMATCH")):
        return None
    start, stop = (error.origin.start, error.origin.stop) if error.origin is not None else (None, None)
    for found in _list_subqueries(node):
        around = by_use and start is not None and found.span[0] <= start
        if stop is not None and found.span[1] > stop and not around:
            continue
        reason = _why_misplaced(found, ctx)
        if reason is not None:
            text = f"A subquery like this one cannot stand in {ctx.clause}."
            return ctx.env.make_error(f"UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.{reason}", text, found)
    return None


def _list_subqueries(node: q.Node) -> Iterator[q.Node]:
    """The subqueries of an expression, as Spark comes to them; none inside of another one."""
    members = node.operand if isinstance(node, q.In) and node.query is not None else node
    if not isinstance(node, (q.Query, q.Exists)):
        for child in (members,) if members is not node else node.children:
            yield from _list_subqueries(child)
    if isinstance(node, (q.Exists, q.Subquery)) or (isinstance(node, q.In) and node.query is not None):
        yield node


def _why_misplaced(node: q.Node, ctx: Context) -> str | None:
    if not isinstance(node, q.Subquery):
        return "UNSUPPORTED_IN_EXISTS_SUBQUERY" if ctx.clause in (*_WITHOUT_PREDICATES, "GENERATOR") else None
    try:
        correlated = is_correlated(bind(node, evolve(ctx, env=evolve(ctx.env, probing=True))))
    except AnalysisError as error:
        correlated = error.condition in _OF_CORRELATION
    except Unknown:
        return None
    return "UNSUPPORTED_CORRELATED_SCALAR_SUBQUERY" if correlated else None


def bind_item(node: q.Node, ctx: Context) -> Expr:
    """An expression that may carry an alias: in `struct(a AS x)`, in a row constructor, in SELECT."""
    if isinstance(node, q.Alias):
        return Alias(bind(node.operand, ctx), node.alias.text, fresh_id())
    return bind(node, ctx)


def bind_member(node: q.Node, ctx: Context, place: int = 0) -> Expr:
    """A value of a struct. What a name means that is no column, a function without parentheses or a session variable,
    names its field as it is written (`CreateStruct.create` puts a `NamePlaceholder`). What has no name is named by its
    place, where it is given: that among what is written, before stars are expanded."""
    found, parts = bind_item(node, ctx), name_parts(drop_parentheses(node))
    if not (parts or place) or given_name(found) is not None:
        return found
    return Alias(found, parts[-1] if parts else f"col{place}", UNPRINTED, explicit=False)


def call(name: str, args: Sequence[Expr], ctx: Context, node: q.Node, shown: str | None = None) -> Call:
    """The function called `name` on bound arguments. Raises `Unknown` for one that planproof does not know."""
    function = ctx.env.registry.find(name)
    if function is None:
        raise ctx.env.make_unknown(f"the function {name}", node)
    try:
        return apply(function, args, ctx.conf, shown or (name if function.alias else None))
    except Mismatch as mismatch:
        raise ctx.env.make_mismatch_error(mismatch, node) from None


def cast_implicitly(value: Expr, target: dt.DataType, env: Environment, node: q.Node) -> Expr:
    """The value as one of the type. Raises `AnalysisError` where Spark casts no such value."""
    refused = check_cast(value.type, target, "ansi" if env.conf.ansi else "legacy")
    if refused is not None:
        raise env.make_mismatch_error(refused, node)
    return cast_unless_equal(value, target, env.conf)


def is_of_files(parts: Sequence[str], ctx: Context) -> bool:
    """Whether a name may mean the struct that file sources offer beside their columns.

    A catalog does not tell which tables are files.
    """
    return bool(ctx.scope.columns) and ctx.scope.suggests and any(ctx.key(part) == METADATA for part in parts)


def make_unresolved_error(parts: tuple[str, ...], ctx: Context, node: q.Node) -> AnalysisError | Unknown:
    """The error for a name that nothing has, with Spark's suggestions; `Unknown` for a hidden column of files."""
    if is_of_files(parts, ctx):
        return ctx.env.make_unknown("the hidden column _metadata of a table's files", node)
    name = ".".join(f"`{p}`" for p in parts)
    candidates = ctx.scope.list_candidates(parts)
    text = f"A column, variable, or function parameter with name {name} cannot be resolved."
    if not candidates:
        return ctx.env.make_error("UNRESOLVED_COLUMN.WITHOUT_SUGGESTION", text, node)
    said = f"{text} Did you mean one of the following? [{', '.join(candidates)}]."
    return ctx.env.make_error("UNRESOLVED_COLUMN.WITH_SUGGESTION", said, node)
