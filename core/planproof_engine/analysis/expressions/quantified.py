"""`x LIKE ANY (..)` and `x LIKE ALL (..)`. Source: `AstBuilder.withPredicate`, `LikeAll`, `LikeAny`."""

from __future__ import annotations

from functools import reduce

from planproof_engine import types as dt
from planproof_engine.analysis.context import Context
from planproof_engine.analysis.expressions.binding import bind, call
from planproof_engine.expr import Call, Expr, Literal
from planproof_engine.expr.function import ALWAYS, Many, Signature
from planproof_engine.expr.traits import RAISES
from planproof_engine.functions.bind import apply
from planproof_engine.sql import nodes as q
from planproof_engine.types.kinds import ANY_STRING


def _print(quantified: Call, show: object) -> str:
    return f"{quantified.function.name}({show(quantified.args[0])})"  # type: ignore[operator]


_FUNCTIONS = {
    name: Signature(name, (ANY_STRING, Many(ANY_STRING)), dt.BOOLEAN, ALWAYS, RAISES, show=_print)
    for name in ("likeany", "likeall", "notlikeany", "notlikeall")
}
"""Where all patterns are string literals, Spark keeps them beside the operand."""


def bind_quantified_like(node: q.QuantifiedLike, ctx: Context) -> Expr:
    """Binds `x LIKE ANY (..)` and its kin: one function where all patterns are literals, else a chain of LIKE."""
    operand = bind(node.operand, ctx)
    patterns = [bind(p, ctx) for p in node.patterns]
    negated, any_of = node.negated, node.quantifier == "ANY"
    insensitive = node.kind == "ILIKE"
    if all(isinstance(p, Literal) and dt.is_string(p.type) and p.value is not None for p in patterns):
        name = ("not" if negated else "") + ("likeany" if any_of else "likeall")
        if insensitive:
            operand, patterns = call("lower", [operand], ctx, node), [_lower(p) for p in patterns]
        return apply(_FUNCTIONS[name], [operand, *patterns], ctx.conf)
    tests: list[Expr] = [call("ilike" if insensitive else "like", [operand, p], ctx, node) for p in patterns]
    if negated:
        tests = [call("not", [t], ctx, node) for t in tests]
    return reduce(lambda a, b: call("or" if any_of else "and", [a, b], ctx, node), tests)


def _lower(pattern: Expr) -> Expr:
    assert isinstance(pattern, Literal)
    text = str(pattern.value).lower()
    return Literal(text, pattern.type, text)
