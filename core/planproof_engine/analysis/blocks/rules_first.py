"""What rules refuse of a block that `CheckAnalysis` refuses too: Spark reports the former, wherever in the block it is.

A rule looks at each expression whose parts are resolved, whatever is wrong beside it. Names are resolved where the
plan below is: over a FROM that is refused, only what names no column is resolved.
Source: `Analyzer.execute`, `ResolveReferences`, `ResolveFunctions`, `ResolveWindowOrder`, `ResolveWindowFrame`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from planproof_engine.analysis.expressions import Context, Environment, Scope, bind
from planproof_engine.analysis.expressions.generators import bind_in_select, find_call
from planproof_engine.analysis.names.stars import expand, is_star, refuse_counted_star, refuse_named_star
from planproof_engine.analysis.refusals.earlier import CHECKED, lateness
from planproof_engine.expr import Call, is_coerced
from planproof_engine.ground import AnalysisError, Unknown, evolve
from planproof_engine.logical.nodes import Aggregate, Plan, Project, Scan
from planproof_engine.sql import nodes as q
from planproof_engine.sql.names import name_parts

_APART = (q.Query, q.Lambda)
"""What is bound on its own."""

_DEEPEST = 40
"""Below this many levels of an expression nothing is looked for: each level is bound anew."""


@dataclass(slots=True)
class Reached:
    """How far the binding of a block came: its clause, the plan of its FROM, and the context over that. `noted` are the
    late errors of what stands below the items."""

    ctx: Context
    clause: str = "FROM"
    source: Plan | None = None
    noted: tuple[AnalysisError, ...] = ()


def raise_error_of_block(block: q.Block, reached: Reached, error: AnalysisError) -> None:
    """Raises what a rule refuses of the block's expressions, where that comes before `error`."""
    if not reached.ctx.env.probing:
        raise_first(_find_errors_of_block(block, reached), error, CHECKED)
        if error.condition.startswith(("DATATYPE_MISMATCH", "UNRESOLVED_COLUMN")):
            clauses = {"WHERE": (block.where,), "SELECT": (block.group, *block.items)}
            for node in clauses.get(reached.clause, ()):
                for found in _find_mistyped_loops(node, reached.ctx):
                    raise found


def _find_mistyped_loops(node: q.Node | None, ctx: Context) -> Iterator[AnalysisError]:
    """What is refused of the arrays and maps that take a lambda. `CheckAnalysis` looks at these first, downwards, and
    only then at the expressions of the same operator."""
    over = evolve(ctx, env=evolve(ctx.env, probing=True))
    for call in node.find_all(q.Call, outside=_APART) if node is not None else ():
        lambdas = any(isinstance(a, q.Lambda) for a in call.arguments) or str(call.name).lower() == "array_sort"
        if not lambdas or not ctx.env.growth.may_probe(sum(1 for _ in call.walk())):
            continue
        # A body that is NULL is right everywhere: what is refused then is an argument.
        given = [evolve(a, body=q.Null()) if isinstance(a, q.Lambda) else a for a in call.arguments]
        asked = evolve(call, arguments=given)
        asked.span = call.span
        error = catch_error(partial(bind, asked, over))
        if error is None or not error.condition.startswith("DATATYPE_MISMATCH") or error.origin is None:
            continue
        if error.condition.endswith(".UNEXPECTED_RETURN_TYPE"):
            continue
        if error.origin.start == call.span[0] and not any(
            _try(partial(bind, a, over)) for a in call.arguments if not isinstance(a, q.Lambda)
        ):
            yield error


def raise_first(found: Iterable[AnalysisError], error: AnalysisError, until: int = CHECKED + 1) -> None:
    """Raises the first of those found that Spark raises before `error`, and before `until` (`lateness`)."""
    first = min(found, key=lateness, default=error)
    if lateness(first) < min(lateness(error), until):
        raise first


