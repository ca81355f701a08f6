"""VALUES: rows that Spark evaluates while it analyzes the query.

Source: `ResolveInlineTables`, `EvaluateUnresolvedInlineTable`.
"""

from __future__ import annotations

from planproof_engine import types as dt
from planproof_engine.analysis.blocks.rules_first import find_misplaced_generators, raise_first
from planproof_engine.analysis.expressions import Context, Environment, Scope, bind
from planproof_engine.analysis.expressions.constants import BARE
from planproof_engine.analysis.expressions.modifiers import is_volatile
from planproof_engine.analysis.refusals.checks import AGGREGATE, GENERATOR, WINDOW, content
from planproof_engine.analysis.refusals.earlier import list_names
from planproof_engine.expr import Call, Cast, Category, Column, Expr, Lambda, Literal, Outer, fresh_id, transform_down
from planproof_engine.expr.pretty import pretty
from planproof_engine.functions.bind import cast_unless_same
from planproof_engine.functions.failing import UNEVALUABLE, raises
from planproof_engine.ground import AnalysisError, evolve
from planproof_engine.logical.nodes import Values
from planproof_engine.sql import nodes as q
from planproof_engine.sql.names import name_parts
from planproof_engine.types.coercion import find_wider_without_strings


def inline_table(node: q.Values, env: Environment, outer: Scope | None = None) -> Values:
    """VALUES: each column takes the common type of its values, nullable where one of them is."""
    ctx = Context(env, env.make_scope(outer=outer), clause="VALUES")
    _refuse_subqueries(node, ctx)
    try:
        rows = [_list_row_values(r, ctx) for r in node.rows]
    except AnalysisError as error:
        raise_first((e for r in node.rows for e in find_misplaced_generators(r, ctx)), error)
        raise
    named = node.alias.columns if node.alias is not None else ()
    width = len(named) or len(rows[0])
    if any(len(r) != width for r in rows):
        text = f"Invalid inline table: expected {width} columns in every row."
        raise env.make_error("INVALID_INLINE_TABLE.NUM_COLUMNS_MISMATCH", text, node)
    _refuse_computed(rows, node, env)
    names = [f"col{i + 1}" for i in range(width)]
    columns, typed = [], []
    for i in range(width):
        values = [r[i] for r in rows]
        target = _find_column_type(values, env, node)
        cells = [cast_unless_same(v, target, env.conf) for v in values]
        typed.append(cells)
        columns.append(Column(fresh_id(), names[i], target, any(c.nullable for c in cells)))
    _refuse_failing(rows, typed, node, env)
    return Values(tuple(zip(*typed)), tuple(columns))


def _refuse_subqueries(node: q.Values, ctx: Context) -> None:
    """VALUES is evaluated before the queries in it are resolved, so that no table in them is found."""
    env = ctx.env
    within = [e for row in node.rows for e in row.find_outermost(q.Query, q.Exists)]
    if not within:
        return
    tested = {id(getattr(p, "query", None)) for row in node.rows for p in row.find_all(q.In, q.Exists)}
    scalar = any(isinstance(e, q.Subquery) and id(e) not in tested for e in within)
    if not scalar:
        _refuse_names(node, ctx)
    table = next((t for e in within for t in e.find_all(q.Table)), None)
    if table is not None and (not scalar or env.conf.before("4.0")):
        raise env.make_error("TABLE_OR_VIEW_NOT_FOUND", f"The table {table} cannot be found in VALUES.", table)
    for value in (v for row in node.rows for v in row.children if not v.holds(q.Query, q.Exists)):
        _refuse_value(value, scalar and not env.conf.before("4.0"), ctx)
    condition = "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.SCALAR_SUBQUERY_IN_VALUES" if scalar else "INTERNAL_ERROR"
    raise env.make_error(condition, "Subqueries in the VALUES clause are not supported.", node)


def _refuse_names(node: q.Values, ctx: Context) -> None:
    """Raises what is wrong with a name beside a subquery: it is looked up before the tables of that."""
    for named in (n for row in node.rows for n in list_names(row)):
        if not ctx.scope.find_matches(name_parts(named))[0]:
            bind(named, ctx)


def _refuse_value(value: q.Node, late: bool, ctx: Context) -> None:
    """Raises what is wrong with a value beside a subquery; `late`: what names and types alone are wrong waits."""
    try:
        bind(value, ctx)
    except AnalysisError as error:
        if not (late and error.condition.startswith(("UNRESOLVED_COLUMN", "DATATYPE_MISMATCH"))):
            raise


