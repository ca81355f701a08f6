"""What every strategy can do."""

from __future__ import annotations

from typing import Protocol

from planproof.publish.publication import Publication


class Strategy(Protocol):
    """`swap` puts the audited data in the target's place, a journaled step at a time, and cleans up.

    `settle` is called for a publish that stopped after the audit: it brings the target to the old state (False) or the
    new one (True) and leaves nothing staged.
    """

    def swap(self, publication: Publication) -> None: ...

    def settle(self, publication: Publication) -> bool: ...
