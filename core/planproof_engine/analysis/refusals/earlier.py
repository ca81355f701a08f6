"""What Spark refuses before `CheckAnalysis` looks at a plan: its rules raise while they resolve.

An error that `CheckAnalysis` raises is reported only where no rule raised one, wherever in the query that is.
Source: `ResolveReferences`, `ExtractWindowExpressions`, `UnresolvedSubqueryColumnAliases`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from planproof_engine.analysis.expressions import Context, Environment, Scope, bind, is_position, make_ambiguous_error
from planproof_engine.expr import Category
from planproof_engine.ground import AnalysisError, Unknown
from planproof_engine.logical.nodes import Plan
from planproof_engine.sql import nodes as q
from planproof_engine.sql.names import name_parts

_CHECKED = (
    "AGGREGATE_FUNCTION_WITH_NONDETERMINISTIC_EXPRESSION",
    "CAST_INVALID_INPUT",
    "DATATYPE_MISMATCH",
    "DISTINCT_WINDOW_FUNCTION_UNSUPPORTED",
    "EXPRESSION_TYPE_IS_NOT_ORDERABLE",
    "GROUP_BY_AGGREGATE",
    "GROUP_EXPRESSION_TYPE_IS_NOT_ORDERABLE",
    "INCOMPATIBLE_COLUMN_TYPE",
    "INVALID_FORMAT",
    "INVALID_LIMIT_LIKE_EXPRESSION",
    "INVALID_NON_DETERMINISTIC_EXPRESSIONS",
    "INVALID_SUBQUERY_EXPRESSION",
    "INVALID_WHERE_CONDITION",
    "INVALID_WINDOW_SPEC_FOR_AGGREGATION_FUNC",
    "INVALID_WITHIN_GROUP_EXPRESSION.MISMATCH_WITH_DISTINCT_INPUT",
    "JOIN_CONDITION_IS_NOT_BOOLEAN_TYPE",
    "MISSING_AGGREGATION",
    "MISSING_ATTRIBUTES",
    "MISSING_GROUP_BY",
    "MISSING_WINDOW_SPECIFICATION",
    "NESTED_AGGREGATE_FUNCTION",
    "NUM_COLUMNS_MISMATCH",
    "SCALAR_SUBQUERY_IS_IN_GROUP_BY_OR_AGGREGATE_FUNCTION",
    "TABLE_OR_VIEW_NOT_FOUND",
    "UNBOUND_SQL_PARAMETER",
    "UNPIVOT_REQUIRES_ATTRIBUTES",
    "UNPIVOT_VALUE_DATA_TYPE_MISMATCH",
    "UNRESOLVED_ALL_IN_GROUP_BY",
    "UNRESOLVED_COLUMN",
    "UNRESOLVED_FIELD",
    "UNRESOLVED_MAP_KEY",
    "UNSUPPORTED_EXPR_FOR_OPERATOR",
    "UNSUPPORTED_EXPR_FOR_WINDOW",
    "UNSUPPORTED_FEATURE.SET_OPERATION_ON_MAP_TYPE",
    "UNSUPPORTED_FEATURE.SET_OPERATION_ON_VARIANT_TYPE",
    "UNSUPPORTED_GROUPING_EXPRESSION",
    "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY",
    "WINDOW_FUNCTION_WITHOUT_OVER_CLAUSE",
)


_OF_WINDOWS = ("_LEGACY_ERROR_TEMP_1030", "_LEGACY_ERROR_TEMP_1035")
"""What is refused of windows among the items, which Spark looks at after WHERE."""

_OF_ROWS = (
    "AGGREGATE_FUNCTION_WITH_NONDETERMINISTIC_EXPRESSION",
    "UNSUPPORTED_FEATURE.SET_OPERATION_ON_MAP_TYPE",
    "UNSUPPORTED_FEATURE.SET_OPERATION_ON_VARIANT_TYPE",
)


OF_TYPED_ROWS = (*_OF_ROWS, "DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN")
"""What `CheckAnalysis` refuses of a plan in which all names and types are known, beside `is_of_typed`."""


def is_checked(error: AnalysisError) -> bool:
    """Whether `CheckAnalysis` raises it, after all rules have run."""
    return error.condition.startswith(_CHECKED) if error.by_rule is None else not error.by_rule


CHECKED = 4
OF_AGGREGATES = ("AGGREGATE_FUNCTION_WITH_NONDETERMINISTIC_EXPRESSION", "NESTED_AGGREGATE_FUNCTION")


def lateness(error: AnalysisError) -> int:
    """When Spark raises it: 0 while it resolves names, 1 functions, 2 windows and lambdas, 3 names of relations, 4 in
    `CheckAnalysis`.

    5 is what it says there of an Aggregate whose names and types are right, 6 of a plan that nothing explains. Of two
    errors it reports the earlier one.
    """
    if is_checked(error):
        return CHECKED + (error.condition in OF_AGGREGATES) + 2 * (error.condition == "INTERNAL_ERROR")
    if error.condition.startswith(_OF_RELATIONS):
        return 3
    if error.condition.startswith(_OF_LATE_RULES):
        return 2
    return int(not error.by_rule and not error.condition.startswith(_OF_NAMES))


_OF_NAMES = (
    "AMBIGUOUS_",
    "CANNOT_RESOLVE_STAR_EXPAND",
    "FIELD_NOT_FOUND",
    "GROUP_BY_POS_",
    "INVALID_ATTRIBUTE_NAME_SYNTAX",
    "INVALID_EXTRACT_BASE_FIELD_TYPE",
    "INVALID_EXTRACT_FIELD_TYPE",
    "INVALID_USAGE_OF_STAR_OR_REGEX",
    "INVALID_USAGE_OF_STAR_WITH_TABLE_IDENTIFIER_IN_COUNT",
    "PARSE_SYNTAX_ERROR",
    "STAR_GROUP_BY_POS",
)
_OF_RELATIONS = ("ASSIGNMENT_ARITY_MISMATCH", "UDTF_ALIAS_NUMBER_MISMATCH", "UNRESOLVED_USING_COLUMN_FOR_JOIN")
_OF_LATE_RULES = (
    "INVALID_LAMBDA_FUNCTION_CALL",
    "WINDOW_FUNCTION_FRAME_NOT_ORDERED",
    "WINDOW_FUNCTION_NOT_ALLOWED_IN_CLAUSE",
    "_LEGACY_ERROR_TEMP_103",
)


CHECKED_LAST = (
    "EXPRESSION_TYPE_IS_NOT_ORDERABLE",
    "INVALID_WINDOW_SPEC_FOR_AGGREGATION_FUNC",
    "UNSUPPORTED_EXPR_FOR_WINDOW",
    "UNSUPPORTED_GROUPING_EXPRESSION",
    "WINDOW_FUNCTION_WITHOUT_OVER_CLAUSE",
)
"""What `CheckAnalysis` refuses of a block in which all else is right: of a window above the Aggregate, of a call after
the types of all."""


def is_of_aggregate(error: AnalysisError) -> bool:
    """Whether it is about an Aggregate, or another operator, whose names and types are right."""
    of_plan = ("MISSING_", "SCALAR_", "_LEGACY_ERROR_TEMP_1031", "INVALID_WHERE_CONDITION", "UNSUPPORTED_")
    return error.condition in OF_AGGREGATES or error.condition.startswith(of_plan)


def is_of_typed(error: AnalysisError) -> bool:
    """Whether it is one of `CheckAnalysis` about a plan in which all names and types are known."""
    of_calls = ("DISTINCT_WINDOW_FUNCTION_UNSUPPORTED", "EXPRESSION_TYPE_IS_NOT_ORDERABLE")
    return error.condition.startswith(("MISSING_", "SCALAR_", "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY", *of_calls))


def bind_both(left: Callable[[], Plan], right: Callable[[], Plan]) -> tuple[Plan, Plan]:
    """Two plans. What a rule refuses of the second one comes before what `CheckAnalysis` refuses of the first."""
    try:
        first = left()
    except AnalysisError as error:
        _raise_rule_error(right, error)
        raise
    return first, right()


def _raise_rule_error(bind: Callable[[], Plan], first: AnalysisError) -> None:
    if lateness(first) == 0:
        return
    try:
        bind()
    except AnalysisError as error:
        if lateness(error) < min(lateness(first), CHECKED) and not is_of_typed(error):
            raise
    except Unknown:
        return


def find_unbound_parameter(tree: q.Node, env: Environment) -> AnalysisError | None:
    """The error for a parameter without a value, which newer Sparks put into the text before they read it
    (`SubstituteParamsParser`)."""
    if env.conf.before("4.1"):
        return None
    for found in tree.find_all(q.Placeholder, q.VariantPath):
        named = _find_marker(found) if isinstance(found, q.VariantPath) else getattr(found, "name", None)
        name = named or (f"?{found.span[0]}" if isinstance(found, q.Placeholder) else None)
        if name is not None and name.lower() not in env.parameters:
            text = f"Found the unbound parameter: {named or '?'}. Please, fix `args`."
            return env.make_error("UNBOUND_SQL_PARAMETER", text, found)
    return None


def _find_marker(path: q.VariantPath) -> str | None:
    """The parameter that `'text' :name` is: a marker may stand where one more string literal may."""
    of_text = isinstance(path.operand, q.Literal) and path.operand.is_string
    found = re.match(r"\w+", path.path) if of_text else None
    return None if found is None else found.group()


def find_unreadable_literal(tree: q.Node, env: Environment) -> AnalysisError | None:
    """The error for a literal without a value, which the parser raises (`AstBuilder.visitTypeConstructor`,
    `visitInterval`, `numericLiteral`)."""
    for literal in tree.walk():
        if isinstance(literal, (q.TypedLiteral, q.IntervalLiteral)) or is_number(literal):
            try:
                bind(literal, Context(env, Scope(())))
            except AnalysisError as error:
                return error
            except Unknown:
                continue
    return None


def is_number(node: q.Node) -> bool:
    """Whether it is a number as it is written."""
    return isinstance(node, q.Literal) and not node.is_string


def find_duplicate_cte(tree: q.Node, env: Environment) -> AnalysisError | None:
    """The error for a WITH that gives a name twice, which the parser raises (`AstBuilder.withCTE`): as it is written,
    or since Spark 4.2 in any case."""
    for with_ in tree.find_all(q.With):
        names = set[str]()
        for cte in with_.ctes:
            name = cte.alias.name.text
            spelled = name if env.conf.before("4.2") else name.lower()
            if spelled in names:
                text = f"CTE definition can't have duplicate names: `{name}`."
                return env.make_error("DUPLICATED_CTE_NAMES", text, cte)
            names.add(spelled)
    return None


def find_undefined_window(tree: q.Node, env: Environment) -> AnalysisError | None:
    """The error for a window that the WINDOW clause of its query does not define (`WindowsSubstitution`, which runs
    before any name is resolved)."""
    for query in tree.find_all(q.Query):
        defined = {w.name.text for w in query.windows}
        # Not those of queries in it, nor what WINDOW defines by another name.
        apart = (q.Query, q.NamedWindow)
        windows = (w for child in query.children for w in child.find_all(q.Window, outside=apart)) if defined else ()
        for used in windows:
            if used.reference is not None and used.reference.text not in defined:
                text = f"Window specification is not defined in the WINDOW clause for {used.reference.text}."
                return env.make_error("MISSING_WINDOW_SPECIFICATION", text, used)
    return None


def find_window_in_where(tree: q.Node, error: AnalysisError, env: Environment) -> AnalysisError | None:
    """The error for a window in a WHERE or HAVING of the query, where it comes before `error`."""
    if lateness(error) < 3 and error.condition not in _OF_WINDOWS and not error.waited:
        return None
    wheres = [w for w in tree.find_outermost(q.Where, q.Having) if holds_window_call(w)]
    if any(_is_of_frame(error, where, env) for where in wheres):
        return None
    where = next(iter(wheres), None)
    clause = "HAVING" if isinstance(where, q.Having) else "WHERE"
    text = f"Window functions are not allowed in the {clause} clause."
    return None if where is None else env.make_error("WINDOW_FUNCTION_NOT_ALLOWED_IN_CLAUSE", text, where)


def _is_of_frame(error: AnalysisError, where: q.Node, env: Environment) -> bool:
    """Whether it is about the frame that a window in this clause writes, which is looked at before the window's place
    unless its names wait for a table, or are of a HAVING of Spark 3.5."""
    start = error.origin.start if error.origin is not None else None
    if error.condition != "_LEGACY_ERROR_TEMP_1035" or start is None or not where.holds(q.WindowFrame):
        return False
    if isinstance(where, q.Having) and env.conf.before("4.0"):
        return False
    return where.span[0] <= start < where.span[1] and not (where.holds(q.Column) and error.waited)


def find_ambiguous_name(block: q.Block, error: AnalysisError, ctx: Context) -> AnalysisError | None:
    """The error for a name of the SELECT list or of GROUP BY that means several columns, where it comes before
    `error`."""
    if not is_checked(error):
        return None
    for node in (*block.items, *((block.group,) if block.group is not None else ())):
        if node.holds(q.Lambda):
            continue  # a parameter may have the name
        for named in list_names(node):
            parts = name_parts(named)
            found, _ = ctx.scope.find_matches(parts)
            if len(found) > 1:
                return make_ambiguous_error(parts, found, ctx.env.origin(named))
    return None


def find_grouping_call(block: q.Block, error: AnalysisError, env: Environment) -> AnalysisError | None:
    """The error for `grouping(..)` before what is wrong with the items or keys of the same Aggregate: it is no part of
    the grouping id yet where that Aggregate is not resolved, and an older Spark refuses it where it meets it."""
    found = error.origin
    wrong = error.condition.startswith(("UNRESOLVED_COLUMN", "DATATYPE_MISMATCH"))
    if not wrong or not env.conf.before("4.0") or block.group is None or found is None or found.start is None:
        return None
    start, stop = found.start, found.stop or found.start
    if block.group.span[0] <= start < block.group.span[1]:
        start = stop = block.group.span[1]  # `CheckAnalysis` looks at the keys after the items.
    elif not any(item.span[0] <= start < item.span[1] for item in block.items):
        return None
    for call in (c for item in block.items for c in item.find_all(q.Call)):
        if str(call.name).lower() in ("grouping", "grouping_id") and (
            call.span[1] <= start or start <= call.span[0] < call.span[1] <= stop
        ):
            text = "grouping()/grouping_id() can only be used with GroupingSets/Cube/Rollup."
            return env.make_error("UNSUPPORTED_GROUPING_EXPRESSION", text, call)
    return None


def find_position_beyond(query: q.Query, error: AnalysisError, env: Environment) -> AnalysisError | None:
    """The error for a position of ORDER BY behind the last item, where it comes before `error`."""
    late = is_of_typed(error) or error.condition in _OF_ROWS
    if not late or query.order is None or not isinstance(query, q.Select) or not env.conf.order_by_ordinal:
        return None
    if any(item.holds(q.Star) for item in query.items):
        return None
    keys = [key.key if isinstance(key, q.Ordered) else key for key in query.order.keys]
    behind = next((k for k in keys if is_position(k) and not 1 <= int(k.text) <= len(query.items)), None)
    if behind is None:
        return None
    text = f"ORDER BY position {behind.text} is not in select list (valid range is [1, {len(query.items)}])."
    return env.make_error("ORDER_BY_POS_OUT_OF_RANGE", text, behind)


def find_subquery_in_lambda(tree: q.Node, error: AnalysisError, env: Environment) -> AnalysisError | None:
    """The error for a subquery in a lambda, which newer Sparks look for while they resolve it."""
    condition = "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.HIGHER_ORDER_FUNCTION"
    if not is_checked(error) or error.condition == condition or env.lacks("subqueries checked in lambdas"):
        return None
    found = next((n for n in tree.find_all(q.Lambda) if n.holds(q.Query)), None)
    text = "Subquery expressions are not supported within higher-order functions."
    return None if found is None else env.make_error(condition, text, found)


def find_window_in_aggregate(tree: q.Node, error: AnalysisError, env: Environment) -> AnalysisError | None:
    """The error for a window in an argument of an aggregate function, which `ExtractWindowExpressions` refuses of a
    block in which all names and types are known."""
    if not is_of_typed(error) and error.condition not in (*OF_TYPED_ROWS, *OF_AGGREGATES):
        return None
    for call in tree.find_all(q.Call):
        function = env.registry.find(call.name) if isinstance(call.name, str) else None
        aggregates = function is not None and function.category is Category.AGGREGATE and call.over is None
        if aggregates and any(map(holds_window_call, call.arguments)):
            text = "It is not allowed to use a window function inside an aggregate."
            return env.make_error("_LEGACY_ERROR_TEMP_1031", text, call)
    return None


def list_names(node: q.Node) -> Iterator[q.Node]:
    """The longest names of an expression, outside of its subqueries."""
    if isinstance(node, (q.Column, q.Dot)) and name_parts(node):
        yield node
    elif not isinstance(node, q.Query):
        for child in node.children:
            yield from list_names(child)


def holds_window_call(node: q.Node) -> bool:
    """Whether a window stands in the expression, outside of its subqueries."""
    return any(call.over is not None for call in node.find_all(q.Call, outside=(q.Query,)))
