"""Binds function calls: arguments, lambdas, aggregates and windows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from planproof_engine import types as dt
from planproof_engine.analysis.expressions import Context, Environment, modifiers, windows
from planproof_engine.analysis.expressions.arithmetic import bind_try
from planproof_engine.analysis.expressions.binding import GeneratorMismatch, bind, bind_item, bind_member, call
from planproof_engine.analysis.expressions.constants import function_name
from planproof_engine.analysis.expressions.lambdas import add_identity, bind_lambda, cast_before_lambdas
from planproof_engine.analysis.expressions.named import add_named, place_named, refuse_positional
from planproof_engine.analysis.expressions.windows import sort_keys
from planproof_engine.analysis.names.stars import expand_argument, is_star
from planproof_engine.analysis.refusals.checks import is_grouping, nests_aggregate
from planproof_engine.analysis.refusals.earlier import is_checked
from planproof_engine.analysis.refusals.routines import drop_schema, make_missing_error, make_unresolved_error
from planproof_engine.analysis.script import routines
from planproof_engine.expr import Call, Column, Expr, GetField, GetFieldOfElements, Lambda, Literal, is_aggregate
from planproof_engine.expr.function import Category, LambdaOf, Mismatch, Optional, Signature
from planproof_engine.expr.pretty import pretty
from planproof_engine.functions.bind import apply, check_arity
from planproof_engine.functions.declared import calls_declared, is_declared
from planproof_engine.functions.names import SPARK_FUNCTIONS
from planproof_engine.functions.registry import list_names
from planproof_engine.ground import AnalysisError, evolve
from planproof_engine.sql import nodes as q
from planproof_engine.sql.names import drop_parentheses, name_parts


def bind_call(node: q.Call, ctx: Context) -> Expr:
    """A call as the query wrote it, with all that may follow its parentheses."""
    name = _name(node, ctx)
    key = name.lower()
    special = (_FORMS.get(node.form) if isinstance(node, q.SpecialCall) else None) or _SPECIAL.get(key)
    if special is not None and (found := special(node, ctx, key)) is not None:
        return found
    function = ctx.env.registry.find(key)
    if function is None or key in ctx.env.registry.internal:
        if (routine := routines.find(name, ctx.env)) is not None:
            return routines.call_scalar(routine, node, ctx)
        raise _make_unknown_error(name, function, node, ctx)
    if function.category is Category.TABLE:
        said = f"`{key}` is a table function: it stands in FROM, not in an expression."
        raise ctx.env.make_error("NOT_A_SCALAR_FUNCTION", said, node)
    _refuse_words(key, node, ctx)
    over = node.over
    try:
        bound = _loosen_python_flags(_apply(function, name, node, ctx), ctx)
    except AnalysisError as error:
        own = error.condition.startswith("DATATYPE_MISMATCH") and error.origin == ctx.env.error_origin(node)
        if own and over is not None and function.category is Category.WINDOW:
            windows.refuse_frame(function, over, ctx, node)
        raise
    if over is None and function.category is Category.WINDOW and not _stays_without_over(ctx):
        said = f"Window function {pretty(bound)} requires an OVER clause."
        raise ctx.env.make_error("WINDOW_FUNCTION_WITHOUT_OVER_CLAUSE", said, node)
    return windows.bind_window(bound, over, ctx, node) if over is not None else bound


def _refuse_words(key: str, node: q.Call, ctx: Context) -> None:
    """What older Sparks know as grammar, and cannot call as a function."""
    if key in ("like", "ilike") and len(node.arguments) > 2 and ctx.lacks("escape character of a function"):
        text = f"The `{key}` requires 2 parameters but the actual number is {len(node.arguments)}."
        raise ctx.env.make_error("WRONG_NUM_ARGS.WITHOUT_SUGGESTION", text, node)
    if key in ("in", "when") and ctx.conf.before("4.0"):
        raise _make_no_constructor_error(key, node, ctx)
    if key == "between" and ctx.conf.before("4.0"):
        raise ctx.env.make_error("ROUTINE_NOT_FOUND", "The function `default`.`between` cannot be found.", node)


def _stays_without_over(ctx: Context) -> bool:
    """Whether Spark does not look for the OVER of a window function: in keys of rows' groups it is never told, and a
    LIMIT of one is no constant (`CheckAnalysis`)."""
    of_keys = ctx.clause == "GROUP BY" and ctx.grouping is None
    return ctx.env.lenient or of_keys or ctx.clause in ("DISTRIBUTE BY", "LIMIT", "OFFSET", "VALUES")


def _make_unknown_error(name: str, function: Signature | None, node: q.Call, ctx: Context) -> Exception:
    """The error for a name that is no function's. Some names are grammar, and have a function as well."""
    if name.lower() == "cast":
        return _make_no_constructor_error("cast", node, ctx)
    if function is not None and name.lower() in SPARK_FUNCTIONS:
        _check_arity(function, node.arguments, node, ctx)
    return make_missing_error(name, node, ctx.env)


