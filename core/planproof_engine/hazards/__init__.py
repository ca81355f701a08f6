"""Hazards: queries whose types agree, but whose values may be wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from planproof_engine.finding import Finding
from planproof_engine.ground import Conf
from planproof_engine.hazards.columns import (
    column_lists,
    find_swapped,
    natural_keys,
    open_stars,
    struct_casts,
    swapped_columns,
)
from planproof_engine.hazards.definitions import Definitions
from planproof_engine.hazards.implicit_casts import join_casts, padding, set_casts, value_casts, zoned_times
from planproof_engine.hazards.increments import Written, make_unproved
from planproof_engine.hazards.increments import suspect as suspected_increments
from planproof_engine.hazards.increments.batches import suspect_batches as suspected_batches
from planproof_engine.hazards.integers import NARROWED, WRAPPED, narrowing, wrapping
from planproof_engine.hazards.loss import loss as loss_of
from planproof_engine.hazards.suspicion import Fits, Suspicion, judge_certain, make_warning
from planproof_engine.hazards.written_casts import LOST, ignored_lengths, integer_division, list_ends, lossy_casts

HAZARDS: tuple[Callable[[Definitions, Conf], Iterator[Suspicion]], ...] = (
    swapped_columns,
    column_lists,
    struct_casts,
    natural_keys,
    join_casts,
    padding,
    set_casts,
    narrowing,
    lossy_casts,
    wrapping,
    integer_division,
    zoned_times,
    open_stars,
    ignored_lengths,
    value_casts,
)


UNDECIDED = (WRAPPED, LOST)
"""Codes that are not reported before data decides: arithmetic and a cast by themselves are no hazard."""


def concerns(finding: Finding, materialized: str, has_contract: bool) -> bool:
    """Whether a finding on a plan concerns a model that is stored so.

    Where an open star comes true, a contract reports it as violated by itself. A view over one relation is that
    relation under another name.
    """
    if finding.code != "PP129":
        return True
    return not has_contract and (finding.found != "*" or materialized not in ("view", "ephemeral"))


def hazards(definitions: Definitions, conf: Conf) -> list[Suspicion]:
    """What every hazard suspects, in the order of the table; nothing twice."""
    found = [suspicion for hazard in HAZARDS for suspicion in hazard(definitions, conf)]
    return list({(s.finding, s.span): s for s in found}.values())
