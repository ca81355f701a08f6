"""Hints that Spark refuses: COALESCE, REPARTITION and their kin with other arguments than a number and columns.

Source: `ResolveHints.ResolveCoalesceHints`. The columns are those of the block or of what it reads.
"""

from __future__ import annotations

import re
from collections.abc import Container
from typing import TypeGuard

from planproof_engine.analysis.expressions import Context, Environment, bind, make_unresolved_error
from planproof_engine.expr import Column
from planproof_engine.ground import AnalysisError
from planproof_engine.sql import nodes as q
from planproof_engine.sql.names import name_parts

_OF_JOINS = (
    *("broadcast", "broadcastjoin", "mapjoin", "merge", "shuffle_merge", "mergejoin", "shuffle_hash"),
    "shuffle_replicate_nl",
)
_ORDERED = ("repartition", "repartition_by_range", "rebalance")


def refuse_hints(hint: q.Hint, output: tuple[Column, ...], ctx: Context, reached: Container[int] | None) -> None:
    """Refuses a hint's arguments as Spark does, before it plans anything; a hint of another name is a warning to it.

    `output` is the block's, `ctx` names what the block reads, and `reached` are the ids of its columns that a hint
    reaches (`resolveExprsAndAddMissingAttrs`): None for all, of an Aggregate its keys.
    """
    if (error := find_miswritten_hint(hint, ctx.env)) is not None:
        raise error
    shown = ctx.over(output)
    for call in hint.calls:
        name = str(call.name).lower()
        if name in _ORDERED:
            _refuse_columns(call, shown, ctx, reached)


def find_miswritten_hint(tree: q.Node, env: Environment) -> AnalysisError | None:
    """The error for a hint that is wrong whatever the names mean: Spark resolves hints before anything else."""
    for call in (c for hint in tree.find_all(q.Hint) for c in hint.calls):
        name = str(call.name).lower()
        first = call.arguments[0] if call.arguments else None
        texts = not env.conf.before("4.0")
        if name in _OF_JOINS and not all(name_parts(a) or (texts and _is_text(a)) for a in call.arguments):
            text = "A parameter of a hint for joins is the name of a relation."
            return env.make_error("_LEGACY_ERROR_TEMP_1046", text, call)
        if name == "coalesce" and (len(call.arguments) != 1 or not _is_count(call.arguments[0])):
            text = "COALESCE Hint expects a partition number as a parameter."
            return env.make_error("_LEGACY_ERROR_TEMP_1048", text, call)
        if name not in ("coalesce", *_ORDERED):
            continue
        if isinstance(first, q.Literal) and _is_count(first) and int(first.text) <= 0:
            # `require` of RepartitionOperation: what it raises has no condition.
            return env.make_error("INTERNAL_ERROR", f"Number of partitions ({first.text}) must be positive.", call)
        if not env.conf.before("4.0"):
            unread = next((a.text for a in call.arguments if _is_text(a) and _read_name(a.text) is None), None)
            if unread is not None:
                return env.make_error("PARSE_SYNTAX_ERROR", f"Syntax error at or near '{unread}'.", call)
        names = call.arguments[1:] if first is not None and _is_count(first) else call.arguments
        if name in _ORDERED and not all(name_parts(a) or (texts and _is_text(a)) for a in names):
            text = f"{name.upper()} Hint parameters should include an optional integral partitionNum and/or columns."
            return env.make_error("_LEGACY_ERROR_TEMP_1047", text, call)
    return None


def _is_text(node: q.Node) -> TypeGuard[q.Literal]:
    return isinstance(node, q.Literal) and node.is_string


_NAME = re.compile(r"(?=\w*[^\W\d])\w+|`(?:[^`]|``)+`")


def _read_name(text: str) -> tuple[str, ...] | None:
    """The parts of a name that a text spells; None for a text that is no name."""
    parts = [_NAME.fullmatch(part.strip()) for part in text.split(".")]
    return tuple(m.group().strip("`") for m in parts if m is not None) if all(parts) else None


def _refuse_columns(call: q.Call, shown: Context, ctx: Context, reached: Container[int] | None) -> None:
    given = call.arguments
    for argument in given[1:] if given and _is_count(given[0]) else given:
        parts = name_parts(argument)
        if _is_text(argument) and not ctx.conf.before("4.0"):
            parts = _read_name(argument.text) or ()
            argument = q.Column([q.Identifier(p) for p in parts])
            argument.span = call.span
        if shown.scope.find_matches(parts)[0]:
            bind(argument, shown)
            continue
        try:
            found = bind(argument, ctx)
        except AnalysisError as error:
            # What the output lacks is looked for below it, where several columns count as none.
            if not error.condition.startswith(("AMBIGUOUS_REFERENCE", "UNRESOLVED_COLUMN")):
                raise
            raise make_unresolved_error(parts, shown, argument) from None
        if reached is not None and any(isinstance(e, Column) and e.id not in reached for e in found.walk()):
            raise make_unresolved_error(parts, shown, argument)


def _is_count(node: q.Node) -> bool:
    return isinstance(node, q.Literal) and node.kind == "INTEGER_VALUE"
