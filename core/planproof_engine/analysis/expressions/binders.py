"""The binders of expressions: an SQL tree and a scope to a typed expression, in one pass from the leaves up."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import reduce

from planproof_engine import types as dt
from planproof_engine.analysis.blocks.evidence import prove_by_branches
from planproof_engine.analysis.expressions import Context, intervals, literals, subqueries
from planproof_engine.analysis.expressions.arithmetic import bind_binary, negate
from planproof_engine.analysis.expressions.binding import Binder, bind, bind_item, call, make_unresolved_error
from planproof_engine.analysis.expressions.calls import bind_call, bind_members, bind_plain_call
from planproof_engine.analysis.expressions.constants import find_bare_call, resolve_identifier
from planproof_engine.analysis.names.scope import make_ambiguous_error, place_variable
from planproof_engine.analysis.names.stars import expand_within, is_star, refuse_star
from planproof_engine.analysis.refusals.checks import SUBQUERY, WINDOW, content
from planproof_engine.analysis.refusals.earlier import is_checked
from planproof_engine.catalog import split_name
from planproof_engine.expr import nodes as x
from planproof_engine.expr.function import ALWAYS, Many, Signature
from planproof_engine.expr.traits import RAISES
from planproof_engine.functions.bind import (
    apply,
    cast,
    cast_unless_equal,
    check_cast,
    check_target_type,
    make_input_mismatch,
)
from planproof_engine.functions.names import OF_BOOLEANS
from planproof_engine.ground import AnalysisError, Unknown, evolve
from planproof_engine.sql import nodes as q
from planproof_engine.sql.names import drop_parentheses, name_parts
from planproof_engine.types.kinds import ANY_STRING


def _column(node: q.Node, ctx: Context) -> x.Expr:
    return add_span(bind_name(name_parts(node), node, ctx), node)


def bind_name(parts: tuple[str, ...], node: q.Node, ctx: Context) -> x.Expr:
    """A dotted name: a lambda variable, column, alias to the left, outer column, session variable or bare function."""
    if ctx.lambdas is not None and (variable := ctx.lambdas.find(ctx.key(parts[0]))) is not None:
        return ctx.env.fields.extract_fields(place_variable(variable, node.span, ctx.env.text), parts[1:])
    if (found := _resolve_name(parts, node, ctx)) is not None:
        return found
    if (bare := find_bare_call(parts, ctx)) is not None:
        return call(bare, [], ctx, node)
    raise make_unresolved_error(parts, ctx, node)


def _resolve_name(parts: tuple[str, ...], node: q.Node, ctx: Context) -> x.Expr | None:
    hiding = _find_lateral_alias(parts, node, ctx) if ctx.aliases_first else None
    if hiding is not None:
        return hiding
    try:
        found = ctx.env.fields.resolve(parts, ctx.scope.drop_outer())
    except AnalysisError:
        # Over an Aggregate, a name that means nothing in the input is looked for in the output.
        over = _find_lateral_alias(parts, node, ctx) if ctx.clause in ("HAVING", "ORDER BY", "SORT BY") else None
        if over is None:
            raise
        return over
    if found is not None:
        return found[0]
    if (lateral := _find_lateral_alias(parts, node, ctx)) is not None:
        return lateral
    if ctx.scope.outer is not None:
        bare = find_bare_call(parts, ctx)
        outer = ctx.env.fields.resolve(parts, ctx.scope)
        if outer is not None and bare is None:
            return outer[0]
    return _find_session_variable(parts, ctx)


def _find_lateral_alias(parts: tuple[str, ...], node: q.Node, ctx: Context) -> x.Expr | None:
    """The select item to the left whose alias the name is (lateral column alias). A column of the child with that name
    comes first.

    Outside of the select list the alias is a column of the output. Source: `ColumnResolutionHelper
    .resolveLateralColumnAlias` says which alias a name means; `ResolveLateralColumnAliasReference` what becomes of it.
    """
    found = ctx.aliases.get(ctx.key(parts[0])) if ctx.aliases else None
    if not found:
        return None
    assert ctx.aliases is not None
    ctx.aliases.used = True
    if len(found) > 1 and ctx.clause == "HAVING":
        raise make_ambiguous_error(parts, [x.column_of(a) for a in found], ctx.env.origin(node))
    if len(found) > 1:
        text = f"Lateral column alias `{parts[0]}` is ambiguous and has {len(found)} matches."
        raise ctx.env.make_error("AMBIGUOUS_LATERAL_COLUMN_ALIAS", text, node)
    alias = found[0]
    known = alias.child.evidence if alias.nullable else None
    column = x.Column(alias.id, parts[0], alias.type, alias.nullable, (), known)
    value = add_span(ctx.env.fields.extract_fields(column, parts[1:]), node)
    return x.LateralReference(value, parts[-1]) if ctx.clause == "SELECT" else value


def _find_session_variable(parts: tuple[str, ...], ctx: Context) -> x.Expr | None:
    """A variable, or a part of one: the longest name is asked for first (`ColumnResolutionHelper.resolveVariable`)."""
    lower = tuple(part.lower() for part in parts)
    for size in range(len(parts), 0, -1):
        if lower[: size - 1] not in ((), ("session",), ("system", "session")):
            continue
        found = ctx.env.variables.get(lower[size - 1])
        if isinstance(found, x.SessionVariable) and not found.known:
            raise Unknown(f"the value of the variable {found.name}")
        if found is not None:
            return ctx.env.fields.extract_fields(found, parts[size:])
    return None


def _dot(node: q.Dot, ctx: Context) -> x.Expr:
    if parts := name_parts(node):
        return add_span(bind_name(parts, node, ctx), node)
    child = bind(node.operand, ctx)
    return add_span(ctx.env.fields.extract(child, node.field.text), node)


def _bracket(node: q.Bracket, ctx: Context) -> x.Expr:
    child = bind(node.operand, ctx)
    within = evolve(ctx, aliases_first=True) if ctx.aliases and ctx.lacks("columns before aliases in keys") else ctx
    try:
        key = bind(node.index, within)
    except AnalysisError as error:
        if not is_checked(error):
            raise
        given = child.type
        if not isinstance(given, (dt.Array, dt.Map)):
            ctx.env.fields.extract_item(child, literals.NULL)  # A rule looks at it, whatever its key is.
        of_texts = (
            isinstance(given, dt.Map)
            and isinstance(given.key, dt.String)
            and bool(name_parts(drop_parentheses(node.index)))
        )
        if not of_texts or not error.condition.startswith("UNRESOLVED_COLUMN."):
            raise
        condition = error.condition.replace("COLUMN", "MAP_KEY")
        text = f"{error.message} If the map's key is meant to be a text, put it in quotes."
        raise AnalysisError(condition, text, error.origin) from None
    return add_span(ctx.env.fields.extract_item(child, key), node)


def add_span(expr: x.Expr, node: q.Node) -> x.Expr:
    """The expression with the place in the text that it came from."""
    if isinstance(expr, (x.Call, x.Cast, x.Column, x.GetField, x.GetFieldOfElements, x.Literal, x.Variable)):
        found = node.span
        return expr if expr.span == found else evolve(expr, span=found)
    return expr


def _cast(node: q.Cast, ctx: Context) -> x.Expr:
    child = bind(node.operand, ctx)
    given = node.target.data_type
    target = _drop_lengths(given, ctx)
    mode = "try" if isinstance(node, q.TryCast) else "ansi" if ctx.conf.ansi else "legacy"
    refused = check_target_type(child.type, target, ctx.conf) or check_cast(child.type, target, mode)
    if refused is not None:
        raise ctx.env.make_mismatch_error(refused, node)
    ignored = None if given == target else given
    return evolve(cast(child, target, ctx.conf, mode=mode, written=True), span=node.span, ignored=ignored)


def _drop_lengths(given: dt.DataType, ctx: Context) -> dt.DataType:
    """A cast to char or varchar, at any depth, is one to string, unless the setting keeps the length.

    Before Spark 4.2 a written UTF8_BINARY is the default string.
    """
    if isinstance(given, dt.String) and given.collation == "UTF8_BINARY" and ctx.conf.before("4.2"):
        return dt.STRING
    return given if ctx.conf.preserve_char_varchar else dt.drop_lengths(given)


def _binary(node: q.Binary, ctx: Context) -> x.Expr:
    left, right = bind(node.left, ctx), bind(node.right, ctx)
    if node.operator == "||":
        return add_span(call("concat", [left, right], ctx, node), node)
    negated = _NEGATED.get(node.operator)
    bound = add_span(bind_binary(negated or node.operator.lower(), left, right, ctx, node), node)
    return bound if negated is None else add_span(call("not", [bound], ctx, node), node)


_NEGATED = {"<>": "=", "!=": "=", "<!>": "<=>"}


def _unary(node: q.Unary, ctx: Context) -> x.Expr:
    operand = bind(node.operand, ctx)
    if node.operator == "-":
        return add_span(negate(operand, ctx, node), node)
    return add_span(call("positive" if node.operator == "+" else "~", [operand], ctx, node), node)


def _between(node: q.Between, ctx: Context) -> x.Expr:
    parts = (node.operand, node.low, node.high)
    if not ctx.conf.before("4.0") and any(is_star(part, ctx) for part in parts):
        written = q.Call("between", parts)
        written.span = node.span
        return add_span(bind_plain_call(written, ctx), node)  # A function, among whose arguments a star is expanded.
    operands = [bind(part, ctx) for part in parts]
    value, *bounds = operands
    low, high = (bind_binary(symbol, value, bound, ctx, node) for symbol, bound in zip((">=", "<="), bounds))
    if ctx.conf.before("4.0"):
        return add_span(call("and", [low, high], ctx, node), node)
    found = call("between", operands, ctx, node)
    return add_span(evolve(found, nullable=low.nullable or high.nullable), node)


def _is(node: q.Is, ctx: Context) -> x.Expr:
    operand, test, negated = bind(node.operand, ctx), node.test, node.negated
    if isinstance(test, q.Boolean):
        found = bind_binary("<=>", operand, bind(test, ctx), ctx, node)
        return add_span(call("not", [found], ctx, node) if negated else found, node)
    if isinstance(test, q.Var):
        if _is_of_literals(operand) and operand.type not in (dt.BOOLEAN, dt.VOID):
            raise ctx.env.make_mismatch_error(make_input_mismatch(0, operand, "BOOLEAN"), node)
        operand = cast_unless_equal(operand, dt.BOOLEAN, ctx.conf)
        if _is_as_parsed(operand):
            return add_span(call("isnotunknown" if negated else "isunknown", [operand], ctx, node), node)
    return add_span(call("isnotnull" if negated else "isnull", [operand], ctx, node), node)


def _is_as_parsed(expr: x.Expr) -> bool:
    """Whether no rule touches the operand of IS UNKNOWN, so that Spark shows the parser's own class: it is made of
    the words TRUE and FALSE."""
    if isinstance(expr, x.Call):
        return expr.function.name in OF_BOOLEANS and all(map(_is_as_parsed, expr.args))
    if isinstance(expr, x.Cast):
        return _is_as_parsed(expr.child)
    return isinstance(expr, x.Literal) and isinstance(expr.value, bool)


def _is_of_literals(expr: x.Expr) -> bool:
    """Whether no rule touches an operand of another type: `IsUnknown`, which wants a boolean, becomes a plain `IsNull`
    by any rule that copies it."""
    if isinstance(expr, x.Call):
        name = expr.function.name
        parsed = name in (expr.function.operator, "~") or name in ("negative", "positive")
        return parsed and all(map(_is_of_literals, expr.args))
    return isinstance(expr, x.Literal)


def _like(node: q.Like, ctx: Context) -> x.Expr:
    operands = [bind(node.operand, ctx), bind(node.pattern, ctx)]
    if node.escape is not None:
        operands.append(bind(node.escape, ctx))
    return add_span(call(node.kind.lower(), operands, ctx, node), node)


def _print(quantified: x.Call, show: object) -> str:
    return f"{quantified.function.name}({show(quantified.args[0])})"  # type: ignore[operator]


_FUNCTIONS = {
    name: Signature(name, (ANY_STRING, Many(ANY_STRING)), dt.BOOLEAN, ALWAYS, RAISES, show=_print)
    for name in ("likeany", "likeall", "notlikeany", "notlikeall")
}
"""Where all patterns are string literals, Spark keeps them beside the operand."""


def _quantified_like(node: q.QuantifiedLike, ctx: Context) -> x.Expr:
    """`x LIKE ANY (..)` and its kin: one function where all patterns are literals, else a chain of LIKE (`LikeAll`,
    `LikeAny`)."""
    operand = bind(node.operand, ctx)
    patterns = [bind(p, ctx) for p in node.patterns]
    negated, any_of = node.negated, node.quantifier == "ANY"
    insensitive = node.kind == "ILIKE"
    if all(isinstance(p, x.Literal) and dt.is_string(p.type) and p.value is not None for p in patterns):
        name = ("not" if negated else "") + ("likeany" if any_of else "likeall")
        if insensitive:
            operand, patterns = call("lower", [operand], ctx, node), [_lower(p) for p in patterns]
        return apply(_FUNCTIONS[name], [operand, *patterns], ctx.conf)
    tests: list[x.Expr] = [call("ilike" if insensitive else "like", [operand, p], ctx, node) for p in patterns]
    if negated:
        tests = [call("not", [t], ctx, node) for t in tests]
    return reduce(lambda a, b: call("or" if any_of else "and", [a, b], ctx, node), tests)


def _lower(pattern: x.Expr) -> x.Expr:
    assert isinstance(pattern, x.Literal)
    text = str(pattern.value).lower()
    return x.Literal(text, pattern.type, text)


def _in(node: q.In, ctx: Context) -> x.Expr:
    value, query = node.operand, node.query
    if query is None:
        members = [m for n in node.members for m in _bind_member_or_star(n, ctx)]
        return add_span(call("in", [bind(value, ctx), *members], ctx, node), node)
    values = [bind_item(v, ctx) for v in _list_row_values(value)]
    return subqueries.bind_in_subquery(values, query, ctx, node)


def _list_row_values(node: q.Node) -> Sequence[q.Node]:
    """The values of `(a, b)` or `struct(a, b)`, which Spark's parser makes the same; else the node alone."""
    if isinstance(node, q.Tuple):
        return node.members
    if isinstance(node, q.Call) and node.name == "struct" and not any(isinstance(a, q.Kwarg) for a in node.arguments):
        return node.arguments
    return [node]


