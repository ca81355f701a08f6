"""Whether an incremental model is what a full refresh would make of it, by its two plans.

The plan of a later run must be that of the first run with filters on the rows that it reads (the delta). Then each
filter is looked at: what it leaves out, what stands over it, and how the rows are written.
"""

from __future__ import annotations

from collections.abc import Iterator

from planproof_engine.finding import Finding, Verdict
from planproof_engine.hazards import filters
from planproof_engine.hazards.increments.doubled import suspect_doubles, suspect_unmatched
from planproof_engine.hazards.increments.increment import Increment, Written
from planproof_engine.hazards.increments.missed import suspect_deleted, suspect_misses, suspect_others
from planproof_engine.hazards.increments.partial import suspect_aged, suspect_computed, suspect_cuts, suspect_stale
from planproof_engine.hazards.increments.proof import find_missing_proof
from planproof_engine.hazards.increments.repeated import suspect_repeats
from planproof_engine.hazards.suspicion import Suspicion
from planproof_engine.logical import nodes as p

__all__ = ["Written", "make_unproved", "suspect"]

_LOOKS = (
    suspect_cuts,
    suspect_computed,
    suspect_stale,
    suspect_misses,
    suspect_deleted,
    suspect_doubles,
    suspect_unmatched,
    suspect_others,
)


def suspect(first: p.Plan, later: p.Plan, written: Written) -> tuple[list[Suspicion], Finding | None]:
    """Why a full refresh would make another table, and the proof that it would not; neither where nobody can tell."""
    why = None
    try:
        deltas = filters.added_filters(first, later, written.relation)
    except filters.Differs as differs:
        deltas, why = [], str(differs)
    increment = Increment(first, later, written, tuple(deltas))
    if found := list(dict.fromkeys(_list_suspicions(increment))):
        return found, None
    if written.append_only is None or not (deltas or why):
        return [], None
    why = why or find_missing_proof(increment, written.append_only)
    return [], _make_proved_finding(written) if why is None else make_unproved(written.append_only, why)


def _list_suspicions(increment: Increment) -> Iterator[Suspicion]:
    for delta in increment.deltas:
        for look in _LOOKS:
            yield from look(increment, delta)
    yield from suspect_aged(increment)
    yield from suspect_repeats(increment)


def _make_proved_finding(written: Written) -> Finding:
    why = f"each source row is computed by itself, and only rows beyond the greatest {written.append_only} are new"
    message = f"incremental runs build the same table as a full refresh: {why}"
    return Finding(Verdict.PROVED, "PP145", "logical", written.append_only, message=message, evidence=why)


def make_unproved(append_only: str, why: str) -> Finding:
    """PP145 of a model whose proof lacks something."""
    message = f"planproof cannot tell whether incremental runs build the same table as a full refresh: {why}"
    return Finding(Verdict.UNPROVED, "PP145", "logical", append_only, message=message)
