"""What was found half way is read, believed or not, and settled: in one order, for whatever was found.

What lies there is a claim that anybody may have written. Each one fails alone: an entry that cannot be read, or is not
believed, does not keep the others from being settled.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from planproof.publish.transaction.lock import Evicted, Locked
from planproof.publish.transaction.names import Refused
from planproof.publish.transaction.owner import Owner
from planproof.publish.transaction.states import report_end
from planproof.publish.transaction.verification import Disbelieved
from planproof.report.model import Report
from planproof.session.protocol import SparkFailure
from planproof_engine.origin import AnalysisError


class Claim(NamedTuple):
    """What is said of a publish that stopped. `owner` is None for a move home, which has no step either. `command` goes
    on with it."""

    model: str
    strategy: str | None = None
    owner: Owner | None = None
    step: str | None = None
    command: str = "planproof recover"

    def __str__(self) -> str:
        if self.owner is None:
            return f"the move of {self.model} home stopped"
        return f"the publish of {self.model} ({self.strategy}) by {self.owner} stopped at step {self.step!r}"


class Unfinished(Protocol):
    """Something that was begun, and of which a file tells."""

    @property
    def location(self) -> str:
        """The file, or the files, as people are shown them."""

    def read(self) -> Claim | None:
        """What the file says; None where it is gone, because another process has settled it. Raises ValueError where
        it says nothing that this version understands."""

    def verify(self) -> None:
        """Raises `Disbelieved` where the file names what a publish would not have named, and `SparkFailure`."""

    def settle(self) -> tuple[str, str]:
        """Finishes it, undoes it, or leaves it: the ending (of `states.ENDS`), and what is said of it."""


def settle(found: Unfinished, name: str = "?") -> Report:
    """What became of one unfinished thing, whatever happens meanwhile; `name` stands for a model that is not known."""
    try:
        claim = found.read()
    except ValueError as error:
        return report_end("unreadable", name, f"{found.location}: {error}; look at the table it names, then delete it")
    except Exception as error:
        return _failed(Claim(name), found, error)
    if claim is None:
        return report_end("settled by another", name, "settled by another process")
    try:
        found.verify()
        end, what = found.settle()
        return report_end(end, claim.model, f"{claim}; {what}" if claim.owner else what, claim.strategy)
    except Disbelieved as reason:
        said = (
            f"{found.location} names what no publish of that table would have named: {reason}. Nothing was touched. "
            "Find out who wrote this file, look at the table, and delete the file"
        )
        return report_end("disbelieved", name, said)
    except Exception as error:
        return _failed(claim, found, error)


def _failed(claim: Claim, found: Unfinished, error: Exception) -> Report:
    if isinstance(error, (Locked, Evicted)):
        return report_end("locked", claim.model, str(error), claim.strategy)
    if isinstance(error, (SparkFailure, AnalysisError, Refused)):
        said = f"{claim}, and it could not be settled: {error}; run `{claim.command}` again ({found.location})"
        return report_end("unanswered", claim.model, said, claim.strategy)
    said = f"internal error in planproof: {found.location} could not be settled: {error!r}"
    return report_end("internal error", claim.model, said, claim.strategy)