def _make_no_constructor_error(name: str, node: q.Call, ctx: Context) -> AnalysisError:
    """The error for a function whose class has no constructor that takes expressions alone: `cast`, before 4.0 `in` and
    `when`."""
    for argument in node.arguments:
        bind_item(argument, ctx)
    text = f"The `{name}` requires 0 parameters but the actual number is {len(node.arguments)}."
    return ctx.env.make_error("WRONG_NUM_ARGS.WITHOUT_SUGGESTION", text, node)


_COUNTED_LATER = (q.Star, q.Lambda, q.Kwarg)


def _loosen_python_flags(bound: Call, ctx: Context) -> Call:
    """Spark takes a row's value from Python as nullable, whatever the function declares, and the elements of a list of
    such values too."""
    if bound.nullable or ctx.lambdas is not None or not ctx.env.registry.declared:
        return bound
    bodies = [a for a in bound.args if isinstance(a, Lambda)]
    fed = is_declared(bound.function) or any(calls_declared(b) for b in bodies)
    return evolve(bound, nullable=True) if fed else bound


def bind_plain_call(node: q.Call, ctx: Context) -> Call:
    """The call of a function that planproof knows, without an OVER."""
    name = _name(node, ctx)
    function = ctx.env.registry.find(name)
    if function is None:
        raise make_missing_error(name, node, ctx.env)
    return _apply(function, name, node, ctx)


def _time_window(node: q.Call, ctx: Context, name: str) -> Expr:
    """What stands for a time window: a column, or itself in a sort over what is not selected. Raises `Unknown` where
    the block made none."""
    found = ctx.time_windows.get(bind_plain_call(node, ctx))
    if found is None:
        raise ctx.env.make_unknown("a time window here", node)
    return found


def _name(node: q.Call, ctx: Context) -> str:
    return drop_schema(function_name(node, ctx), ctx.env)


def _list_looked_up(tree: q.Node, error: AnalysisError) -> Iterator[q.Node]:
    """The nodes whose functions Spark looks up before it raises `error`: not those of windows that nothing names, nor,
    of an error of its rules, those of a lateral subquery."""
    yield tree
    defined = getattr(tree, "windows", ())
    named = {w.reference.text.lower() for w in tree.find_all(q.Window) if w.reference is not None} if defined else ()
    idle = {id(w) for w in defined if w.name.text.lower() not in named}
    for child in tree.children:
        if id(child) in idle:
            continue
        lateral = isinstance(tree, q.Joined) and tree.lateral and child is tree.right
        if not (lateral and isinstance(child, q.Subquery) and not is_checked(error)):
            yield from _list_looked_up(child, error)


def find_unresolved_routine(tree: q.Node, error: AnalysisError, env: Environment) -> AnalysisError | None:
    """The error for the first function that does not exist: Spark looks up functions before anything else
    (`LookupFunctions`)."""
    if env.catalog.source is not None:
        return None
    tables: set[q.Node] = set()
    for node in _list_looked_up(tree, error):
        if isinstance(node, (q.TableFunction, q.LateralView)):
            tables.add(node.call)
        if isinstance(node, q.Hint):
            tables.update(node.calls)
        if not isinstance(node, q.Call) or node in tables or not isinstance(node.name, str):
            continue
        name = node.name
        lowered = drop_schema(name, env).lower()
        registry = env.registry
        function = registry.find(lowered)
        special = isinstance(node, q.SpecialCall) and (node.form in _FORMS or node.form in _SPECIAL)
        is_syntax = special or ((lowered in _FORMS or lowered in _SPECIAL) and lowered not in SPARK_FUNCTIONS)
        known = lowered in registry.known or is_syntax or function is not None
        if not known and routines.find(name, env) is None:
            return make_unresolved_error(name, node, env)
    return None