def _find_errors_of_block(block: q.Block, reached: Reached) -> Iterator[AnalysisError]:
    clauses = (
        ("FROM", ()),
        ("WHERE", (block.where,)),
        ("SELECT", (*block.items, block.group)),
        ("HAVING", (block.having, block.qualify, block.order)),
    )
    names = [name for name, _ in clauses]
    named_stars = (catch_error(partial(refuse_named_star, item, reached.ctx)) for item in block.items)
    counted = catch_error(partial(refuse_counted_star, block, reached.ctx))
    yield from (e for e in (counted, *named_stars) if e is not None)
    for name, nodes in clauses[names.index(reached.clause) :]:
        over = reached.ctx if name == reached.clause else make_blind_context(reached.ctx)
        for node in nodes:
            if node is not None:
                found = find_errors(node, over)
                # No rule expands a star in GROUP BY, and none coerces types over a plan that is refused.
                of_group = node is block.group
                skipped: tuple[str, ...] = ("CANNOT_RESOLVE_STAR_EXPAND",) if of_group else ()
                skipped += () if name == reached.clause else ("COLLATION_MISMATCH.EXPLICIT",)
                yield from (e for e in found if e.condition not in skipped)
                if not of_group:
                    yield from find_misplaced_generators(node, over, in_items=node in block.items)
                yield from find_miscounted_alias(node, over)


def find_misplaced_generators(node: q.Node, ctx: Context, *, in_items: bool = False) -> Iterator[AnalysisError]:
    """What `ExtractGenerator` refuses: a generator whose arguments are resolved, though nothing around it may be."""
    whole = find_call(node, ctx) if in_items else None
    condition, place = ("NESTED_IN_EXPRESSIONS", "inside of") if in_items else ("OUTSIDE_SELECT", "outside of")
    for call in node.find_all(q.Call, outside=_APART):
        if call is not whole and find_call(call, ctx) is not None and _has_bound_arguments(call, ctx):
            text = f"A generator cannot stand {place} an expression of the SELECT list."
            yield ctx.env.make_error(f"UNSUPPORTED_GENERATOR.{condition}", text, call)


def find_miscounted_alias(item: q.Node, ctx: Context) -> Iterator[AnalysisError]:
    """The error of one name for a generator of several columns, whose arguments are resolved (`AliasedGenerator`)."""
    call = find_call(item, ctx) if isinstance(item, q.Alias) else None
    if call is not None and _has_bound_arguments(call, ctx):
        error = catch_error(lambda: bind_in_select(item, call, ctx))
        if error is not None and error.condition == "UDTF_ALIAS_NUMBER_MISMATCH":
            yield error


def _has_bound_arguments(call: q.Call, ctx: Context) -> bool:
    given = (a.value if isinstance(a, q.Kwarg) else a for a in call.arguments)
    return not any(_try(partial(bind, value, ctx)) for value in given)


def find_constant_error(tree: q.Query, error: AnalysisError, env: Environment) -> AnalysisError | None:
    """The error of a call of constants, which Spark resolves before it knows any table's columns."""
    names_first = lateness(error) == 0 and error.condition != "PARSE_SYNTAX_ERROR"
    waited = reads_table(tree, env) if error.waited is None else error.waited
    if not (lateness(error) > 1 or ((names_first or lateness(error) == 1) and waited)):
        return None
    over = Context(evolve(env, probing=True, variables={}), Scope((), known=False))
    in_from = {id(table.call) for table in tree.find_all(q.TableFunction)}
    calls = (
        call
        for call in tree.find_all(q.Call)
        if id(call) not in in_from and not call.holds(q.Star) and env.growth.may_probe(sum(1 for _ in call.walk()))
    )
    wanted = _OF_FUNCTIONS if lateness(error) < 3 else (*_OF_FUNCTIONS, "WINDOW_FUNCTION_FRAME_NOT_ORDERED")
    errors = (catch_error(partial(bind, call if call.over is None else _drop_keys(call), over)) for call in calls)
    found = [e for e in errors if e is not None and e.condition.startswith(wanted)]
    if any(e.origin == error.origin for e in found):
        return None  # It is of constants itself.
    return min(found, key=lateness, default=None)