def _case(node: q.Case, ctx: Context) -> x.Expr:
    value = bind(node.operand, ctx) if node.operand is not None else None
    args: list[x.Expr] = []
    for branch in node.branches:
        condition = bind(branch.condition, ctx)
        if value is not None:
            condition = bind_binary("=", value, condition, ctx, branch)
        args += [condition, bind(branch.value, ctx)]
    if node.default is not None:
        args.append(bind(node.default, ctx))
    return add_span(_prove_branches(call("when", args, ctx, node), ctx), node)


def _call(node: q.Call, ctx: Context) -> x.Expr:
    bound = bind_call(node, ctx)
    if isinstance(bound, x.Call) and any(isinstance(a, x.Lambda) for a in bound.args):
        _check_higher_order(bound, ctx, node)
    return _prove_branches(bound, ctx)


def _check_higher_order(bound: x.Call, ctx: Context, node: q.Node) -> None:
    found = content(bound)
    if found & SUBQUERY:
        subqueries.refuse_in_higher_order(ctx, node)
    if found & WINDOW and any(isinstance(a, x.Lambda) and _has_window_of_variable(a) for a in bound.args):
        text = "A window function inside a lambda function cannot see the lambda's variables."
        raise ctx.env.make_error("MISSING_ATTRIBUTES.RESOLVED_ATTRIBUTE_MISSING_FROM_INPUT", text, node)


