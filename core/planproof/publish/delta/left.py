"""What publishes that were killed have left in a table's folder: staged tables that nobody writes any more."""

from __future__ import annotations

import re
from contextlib import suppress

from planproof.publish.delta.actions import LOG
from planproof.publish.delta.publication import NOTE, PREFIX, StagedNote, names_publish
from planproof.publish.materialize.materialization import Job
from planproof.publish.transaction.names import join
from planproof.session.delta.protocol import DeltaTables, LogState
from planproof.session.protocol import SparkFailure
from planproof.session.store import Store, decoded, store_of
from planproof_engine.finding import Finding, Verdict

_STAMP = re.compile(r"[0-9a-f]{1,32}_[0-9]{1,9}")


def swept(job: Job, tables: DeltaTables, base: LogState) -> None:
    """Deletes what dead publishes of the target have staged and not committed, and says so."""
    store, root = store_of(job.session), decoded(base.location)
    for name in store.names(root) if store.exists(root) else ():
        if name.startswith(NOTE) and name.endswith(".json"):
            with suppress(SparkFailure):
                said = _settled(store, tables, root, name, base)
                job.draft.add([said] if said is not None else [])


def _settled(store: Store, tables: DeltaTables, root: str, name: str, base: LogState) -> Finding | None:
    """Settles one staged table by its note. None where it is not one of a dead publish."""
    stamp = name.removeprefix(NOTE).removesuffix(".json")
    folder, note = join(root, PREFIX + stamp), join(root, name)
    try:
        found = StagedNote.from_json(store.read(note) or "")
    except ValueError:
        return None
    owner = found.owner
    if not _STAMP.fullmatch(stamp) or owner.run != stamp or not owner.is_dead:
        return None
    commits = [store.read(join(root, LOG, f"{v:020}.json")) for v in range(found.base + 1, base.version + 1)]
    if any(names_publish(commit, PREFIX + stamp) for commit in commits):
        store.delete(join(folder, LOG))
        store.delete(note)
        return _said(f"a publish ({owner}) had been committed when it was killed; what it wrote is the table's")
    # A note is a claim, and commits of that time may be gone: nothing is deleted that may be the table's.
    if None in commits or (base.version >= 0 and tables.names_any(base, PREFIX + stamp)):
        return None
    store.delete(folder)
    store.delete(note)
    return _said(f"a publish ({owner}) was killed before it committed; what it had staged was deleted")


def _said(message: str) -> Finding:
    return Finding(Verdict.WARNING, "PP604", "catalog", message=message)
