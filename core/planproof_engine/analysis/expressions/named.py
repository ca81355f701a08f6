"""Named arguments, put into their parameters' places. Source: `NamedParametersSupport.defaultRearrange`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from planproof_engine.analysis.expressions import Context
from planproof_engine.sql import nodes as q

T = TypeVar("T")


def add_named(named: dict[str, T], name: str, value: T, routine: str, node: q.Node, ctx: Context) -> None:
    """Adds a named argument. Raises `AnalysisError` where the parameter has one."""
    if name in named:
        text = "DUPLICATE_ROUTINE_PARAMETER_ASSIGNMENT.DOUBLE_NAMED_ARGUMENT_REFERENCE"
        raise ctx.env.make_error(text, f"`{routine}` gets its parameter `{name}` twice.", node)
    named[name] = value


def refuse_positional(named: Mapping[str, object], routine: str, node: q.Node, ctx: Context) -> None:
    """Refuses a positional argument behind those that are named."""
    if named:
        text = (
            f"`{routine}` gets a positional argument behind the named argument `{next(reversed(list(named)))}`: "
            "rearrange them so that the positional ones come first."
        )
        raise ctx.env.make_error("UNEXPECTED_POSITIONAL_ARGUMENT", text, node)


def place_named(
    routine: str,
    parameters: Sequence[tuple[str, T | None]],
    positional: Sequence[T],
    named: Mapping[str, T],
    node: q.Node,
    ctx: Context,
    *,
    whole: bool = False,
) -> list[T]:
    """An argument for each parameter (`whole`), or up to the last one that is named; `parameters` are names and
    defaults."""
    names = [name for name, _ in parameters]
    if unknown := [n for n in named if n not in names]:
        said = f"`{routine}` has no parameter named `{unknown[0]}`."
        raise ctx.env.make_error("UNRECOGNIZED_PARAMETER_NAME", said, node)
    twice = [n for n in names[: len(positional)] if n in named]
    if twice:
        text = "DUPLICATE_ROUTINE_PARAMETER_ASSIGNMENT.BOTH_POSITIONAL_AND_NAMED"
        raise ctx.env.make_error(text, f"`{routine}` gets its parameter `{twice[0]}` twice.", node)
    found = list(positional)
    filled = len(names) if whole else 1 + max(map(names.index, named))
    for name, default in parameters[len(positional) : filled]:
        value = named.get(name, default)
        if value is None:
            raise ctx.env.make_error("REQUIRED_PARAMETER_NOT_FOUND", f"`{routine}` needs its parameter `{name}`.", node)
        found.append(value)
    return found