def _has_window_of_variable(function: x.Lambda) -> bool:
    """Whether a window reads a variable of the lambda around it. Spark computes windows outside of lambdas, where the
    variable does not exist."""
    windows = (e for e in function.body.walk() if isinstance(e, x.Window))
    return any(e in function.parameters for window in windows for e in window.walk())


def _prove_branches(bound: x.Expr, ctx: Context) -> x.Expr:
    """CASE or IF with the evidence that its conditions give."""
    if not isinstance(bound, x.Call) or not bound.nullable or bound.known or bound.function.name not in ("when", "if"):
        return bound
    known = prove_by_branches(bound, ctx.conf)
    return bound if known is None else evolve(bound, known=known)


def _tuple(node: q.Tuple, ctx: Context) -> x.Expr:
    return add_span(call("struct", list(bind_members(node.members, ctx)), ctx, node, "named_struct"), node)


def _bind_member_or_star(node: q.Node, ctx: Context) -> list[x.Expr]:
    if isinstance(node, q.Star):
        refuse_star(node, ctx)
        return expand_within(node, ctx)
    return [bind(node, ctx)]


def _placeholder(node: q.Placeholder, ctx: Context) -> x.Expr:
    name = node.name
    found = ctx.env.parameters.get(name.lower() if name else f"?{node.span[0]}")
    if found is None:
        text = f"Found the unbound parameter: {name or '?'}. Please, fix `args`."
        raise ctx.env.make_error("UNBOUND_SQL_PARAMETER", text, node)
    return found


