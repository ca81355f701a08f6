"""PIVOT and UNPIVOT. Source: `ResolvePivot`, `ResolveUnpivot`, and their `PivotTransformer`, `UnpivotTransformer`."""

from __future__ import annotations

from collections.abc import Sequence

from planproof_engine import types as dt
from planproof_engine.analysis.blocks import setops
from planproof_engine.analysis.blocks.groupby import columns_outside
from planproof_engine.analysis.blocks.values import is_of_now
from planproof_engine.analysis.expressions import Context, Environment, Scope, bind, call, make_unresolved_error
from planproof_engine.analysis.expressions.moments import date, is_date
from planproof_engine.analysis.refusals.checks import GENERATOR, content, holds_window, refuse_window_within
from planproof_engine.analysis.refusals.orderable import refuse_group
from planproof_engine.expr import Mismatch
from planproof_engine.expr import nodes as x
from planproof_engine.expr.pretty import output_name, pretty
from planproof_engine.functions.bind import cast_unless_same
from planproof_engine.functions.constants import TRUTHS, constant, find_text
from planproof_engine.functions.families.line import is_foldable, is_null
from planproof_engine.functions.names import LEFT_BY_PIVOT
from planproof_engine.ground import AnalysisError, Conf, Unknown
from planproof_engine.logical.nodes import Pivot, Plan, Project, SetOperation
from planproof_engine.sql import nodes as q
from planproof_engine.types.casts import can_cast, force_nullable
from planproof_engine.types.coercion import find_wider_without_strings
from planproof_engine.types.kinds import is_orderable


def pivot(node: q.Pivoted | q.Unpivoted, child: Plan, scope: Scope, env: Environment) -> Plan:
    """The rows of PIVOT or UNPIVOT over those of `child`."""
    if isinstance(node, q.Pivoted):
        return _pivot(node, child, scope, env)
    return _unpivot(node, child, scope, env)


def _pivot(node: q.Pivoted, child: Plan, scope: Scope, env: Environment) -> Plan:
    """PIVOT groups by the columns that neither the aggregates nor FOR name. It gives one column per value, or one per
    value and aggregate."""
    ctx = Context(env, scope, clause="PIVOT")
    keys = [bind(c, ctx) for c in node.columns]
    bound = [bind(a.operand if isinstance(a, q.Alias) else a, ctx) for a in node.aggregates]
    for key in keys:
        if not is_orderable(key.type):
            text = f"Invalid pivot column {pretty(key)}: its type is not comparable."
            raise env.make_error("INCOMPARABLE_PIVOT_COLUMN", text, node)
    aggregates = [_check_aggregate(a, expr, ctx) for a, expr in zip(node.aggregates, bound)]
    used = {e.id for root in (*keys, *(a for _, a in aggregates)) for e in root.walk() if isinstance(e, x.Column)}
    groups = tuple(x.column_of(c) for c in scope.columns if c.id not in used)
    # Where it can, Spark aggregates per value first and then picks. Even a count is null then where a group has no such
    # row.
    picked = _is_picked([a for _, a in aggregates])
    made: list[x.Column] = []
    values = [_bind_value(v, keys, ctx) for v in node.values]
    for group in groups:
        refuse_group(group, node, env)
    for expr in () if picked else bound:
        _refuse_foldable(expr, node, ctx)
    for name, _ in values:
        for own, aggregate in aggregates:
            shown = name if len(aggregates) == 1 else f"{name}_{own}"
            nullable = picked or aggregate.nullable
            made.append(x.Column(x.fresh_id(), shown, aggregate.type, nullable, doubt=_NO_ROW if nullable else None))
    parts = tuple(a for _, a in aggregates), tuple(keys), tuple(v for _, v in values)
    return Pivot(groups, *parts, child, (*groups, *made))


