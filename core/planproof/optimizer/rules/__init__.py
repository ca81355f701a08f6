"""The rules, in the order in which they run. One rule per file."""

from __future__ import annotations

from collections.abc import Callable

from planproof.conf import Conf
from planproof.functions.registry import Registry
from planproof.optimizer.rules.count_to_exists import count_to_exists
from planproof.optimizer.rules.entries_to_sides import entries_to_sides
from planproof.optimizer.rules.exists_to_contains import exists_to_contains
from planproof.optimizer.rules.exists_to_overlap import exists_to_overlap
from planproof.optimizer.rules.filter_to_slice import filter_to_slice
from planproof.optimizer.rules.fuse_exists import fuse_exists
from planproof.optimizer.rules.hoist_invariants import hoist_invariants
from planproof.optimizer.rules.prune_fields import prune_fields
from planproof.optimizer.rules.share_loops import share_loops
from planproof.optimizer.rules.spell_out import spell_out
from planproof.optimizer.rules.transform_fewer import transform_fewer
from planproof.plan.nodes import Plan

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

OVER: dict[Rule, frozenset[str]] = {
    transform_fewer: frozenset(("transform",)),
    count_to_exists: frozenset(("filter",)),
    fuse_exists: frozenset(("exists", "forall")),
    entries_to_sides: frozenset(("map_filter", "map_entries", "transform_values")),
    spell_out: frozenset(("nullif", "between")),
    filter_to_slice: frozenset(("filter",)),
    exists_to_overlap: frozenset(("exists",)),
    exists_to_contains: frozenset(("exists",)),
}
"""Functions without a call of which a rule has nothing to do: the driver does not ask it then."""

__all__ = ["OVER", "RULES", "Rule"]