def _refuse_computed(rows: list[list[Expr]], node: q.Node, env: Environment) -> None:
    """Refuses what Spark cannot compute at once in VALUES: columns of the query around, SQL functions, lambdas, and
    what it replaces by an expression with a part in it twice (`With`)."""
    for value in (v for row in rows for v in row):
        evaluated = transform_down(value, _fold_type)
        computed = content(evaluated) & (AGGREGATE | WINDOW | GENERATOR) or is_volatile(evaluated)
        late = not env.conf.before("4.0") and is_of_now(value)  # Such a value is taken as it is.
        if computed or (not late and any(_is_no_constant(e, env) for e in evaluated.walk())):
            text = f'Invalid inline table. Cannot evaluate the expression "{pretty(value)}" in inline table definition.'
            raise env.make_error("INVALID_INLINE_TABLE.CANNOT_EVALUATE_EXPRESSION_IN_INLINE_TABLE", text, node)


def _fold_type(expr: Expr) -> Expr | None:
    """The constant that a call is which asks of its argument the type alone, whatever that argument is: it is foldable
    (`TypeOf`), or becomes a literal (`Collation`)."""
    asks = isinstance(expr, Call) and expr.function.name in ("collation", "typeof")
    return Literal("", dt.STRING, "") if asks else None


def _refuse_failing(rows: list[list[Expr]], typed: list[list[Expr]], node: q.Node, env: Environment) -> None:
    """Refuses a value that raises where Spark computes it, cast to the type of its column. Where one is as of now, it
    computes none yet (`EvaluateUnresolvedInlineTable.earlyEvalIfPossible`)."""
    if any(is_of_now(v) for row in rows for v in row):
        return
    for at, row in enumerate(rows):
        for value, column in zip(row, typed):
            if raises(column[at], env.conf):
                text = f'Invalid inline table. Failed to evaluate the SQL expression "{pretty(value)}".'
                raise env.make_error("INVALID_INLINE_TABLE.FAILED_SQL_EXPRESSION_EVALUATION", text, node)


_OF_NOW = (
    *BARE.values(),
    "curdate",
    "current_catalog",
    "current_database",
    "current_schema",
    "current_timezone",
    "now",
)


_UNFOLDED = (*UNEVALUABLE, "array_compact", "arrays_zip", "elt", "map_concat", "regexp_substr")
_UNFOLDED_BEFORE_4 = (*_UNFOLDED, "current_catalog", "current_user", "parse_url")
_UNFOLDED_SINCE_4 = (*_UNFOLDED, "try_parse_url", "try_url_decode", "zeroifnull")


def is_of_now(value: Expr) -> bool:
    """Whether it has a call whose value is that of the moment or the session: `ComputeCurrentTime` gives it later."""
    return any(isinstance(e, Call) and e.function.name in _OF_NOW for e in value.walk())


def _is_no_constant(expr: Expr, env: Environment) -> bool:
    if not isinstance(expr, Call):
        return isinstance(expr, (Outer, Lambda))
    name = expr.function.name
    if expr.function.category is Category.WINDOW:
        return True
    if env.conf.before("4.0"):
        return name in env.functions or name in _UNFOLDED_BEFORE_4
    decodes = name == "decode" and len(expr.args) == 2
    return name in env.functions or name in _UNFOLDED_SINCE_4 or expr.function.traits.twice or decodes


def _list_row_values(node: q.Node, ctx: Context) -> list[Expr]:
    """The values of a row: `(1, 2)`, `struct(1, 2)`, and what stands in parentheses of its own."""
    while isinstance(node, q.Paren):
        node = node.operand
    if isinstance(node, q.Tuple):
        members = node.members
    elif isinstance(node, q.SpecialCall) and node.form == "struct":
        members = node.arguments
    else:
        members = [node]
    return [_undo_coercion(bind(n.operand if isinstance(n, q.Alias) else n, ctx)) for n in members]


def _undo_coercion(expr: Expr) -> Expr:
    """The value as it is before `TypeCoercion`, which runs after VALUES is computed: `nanvl` takes a float beside a
    double as it is, and gives a float."""
    if not isinstance(expr, Call) or expr.function.name != "nanvl":
        return expr
    first = expr.args[0]
    if not isinstance(first, Cast) or first.written or first.child.type != dt.FLOAT:
        return expr
    return evolve(expr, args=(first.child, *expr.args[1:]), type=dt.FLOAT)


def _find_column_type(values: list[Expr], env: Environment, node: q.Node) -> dt.DataType:
    first = values[0].type
    if all(v.type == first for v in values):
        return first
    # Inline tables follow the rules of ANSI off in both modes.
    found = find_wider_without_strings([v.type for v in values], env.conf.without_ansi)
    if found is None:
        types = ", ".join(dict.fromkeys(v.type.sql for v in values))
        text = f"Invalid inline table: found incompatible types in a column: {types}."
        raise env.make_error("INVALID_INLINE_TABLE.INCOMPATIBLE_TYPES_IN_INLINE_TABLE", text, node)
    return found
