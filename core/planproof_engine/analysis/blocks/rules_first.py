"""What rules refuse of a block that `CheckAnalysis` refuses too: Spark reports the former, wherever in the block it is.

A rule looks at each expression whose parts are resolved, whatever is wrong beside it. Names are resolved where the
plan below is: over a FROM that is refused, only what names no column is resolved.
Source: `Analyzer.execute`, `ResolveReferences`, `ResolveFunctions`, `ResolveWindowOrder`, `ResolveWindowFrame`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from planproof_engine.analysis.context import Context, Environment
from planproof_engine.analysis.expressions.binding import bind
from planproof_engine.analysis.expressions.generators import find_call
from planproof_engine.analysis.names.scope import Scope
from planproof_engine.analysis.names.stars import expand, is_star, refuse_named_star
from planproof_engine.analysis.refusals.earlier import CHECKED, lateness
from planproof_engine.expr import Cast, Expr, Literal
from planproof_engine.logical.nodes import Plan
from planproof_engine.origin import AnalysisError, Unknown
from planproof_engine.records import evolve
from planproof_engine.sql import nodes as q
from planproof_engine.sql.names import name_parts
from planproof_engine.types import VOID

_DEEPEST = 40
"""Below this many levels of an expression nothing is looked for: each level is bound anew."""

_OVER_RESOLVED = ("DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN", "INVALID_WHERE_CONDITION")
"""What `CheckAnalysis` refuses of a WHERE whose names and types are known."""


@dataclass(slots=True)
class Reached:
    """How far the binding of a block came: its clause, the plan of its FROM, and the context over that."""

    ctx: Context
    clause: str = "FROM"
    source: Plan | None = None


def raise_error_of_block(block: q.Block, reached: Reached, error: AnalysisError) -> None:
    """Raises what a rule refuses of the block's expressions, where that comes before `error`."""
    if reached.ctx.env.probing or any(star.except_ for item in block.items for star in item.find_all(q.Star)):
        return  # What EXCEPT cannot find is no matter of `CheckAnalysis`.
    raise_first(_find_errors_of_block(block, reached, error), error, CHECKED)


def raise_first(found: Iterable[AnalysisError], error: AnalysisError, until: int = CHECKED + 1) -> None:
    """Raises the first of those found that Spark raises before `error`, and before `until` (`lateness`)."""
    first = min(found, key=lateness, default=error)
    if lateness(first) < min(lateness(error), until):
        raise first


def _find_errors_of_block(block: q.Block, reached: Reached, error: AnalysisError) -> Iterator[AnalysisError]:
    clauses = (
        ("FROM", ()),
        ("WHERE", (block.where,)),
        ("SELECT", (*block.items, block.group)),
        ("HAVING", (block.having, block.qualify, block.order)),
    )
    names = [name for name, _ in clauses]
    named_stars = (catch_error(partial(refuse_named_star, item, reached.ctx)) for item in block.items)
    yield from (e for e in named_stars if e is not None)
    for name, nodes in clauses[names.index(reached.clause) :]:
        known = name == reached.clause or (name == "SELECT" and error.condition in _OVER_RESOLVED)
        over = reached.ctx if known else make_blind_context(reached.ctx)
        for node in nodes:
            if node is not None:
                yield from find_errors(node, over)
                if node is not block.group:
                    yield from _find_misplaced_generators(node, over, in_items=node in block.items)


def _find_misplaced_generators(node: q.Node, ctx: Context, *, in_items: bool) -> Iterator[AnalysisError]:
    """What `ExtractGenerator` refuses: a generator whose arguments are resolved, though nothing around it may be."""
    if in_items:
        inner = node.operand if isinstance(node, (q.Alias, q.Aliases)) else node
        if find_call(inner, ctx) is not None:
            return
    condition, place = ("NESTED_IN_EXPRESSIONS", "inside of") if in_items else ("OUTSIDE_SELECT", "outside of")
    for call in _list_calls(node):
        if find_call(call, ctx) is not None and all(_is_bound(argument, ctx) for argument in call.arguments):
            text = f"A generator cannot stand {place} an expression of the SELECT list."
            yield ctx.env.make_error(f"UNSUPPORTED_GENERATOR.{condition}", text, call)


def _is_bound(node: q.Node, ctx: Context) -> bool:
    return not _try(lambda: bind(node, ctx))


def _list_calls(node: q.Node) -> Iterator[q.Call]:
    if isinstance(node, q.Call):
        yield node
    if not isinstance(node, (q.Query, q.Lambda)):
        for child in node.children:
            yield from _list_calls(child)


def find_constant_error(tree: q.Query, error: AnalysisError, env: Environment) -> AnalysisError | None:
    """The error of a call of constants, which Spark resolves before it knows any table's columns."""
    names_first = lateness(error) == 0 and error.condition != "PARSE_SYNTAX_ERROR"
    if not (error.condition in _OF_JOINED or (names_first and _reads_table(tree, env))):
        return None
    over = Context(evolve(env, probing=True, variables={}), Scope(()))
    for block in tree.find_all(q.Block):
        for node in (*block.items, block.where, block.group, block.having, block.order):
            for found in find_errors(node, over) if node is not None else ():
                if found.condition.startswith(_OF_FUNCTIONS):
                    return found
    return None


_OF_FUNCTIONS = ("WRONG_NUM_ARGS", "INVALID_EXTRACT_FIELD", "NOT_A_SCALAR_FUNCTION")
_OF_JOINED = ("UNRESOLVED_USING_COLUMN_FOR_JOIN", "UDTF_ALIAS_NUMBER_MISMATCH")
"""What a rule refuses of relations after it resolved functions, wherever these stand."""


def _reads_table(tree: q.Query, env: Environment) -> bool:
    """Whether the query reads a table: a view is resolved at once, a table only after the first round of rules."""
    for node in tree.find_all(q.Table):
        found = env.catalog.find(tuple(part.text for part in node.parts))
        if found is not None and found.kind == "table":
            return True
    return False


def make_blind_context(ctx: Context) -> Context:
    """The context over a plan of which nothing is known: no name is looked up there, a variable's neither."""
    return evolve(ctx, env=evolve(ctx.env, variables={}), scope=Scope(()), aliases=None)


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
    if any(True for _ in node.find_all(q.Star)):
        return True
    try:
        return any(_is_of_coercion(e) for e in bind(node, ctx).walk())
    except (AnalysisError, Unknown):
        return False


def _is_of_coercion(e: Expr) -> bool:
    if isinstance(e, Cast):
        return not e.written
    return isinstance(e, Literal) and e.value is None and e.type != VOID


def _drop_keys(call: q.Call) -> q.Call:
    """The call over a window without its keys: its order and its frame are looked at before they are resolved."""
    window = call.over
    assert window is not None
    return evolve(call, over=evolve(window, partition_by=(), order=(q.Ordered(q.Null()),) if window.order else ()))