def _identifier(node: q.IdentifierClause, ctx: Context) -> x.Expr:
    """`IDENTIFIER(expr)` as a column: the name that the text spells."""
    return bind_name(split_name(resolve_identifier(node, ctx)), node, ctx)


_KEYS = re.compile(r"`((?:[^`]|``)*)`|\['([^']*)'\]|\[\d+\]|([^.\[\]`]+)")


def _last_key(path: str) -> str | None:
    """The last name in a variant's path, which names what is found there; None where it has places only."""
    names = [quoted.replace("``", "`").split(".")[-1] or text or plain for quoted, text, plain in _KEYS.findall(path)]
    return next((n for n in reversed(names) if n), None)


def _variant_path(node: q.VariantPath, ctx: Context) -> x.Expr:
    """`v:a.b[0]`: what `variant_get` reads at that path. On Databricks the operand may be a text of JSON, and what is
    found a text."""
    child = bind(node.operand, ctx)
    reads_text = ctx.env.conf.databricks and child.type == dt.STRING
    if child.type != dt.VARIANT and not reads_text:
        said = f'The operator `:` reads a VARIANT, and this is a "{child.type.sql}".'
        raise ctx.env.make_error("COLUMN_IS_NOT_VARIANT_TYPE", said, node)
    path = node.path
    text = f"${path}" if path.startswith("[") else f"$.{path}"
    reads = "get_json_object" if reads_text else "variant_get"
    found = add_span(call(reads, [child, x.Literal(text, dt.STRING, text)], ctx, node), node)
    name = _last_key(path)
    return found if name is None else x.Alias(found, name, x.UNNUMBERED, explicit=False)


