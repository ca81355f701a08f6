"""Two renames: the old relation steps aside, the staged table takes its name, the old one is dropped.

For a first publish (one rename, atomic in the metastore), a changed schema, a partitioned table, or a view in the
table's place. Other sessions see a gap between the two renames.
"""

from __future__ import annotations

from planproof.publish.names import within
from planproof.publish.publication import Publication


class Rename:
    def swap(self, publication: Publication) -> None:
        entry = publication.entry
        if entry.place is not None and not publication.stored(entry.staging).partition_by:  # type: ignore[union-attr]
            publication.step("place")
            publication.store.move(entry.stage_location, entry.place)
            publication.set_location(entry.staging, entry.place)
        if entry.prior is not None:
            publication.step("away")
            publication.rename(entry.target, entry.away, entry.prior.kind)
        publication.step("swap")
        publication.rename(entry.staging, entry.target)
        publication.step("clean")
        self._clean(publication)

    def settle(self, publication: Publication) -> bool:
        entry = publication.entry
        staged = publication.stored(entry.staging) is not None
        if publication.stored(entry.target) is not None and not staged:
            self._clean(publication)
            return True
        self._undo(publication)
        return False

    def _clean(self, publication: Publication) -> None:
        entry, prior = publication.entry, publication.entry.prior
        if prior is None:
            return
        publication.drop(entry.away, prior.kind)
        # A managed table's data go with it; of an external table's, only what planproof itself had written.
        if prior.location is not None and (prior.managed or publication.is_version(prior.location)):
            publication.delete_unused(prior.location)

    def _undo(self, publication: Publication) -> None:
        entry, prior = publication.entry, publication.entry.prior
        if prior is not None and publication.stored(entry.target) is None and publication.stored(entry.away):
            publication.rename(entry.away, entry.target, prior.kind)
        if prior is not None and prior.kind == "table" and prior.location is not None:
            # Spark gives a renamed managed table its default location, wherever its data lie.
            current = publication.location(entry.target)
            if current is not None and not (within(current, prior.location) and within(prior.location, current)):
                publication.set_location(entry.target, prior.location)
        publication.discard()
        if entry.place is not None:
            publication.delete_unused(entry.place)
        if prior is None and not entry.external and publication.stored(entry.target) is None:
            # A rename that died in the metastore may have moved the directory already.
            publication.store.delete(entry.native)