def _apply(function: Signature, name: str, node: q.Call, ctx: Context) -> Call:
    arguments = modifiers.order_arguments(function, _order_arguments(function, node, ctx), node, ctx)
    shown = name.lower() if function.alias else None
    try:
        _check_arity(function, arguments, node, ctx)
        args = _bind_arguments(function, arguments, ctx)
        found = apply(function, args, ctx.conf, shown, node.span)
        if function.category is Category.AGGREGATE:
            _refuse_nested(function, args, node, ctx)
    except Mismatch as mismatch:
        if mismatch.is_of_types or _is_counted_late(function, mismatch):
            modifiers.refuse_modifiers(function, node, ctx)
            sort_keys(node.within_group, ctx)
        error = ctx.env.make_mismatch_error(mismatch, node)
        if mismatch.is_of_types and function.category is Category.GENERATOR:
            error = GeneratorMismatch(error, node)
        raise error from None
    return modifiers.add_modifiers(found, node, ctx)


def _is_counted_late(function: Signature, mismatch: Mismatch) -> bool:
    """Whether the arguments are counted by `checkInputDataTypes`: those of a class that takes any number of them, but
    not by an `ExpressionBuilder`."""
    counted = mismatch.condition.startswith("WRONG_NUM_ARGS")
    return counted and function.arity()[1] is None and function.name != "decode"


def _check_arity(function: Signature, arguments: Sequence[modifiers.Argument], node: q.Call, ctx: Context) -> None:
    """Raises `Mismatch` for too few or too many arguments. Spark counts them after it resolved them, and the FILTER."""
    try:
        check_arity(function, len(arguments))
    except Mismatch:
        if node.filter is not None:
            bind(node.filter, ctx)
        for argument in arguments:
            if isinstance(argument, q.Node) and not isinstance(argument, _COUNTED_LATER):
                bind_item(argument, ctx)
        raise


_WITHOUT_AGGREGATES = ("DISTRIBUTE BY", "GROUP BY", "JOIN", "WHERE")


def _refuse_nested(function: Signature, args: Sequence[Expr], node: q.Call, ctx: Context) -> None:
    """Refuses an aggregate function inside another one. With an OVER it is allowed; windows are bound later. Only an
    Aggregate is looked at for that (`ExprUtils.assertValidAggregation`): elsewhere the outer one is refused."""
    if ctx.clause not in _WITHOUT_AGGREGATES and node.over is None and any(map(nests_aggregate, args)):
        modifiers.refuse_modifiers(function, node, ctx)
        inner = next(e for a in args for e in a.walk() if is_aggregate(e) and not is_grouping(e))
        raise ctx.env.make_error_at("NESTED_AGGREGATE_FUNCTION", modifiers.NESTED, inner.span, node)


def _order_arguments(function: Signature, node: q.Call, ctx: Context) -> list[modifiers.Argument]:
    """The arguments in the function's order: stars expanded, named ones put in their places."""
    if isinstance(node, q.SpecialCall) and node.form == "struct":
        return list(bind_members(node.arguments, ctx))
    arguments: list[modifiers.Argument] = []
    named: dict[str, q.Node] = {}
    for argument in node.arguments:
        if is_star(argument, ctx):
            arguments += _count_all(function, node, ctx) or expand_argument(argument, ctx)
        elif isinstance(argument, q.Kwarg):
            if function.name == "struct" or _takes_any_name(function, ctx):
                value = bind(argument.value, ctx)
                arguments.append(call("namedargumentexpression", [value], ctx, argument))
                continue
            _refuse_names(function, node, ctx)
            name = _parameter_key(argument.name.text, ctx)
            if name not in (_parameter_key(n, ctx) for n in function.names):
                _bind_all(node, ctx)
            add_named(named, name, argument.value, function.name, node, ctx)
        else:
            if named:
                _bind_all(node, ctx)
            refuse_positional(named, function.name, node, ctx)
            arguments.append(argument)
    return _place_arguments(function, arguments, named, node, ctx) if named else arguments


def _bind_all(node: q.Call, ctx: Context) -> None:
    """Raises what is wrong with an argument: Spark resolves them before it looks at their names."""
    for argument in node.arguments:
        value = argument.value if isinstance(argument, q.Kwarg) else argument
        if not isinstance(value, _COUNTED_LATER):
            bind_item(value, ctx)


def _takes_any_name(function: Signature, ctx: Context) -> bool:
    """Whether names of arguments are passed on unread: FROM and LATERAL VIEW do not look at those of a generator that
    has no parameters' names."""
    return function.category is Category.GENERATOR and not function.names and ctx.clause in ("FROM", "LATERAL VIEW")