def find_star_error(block: q.Block, source: Plan, error: AnalysisError, env: Environment) -> AnalysisError | None:
    """The error for `x.*` right over PIVOT, where there is no `x`: where Spark picks what it aggregated per value, it
    reads its own names of the aggregates as some that a query wrote, and cannot."""
    if error.condition != "CANNOT_RESOLVE_STAR_EXPAND" or block.where is not None or block.from_ is None:
        return None
    if not isinstance(source, Pivot) or not _is_picked(source.aggregates):
        return None
    text = "Syntax error in the attribute name that Spark gives to an aggregate of the PIVOT."
    return env.make_error("INVALID_ATTRIBUTE_NAME_SYNTAX", text, block.from_)


def _is_picked(aggregates: Sequence[x.Expr]) -> bool:
    return all(map(_picks_first, aggregates))


_NO_ROW = "PIVOT gives null where a group has no row of the value"


def _check_aggregate(node: q.Node, bound: x.Expr, ctx: Context) -> tuple[str, x.Expr]:
    """The aggregate's name, and the aggregate."""
    if any(columns_outside(bound)):
        said = f"Aggregate expression required for pivot, but '{pretty(bound)}' did not appear."
        raise ctx.env.make_error("_LEGACY_ERROR_TEMP_1006", said, node)
    if content(bound) & GENERATOR:
        raise ctx.env.make_unknown("a generator among the aggregates of PIVOT", node)
    refuse_window_within(bound, node, ctx.env)
    if holds_window(bound):
        if not any(isinstance(e, x.Column) for e in bound.walk()):
            raise ctx.env.make_unknown("a window of constants among the aggregates of PIVOT", node)
        text = "A window cannot stand among the aggregates of PIVOT, whose keys it would have to be computed over."
        raise ctx.env.make_error("MISSING_AGGREGATION", text, node)
    return (node.alias.text if isinstance(node, q.Alias) else output_name(bound)), bound


def _picks_first(aggregate: x.Expr) -> bool:
    """Whether Spark aggregates per value first and then picks (`PivotFirst.supportsDataType`)."""
    return aggregate.type in (dt.BOOLEAN, dt.DOUBLE, dt.FLOAT, *dt.INTEGRAL) or isinstance(aggregate.type, dt.Decimal)


def _refuse_foldable(aggregate: x.Expr, node: q.Node, ctx: Context) -> None:
    """Refuses an aggregate function whose argument must be a constant: where Spark does not pick, each argument stands
    in an `if` for the rows of a value. Those of `percentile_approx` are left alone, and what is no argument to Spark.
    """
    for found in aggregate.walk():
        if x.is_aggregate(found) and isinstance(found, x.Call) and found.function.name not in LEFT_BY_PIVOT:
            args = [x.Column(x.fresh_id(), "", a.type, True) for a in found.args]
            try:
                call(found.function.name, args, ctx, node)
            except AnalysisError as error:
                if error.condition == "DATATYPE_MISMATCH.NON_FOLDABLE_INPUT":
                    raise
            except Unknown:
                pass


def _bind_value(node: q.Node, keys: list[x.Expr], ctx: Context) -> tuple[str, x.Expr]:
    """A value, and its alias or the value as a string."""
    inner = node.operand if isinstance(node, q.Alias) else node
    value = bind(inner, ctx)
    if not is_foldable(value):
        said = f"Literal expressions required for pivot values, found {pretty(value)}."
        raise ctx.env.make_error("NON_LITERAL_PIVOT_VALUES", said, node)
    if not ctx.conf.before("4.0") and ctx.conf.before("4.1") and is_of_now(value):
        raise ctx.env.make_error("INTERNAL_ERROR", f"Cannot evaluate expression: {pretty(value)}.", node)
    members = _split_value(value, keys)
    if members is None:
        text = f'The value "{pretty(value)}" of type "{value.type.sql}" is no row of the pivot columns.'
        raise ctx.env.make_error("PIVOT_VALUE_DATA_TYPE_MISMATCH", text, node)
    for key, member in zip(keys, members):
        # Several columns are one struct for Spark, whose fields a cast must not make null.
        lost = member is not value and not key.nullable and (member.nullable or force_nullable(member.type, key.type))
        if lost or not can_cast(member.type, key.type, ansi=False):
            text = (
                f'The value "{pretty(member)}" has type "{member.type.sql}", the pivot column "{key.type.sql}"'
                f"{' NOT NULL' if lost else ''}."
            )
            raise ctx.env.make_error("PIVOT_VALUE_DATA_TYPE_MISMATCH", text, node)
        _refuse_malformed(member, key, ctx, node)
    if isinstance(node, q.Alias):
        return node.alias.text, value
    if isinstance(node, q.Column) and isinstance(value, x.Literal) and value.is_variable:
        return node.parts[-1].text, value
    if isinstance(node, q.Column) and isinstance(value, x.Call):
        return pretty(value), value  # `current_date` is a `NamedExpression` (`LiteralFunctionResolution`).
    texts = [_cast_to_text(m, ctx, node) for m in members]
    return (texts[0] if members[0] is value else _enclose(members, ctx, node)), value


