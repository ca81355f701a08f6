"""One metastore call: the table's location becomes the new version directory. Readers see the old data or the new.

Only for an unpartitioned Parquet table whose schema stays (a V1 table cannot change it that way). The version before
stays on disk until the next publish, for readers that listed its files; a managed table's default directory is emptied
at once, because Spark refuses to create a table over it after a DROP.
"""

from __future__ import annotations

from planproof.publish.names import join, parent, within
from planproof.publish.publication import Publication
from planproof.session.store import decoded


class Location:
    def swap(self, publication: Publication) -> None:
        entry = publication.entry
        publication.step("swap")
        publication.set_location(entry.target, entry.stage_location)
        publication.step("clean")
        self._clean(publication)

    def settle(self, publication: Publication) -> bool:
        entry = publication.entry
        current = publication.location(entry.target)
        if current is not None and within(current, entry.stage_location):
            self._clean(publication)
            return True
        if current is None:
            # The catalog died with its process. Which files were the table's is not known here: none is deleted.
            publication.drop(entry.staging)
            return False
        publication.discard()
        return False

    def _clean(self, publication: Publication) -> None:
        entry, prior = publication.entry, publication.entry.prior
        publication.drop(entry.staging)
        if prior is not None and prior.managed and prior.location is not None and within(prior.location, entry.native):
            publication.delete_unused(entry.native)
        self._sweep(publication)

    def _sweep(self, publication: Publication) -> None:
        """Removes every version directory but the current one, the one before, and what was kept after a rejection."""
        entry = publication.entry
        kept = [entry.stage_location, entry.prior.location if entry.prior and entry.prior.location else ""]
        folder = parent(entry.stage_location)
        rejected = self._registered(publication)
        for name in publication.store.names(folder):
            location = join(folder, name)
            if not any(k and within(k, location) for k in (*kept, *rejected)):
                publication.delete_unused(location)

    def _registered(self, publication: Publication) -> list[str]:
        entry = publication.entry
        prefix = entry.staging.rpartition("`.`")[2].strip("`").removesuffix(f"{entry.run}_{entry.attempt}")
        database = entry.staging.rpartition(".`")[0]
        shown = publication.run(f"SHOW TABLES IN {database} LIKE '{prefix}*'")
        tables = [publication.stored(f"{database}.`{row[1]}`") for row in shown]
        return [decoded(t.location) for t in tables if t is not None and t.location]
