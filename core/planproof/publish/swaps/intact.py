"""Whether a target is still what was just published: others may have written to it, or given its name, since."""

from __future__ import annotations

from planproof.judge.draft import Effect
from planproof.publish.fingerprint import compute_fingerprint
from planproof.publish.swaps.partitions import Partitions, look
from planproof.publish.swaps.view import has_query
from planproof.publish.transaction import JournaledPublication, Remains
from planproof.publish.transaction.names import parent
from planproof.session import local


def is_intact(publication: JournaledPublication) -> bool:
    """Whether the target has all files that were published."""
    entry = publication.entry
    if entry.effect is Effect.DEFINES:
        return True
    if entry.effect is Effect.ADDS:
        targets = [move.target for move in entry.moves]
        there = {folder: set(publication.store.names(folder)) for folder in {parent(target) for target in targets}}
        return all(target.rpartition("/")[2] in there[parent(target)] for target in targets)
    if entry.effect is Effect.REPLACES_PARTITIONS:
        return all(Partitions.are_switched(publication)) and not any(
            look(publication, swap).missing for swap in entry.partitions
        )
    remains = _look_at_target(publication)
    return remains is not None and not remains.missing


def is_alone(publication: JournaledPublication, before: str | None) -> bool:
    """Whether it has nothing of others besides; `before` is the fingerprint of what it held before, if that is
    known."""
    entry, effect = publication.entry, publication.entry.effect
    if effect is Effect.DEFINES:
        return has_query(publication)
    if effect is Effect.ADDS:
        own = {local(move.target) or move.target for move in entry.moves}
        now = publication.session.registered_table(entry.target)
        return before is not None and compute_fingerprint(publication.session, entry.target, now, without=own) == before
    if effect is not Effect.REPLACES:
        return False
    remains = _look_at_target(publication) if publication.entry.content is not None else None
    return remains is not None and not remains.missing and not remains.others


def _look_at_target(publication: JournaledPublication) -> Remains | None:
    location = publication.location(publication.entry.target)
    return None if location is None else publication.look_for_files(location)