def _refuse_malformed(member: x.Expr, key: x.Expr, ctx: Context, node: q.Node) -> None:
    """Refuses a text that is no value of the column's type, under ANSI: Spark casts the values while it analyzes."""
    if not (ctx.conf.ansi and dt.is_string(member.type)) or is_null(member):
        return
    text = member.value if isinstance(member, x.Literal) else find_text(member)
    if not isinstance(text, str):
        return
    if dt.is_numeric(key.type):
        try:
            constant(cast_unless_same(member, key.type, ctx.conf), "PIVOT")
        except Mismatch as mismatch:
            raise ctx.env.make_mismatch_error(mismatch, node) from None
    elif (key.type == dt.BOOLEAN and text.strip().lower() not in TRUTHS) or (key.type == dt.DATE and not is_date(text)):
        said = f"The value '{text}' cannot be cast to \"{key.type.sql}\"."
        raise ctx.env.make_error("CAST_INVALID_INPUT", said, node)


def _split_value(value: x.Expr, keys: list[x.Expr]) -> tuple[x.Expr, ...] | None:
    """The parts of a value, one for each pivot column; None where the value has another number of parts."""
    if len(keys) == 1:
        return (value,)
    if isinstance(value, x.Literal) and value.value is None:
        return (value,) * len(keys)  # A NULL is cast to the row.
    members = (
        map(x.drop_alias, value.args) if isinstance(value, x.Call) and value.function.name == "struct" else (value,)
    )
    parts = tuple(members)
    return parts if len(parts) == len(keys) else None


def _enclose(values: Sequence[x.Expr], ctx: Context, node: q.Node, *, array: bool = False) -> str:
    """Values as `ToStringBase` has them; the legacy one has brackets around all, and nothing for a null."""
    legacy = ctx.conf.brackets_around_complex_texts
    texts = ["" if legacy and is_null(v) else f" {_cast_to_text(v, ctx, node)}" for v in values]
    joined = ",".join(texts).removeprefix(" ")
    return f"[{joined}]" if legacy or array else f"{{{joined}}}"


def _cast_to_text(value: x.Expr, ctx: Context, node: q.Node) -> str:
    if isinstance(value, x.Literal):
        if value.value is None:
            return "null"
        if value.type in (dt.TIMESTAMP, dt.TIMESTAMP_NTZ) or isinstance(value.type, (dt.Nanos, dt.Time)):
            return value.text.split("'")[1]
        if value.type in (dt.DATE, dt.STRING) or isinstance(value.type, dt.Decimal):
            return str(value.value)
        plain = dt.is_string(value.type) or "'" not in value.text or isinstance(value.type, dt.Interval)
        if isinstance(value.value, (bool, int, float, str)) and plain and not value.is_variable:
            return value.text
    if (
        isinstance(value, x.Cast)
        and isinstance(value.child, x.Literal)
        and (value.child.value is None or dt.same_type(value.type, dt.STRING))
    ):
        return _cast_to_text(value.child, ctx, node)
    if isinstance(value, x.Call) and value.function.name in ("array", "struct"):
        return _enclose(value.args, ctx, node, array=value.function.name == "array")
    if isinstance(value, x.Call) and value.function.name == "map":
        texts = [_cast_to_text(a, ctx, node) for a in value.args]
        return "{" + ", ".join(f"{k} -> {v}" for k, v in zip(texts[::2], texts[1::2])) + "}"
    if isinstance(value, x.Call) and value.function.name == "collate":
        return _cast_to_text(value.args[0], ctx, node)
    if (found := _compute_text(value, ctx.conf)) is not None:
        return found
    raise ctx.env.make_unknown(f"the PIVOT value {pretty(value)}", node)