def _parameter_key(name: str, ctx: Context) -> str:
    """A parameter's name as it is compared: in lower case, before Spark 4.1 as it is written."""
    return name if ctx.lacks("parameters in any case") else name.lower()


def _count_all(function: Signature, node: q.Call, ctx: Context) -> list[modifiers.Argument]:
    """`count(*)` counts rows: Spark makes it `count(1)`. Source: `UnresolvedStar.isQualifiedByTable`."""
    if function.name != "count" or len(node.arguments) != 1:
        return []
    star = node.arguments[0]
    if isinstance(star, q.Star) and star.qualifier:
        # A struct's star, and one of a table that leaves columns out, is counted column by column.
        is_tables = not star.except_ and ctx.scope.find_qualified([i.text for i in star.qualifier])
        if ctx.conf.count_of_table_star or not is_tables:
            return []
        text = "count(table.*) is not allowed. Use count(*) or name the columns."
        raise ctx.env.make_error("INVALID_USAGE_OF_STAR_WITH_TABLE_IDENTIFIER_IN_COUNT", text, node)
    picks = isinstance(star, q.Star) and star.except_
    return [] if node.distinct or picks else [Literal(1, dt.INT, "1")]


def _refuse_names(function: Signature, node: q.Node, ctx: Context) -> None:
    if function.name == "range":
        # `ResolveFunctions` hands the pair on as an argument, which is no constant.
        condition = "INTERNAL_ERROR" if ctx.conf.before("4.0") else "NON_FOLDABLE_ARGUMENT"
        raise ctx.env.make_error(condition, "`range` needs a constant, and takes no named arguments.", node)
    if not function.names:
        text = f"Named parameters are not supported for function `{function.name}`."
        raise ctx.env.make_error("NAMED_PARAMETERS_NOT_SUPPORTED", text, node)


def _place_arguments(
    function: Signature, positional: list[modifiers.Argument], named: dict[str, q.Node], node: q.Node, ctx: Context
) -> list[modifiers.Argument]:
    inputs = [*function.inputs, *[None] * len(function.names)]
    defaults = (o.default if isinstance(o, Optional) else None for o in inputs)
    names = (_parameter_key(n, ctx) for n in function.names)
    parameters: list[tuple[str, modifiers.Argument | None]] = [*zip(names, defaults)]
    return place_named(function.name, parameters, positional, named, node, ctx)


def _bind_arguments(function: Signature, arguments: Sequence[modifiers.Argument], ctx: Context) -> list[Expr]:
    """Binds the arguments. A lambda comes after the arguments before it, because these give its parameters' types."""
    bound: list[Expr] = []
    expected = function.list_inputs(len(arguments))
    for at, argument in enumerate(arguments):
        if isinstance(argument, Expr):
            bound.append(argument)
        elif isinstance(expected[at], LambdaOf):
            if not any(isinstance(b, Lambda) for b in bound):
                bound = cast_before_lambdas(function, bound, arguments, ctx)
            bound.append(bind_lambda(function, argument, at, bound, ctx))
        elif isinstance(argument, q.Lambda):
            text = (
                "A lambda function should only be used in a higher order function. "
                f"However, its class is {function.name}."
            )
            raise ctx.env.make_error("INVALID_LAMBDA_FUNCTION_CALL.NON_HIGHER_ORDER_FUNCTION", text, argument)
        else:
            bound.append((bind_member if function.name == "struct" else bind_item)(argument, ctx))
    return add_identity(function, bound)


def bind_members(nodes: Sequence[q.Node], ctx: Context) -> Iterator[Expr]:
    """The values of `struct(a, b)` or `(a, b)`, whose names are given while stars are not expanded yet."""
    found = 0
    for place, node in enumerate(nodes, 1):
        shifted = place if place != found + 1 else 0
        members = expand_argument(node, ctx) if is_star(node, ctx) else [bind_member(node, ctx, shifted)]
        found += len(members)
        yield from members


def _trim(node: q.SpecialCall, ctx: Context, name: str) -> Expr:
    side = node.side or "BOTH"
    text, *pattern = (bind(n, ctx) for n in node.arguments)
    function = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(side, "trim")
    return evolve(call(function, [*pattern, text], ctx, node, f"TRIM_{side}"), span=node.span)


def _extract(node: q.SpecialCall, ctx: Context, name: str) -> Expr:
    part, source = node.arguments
    assert isinstance(part, q.Identifier)
    field = Literal(part.text, dt.STRING, part.text)
    return evolve(call("extract", [field, bind(source, ctx)], ctx, node), span=node.span)


