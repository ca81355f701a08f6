"""What every strategy can do."""

from __future__ import annotations

from typing import Protocol

from planproof.publish.transaction.publication import JournaledPublication


class Strategy(Protocol):
    """`swap` puts the audited data in the target's place, a journaled step at a time, and cleans up.

    The others serve a publish that stopped after the audit. Each may be called again after it was interrupted itself.
    """

    def swap(self, publication: JournaledPublication) -> None: ...

    def is_here(self, publication: JournaledPublication) -> bool:
        """True where the session's catalog is the one in which the publish ran. Metastores may share a folder, and a
        catalog in memory dies: what another one calls its own must not be taken for the old table."""

    def is_swapped(self, publication: JournaledPublication) -> bool:
        """True where the target is the new one already, or can be made so by one call that was audited."""

    def finish(self, publication: JournaledPublication) -> None:
        """Tidies up behind a target that is the new one; leaves nothing staged."""

    def undo(self, publication: JournaledPublication) -> None:
        """Brings the target back to the old state; leaves nothing staged."""
