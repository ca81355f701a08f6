"""Hints that Spark refuses: COALESCE, REPARTITION and their kin with other arguments than a number and columns.

Source: `ResolveHints.ResolveCoalesceHints`. The columns are those of the block or of what it reads.
"""

from __future__ import annotations

from collections.abc import Sequence

from planproof_engine.analysis.context import Context
from planproof_engine.analysis.expressions.binding import bind, make_unresolved_error
from planproof_engine.expr import Alias, Column, Expr
from planproof_engine.origin import AnalysisError
from planproof_engine.sql import nodes as q
from planproof_engine.sql.names import name_parts

_ORDERED = ("repartition", "repartition_by_range", "rebalance")


def refuse_hints(hint: q.Hint, items: Sequence[Expr], ctx: Context) -> None:
    """Refuses a hint's arguments as Spark does, before it plans anything; a hint of another name is a warning to it."""
    shown = {ctx.key(i.name) for i in items if isinstance(i, (Alias, Column))}
    for call in hint.calls:
        name = str(call.name).lower()
        if name == "coalesce" and (len(call.arguments) != 1 or not _is_count(call.arguments[0])):
            text = "COALESCE Hint expects a partition number as a parameter."
            raise ctx.env.make_error("_LEGACY_ERROR_TEMP_1048", text, call)
        if name in _ORDERED:
            _refuse_columns(name, call, shown, ctx)


def _refuse_columns(name: str, call: q.Call, shown: set[str], ctx: Context) -> None:
    given = call.arguments
    for argument in given[1:] if given and _is_count(given[0]) else given:
        parts = name_parts(argument)
        if isinstance(argument, q.Literal) and argument.is_string and not ctx.conf.before("4.0"):
            parts = (argument.text,)
            argument = q.Column([q.Identifier(argument.text)])
            argument.span = call.span
        if not parts:
            text = f"{name.upper()} Hint parameters should include an optional integral partitionNum and/or columns."
            raise ctx.env.make_error("_LEGACY_ERROR_TEMP_1047", text, call)
        if len(parts) > 1 or ctx.key(parts[0]) not in shown:
            try:
                bind(argument, ctx)
            except AnalysisError as error:
                # What the output lacks is looked for below it, where several columns count as none.
                raise (
                    make_unresolved_error(parts, ctx, argument) if error.condition == "AMBIGUOUS_REFERENCE" else error
                ) from None


def _is_count(node: q.Node) -> bool:
    return isinstance(node, q.Literal) and node.kind == "INTEGER_VALUE"
