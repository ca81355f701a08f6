"""Hazards: queries whose types agree, but whose values may be wrong. One file each."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from planproof_engine.conf import Conf
from planproof_engine.finding import Finding
from planproof_engine.hazards.bounds import Fits
from planproof_engine.hazards.column_lists import column_lists
from planproof_engine.hazards.definitions import Definitions
from planproof_engine.hazards.ignored_lengths import ignored_lengths
from planproof_engine.hazards.increments import Written
from planproof_engine.hazards.increments import suspect as suspected_increments
from planproof_engine.hazards.integer_division import integer_division
from planproof_engine.hazards.join_casts import join_casts
from planproof_engine.hazards.loss import loss as loss_of
from planproof_engine.hazards.lossy_casts import CODE as LOST
from planproof_engine.hazards.lossy_casts import lossy_casts, stand_in
from planproof_engine.hazards.narrowing import CODE as NARROWED
from planproof_engine.hazards.narrowing import narrowing
from planproof_engine.hazards.natural_keys import natural_keys
from planproof_engine.hazards.open_stars import open_stars
from planproof_engine.hazards.padding import padding
from planproof_engine.hazards.positions import find_swapped
from planproof_engine.hazards.set_casts import set_casts
from planproof_engine.hazards.struct_casts import struct_casts
from planproof_engine.hazards.suspicion import Suspicion, judge_certain, make_warning
from planproof_engine.hazards.swapped_columns import swapped_columns
from planproof_engine.hazards.value_casts import value_casts
from planproof_engine.hazards.wrapping import CODE as WRAPPED
from planproof_engine.hazards.wrapping import wrapping
from planproof_engine.hazards.zoned_times import zoned_times

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
