"""The rules, in the order in which they run. One rule per file."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from planproof_engine.expr import Elements
from planproof_engine.functions.registry import Registry, list_names
from planproof_engine.ground import Conf
from planproof_engine.logical.nodes import Plan
from planproof_engine.optimizer.rules.count_to_exists import count_to_exists
from planproof_engine.optimizer.rules.entries_to_sides import entries_to_sides
from planproof_engine.optimizer.rules.exists_to_contains import exists_to_contains
from planproof_engine.optimizer.rules.exists_to_overlap import exists_to_overlap
from planproof_engine.optimizer.rules.filter_to_slice import filter_to_slice
from planproof_engine.optimizer.rules.fuse_exists import fuse_exists
from planproof_engine.optimizer.rules.hoist_invariants import hoist_invariants
from planproof_engine.optimizer.rules.prune_fields import prune_fields
from planproof_engine.optimizer.rules.share_loops import share_loops
from planproof_engine.optimizer.rules.spell_out import spell_out
from planproof_engine.optimizer.rules.transform_fewer import transform_fewer

Rule = Callable[[Plan, Conf, Registry], Plan]

RULES: tuple[Rule, ...] = (
    transform_fewer,
    count_to_exists,
    fuse_exists,
    entries_to_sides,
    spell_out,
    prune_fields,
    filter_to_slice,
    exists_to_overlap,
    exists_to_contains,
    hoist_invariants,
    share_loops,
)

LAMBDA = "->"
Calls = frozenset[str | tuple[str, str]]
"""The functions that a plan calls, and `LAMBDA`; in pairs those that are called over the value of another one, or with
a lambda whose body is its call."""


def _pair_each(outer: Iterable[str], *inner: str) -> Calls:
    return frozenset((one, other) for one in outer for other in inner)


_COUNTING = list_names(lambda f: f.traits.elements is Elements.COUNT)
_TAKING = list_names(lambda f: f.traits.elements is Elements.ITEM)
_STOPPING = list_names(lambda f: f.traits.loop is not None and f.traits.loop.stops)
_LOOPING = list_names(lambda f: f.traits.loop is not None)


OVER: dict[Rule, Calls] = {
    transform_fewer: _pair_each((*_COUNTING, *_TAKING, "slice"), "transform"),
    count_to_exists: _pair_each(_COUNTING, "filter"),
    fuse_exists: _pair_each(_STOPPING, "transform"),
    entries_to_sides: _pair_each((*_COUNTING, "map_keys"), "map_filter")
    | _pair_each(["map_values"], "map_filter", "transform_values")
    | _pair_each(_LOOPING, "map_entries"),
    spell_out: frozenset(list_names(lambda f: f.traits.twice)),
    filter_to_slice: _pair_each(["filter"], "<", "<=") | _pair_each(["filter"], ">", ">="),
    exists_to_overlap: _pair_each(["exists"], "exists"),
    exists_to_contains: _pair_each(["exists"], "="),
    hoist_invariants: frozenset((LAMBDA,)),
    share_loops: frozenset((LAMBDA,)),
}
"""What a plan calls where a rule has something to do: without any of it the driver does not ask the rule."""

AT_ONCE: frozenset[Rule] = frozenset((prune_fields, spell_out))
"""Rules that leave nothing for themselves to do: the driver asks them again once another rule has changed the plan."""

DISPENSABLE: frozenset[Rule] = frozenset((spell_out,))
"""Rules whose results not every text has a place for: where it has none, the others are asked without these."""

__all__ = ["AT_ONCE", "DISPENSABLE", "LAMBDA", "OVER", "RULES", "Calls", "Rule"]