def _collate(node: q.Collate, ctx: Context) -> x.Expr:
    name = node.collation.parts[-1].text
    return call("collate", [bind(node.operand, ctx), x.Literal(name, dt.STRING, name)], ctx, node)


BINDERS: dict[type, Binder] = {
    q.Paren: lambda node, ctx: bind(node.operand, ctx),
    q.Literal: lambda node, ctx: add_span(literals.plain(node, ctx.conf), node),
    q.Boolean: lambda node, ctx: literals.TRUE if node.value else literals.FALSE,
    q.Null: lambda node, ctx: literals.NULL,
    q.TypedLiteral: lambda node, ctx: add_span(literals.typed(node, ctx.conf), node),
    q.IntervalLiteral: lambda node, ctx: add_span(intervals.from_parts(node, ctx.conf), node),
    q.Column: _column,
    q.Identifier: _column,
    q.Dot: _dot,
    q.Bracket: _bracket,
    q.Cast: _cast,
    q.TryCast: _cast,
    q.Call: _call,
    q.SpecialCall: _call,
    q.Unary: _unary,
    q.Not: lambda node, ctx: add_span(call("not", [bind(node.operand, ctx)], ctx, node), node),
    q.Binary: _binary,
    q.Between: _between,
    q.Is: _is,
    q.Like: _like,
    q.QuantifiedLike: _quantified_like,
    q.IdentifierClause: _identifier,
    q.In: _in,
    q.Exists: subqueries.bind_exists,
    q.Subquery: subqueries.bind_scalar,
    q.TableArgument: subqueries.bind_table_argument,
    q.Case: _case,
    q.Tuple: _tuple,
    q.Placeholder: _placeholder,
    q.VariantPath: _variant_path,
    q.Collate: _collate,
}
