"""One metastore call: the table's location becomes the new version directory. Readers see the old data or the new.

Only for an unpartitioned Parquet table whose schema stays (a V1 table cannot change it that way). The version before
stays on disk until the next publish, and so do all versions of the last minutes: readers may have listed their files. A
managed table's default directory is emptied at once, because Spark refuses to create a table over it after a DROP.
"""

from __future__ import annotations

from planproof.publish.transaction import JournaledPublication
from planproof.publish.transaction.names import is_within
from planproof.publish.transaction.versions import note_left, sweep

RETENTION = 900.0
"""For so many seconds a replaced version stays on disk, because sessions may have listed its files."""


class Location:
    """The table's location becomes the staged directory."""

    def swap(self, publication: JournaledPublication) -> None:
        entry = publication.entry
        publication.step("swap")
        publication.set_location(entry.target, entry.stage_location)
        publication.refuse_exchanged()
        # A rescuer sees in the catalog that only cleaning is left.
        self.finish(publication)
        if entry.prior is not None and entry.prior.location is not None:
            publication.count_others(publication.names_in(entry.prior.location))

    def is_here(self, publication: JournaledPublication) -> bool:
        """Without a staging table, the table itself tells: it lies where it did, or where it was to go."""
        prior, current = publication.entry.prior, publication.location(publication.entry.target)
        if current is None or prior is None or prior.location is None:
            return publication.is_staged()
        return self._points_to_staging(publication) or is_within(current, prior.location) or publication.is_staged()

    def is_swapped(self, publication: JournaledPublication) -> bool:
        if not self._points_to_staging(publication):
            return False
        prior = publication.entry.prior
        has_old = prior is not None and prior.location is not None and publication.store.contents(prior.location)
        remains = publication.look_for_files()
        return remains.is_final or (bool(remains.there) and not has_old)

    def _points_to_staging(self, publication: JournaledPublication) -> bool:
        current = publication.location(publication.entry.target)
        return current is not None and is_within(current, publication.entry.stage_location)

    def undo(self, publication: JournaledPublication) -> None:
        prior = publication.entry.prior
        if prior is not None and prior.location is not None and self._points_to_staging(publication):
            publication.set_location(publication.entry.target, prior.location)
            publication.refresh()
        # A table of another metastore that lay here, too, may have the new version: it is swept with those of its mark.
        if publication.unregistered is not None or publication.is_own_catalog() or publication.is_staged():
            publication.discard()

    def finish(self, publication: JournaledPublication) -> None:
        entry, prior = publication.entry, publication.entry.prior
        publication.drop_staging()
        if prior is not None and prior.location is not None:
            if prior.managed and is_within(prior.location, entry.native):
                publication.delete_replaced(entry.native)
            elif publication.is_own or publication.is_version(prior.location):
                # Where an external table lay, an entry may say any place of it: nothing is written there.
                note_left(publication, prior.location)
        # The version before stays whatever its age; so do those that were replaced a moment ago.
        kept = [entry.stage_location, prior.location if prior and prior.location else ""]
        sweep(publication, entry.stage_location, kept, RETENTION)
