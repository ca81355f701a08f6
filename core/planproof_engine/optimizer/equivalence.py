"""Whether two plans are the same but for the ids of their columns and variables (alpha-equivalence).

The rewritten text is planned anew and compared with the rewritten plan. A text that captures a name, binds tighter than
meant, or means another type or flag is found here, before anything runs it.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from functools import cache
from itertools import repeat
from typing import Any

from planproof_engine import types as dt
from planproof_engine.expr import Alias, Call, Column, Expr, Lambda, Literal, Signature, Variable
from planproof_engine.logical.nodes import Aggregate

_IGNORED = {Alias: ("name", "id", "explicit"), Column: ("id",), Variable: ("id",)}
"""An alias that only keeps a column's name may stand in the text and not in the plan: names change no value."""


_VALUES = (bool, str, type(None), dt.DataType)


def is_equivalent(one: Any, other: Any) -> bool:
    """Whether two plans (or expressions) have the same shape, functions, types and flags."""
    return _is_same(one, other, {})


def is_alike(one: Expr, other: Expr) -> bool:
    """Whether two expressions of one place have the same value: the same columns and variables, whatever ids those
    variables have that the expressions bind themselves."""
    if any(map(_differ, one.walk(), other.walk())):
        return False
    own = {p.id for e in one.walk() if isinstance(e, Lambda) for p in e.parameters}
    free = {e.id: e.id for e in one.walk() if isinstance(e, (Column, Variable)) and e.id not in own}
    return _is_same(one, other, free)


def _differ(one: Expr, other: Expr) -> bool:
    """Whether two nodes are of different kinds, at a glance."""
    if type(one) is not type(other):
        return True
    return isinstance(one, Call) and isinstance(other, Call) and one.function.name != other.function.name


def _is_same(one: Any, other: Any, ids: dict[int, int]) -> bool:
    if type(one) is not type(other):
        return False
    if isinstance(one, _VALUES):
        return one is other or bool(one == other)
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(_is_same, one, other, repeat(ids)))
    if isinstance(one, Signature):
        # A query's own functions are made anew each time that it is planned.
        return one is other or one.name == other.name
    if isinstance(one, Literal):
        return one.type == other.type and repr(one.value) == repr(other.value)
    if isinstance(one, (Column, Variable)):
        alike = (one.type is other.type or one.type == other.type) and one.nullable == other.nullable
        return bool(alike and ids.setdefault(one.id, other.id) == other.id)
    if isinstance(one, Alias):
        ids[one.id] = other.id
    if isinstance(one, Lambda) and len(one.parameters) == len(other.parameters):
        # Where one text stands for two places, one plan binds it once and the other one twice.
        ids.update({p.id: q.id for p, q in zip(one.parameters, other.parameters)})
    names = _list_compared_fields(one.__class__)
    if names is None:
        return bool(one == other)
    return _has_same_parts(one, other, names, ids)


def _has_same_parts(one: Any, other: Any, names: tuple[str, ...], ids: dict[int, int]) -> bool:
    for name in names:
        mine, others = getattr(one, name), getattr(other, name)
        if mine is others and isinstance(mine, _VALUES):
            continue
        if name == "groups" and isinstance(one, Aggregate):
            mine, others = _drop_repeated_groups(one), _drop_repeated_groups(other)
        if not _is_same(mine, others, ids):
            return False
    return True


def _drop_repeated_groups(node: Aggregate) -> tuple[Expr, ...]:
    """The Aggregate's groups, each once: the rules may have made two of them equal."""
    return tuple(dict.fromkeys(node.groups)) if node.grouping_sets is None else node.groups


@cache
def _list_compared_fields(kind: type) -> tuple[str, ...] | None:
    """The fields that make two nodes of this kind equal, children before what is made of them; None for no node."""
    if not is_dataclass(kind) or issubclass(kind, dt.DataType):
        return None
    names = [f.name for f in fields(kind) if f.compare and f.name not in _IGNORED.get(kind, ())]
    return tuple(sorted(names, key=lambda name: name not in ("child", "left", "right", "inputs", "parameters")))