def _unit_call(node: q.SpecialCall, ctx: Context, name: str) -> Expr | None:
    if not node.unit:
        return None
    args = [Literal(node.written, dt.STRING, node.written), *(bind(n, ctx) for n in node.arguments)]
    return evolve(call(node.form, args, ctx, node), span=node.span)


def _grouping(node: q.Call, ctx: Context, name: str) -> Expr | None:
    if ctx.grouping is None and node.over is not None and not ctx.conf.before("4.0"):
        text = f"Expression `{name}` not supported within a window function."
        raise ctx.env.make_error("UNSUPPORTED_EXPR_FOR_WINDOW", text, node)
    words = [word for word, stands in (("DISTINCT", node.distinct), ("FILTER", node.filter)) if stands]
    if words:
        for argument in (*node.arguments, *((node.filter,) if node.filter is not None else ())):
            bind(argument, ctx)
        text = f"The function `{name}` does not support {', '.join(words)}."
        raise ctx.env.make_error("INVALID_SQL_SYNTAX.FUNCTION_WITH_UNSUPPORTED_SYNTAX", text, node)
    if ctx.clause == "VALUES":
        text = f'Invalid inline table. Cannot evaluate the expression "{name}" in inline table definition.'
        raise ctx.env.make_error("INVALID_INLINE_TABLE.CANNOT_EVALUATE_EXPRESSION_IN_INLINE_TABLE", text, node)
    if ctx.grouping is None and not ctx.env.lenient:
        for argument in node.arguments:
            bind(argument, ctx)
        function = ctx.env.registry.find(name)
        if function is not None:
            check_arity(function, len(node.arguments))
        said = "grouping()/grouping_id() can only be used with GroupingSets/Cube/Rollup."
        raise AnalysisError("UNSUPPORTED_GROUPING_EXPRESSION", said, ctx.env.origin(node))
    return None


def _call_of_syntax(node: q.SpecialCall, ctx: Context, name: str) -> Expr:
    """`POSITION(x IN y)` and `SUBSTRING(x FROM y)`, which Spark prints as the functions that they stand for."""
    function = "locate" if node.form == "position" else node.form
    return evolve(call(function, [bind(n, ctx) for n in node.arguments], ctx, node), span=node.span)


def _arrays_zip(node: q.Call, ctx: Context, name: str) -> Expr | None:
    """Over an Aggregate, where Spark keeps its input's names apart (`TempResolvedColumn`), they name no field."""
    nodes = node.arguments
    if ctx.shown is None:
        return None
    if any(is_star(n, ctx) for n in nodes):
        raise ctx.env.make_unknown("a star in arrays_zip over an aggregation", node)
    found = bind_plain_call(node, ctx)
    given = found.type
    assert isinstance(given, dt.Array)
    assert isinstance(given.element, dt.Struct)
    unnamed = [_means_input(name_parts(drop_parentheses(n)), a, ctx) for n, a in zip(nodes, found.args)]
    fields = (evolve(f, name=str(at)) if unnamed[at] else f for at, f in enumerate(given.element.fields))
    return evolve(found, type=dt.Array(dt.Struct(tuple(fields)), given.contains_null))


def _means_input(parts: tuple[str, ...], expr: Expr, ctx: Context) -> bool:
    """Whether a dotted name over an Aggregate means its input, or a field of that."""
    while isinstance(expr, (GetField, GetFieldOfElements, Call)) and expr.children:
        expr = expr.children[0]
    if not parts or not isinstance(expr, Column) or (ctx.shown is not None and ctx.shown.find_matches(parts)[0]):
        return False
    made = {a.id for found in (ctx.aliases or {}).values() for a in found}
    return expr.id not in made


_FORMS: dict[str, Callable[[Any, Context, str], Expr | None]] = {
    "position": _call_of_syntax,
    "substring": _call_of_syntax,
    "trim": _trim,
    "extract": _extract,
    "timestampadd": _unit_call,
    "timestampdiff": _unit_call,
}
"""Calls with words of their own in them."""

_SPECIAL: dict[str, Callable[[q.Call, Context, str], Expr | None]] = {
    **dict.fromkeys(list_names(lambda function: bool(function.tries)), bind_try),
    "arrays_zip": _arrays_zip,
    "window": _time_window,
    "session_window": _time_window,
    "grouping": _grouping,
    "grouping_id": _grouping,
}
