"""A snapshot that an open change of an Iceberg table has made."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from planproof.session.java import iterate


class Own:
    """A snapshot that the transaction has made. What it lists is read once: a file costs a few calls."""

    def __init__(self, java: Any, number: int, form: Mapping[str, Any], io: Any) -> None:
        self.java, self.number, self._io = java, number, io
        summary = form.get("summary", {})
        self.rows, self.deleted = (int(summary.get(key, 0)) for key in ("added-records", "deleted-records"))
        # Where the list of its manifests lies; the first version of the format can do without one.
        self.listed: str | None = form.get("manifest-list")

    @cached_property
    def data(self) -> list[tuple[str, int]]:
        """The data files that it added, with their sizes."""
        return [(str(f.path()), int(f.fileSizeInBytes())) for f in iterate(self.java.addedDataFiles(self._io))]

    @cached_property
    def deletes(self) -> list[tuple[str, int]]:
        """The files that it added which take rows away."""
        return [(str(f.path()), int(f.fileSizeInBytes())) for f in iterate(self.java.addedDeleteFiles(self._io))]

    @cached_property
    def _manifests(self) -> list[tuple[str, int | None]]:
        own = [m for m in iterate(self.java.allManifests(self._io)) if m.snapshotId() == self.number]
        found: list[tuple[str, int | None]] = [(str(m.path()), int(m.length())) for m in own]
        return found if self.listed is None else [*found, (self.listed, None)]

    @property
    def manifests(self) -> list[str]:
        """The files of metadata that it wrote."""
        return [path for path, _ in self._manifests]

    @property
    def files(self) -> list[tuple[str, int | None]]:
        """Every file that it wrote, with its size where that is known; those that name others last."""
        return [*self.data, *self.deletes, *self._manifests]