def _compute_text(value: x.Expr, conf: Conf) -> str | None:
    """A computed constant, cast to a string; None where its text is not known."""
    if value.type == dt.BINARY and isinstance(value, x.Literal):
        try:
            return bytes.fromhex(value.value).decode()
        except ValueError:
            return None
    text = value.child.value if isinstance(value, x.Cast) and isinstance(value.child, x.Literal) else None
    if value.type == dt.DATE and isinstance(text, str) and is_date(text):
        return str(date(text, conf).value)
    return find_text(value)


def _find_value_type(types: Sequence[dt.DataType], env: Environment) -> dt.DataType | None:
    """The type at which values meet (`UnpivotTypeCoercion`). Since 4.2 it is that with ANSI off: a BIGINT beside a
    FLOAT becomes a FLOAT, where it became a DOUBLE."""
    return find_wider_without_strings(types, env.conf if env.conf.before("4.2") else env.conf.without_ansi)


def _unpivot(node: q.Unpivoted, child: Plan, scope: Scope, env: Environment) -> Plan:
    """One row per entry of the IN list: the other columns, the entry's name, its values at their common types."""
    ctx = Context(env, scope, clause="UNPIVOT")
    sets = [[bind(c, ctx) for c in entry.columns] for entry in node.columns]
    fields = [m for members in sets for m in members if not isinstance(m, x.Column)]
    if fields:
        said = f"UNPIVOT requires all given value expressions to be columns; this is none: {pretty(fields[0])}."
        raise env.make_error("UNPIVOT_REQUIRES_ATTRIBUTES", said, node)
    chosen = {e.id for members in sets for e in members if isinstance(e, x.Column)}
    kept: list[x.Expr] = [c for c in scope.columns if c.id not in chosen]
    names = [i.text for i in node.values]
    if any(len(members) != len(names) for members in sets):
        said = f"All unpivot value columns must have the same size as [{', '.join(names)}]."
        raise env.make_error("UNPIVOT_VALUE_SIZE_MISMATCH", said, node)
    targets = []
    for at, name in enumerate(names):
        target = _find_value_type([members[at].type for members in sets], env)
        if target is None:
            types = ", ".join(f'"{members[at].type.sql}"' for members in sets)
            said = f"Unpivot value columns must share a least common type, some types do not: [`{name}` ({types})]."
            raise env.make_error("UNPIVOT_VALUE_DATA_TYPE_MISMATCH", said, node)
        targets.append(target)
    if len(names) > 1 and node.filters and env.lacks("unpivoted values of any types"):
        # Rows are left out by `coalesce(..) IS NULL`, whose arguments have one type.
        call("coalesce", [x.Column(x.fresh_id(), n, t, True) for n, t in zip(names, targets)], ctx, node)
    branches: list[Plan] = []
    for entry, members in zip(node.columns, sets):
        env.growth.add(1, len(child.output))
        text = entry.alias.text if entry.alias is not None else "_".join(pretty(m) for m in members)
        items = [*kept, x.Alias(x.Literal(text, dt.STRING, text), node.name.text, x.fresh_id())]
        items += [x.Alias(m, n, x.fresh_id()) for m, n in zip(members, names)]
        branch = Project(tuple(items), child)
        wanted = [*(c.type for c in branch.output[: len(kept) + 1]), *targets]
        branches.append(setops.cast_columns(branch, wanted, env))
    output = branches[0].output
    for other in branches[1:]:
        output = tuple(setops.union_column(a, b) for a, b in zip(output, other.output))
    shown = ctx.over(output)
    for parts in node.filters:
        if env.fields.resolve(parts, shown.scope) is None:
            raise make_unresolved_error(parts, shown, node)
    return branches[0] if len(branches) == 1 else SetOperation("union", tuple(branches), True, output)
