"""What rules refuse of a block that `CheckAnalysis` refuses too: Spark reports the former, wherever in the block it is.

A rule looks at each expression whose parts are resolved, whatever is wrong beside it. Names are resolved where the
plan below is: over a FROM that is refused, only what names no column is resolved.
Source: `Analyzer.execute`, `ResolveReferences`, `ResolveFunctions`, `ResolveWindowOrder`, `ResolveWindowFrame`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from planproof_engine.analysis.context import Context
from planproof_engine.analysis.expressions.binding import bind
from planproof_engine.analysis.names.scope import Scope
from planproof_engine.analysis.names.stars import expand, is_star
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


def raise_of_rules(block: q.Block, reached: Reached, error: AnalysisError) -> None:
    """Raises what is refused of the block's expressions earlier than `error` is."""
    if reached.ctx.env.probing or any(star.except_ for item in block.items for star in item.find_all(q.Star)):
        return  # What EXCEPT cannot find is no matter of `CheckAnalysis`.
    for late in range(1, min(lateness(error), CHECKED) + 1):
        _raise_earlier(block, reached, error, late)


def _raise_earlier(block: q.Block, reached: Reached, error: AnalysisError, late: int) -> None:
    clauses = (
        ("FROM", ()),
        ("WHERE", (block.where,)),
        ("SELECT", (*block.items, block.group)),
        ("HAVING", (block.having, block.qualify, *(n for n in (getattr(block, "order", None),) if n is not None))),
    )
    names = [name for name, _ in clauses]
    for name, nodes in clauses[names.index(reached.clause) :]:
        known = name == reached.clause or (name == "SELECT" and error.condition in _OVER_RESOLVED)
        over = reached.ctx if known else blind(reached.ctx)
        for node in nodes:
            if node is not None:
                probe(node, over, late)


def blind(ctx: Context) -> Context:
    """The context over a plan of which nothing is known: no name is looked up there, a variable's neither."""
    return evolve(ctx, env=evolve(ctx.env, variables={}), scope=Scope(()), aliases=None)


def probe(node: q.Node, ctx: Context, late: int, depth: int = 0) -> None:
    """Raises what is refused of the expression earlier than `late`, or of a part of it beside one that is refused
    later (`lateness`)."""
    if isinstance(node, (q.Query, q.Identifier)) or depth > _DEEPEST:
        return
    if not ctx.env.probing:
        ctx = evolve(ctx, env=evolve(ctx.env, probing=True))
    if is_star(node, ctx):
        if ctx.scope.columns:
            raise_earlier(lambda: expand(node, ctx), late)
        return
    # Nothing is coerced over a plan of which nothing is known, and a call waits for its arguments' types.
    waits = not ctx.scope.columns and any(_is_open(child, ctx) for child in node.children)
    if raise_earlier(lambda: bind(node, ctx), 0 if waits else late):
        return
    if isinstance(node, q.Call) and node.over is not None:
        raise_earlier(lambda: bind(_without_keys(node), ctx), 0 if waits else late)
    for child in node.children if not name_parts(node) else ():
        if not isinstance(child, q.Lambda):
            probe(child, ctx, late, depth + 1)


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


def raise_earlier(work: Callable[[], object], late: int) -> bool:
    """Whether the work is done without an error. Raises what is refused earlier than `late`."""
    try:
        work()
    except AnalysisError as error:
        if lateness(error) < late:
            raise
        return False
    except Unknown:
        return False
    return True


def _without_keys(call: q.Call) -> q.Call:
    """The call over a window without its keys: its order and its frame are looked at before they are resolved."""
    window = call.over
    assert window is not None
    return evolve(call, over=evolve(window, partition_by=(), order=(q.Ordered(q.Null()),) if window.order else ()))