_OF_FUNCTIONS = (
    "FEATURE_NOT_ENABLED",
    "INVALID_EXTRACT_FIELD",
    "INVALID_SQL_SYNTAX.FUNCTION_WITH_UNSUPPORTED_SYNTAX",
    "NAMED_PARAMETERS_NOT_SUPPORTED",
    "NOT_A_SCALAR_FUNCTION",
    "REQUIRED_PARAMETER_NOT_FOUND",
    "UNEXPECTED_POSITIONAL_ARGUMENT",
    "UNSUPPORTED_TIME_TYPE",
    "WRONG_NUM_ARGS",
    "_LEGACY_ERROR_TEMP_1104",
)


def reads_table(tree: q.Node | None, env: Environment) -> bool | None:
    """Whether the query reads a table: a view is resolved at once, a table only after the first round of rules."""
    if tree is None:
        return None
    return any(env.is_of_kind(".".join(p.text for p in node.parts), "table") for node in tree.find_all(q.Table))


def waits(plan: Plan | None, env: Environment) -> bool | None:
    """Whether names over the plan wait for a table, or for items that hold functions."""
    return None if plan is None else any(_comes_later(n, env) for n in plan.walk())


def _comes_later(node: Plan, env: Environment) -> bool:
    if isinstance(node, Scan):
        return env.is_of_kind(node.relation, "table")
    return isinstance(node, (Project, Aggregate)) and any(e.holds(Call) for e in node.expressions)


def make_blind_context(ctx: Context) -> Context:
    """The context over a plan of which nothing is known: no name is looked up there, a variable's neither."""
    return evolve(ctx, env=evolve(ctx.env, variables={}), scope=Scope((), known=False), aliases=None)


def find_errors(node: q.Node, ctx: Context, depth: int = 0) -> Iterator[AnalysisError]:
    """What is refused of the expression, and of its parts that are resolved or refused on their own."""
    if isinstance(node, (q.Query, q.Identifier)) or depth > _DEEPEST:
        return
    if not ctx.env.growth.may_probe(sum(1 for _ in node.walk())):
        return
    if not ctx.env.probing:
        ctx = evolve(ctx, env=evolve(ctx.env, probing=True))
    if is_star(node, ctx):
        found = _try(lambda: expand(node, ctx)) if ctx.scope.columns else []
        yield from (e for e in found if e is not None)
        return
    found = _try(lambda: bind(node, ctx))
    if not found:
        return
    if isinstance(node, q.Call) and node.over is not None:
        found += _try(lambda: bind(_drop_keys(node), ctx))
    # Nothing is coerced over a plan of which nothing is known, and a call waits for its arguments' types.
    if ctx.scope.columns or not any(_is_open(child, ctx) for child in node.children):
        yield from (e for e in found if e is not None)
    for child in node.children if not name_parts(node) else ():
        if not isinstance(child, q.Lambda):
            yield from find_errors(child, ctx, depth + 1)


def catch_error(work: Callable[[], object]) -> AnalysisError | None:
    """The error that the work raises."""
    return next((e for e in _try(work) if e is not None), None)


def _try(work: Callable[[], object]) -> list[AnalysisError | None]:
    """The error that the work raises; none where it is done, and None where nothing is known."""
    try:
        work()
    except AnalysisError as error:
        return [error.with_traceback(None)]  # Its frames would hold it, and it them.
    except Unknown:
        return [None]
    return []


def _is_open(node: q.Node, ctx: Context) -> bool:
    """Whether Spark must cast a part of the expression, or expand a star in it, before it has a type."""
    if node.holds(q.Star):
        return True
    try:
        return any(map(is_coerced, bind(node, ctx).walk()))
    except (AnalysisError, Unknown):
        return False


def _drop_keys(call: q.Call) -> q.Call:
    """The call over a window without its keys: its order and its frame are looked at before they are resolved."""
    window = call.over
    assert window is not None
    return evolve(call, over=evolve(window, partition_by=(), order=(q.Ordered(q.Null()),) if window.order else ()))
